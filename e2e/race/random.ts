/** Random numbers that a seed repeats. */
export interface Random {
  /** From 0 up to, not including, 1. */
  next(): number;
  /** A whole number from 0 up to, not including, `below`. */
  below(below: number): number;
  pick<T>(values: readonly T[]): T;
  shuffled<T>(values: readonly T[]): T[];
}

export function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  /** Mulberry32. */
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
  const below = (limit: number): number => Math.floor(next() * limit);
  return {
    next,
    below,
    pick: (values) => {
      if (values.length === 0) throw new Error('There is nothing to pick from.');
      return values[below(values.length)] as (typeof values)[number];
    },
    shuffled(values) {
      const mixed = [...values];
      for (let index = mixed.length - 1; index > 0; index--) {
        const other = below(index + 1);
        [mixed[index], mixed[other]] = [mixed[other] as never, mixed[index] as never];
      }
      return mixed;
    },
  };
}
