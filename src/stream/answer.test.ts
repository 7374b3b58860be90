import { expect, test } from 'vitest';
import { z } from 'zod';
import { isCountersignError } from '../core/errors.ts';
import type { Outcome } from '../core/event.ts';
import { fold } from '../core/run.ts';
import type { Run } from '../core/state.ts';
import { runStarted } from '../core/test-support/events.ts';
import { objectOf } from './answer.ts';

const schema = z.object({ name: z.string().trim() });
const finished: Outcome = { status: 'finished', finishReason: 'stop', text: '{"name":" Ada "}', usage: {} };
const read = (
  outcome: Partial<Outcome> | undefined,
  plan: Parameters<typeof objectOf>[1],
): Promise<unknown> => {
  const run = fold([runStarted()]) as Run;
  const end = outcome ? { ...run, outcome: { ...finished, ...outcome } } : run;
  return objectOf(end, plan);
};

test('is what the schema makes of the text', async () => {
  expect(await read({}, { schema })).toEqual({ name: 'Ada' });
  expect(await read({ text: '  {"name":"B"}\n' }, { schema })).toEqual({ name: 'B' });
});

test.each([
  ['{"name":" Ada "}', { name: ' Ada ' }],
  ['[1]', [1]],
  ['null', null],
  ['0', 0],
])('without a schema %s is its JSON', async (text, value) => {
  expect(await read({ text }, { schema: undefined })).toEqual(value);
});

test.each<[string, Partial<Outcome> | undefined]>([
  ['waits', undefined],
  ['was cancelled', { status: 'cancelled', finishReason: 'cancelled' }],
  ['has failed', { status: 'failed', finishReason: 'error' }],
  ['used up its steps', { finishReason: 'max-steps' }],
  ['was stopped after calls', { finishReason: 'tool-calls' }],
  ['was answered by a later turn', { finishReason: 'answered', text: '' }],
])('there is none of a run that %s', async (_, outcome) => {
  expect(await read(outcome, { schema })).toBeUndefined();
});

test('there is none where none was asked for', async () => {
  expect(await read({}, undefined)).toBeUndefined();
});

test.each<[string, Partial<Outcome>, readonly string[]]>([
  ['is no JSON', { text: 'Here you are: {"name":"secret"}' }, []],
  ['was cut', { text: '{"name":"sec', finishReason: 'length' }, []],
  ['is empty', { text: '' }, []],
  ['does not match', { text: '{"name":5}' }, [expect.stringMatching(/^name: /)]],
])('a text that %s is an error that names no value', async (_, outcome, issues) => {
  const error = await read(outcome, { schema }).catch((thrown: unknown) => thrown);
  if (!isCountersignError(error, 'invalid-object')) throw error;
  expect(error.message).not.toContain('sec');
  expect(error.details).toMatchObject({
    runId: 'run-1',
    issues,
    text: outcome.text,
    outcome: { status: 'finished' },
  });
});
