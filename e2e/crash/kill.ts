/** Kills a process at each of many points, recovers in two others at once, and says what is wrong. */
import { fork } from 'node:child_process';
import { join } from 'node:path';
import type { StoreWrite } from '../../src/testing/crash-store.ts';
import { crash } from '../../test/crash/memory-world.ts';
import { scenarios } from '../../test/crash/scenarios.ts';
import type { Place } from '../race/places.ts';
import { effectCount, fileJournal } from './file-journal.ts';
import type { Answer, Order, Task } from './process.ts';
import { heartbeat, type KillPoint } from './process-world.ts';

/** Processes that run at the same time. */
const atOnce = 3;

export interface CrashResult {
  readonly points: number;
  /** How many of the processes were killed by themselves. All, or something is wrong. */
  readonly kills: number;
  readonly effects: number;
  readonly problems: readonly string[];
}

interface Ended {
  readonly answer: Answer | undefined;
  readonly signal: string | null;
  readonly stderr: string;
}

function run(order: Order): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = fork(join(import.meta.dirname, 'process.ts'), [JSON.stringify(order)], {
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      // Not those of the test runner.
      execArgv: [],
    });
    let answer: Answer | undefined;
    let stderr = '';
    child.on('message', (message: Answer) => {
      answer = message;
    });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    child.on('error', reject);
    child.on('close', (_code, signal) => resolve({ answer, signal, stderr }));
  });
}

/** Runs work on all items, a few at a time, in order. */
async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = [...items];
  const worker = async (): Promise<void> => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

/**
 * All points of all scenarios, counted in memory. Writes are counted by name: how often a worker beats after the
 * first time depends on how long things take.
 */
async function allPoints(): Promise<Task[]> {
  const tasks: Task[] = [];
  for (const scenario of scenarios) {
    const { name } = scenario;
    const { process } = await crash(scenario, undefined);
    const counts = new Map<StoreWrite, number>();
    for (const write of process.store.writes) {
      counts.set(write, write === 'beat' ? 1 : (counts.get(write) ?? 0) + 1);
    }
    const points: KillPoint[] = [
      ...[...counts].flatMap(([of, count]) =>
        Array.from({ length: count }, (_, index) => index + 1).flatMap((nth): KillPoint[] => [
          { of, nth, when: 'before' },
          { of, nth, when: 'after' },
        ]),
      ),
      ...process.phases.map((_, index): KillPoint => ({ phase: index + 1 })),
    ];
    tasks.push(...points.map((at) => ({ runId: `${name} ${JSON.stringify(at)}`, scenario: name, at })));
  }
  return tasks;
}

/** @param most how many points, spread evenly over all of them. Left out: all. */
export async function crashMatrix(
  place: Place,
  folder: string,
  most = Number.POSITIVE_INFINITY,
): Promise<CrashResult> {
  const journal = join(folder, 'journal.db');
  const opened = fileJournal(journal);
  try {
    const every = await allPoints();
    const wanted = Math.min(most, every.length);
    const tasks = Array.from(
      { length: wanted },
      (_, index) => every[Math.floor((index * every.length) / wanted)] as Task,
    );
    const problems: string[] = [];
    let kills = 0;
    await inParallel(tasks, async (task) => {
      const { signal, stderr } = await run({ part: 'play', place, journal, tasks: [task] });
      if (signal === 'SIGKILL') kills++;
      else problems.push(`${task.runId}: it was not killed: ${stderr.slice(0, 500)}`);
    });
    await leaseIsOver();
    // Two at once, from both ends, as two instances that are started again.
    const bare = tasks.map(({ runId, scenario }) => ({ runId, scenario }));
    const recoveries = await Promise.all(
      [bare, bare.toReversed()].map((part) => run({ part: 'recover', place, journal, tasks: part })),
    );
    const check = await run({ part: 'check', place, journal, tasks: bare });
    for (const { answer, stderr } of [...recoveries, check]) {
      if (answer === undefined || answer.part === 'play') {
        problems.push(`a recovery ended by itself: ${stderr.slice(0, 2000)}`);
        continue;
      }
      for (const [runId, found] of Object.entries(answer.problems)) {
        problems.push(...found.map((problem) => `${runId}: ${problem}`));
      }
    }
    const effects = tasks.reduce((sum, { runId }) => sum + effectCount(opened, runId), 0);
    return { points: tasks.length, kills, effects, problems };
  } finally {
    opened.close();
  }
}

/** The last of the dead has been silent for a lease: for another process one cannot but wait. */
function leaseIsOver(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, (heartbeat.lease ?? 0) + 50));
}
