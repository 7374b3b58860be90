/**
 * A race: processes on one store that all try to decide every call, some killed with SIGKILL and started again; then
 * one that ends what is left, and the count. Everything follows from the seed but what the machine decides.
 */
import { join } from 'node:path';
import { countRace, type RaceCount } from './count.ts';
import { callIdsOf, runIdOf } from './desk.ts';
import { openEffects } from './effects.ts';
import { readJournal } from './journal.ts';
import type { Ending, ProcessOptions } from './messages.ts';
import { openPlace, type Place } from './places.ts';
import { type RaceProcess, startProcess } from './process-handle.ts';
import { decideAll, type Kills } from './seats.ts';

export interface RaceOptions {
  readonly place: Place;
  /** Where the processes reach the store; the same place, where it is left out. A proxy, for instance. */
  readonly through?: Place | undefined;
  readonly folder: string;
  readonly runs: number;
  readonly processes: number;
  readonly seed: number;
  /** A process is killed after so many things that happened, on average. Left out, none is. */
  readonly killEvery?: number | undefined;
  /** Kills at most. */
  readonly killsAtMost?: number | undefined;
  /** How many of the processes have not the agent's code: they decide, and others drive. */
  readonly fronts?: number | undefined;
  readonly withoutClaims?: boolean | undefined;
  /** Told of each thing that happens, to make trouble in the middle. Its promise is awaited at the end. */
  readonly onProgress?: ((told: number, toTell: number) => void) | undefined;
  readonly onWarning?: ((message: string) => void) | undefined;
}

export interface RaceResult extends RaceCount, Kills {
  readonly runs: number;
  readonly ending: Ending;
  readonly warnings: number;
  readonly seconds: number;
}

export async function race(options: RaceOptions): Promise<RaceResult> {
  const { folder, seed } = options;
  const start = performance.now();
  const runIds = Array.from({ length: options.runs }, (_, index) =>
    // Where claims are dropped, no delegation could begin its run.
    runIdOf(seed, index, !options.withoutClaims),
  );
  const paths = { effects: join(folder, 'effects.db'), journal: join(folder, 'journal') };
  const effects = openEffects(paths.effects);
  const store = openPlace(options.place);
  const crew = openCrew({ ...options, ...paths });
  try {
    await beginRuns(crew, runIds, options.processes);
    const kills = await decideAll(
      crew,
      runIds,
      options,
      async (worker) => (await store.workers.claimed(worker).catch(() => [])).length > 0,
    );
    const ending = await finishRuns(crew, runIds);
    const runs = new Map(
      await Promise.all(
        runIds.map(async (runId) => {
          const found = await store.load(runId, Number.MAX_SAFE_INTEGER);
          const records = found?.kind === 'ended' ? found.records : [];
          return [runId, { kind: found?.kind ?? ('missing' as const), records }] as const;
        }),
      ),
    );
    const history = readJournal(paths.journal);
    const shownOf = (_runId: string, toolCallId: string): string => JSON.stringify({ order: toolCallId });
    const count = countRace({ runs, callIdsOf, shownOf, effects: effects.all(), history, ending });
    return {
      ...count,
      problems: [...count.problems, ...crew.problems],
      runs: options.runs,
      ...kills,
      ending,
      warnings: crew.warnings(),
      seconds: (performance.now() - start) / 1000,
    };
  } finally {
    await crew.killAll();
    effects.close();
    await store.close();
  }
}

export interface Crew {
  start(task: ProcessOptions['task'], more?: { hasAgent?: boolean; seed?: number }): RaceProcess;
  /** Processes that died by themselves. */
  readonly problems: readonly string[];
  warnings(): number;
  killAll(): Promise<void>;
}

function openCrew(options: RaceOptions & { effects: string; journal: string }): Crew {
  const all = new Set<RaceProcess>();
  const problems: string[] = [];
  let started = 0;
  let warnings = 0;
  return {
    problems,
    warnings: () => warnings,
    start(task, { hasAgent = true, seed = options.seed } = {}) {
      const name = `${task}-${++started}`;
      const process = startProcess({
        place: task === 'race' ? (options.through ?? options.place) : options.place,
        effects: options.effects,
        journal: options.journal,
        name,
        seed: seed + started,
        task,
        hasAgent,
        withoutClaims: options.withoutClaims ?? false,
        atOnce: 3,
      });
      all.add(process);
      process.onWarning((message) => {
        warnings++;
        options.onWarning?.(`${name}: ${message}`);
      });
      void process.ended.then(({ bySelf, text }) => {
        if (bySelf) problems.push(`${name} ended by itself: ${text}`);
      });
      return process;
    },
    async killAll() {
      await Promise.all([...all].map((process) => process.kill()));
    },
  };
}

async function beginRuns(crew: Crew, runIds: readonly string[], processes: number): Promise<void> {
  const parts = Array.from({ length: processes }, (_, part) =>
    runIds.filter((_, index) => index % processes === part),
  );
  await Promise.all(
    parts.map(async (part) => {
      const process = crew.start('begin');
      await process.ask({ type: 'runs', runIds: part });
      await process.stop();
    }),
  );
}

async function finishRuns(crew: Crew, runIds: readonly string[]): Promise<Ending> {
  const process = crew.start('finish');
  const answer = await process.ask({ type: 'runs', runIds });
  await process.stop();
  if (answer?.ending === undefined) throw new Error(`The last process ended: ${crew.problems.join('; ')}`);
  return answer.ending;
}
