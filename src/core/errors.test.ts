import { expect, test, vi } from 'vitest';
import { CountersignError, isCountersignError, messageOf } from './errors.ts';

const details = {
  runId: 'run-1',
  toolCallId: 'c1',
  expected: 'something else',
  todo: 'Do this.',
  decision: { verdict: 'approve' },
};

test('carries code, status, ids, and says what to do', () => {
  const error = new CountersignError('already-decided', 'Too late.', details);
  expect(error).toBeInstanceOf(Error);
  expect(error).toMatchObject({ name: 'CountersignError', code: 'already-decided', status: 409 });
  expect(error.message).toBe('Too late. Expected: something else. Do this.');
  expect([error.runId, error.toolCallId, error.decision]).toEqual(['run-1', 'c1', { verdict: 'approve' }]);
});

test.each([
  ['run-not-found', 404],
  ['already-decided', 409],
  ['run-exists', 409],
  ['taken-over', 409],
  ['run-ended', 410],
  ['needs-data', 422],
  ['invalid-resume-data', 422],
  ['call-required', 422],
  ['option-missing', 422],
  ['invalid-decision', 400],
] as const)('%s has status %i', (code, status) => {
  expect(new CountersignError(code, 'x').status).toBe(status);
});

test('as JSON it has no cause', () => {
  const cause = new Error('password=1234');
  const error = new CountersignError('store-failed', 'No answer.', { ...details, cause });
  expect(error.cause).toBe(cause);
  expect(error.toJSON()).toEqual({
    error: error.message,
    code: 'store-failed',
    status: 503,
    runId: 'run-1',
    toolCallId: 'c1',
    expected: 'something else',
    todo: 'Do this.',
    decision: { verdict: 'approve' },
  });
  expect(JSON.stringify(error)).not.toContain('1234');
});

test('is known to another copy of the package', async () => {
  vi.resetModules();
  const copy = await import('./errors.ts');
  expect(copy.CountersignError).not.toBe(CountersignError);
  const error = new copy.CountersignError('run-ended', 'x');
  expect(error instanceof CountersignError).toBe(false);
  expect(isCountersignError(error)).toBe(true);
  expect(isCountersignError(error, 'run-ended')).toBe(true);
  expect(isCountersignError(error, 'run-exists')).toBe(false);
});

test.each([null, undefined, 'run-ended', new Error('x'), { code: 'run-ended', name: 'CountersignError' }])(
  '%s is none',
  (thrown) => {
    expect(isCountersignError(thrown)).toBe(false);
  },
);

test('messageOf anything', () => {
  expect(messageOf(new TypeError('bad'))).toBe('bad');
  expect(messageOf('thrown text')).toBe('thrown text');
  expect(messageOf({ message: 'not an error' })).toBe('an error without a message');
  expect(messageOf(undefined)).toBe('an error without a message');
});
