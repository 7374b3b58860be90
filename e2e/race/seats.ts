/** The middle of a race: each seat decides every call; its process is killed now and then, and another one sits down. */
import { callIdsOf } from './desk.ts';
import type { FromProcess, Target } from './messages.ts';
import type { RaceProcess } from './process-handle.ts';
import type { Crew, RaceOptions } from './race.ts';
import { randomFrom } from './random.ts';

/** Calls that all seats are at, at the same time. */
const windowSize = 48;

export interface Kills {
  readonly kills: number;
  /** Kills of a process that held a claim. */
  readonly killsOnClaims: number;
}

/** @param holdsClaim whether the worker is named by a claim that is stored. */
export async function decideAll(
  crew: Crew,
  runIds: readonly string[],
  options: RaceOptions,
  holdsClaim: (worker: string) => Promise<boolean>,
): Promise<Kills> {
  const { processes, fronts = 0, killEvery } = options;
  const random = randomFrom(options.seed);
  const targets = runIds.flatMap((runId) =>
    callIdsOf(runId).map((toolCallId): Target => ({ runId, toolCallId })),
  );
  const windows = Array.from({ length: Math.ceil(targets.length / windowSize) }, (_, index) =>
    targets.slice(index * windowSize, (index + 1) * windowSize),
  );
  const meet = meeting(processes);
  const killer = openKiller(options, () => random.next());
  let told = 0;
  let killsOnClaims = 0;

  async function seat(number: number): Promise<void> {
    let open = new Map<string, Target>();
    const sitDown = (): RaceProcess => {
      const process = crew.start('race', { hasAgent: number >= fronts });
      process.onEvent((message) => {
        if (message.type === 'told') {
          open.delete(keyOf(message.target));
          options.onProgress?.(++told, targets.length * processes);
        }
        if (killer.chooses(message)) void process.kill();
      });
      return process;
    };
    let process = sitDown();
    if (options.withoutClaims) await process.ask({ type: 'read', runIds });
    for (const window of windows) {
      await meet.all();
      open = new Map(random.shuffled(window).map((target) => [keyOf(target), target]));
      while (!(await process.ask({ type: 'decide', targets: [...open.values()] }))) {
        if (process.worker !== undefined && (await holdsClaim(process.worker))) killsOnClaims++;
        if (process.endedBySelf) return;
        process = sitDown();
      }
    }
    // Some come to rest politely, some are killed as they are.
    if (number % 2 === 0 || killEvery === undefined) await process.stop();
    else await process.kill();
  }

  await Promise.all(Array.from({ length: processes }, (_, number) => seat(number).finally(meet.leave)));
  return { kills: killer.kills, killsOnClaims };
}

interface Killer {
  readonly kills: number;
  /** Whether the process that says this is killed for it. */
  chooses(message: FromProcess): boolean;
}

function openKiller(
  { killEvery, killsAtMost = Number.POSITIVE_INFINITY }: RaceOptions,
  next: () => number,
): Killer {
  const untilNext = (): number =>
    killEvery === undefined ? Number.POSITIVE_INFINITY : 1 + Math.floor(next() * 2 * killEvery);
  let left = untilNext();
  let waitsForTool = false;
  let kills = 0;
  return {
    get kills() {
      return kills;
    },
    chooses(message) {
      left--;
      if (left > 0 || kills >= killsAtMost) return false;
      // Most kills wait for somebody who is about to do something.
      if (left === 0) waitsForTool = next() < 0.7;
      if (waitsForTool && !(message.type === 'tool' && message.what === 'entered')) return false;
      left = untilNext();
      kills++;
      return true;
    },
  };
}

/** A place where all who have not left meet again and again. */
function meeting(count: number): { all(): Promise<void>; leave(): void } {
  let expected = count;
  let here: (() => void)[] = [];
  const goOn = (): void => {
    if (here.length < expected) return;
    for (const resolve of here) resolve();
    here = [];
  };
  return {
    all: () =>
      new Promise((resolve) => {
        here.push(resolve);
        goOn();
      }),
    leave() {
      expected--;
      goOn();
    },
  };
}

function keyOf({ runId, toolCallId }: Target): string {
  return `${runId}/${toolCallId}`;
}
