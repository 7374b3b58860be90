/** Looks for runs that nobody moves, at once and then from time to time, and hands them to whoever can. */
import { messageOf } from '../core/errors.ts';
import type { Clock } from '../core/log.ts';
import type { AbandonedRun } from '../core/store.ts';

export interface SweepPorts {
  readonly clock: Clock;
  abandoned(): Promise<readonly AbandonedRun[]>;
  /** Begins to move a run. Resolves when it has begun, not when it has ended. */
  take(run: AbandonedRun): Promise<void>;
  warn(message: string): void;
}

/** Looks once. What cannot be taken is told and left for the next time. */
export async function sweepOnce(ports: SweepPorts): Promise<void> {
  for (const run of await ports.abandoned()) {
    await ports.take(run).catch((error: unknown) => {
      ports.warn(`Run ${run.runId} could not be taken over: ${messageOf(error)}`);
    });
  }
}

export interface Sweep {
  /** Resolves when no sweep is under way and none will begin. */
  stop(): Promise<void>;
}

/** Sweeps until it is stopped, and keeps the process alive for it. @param every milliseconds between sweeps. */
export function startSweep(ports: SweepPorts, every: number): Sweep {
  let isStopped = false;
  // Not the timer of a sleep: that one would outlive the stop.
  const alive = setInterval(() => {}, 2 ** 30);
  let wake: () => void = () => {};
  const stopped = new Promise<void>((resolve) => {
    wake = resolve;
  });
  const loop = async (): Promise<void> => {
    while (!isStopped) {
      await sweepOnce(ports).catch((error: unknown) => ports.warn(`A sweep failed: ${messageOf(error)}`));
      if (!isStopped) await Promise.race([ports.clock.sleep(every, { background: true }), stopped]);
    }
  };
  const done = loop();
  return {
    async stop() {
      isStopped = true;
      wake();
      await done;
      clearInterval(alive);
    },
  };
}
