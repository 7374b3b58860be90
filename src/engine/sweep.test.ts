import { expect, test } from 'vitest';
import { systemClock } from '../agent/worker.ts';
import { startSweep } from './sweep.ts';

const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;

test('keeps the process alive until it is stopped, and not a moment longer', async () => {
  const before = timers();
  const swept = Promise.withResolvers<void>();
  const abandoned = async () => {
    swept.resolve();
    return [];
  };
  const sweep = startSweep({ clock: systemClock, abandoned, take: async () => {}, warn: () => {} }, 60_000);
  await swept.promise;
  expect(timers()).toBeGreaterThan(before);
  await sweep.stop();
  expect(timers()).toBe(before);
});
