/**
 * A load: chats that wait, on several servers of one store; three clients that all decide every call; one server
 * killed with SIGKILL while tools run in it. Then what is interrupted is resolved, and everything is counted.
 */
import { join } from 'node:path';
import { countRace, type RaceCount } from '../race/count.ts';
import { openEffects } from '../race/effects.ts';
import { openJournal, readJournal } from '../race/journal.ts';
import { openPlace, type Place } from '../race/places.ts';
import { randomFrom } from '../race/random.ts';
import { beginChat, type Chat, customers } from './chats.ts';
import { decideCalls, repeatTaken } from './clients.ts';
import { endLoad } from './end-load.ts';
import type { ServerOptions } from './messages.ts';
import { type ServerProcess, startServer } from './server-process.ts';

export interface LoadOptions {
  readonly place: Place;
  readonly folder: string;
  readonly chats: number;
  readonly servers: number;
  readonly seed: number;
}

export interface LoadResult extends RaceCount {
  readonly chats: number;
  /** Chats that nobody decided: they wait, and are listed as they were shown. */
  readonly waiting: number;
  readonly resolved: number;
  readonly kills: number;
  /** Decisions that were said to a server which died before it answered, and said again to another. */
  readonly unanswered: number;
  readonly seconds: number;
}

const reviewers = ['rita', 'ron'].map((id) => ({ id, roles: ['reviewer'] }));
/** Chats that begin at the same time. */
const beganAtOnce = 200;
/** Tools that run in the server when it is killed: half of them have had their effect. */
const stuckTools = 4;

export async function load({ place, folder, chats, servers, seed }: LoadOptions): Promise<LoadResult> {
  const began = performance.now();
  const paths = { effects: join(folder, 'effects.db'), journal: join(folder, 'journal') };
  const effects = openEffects(paths.effects);
  const store = openPlace(place);
  const problems: string[] = [];
  const running: ServerProcess[] = [];
  try {
    const options = { place, effects: paths.effects, people: [...customers, ...reviewers] };
    running.push(
      ...(await startServers(options, servers, { after: Math.ceil(chats / servers / 4), many: stuckTools })),
    );
    for (const server of running) {
      void server.ended.then((wrote) => problems.push(`a server ended by itself: ${wrote}`));
    }
    const [victim, ...survivors] = running as [ServerProcess, ...ServerProcess[]];
    const begun = await beginChats(
      chats,
      running.map(({ url }) => url),
    );

    let kills = 0;
    const killed = victim.said('stuck').then(async () => {
      kills++;
      await victim.kill();
      running.shift();
    });
    const calls = begun.filter(({ isLeft }) => !isLeft).flatMap((chat) => chat.calls);
    const journal = openJournal(paths.journal, 'clients');
    const people = [() => 'rita', () => 'ron', ({ owner }: { owner: string }) => owner];
    const clients = people.map((whoFor, place) => {
      const home = running[place % servers] as ServerProcess;
      // Its own server, as long as that lives.
      const urls = () => [home, ...running].filter((one) => running.includes(one)).map(({ url }) => url);
      return { urls, whoFor, journal, random: randomFrom(seed + place), problems, taken: [] };
    });
    await Promise.all(clients.map((client) => decideCalls(client, calls, 8)));
    // All decisions may be there before the last tool is: it comes, or the load was too small.
    await Promise.race([killed, new Promise((resolve) => setTimeout(resolve, 10_000))]);
    if (kills === 0) throw new Error('Nothing was killed: too few tools ran in that server.');

    const urls = survivors.map(({ url }) => url);
    const ending = await endLoad({ urls, begun, effects, store, problems });
    for (const client of clients) await repeatTaken(client);
    const history = readJournal(paths.journal);
    const decided = new Map(begun.filter(({ isLeft }) => !isLeft).map((chat) => [chat.runId, chat]));
    const count = countRace({
      runs: await endsOf(store, [...decided.keys()]),
      callIdsOf: (runId) => (decided.get(runId)?.calls ?? []).map(({ toolCallId }) => toolCallId),
      shownOf: (runId, id) => shownArgs(decided.get(runId), id),
      effects: effects.all(),
      history,
      ending,
    });
    const { output, error, runAgain } = ending.resolved;
    return {
      ...count,
      problems: [...count.problems, ...problems],
      chats,
      waiting: begun.length - decided.size,
      resolved: output + error + runAgain,
      kills,
      unanswered: history.filter((entry) => entry.kind === 'told' && entry.answer.type === 'unknown').length,
      seconds: (performance.now() - began) / 1000,
    };
  } finally {
    await Promise.all(running.map((server) => server.kill()));
    effects.close();
    await store.close();
  }
}

/** In the first of them tools get stuck. */
function startServers(
  options: ServerOptions,
  servers: number,
  stuck: NonNullable<ServerOptions['stuck']>,
): Promise<ServerProcess[]> {
  return Promise.all(
    Array.from({ length: servers }, (_, index) => startServer(index === 0 ? { ...options, stuck } : options)),
  );
}

/** Each at the next server. */
async function beginChats(chats: number, urls: readonly string[]): Promise<Chat[]> {
  const begun: Chat[] = [];
  while (begun.length < chats) {
    const wave = Array.from({ length: Math.min(beganAtOnce, chats - begun.length) }, (_, place) => {
      const index = begun.length + place;
      return beginChat(index, chats, urls[index % urls.length] ?? '');
    });
    begun.push(...(await Promise.all(wave)));
  }
  return begun;
}

function shownArgs(chat: Chat | undefined, toolCallId: string): string | undefined {
  const call = chat?.calls.find((one) => one.toolCallId === toolCallId);
  return call && JSON.stringify(call.args);
}

async function endsOf(store: ReturnType<typeof openPlace>, runIds: readonly string[]) {
  const ends = runIds.map(async (runId) => {
    const found = await store.load(runId, Number.MAX_SAFE_INTEGER);
    const records = found?.kind === 'ended' ? found.records : [];
    return [runId, { kind: found?.kind ?? ('missing' as const), records }] as const;
  });
  return new Map(await Promise.all(ends));
}
