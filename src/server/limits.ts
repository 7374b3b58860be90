/** How much one identity may ask of this process. Counted here alone: several processes each count for themselves. */
import { CountersignError } from '../core/errors.ts';

export interface ServerLimits {
  /** The largest body, in bytes. Default 4 MiB. */
  readonly bodyBytes?: number | undefined;
  /** The most `maxSteps` that a body gets. Default 20. */
  readonly maxSteps?: number | undefined;
  /** Streams that are open at the same time, for each identity. Default 20. */
  readonly streams?: number | undefined;
  /**
   * Requests a minute, for each identity; as many may come at once. Default 600. Those of nobody, which are refused, are
   * counted for each address, or together where the platform tells none.
   */
  readonly requestsPerMinute?: number | undefined;
}

/** The limits that hold. */
export type SetLimits = { readonly [Name in keyof ServerLimits]-?: number };

const defaultLimits: SetLimits = {
  bodyBytes: 4 * 1024 * 1024,
  maxSteps: 20,
  streams: 20,
  requestsPerMinute: 600,
};

/** @throws `invalid-option`. */
export function limitsOf(given: ServerLimits = {}): SetLimits {
  for (const [name, value] of Object.entries(given)) {
    const isGood = value === undefined || (Number.isSafeInteger(value) && value >= 1);
    if (isGood && Object.hasOwn(defaultLimits, name)) continue;
    throw new CountersignError('invalid-option', `The limit ${name} is malformed.`, {
      expected: `whole numbers from 1 for some of: ${Object.keys(defaultLimits).join(', ')}`,
    });
  }
  const set = Object.entries(given).filter(([, value]) => value !== undefined);
  return { ...defaultLimits, ...Object.fromEntries(set) };
}

/** Beyond this many keys, the one that asked least recently is forgotten. */
const rememberedKeys = 10_000;

/** Lets a key pass so many times a minute, and as often at once when it has been idle for long. */
export function rateLimit(perMinute: number, now: () => number) {
  const spent = new Map<string, { used: number; at: number }>();
  const usedAt = ({ used, at }: { used: number; at: number }, time: number): number =>
    Math.max(0, used - ((time - at) / 60_000) * perMinute);
  return {
    /** @throws `too-many-requests`. */
    take(key: string): void {
      const time = now();
      const before = spent.get(key);
      const used = before ? usedAt(before, time) : 0;
      if (used + 1 > perMinute) {
        throw tooMany('requests a minute', perMinute, Math.ceil(((used + 1 - perMinute) / perMinute) * 60));
      }
      spent.delete(key);
      spent.set(key, { used: used + 1, at: time });
      if (spent.size > rememberedKeys) spent.delete(spent.keys().next().value as string);
    },
  };
}

/** Lets a key hold so many at the same time. */
export function places(most: number) {
  const held = new Map<string, number>();
  return {
    /** Takes a place; the result gives it back, once. @throws `too-many-requests`. */
    take(key: string): () => void {
      const count = held.get(key) ?? 0;
      if (count >= most) throw tooMany('streams at the same time', most, 1);
      held.set(key, count + 1);
      let isGiven = false;
      return () => {
        if (isGiven) return;
        isGiven = true;
        const left = (held.get(key) ?? 1) - 1;
        if (left > 0) held.set(key, left);
        else held.delete(key);
      };
    },
  };
}

function tooMany(what: string, most: number, retryAfter: number): CountersignError {
  return new CountersignError('too-many-requests', 'You ask for more than this server gives.', {
    expected: `at most ${most} ${what}`,
    retryAfter,
    todo: 'Nothing was done. Try again later.',
  });
}
