import { expect, test } from 'vitest';
import { CountersignError } from '../core/errors.ts';
import { replayBuffer } from '../stream/buffer.ts';
import type { Chunk } from '../stream/chunk.ts';
import { eventStream } from './sse.ts';
import { eventsIn } from './test-support/desk.ts';

const runId = 'run-1';
const text = (word: string): Chunk => ({
  type: 'text-delta',
  runId,
  from: 'AGENT',
  payload: { id: 't', text: word },
});

function opened(limit?: number) {
  const buffer = replayBuffer<Chunk>(() => 100, limit);
  const warnings: string[] = [];
  let left = 0;
  const response = eventStream(
    { runId, fullStream: buffer.read((chunk) => chunk) },
    () => left++,
    (message) => warnings.push(message),
  );
  return { buffer, warnings, response, left: () => left };
}

test('each chunk is one event, and the end is told', async () => {
  const { buffer, response, left } = opened();
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  buffer.push(text('one\n\ndata: [DONE]\n\n'));
  buffer.push(text('\u2028two'));
  buffer.end();
  const chunks = eventsIn(await response.text());
  expect(chunks.map(({ payload }) => payload.text)).toEqual(['one\n\ndata: [DONE]\n\n', '\u2028two']);
  expect(left()).toBe(1);
});

test('errors keep message and code, also within the chunks of a sub-agent', async () => {
  const { buffer, response } = opened();
  const cause = new Error('password=1234');
  const error = new CountersignError('run-stalled', 'It failed.', { runId, cause });
  const inner = { type: 'error', runId, from: 'AGENT', payload: { error } } as const;
  buffer.push(inner);
  buffer.push({
    type: 'tool-output',
    runId,
    from: 'AGENT',
    payload: { toolCallId: 'c', output: { ...inner, payload: { error: new TypeError('No.') } } },
  });
  buffer.end();
  const sent = await response.text();
  const [first, second] = eventsIn(sent);
  expect(first?.payload.error).toEqual({
    name: 'CountersignError',
    message: 'It failed.',
    code: 'run-stalled',
    status: 409,
    runId,
  });
  expect(second?.payload.output.payload.error).toEqual({ name: 'TypeError', message: 'No.' });
  expect(sent).not.toContain('password');
});

test('what is no JSON is left out, with a warning', async () => {
  const { buffer, response, warnings } = opened();
  buffer.push({ type: 'data-odd', runId, from: 'AGENT', data: 1n as never });
  buffer.push(text('two'));
  buffer.end();
  expect(eventsIn(await response.text())).toHaveLength(1);
  expect(warnings).toEqual([expect.stringContaining('data-odd')]);
});

test('a reader that falls behind is told so', async () => {
  const { buffer, response, left } = opened(150);
  for (const word of ['one', 'two', 'three']) buffer.push(text(word));
  buffer.end();
  const [error] = eventsIn(await response.text());
  expect(error).toMatchObject({ type: 'error', runId, payload: { error: { code: 'stream-overflow' } } });
  expect(left()).toBe(1);
});

test('a reader that goes away gives its place back at once, though nothing more comes', async () => {
  const { response, left } = opened();
  const reader = response.body?.getReader();
  void reader?.read();
  await reader?.cancel();
  expect(left()).toBe(1);
});

test('a comment keeps a silent connection open, and costs no chunk', async () => {
  const buffer = replayBuffer<Chunk>(() => 100);
  const waits: { milliseconds: number; isOver: () => void; isStopped: boolean }[] = [];
  let begun = Promise.withResolvers<void>();
  const response = eventStream(
    { runId, fullStream: buffer.read((chunk) => chunk) },
    () => {},
    () => {},
    (milliseconds) => {
      const wait = { milliseconds, isOver: () => {}, isStopped: false };
      const over = new Promise<void>((resolve) => {
        wait.isOver = resolve;
      });
      waits.push(wait);
      begun.resolve();
      const stop = (): void => {
        wait.isStopped = true;
      };
      return { over, stop };
    },
  );
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const read = async () => new TextDecoder().decode((await reader.read()).value);
  for (let times = 1; times <= 2; times++) {
    begun = Promise.withResolvers();
    const silent = read();
    await begun.promise;
    waits[times - 1]?.isOver();
    expect(await silent).toBe(':\n\n');
  }
  const chunk = read();
  buffer.push(text('a'));
  expect(await chunk).toContain('"text":"a"');
  expect(waits).toMatchObject(Array(3).fill({ milliseconds: 15_000, isStopped: true }));
  await reader.cancel();
});
