import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { legCallbacks } from './callbacks.ts';
import type { Chunk } from './chunk.ts';

const chunk: Chunk = { type: 'abort', runId: 'r', from: 'AGENT', payload: {} };

test('a chunk is told as it is', () => {
  const told: unknown[] = [];
  legCallbacks({ onChunk: (event) => told.push(event) }, () => {}).chunk(chunk);
  expect(told).toEqual([{ chunk }]);
});

test('without callbacks nothing is called', () => {
  const warnings: string[] = [];
  const notify = legCallbacks({}, (message) => warnings.push(message));
  notify.chunk(chunk);
  notify.error(new Error('no'));
  expect(warnings).toEqual([]);
});

test.each([
  [
    'throws',
    () => {
      throw new Error('broken');
    },
  ],
  [
    'rejects',
    async () => {
      throw new Error('broken');
    },
  ],
] as const)('an onChunk that %s is told to onError, or is a warning', async (_, onChunk) => {
  const errors: unknown[] = [];
  const warnings: string[] = [];
  legCallbacks({ onChunk, onError: ({ error }) => errors.push(error) }, () => {}).chunk(chunk);
  legCallbacks({ onChunk }, (message) => warnings.push(message)).chunk(chunk);
  await turn();
  expect(errors).toMatchObject([{ message: 'broken' }]);
  expect(warnings).toEqual(['a callback threw: broken']);
});
