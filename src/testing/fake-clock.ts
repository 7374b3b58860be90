import type { Clock } from '../core/log.ts';

/** A clock that stands still until it is moved: `new Countersign({ …, clock })`. */
export interface FakeClock extends Clock {
  /** Moves the clock, and ends the sleeps whose time has come, in their order. */
  advance(milliseconds: number): Promise<void>;
  /** How many sleeps wait. */
  readonly sleeping: number;
}

/** @param start milliseconds since 1970. */
export function fakeClock(start = 0): FakeClock {
  let time = start;
  let sleepers: { readonly until: number; wake(): void }[] = [];
  return {
    now: () => time,
    sleep: (milliseconds) =>
      new Promise((wake) => {
        sleepers.push({ until: time + milliseconds, wake });
      }),
    async advance(milliseconds) {
      const end = time + milliseconds;
      for (;;) {
        const next = sleepers.toSorted((one, other) => one.until - other.until)[0];
        if (next === undefined || next.until > end) break;
        time = next.until;
        sleepers = sleepers.filter((sleeper) => sleeper !== next);
        next.wake();
        // What was woken may sleep again within this time.
        await new Promise((resolve) => setImmediate(resolve));
      }
      time = end;
    },
    get sleeping() {
      return sleepers.length;
    },
  };
}
