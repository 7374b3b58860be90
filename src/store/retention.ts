/** Owns how long records of ended runs are kept, and when a store looks for those that are too old. */
import { CountersignError } from '../core/errors.ts';

const days = 24 * 60 * 60 * 1000;
const sweepEvery = 60 * 60 * 1000;

export interface RetentionOptions {
  /**
   * How long the decisions and the outcome of a run are kept after its end, in milliseconds. The default is 30 days;
   * `Infinity` keeps them for good. They are removed some time after that, not on the second.
   */
  readonly retentionMs?: number | undefined;
  /** The clock, in milliseconds since 1970. For tests. */
  readonly now?: (() => number) | undefined;
}

/**
 * Makes the function that a store calls when it opens and after each removal. It sweeps at most once an hour.
 * @param sweep forgets what ended before a time. False when there is more to forget.
 * @throws `invalid-option` for a `retentionMs` that is no time.
 */
export function sweeper(
  { retentionMs = 30 * days, now = Date.now }: RetentionOptions,
  sweep: (before: number) => boolean,
): () => void {
  if (!(retentionMs >= 0)) {
    throw new CountersignError('invalid-option', 'The option "retentionMs" is not valid.', {
      expected: 'milliseconds from 0, or Infinity',
    });
  }
  let due = Number.NEGATIVE_INFINITY;
  return () => {
    const time = now();
    if (time < due) return;
    due = time + sweepEvery;
    if (!sweep(time - retentionMs)) due = time;
  };
}
