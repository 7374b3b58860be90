import { expect, test } from 'vitest';
import { orAborted } from './or-aborted.ts';

const never = new Promise<never>(() => {});

test('what comes first', async () => {
  const controller = new AbortController();
  expect(await orAborted(Promise.resolve(1), controller.signal)).toBe(1);
  await expect(orAborted(Promise.reject(new Error('no')), controller.signal)).rejects.toThrow('no');
  const waiting = orAborted(never, controller.signal);
  controller.abort('why');
  await expect(waiting).rejects.toBe('why');
});

test('a signal that is aborted already', async () => {
  await expect(orAborted(Promise.resolve(1), AbortSignal.abort('why'))).rejects.toBe('why');
});

test('no signal', async () => {
  expect(await orAborted(Promise.resolve(1), undefined)).toBe(1);
});
