import { expect, test } from 'vitest';
import { sweeper } from './retention.ts';

const hour = 60 * 60 * 1000;

/** A sweeper on a clock that the test moves, with the times before which it swept. */
function swept(retentionMs: number | undefined, isAll: () => boolean = () => true) {
  const before: number[] = [];
  let time = 0;
  const sweep = sweeper({ retentionMs, now: () => time }, (until) => {
    before.push(until);
    return isAll();
  });
  const at = (next: number): void => {
    time = next;
    sweep();
  };
  return { before, at };
}

test('it sweeps at once, and then once an hour', () => {
  const { before, at } = swept(1000);
  for (const time of [5000, 6000, 4999 + hour, 5000 + hour, 6000 + hour]) at(time);
  expect(before).toEqual([4000, 4000 + hour]);
});

test('when more is left it goes on the next time', () => {
  let left = 2;
  const { before, at } = swept(0, () => left-- === 0);
  for (const time of [1, 2, 3, 4]) at(time);
  expect(before).toEqual([1, 2, 3]);
});

test('30 days are the default', () => {
  const { before, at } = swept(undefined);
  at(31 * 24 * hour);
  expect(before).toEqual([24 * hour]);
});
