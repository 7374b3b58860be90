import { expect, test } from 'vitest';
import { isCountersignError } from '../core/errors.ts';
import { checkKeys, distanceOf, nearestOf } from './known-keys.ts';

const known = { requireToolApproval: true, maxSteps: true, by: true } as const;

function problemOf(given: unknown): { code: string; message: string } | undefined {
  try {
    checkKeys(given, known, 'stream');
    return undefined;
  } catch (error) {
    if (!isCountersignError(error)) throw error;
    return { code: error.code, message: error.message };
  }
}

test.each([{}, { maxSteps: 1, by: { id: 'ada' } }, { requireToolAproval: undefined }])(
  '%o is taken',
  (given) => {
    expect(problemOf(given)).toBeUndefined();
  },
);

test.each([
  ['requireToolAproval', 'perhaps requireToolApproval'],
  ['requiretoolapproval', 'perhaps requireToolApproval'],
  ['maxStep', 'perhaps maxSteps'],
  ['temperature', 'one of: requireToolApproval, maxSteps, by'],
  ['toString', 'one of'],
  ['__proto__', 'one of'],
])('the key %s is refused', (key, expected) => {
  const problem = problemOf(Object.fromEntries([[key, true]]));
  expect(problem?.code).toBe('invalid-option');
  expect(problem?.message).toContain(`"${key}" of stream`);
  expect(problem?.message).toContain(expected);
});

test.each([[null], [undefined], ['text'], [[]], [7]])('%o is no object', (given) => {
  expect(problemOf(given)?.code).toBe('invalid-option');
});

test('a value is not in the message', () => {
  expect(problemOf({ maxStep: 'secret' })?.message).not.toContain('secret');
});

test.each([
  ['', '', 0],
  ['', 'abc', 3],
  ['abc', 'abc', 0],
  ['kitten', 'sitting', 3],
  ['aproval', 'approval', 1],
])('from "%s" to "%s" are %i letters', (one, other, distance) => {
  expect(distanceOf(one, other)).toBe(distance);
  expect(distanceOf(other, one)).toBe(distance);
});

test('the nearest name, if one is near', () => {
  expect(nearestOf('mode', ['model', 'modelSettings'])).toBe('model');
  expect(nearestOf('xyz', ['model', 'hooks'])).toBeUndefined();
});
