/**
 * The long forms: races with 1,000 runs on every database, PostgreSQL in trouble, a load over HTTP, and the crash
 * matrix with real processes. Prints counts, and exits with 1 when a promise was broken. `npm run torture -- race` runs one part.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type PostgresServer, startPostgres } from '../../test/support/postgres.ts';
import { load } from '../http/load.ts';
import { loadText } from '../http/report.ts';
import { databases, temporaryFolder } from './places.ts';
import { race } from './race.ts';
import { raceText } from './report.ts';
import { raceInTrouble } from './trouble.ts';

interface Part {
  readonly name: string;
  /** Prints its counts, and returns what is wrong. */
  run(seed: number): Promise<readonly string[]>;
}

/** Kills that hit an open claim, for the race to have shown anything. */
const killsOnClaimsAtLeast = 50;

let server: Promise<PostgresServer> | undefined;
const postgresUrl = async (): Promise<string> => {
  server ??= startPostgres({ fsync: true });
  return (await server).url;
};

const races: readonly Part[] = databases.map(({ name, create }) => ({
  name: `race-${name}`,
  async run(seed) {
    const { folder, remove } = temporaryFolder();
    try {
      const result = await race({
        place: await create(folder, postgresUrl),
        folder,
        runs: Number(process.env.RACE_RUNS ?? 1000),
        processes: 4,
        seed,
        fronts: 1,
        killEvery: 60,
        onWarning: warnOnce(),
      });
      console.log(raceText(`race on ${name}, seed ${seed}`, result, 0));
      const tooFew = result.killsOnClaims < killsOnClaimsAtLeast;
      return [
        ...result.problems,
        ...(tooFew
          ? [`only ${result.killsOnClaims} kills hit an open claim: ${killsOnClaimsAtLeast} are wanted`]
          : []),
      ];
    } finally {
      remove();
    }
  },
}));

const troubles: readonly Part[] = (
  [
    ['cuts', { cutEvery: 200 }],
    ['crashes', { crashes: 8 }],
    ['cuts-and-crashes', { cutEvery: 300, crashes: 5 }],
  ] as const
).map(([name, trouble]) => ({
  name: `trouble-${name}`,
  async run(seed) {
    const { folder, remove } = temporaryFolder();
    try {
      const runs = Number(process.env.TROUBLE_RUNS ?? 200);
      const options = { folder, runs, processes: 4, seed, fronts: 1, killEvery: 400, onWarning: warnOnce() };
      const result = await raceInTrouble(options, trouble);
      console.log(raceText(`race on postgres in trouble (${name}), seed ${seed}`, result, 0));
      console.log(`  connections cut ${result.cuts}, crashes of the server ${result.crashes}`);
      return result.problems;
    } finally {
      remove();
    }
  },
}));

const loads: readonly Part[] = (
  [
    ['postgres', 5],
    ['sqlite', 3],
  ] as const
).map(([name, servers]) => ({
  name: `load-${name}`,
  async run(seed) {
    const { folder, remove } = temporaryFolder();
    try {
      const database = databases.find((one) => one.name === name);
      if (database === undefined) return [`There is no database "${name}".`];
      const chats = Number(process.env.LOAD_CHATS ?? 1000);
      const result = await load({
        place: await database.create(folder, postgresUrl),
        folder,
        chats,
        servers,
        seed,
      });
      console.log(loadText(`load on ${name}, ${servers} servers, seed ${seed}`, result, 0));
      return result.problems;
    } finally {
      remove();
    }
  },
}));

/** Prints each kind of warning once: a race in trouble has many. */
function warnOnce(): (message: string) => void {
  const seen = new Set<string>();
  return (message) => {
    const kind = message.replace(/^[^:]*: /, '').replaceAll(/run-\d+-\d+/g, 'run-…');
    if (!seen.has(kind)) console.log(`  warned: ${kind}`);
    seen.add(kind);
  };
}

/** The long forms of `e2e/crash/torture.ts`, which are functions without arguments that return what is wrong. */
async function crashParts(): Promise<Part[]> {
  const path = join(import.meta.dirname, '..', 'crash', 'torture.ts');
  if (!existsSync(path)) return [];
  const found = (await import(pathToFileURL(path).href)) as Record<string, unknown>;
  return Object.entries(found).flatMap(([name, run]) =>
    typeof run === 'function'
      ? [{ name: `crash-${name}`, run: async () => ((await run()) as readonly string[] | undefined) ?? [] }]
      : [],
  );
}

const chosen = process.argv.slice(2);
const parts = [...races, ...troubles, ...loads, ...(await crashParts())].filter(
  ({ name }) => chosen.length === 0 || chosen.some((start) => name.startsWith(start)),
);
const seed = Number(process.env.RACE_SEED ?? Date.now() % 1_000_000);
const summary: string[] = [];
for (const part of parts) {
  console.log(`\n── ${part.name}`);
  const problems = await part.run(seed).catch((error: unknown) => [String(error)]);
  for (const problem of problems.slice(0, 20)) console.log(`  BROKEN ${problem}`);
  summary.push(`${problems.length === 0 ? 'ok    ' : 'BROKEN'} ${part.name}`);
  if (problems.length > 0) process.exitCode = 1;
}
await (await server)?.remove();
console.log(`\n${summary.join('\n') || 'There is no such part.'}`);
if (summary.length === 0) process.exitCode = 1;
