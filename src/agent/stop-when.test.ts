import { hasToolCall, isStepCount } from 'ai';
import { expect, test } from 'vitest';
import { fold } from '../core/run.ts';
import type { Run } from '../core/state.ts';
import { requested, runStarted, stepFinished, stepStarted } from '../core/test-support/events.ts';
import { isStopWhen, type StopWhen, stopperOf } from './stop-when.ts';

const run = fold([
  runStarted(),
  stepStarted(0),
  stepFinished(0, ['c1']),
  requested('c1', 'refused'),
  stepStarted(1),
]) as Run;

test.each<[string, StopWhen, boolean]>([
  ['no condition', [], false],
  ['one that says no', () => false, false],
  ['one that says yes', () => true, true],
  ['one that promises yes', async () => true, true],
  ['one yes of several', [() => false, async () => true], true],
  ['one that looks at the steps', ({ steps }) => steps.length === 1 && steps[0]?.text === 'text 0', true],
  ['isStepCount of the AI SDK', isStepCount(1), true],
  ['isStepCount of the AI SDK, not yet', isStepCount(2), false],
  ['hasToolCall of the AI SDK', hasToolCall('refund'), true],
  ['hasToolCall of the AI SDK, another', hasToolCall('other'), false],
])('%s', async (_, stopWhen, stops) => {
  expect(await stopperOf(stopWhen)?.(run)).toBe(stops);
});

test('nothing is asked where nothing was given', () => {
  expect(stopperOf(undefined)).toBeUndefined();
});

test.each<[string, StopWhen]>([
  [
    'throws',
    () => {
      throw new Error('broken');
    },
  ],
  ['rejects', async () => Promise.reject(new Error('broken'))],
])('a condition that %s is an error of the caller', async (_, stopWhen) => {
  await expect(stopperOf([stopWhen as never])?.(run)).rejects.toMatchObject({
    code: 'invalid-option',
    message: 'stopWhen threw: broken',
  });
});

test.each([
  [undefined, false],
  ['x', false],
  [[() => true, 5], false],
  [[], true],
  [() => true, true],
])('whether %o is a condition: %s', (value, is) => {
  expect(isStopWhen(value)).toBe(is);
});
