/** Trouble between processes and their database: a proxy that cuts connections, and a server that dies and comes back. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { type PostgresServer, startPostgres } from '../../test/support/postgres.ts';
import { type Place, postgresPlace } from './places.ts';
import { type RaceOptions, type RaceResult, race } from './race.ts';
import { type Random, randomFrom } from './random.ts';

interface CuttingProxy {
  readonly port: number;
  readonly cuts: number;
  /** Until it is opened again, nobody gets through. */
  shut(isShut: boolean): void;
  close(): Promise<void>;
}

/** Cuts a connection after so many pieces of data on average, before or after the piece has passed. */
async function openCuttingProxy(
  target: number,
  every: number | undefined,
  random: Random,
): Promise<CuttingProxy> {
  const sockets = new Set<Socket>();
  let cuts = 0;
  let isClosed = false;
  const server = createServer((near) => {
    if (isClosed) return void near.on('error', () => {}).destroy();
    const far = connect(target, '127.0.0.1');
    const cut = (): void => {
      near.destroy();
      far.destroy();
    };
    const join = (from: Socket, to: Socket): void => {
      sockets.add(from);
      from.on('data', (data) => {
        const dies = every !== undefined && random.below(every) === 0;
        const passes = !dies || random.below(2) === 0;
        if (passes) to.write(data);
        if (!dies) return;
        cuts++;
        if (passes) to.end(cut);
        else cut();
      });
      from.on('error', cut);
      from.on('close', () => {
        sockets.delete(from);
        cut();
      });
    };
    join(near, far);
    join(far, near);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The proxy has no port.');
  return {
    port: address.port,
    get cuts() {
      return cuts;
    },
    shut(isShut) {
      isClosed = isShut;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

export interface Trouble {
  /** Connections are cut after so many pieces of data on average. */
  readonly cutEvery?: number | undefined;
  /** How often the server dies and comes back. */
  readonly crashes?: number | undefined;
}

export interface TroubleResult extends RaceResult {
  readonly cuts: number;
  readonly crashes: number;
}

/** A race on a PostgreSQL server of its own, in trouble. */
export async function raceInTrouble(
  options: Omit<RaceOptions, 'place' | 'through' | 'onProgress'>,
  { cutEvery, crashes = 0 }: Trouble,
): Promise<TroubleResult> {
  const server = await startPostgres();
  const proxy = await openCuttingProxy(server.port, cutEvery, randomFrom(options.seed));
  try {
    const place = postgresPlace(server.url);
    const through: Place = { ...place, at: server.url.replace(`:${server.port}/`, `:${proxy.port}/`) };
    const crashing = crasher(server, proxy, crashes);
    const result = await race({ ...options, place, through, onProgress: crashing.onProgress });
    return { ...result, cuts: proxy.cuts, crashes: await crashing.done() };
  } finally {
    await proxy.close();
    await server.remove();
  }
}

/** Spreads the crashes over the first four fifths of the race. */
function crasher(
  server: PostgresServer,
  proxy: CuttingProxy,
  crashes: number,
): { onProgress(told: number, toTell: number): void; done(): Promise<number> } {
  let begun = 0;
  let work = Promise.resolve();
  return {
    onProgress(told, toTell) {
      if (begun >= crashes || told < (toTell * 0.8 * (begun + 1)) / (crashes + 1)) return;
      begun++;
      work = work.then(async () => {
        proxy.shut(true);
        await server.halt('crash');
        await server.resume();
        proxy.shut(false);
      });
      // Told where it is awaited.
      work.catch(() => {});
    },
    async done() {
      await work;
      return begun;
    },
  };
}
