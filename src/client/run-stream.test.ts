import { expect, test } from 'vitest';
import { CountersignClient, type CountersignClientError, type RunStream } from './index.ts';
import { events, scriptServer } from './test-support/script-server.ts';

const chunk = (type: string, payload: object = {}): string =>
  `data: ${JSON.stringify({ type, runId: 'r-1', from: 'AGENT', payload })}\n\n`;
const done = 'data: [DONE]\n\n';

async function streamed(...reply: Parameters<typeof events>): Promise<RunStream> {
  const { url } = await scriptServer(events(...reply));
  return new CountersignClient({ baseUrl: url }).getAgent('desk').stream('Hi');
}

async function readAll(stream: RunStream) {
  const types: string[] = [];
  let error: CountersignClientError | undefined;
  try {
    for await (const { type } of stream) types.push(type);
  } catch (thrown) {
    error = thrown as CountersignClientError;
  }
  return { types, error };
}

test('every chunk is told, errors too, in both ways of reading', async () => {
  const error = { name: 'CountersignError', message: 'It failed.', code: 'run-stalled', status: 409 };
  const text = `: hello\n\n${chunk('start')}${chunk('error', { error })}${chunk('finish')}${done}${chunk('late')}`;
  expect(await readAll(await streamed(text))).toEqual({
    types: ['start', 'error', 'finish'],
    error: undefined,
  });
  const told: unknown[] = [];
  const running: number[] = [];
  let active = 0;
  await (await streamed(text)).processDataStream({
    async onChunk(one) {
      running.push(++active);
      await Promise.resolve();
      active--;
      told.push(one.type === 'error' ? one.payload.error.code : one.type);
    },
  });
  expect(told).toEqual(['start', 'run-stalled', 'finish']);
  expect(running).toEqual([1, 1, 1]);
});

test('it is the answer itself: its bytes can be passed on', async () => {
  const stream = await streamed(`${chunk('start')}${done}`);
  expect(stream).toBeInstanceOf(Response);
  expect(stream.headers.get('content-type')).toBe('text/event-stream');
  expect(await stream.text()).toBe(`${chunk('start')}${done}`);
});

test.each([
  ['breaks off', 'break'],
  ['ends without saying so', 'end'],
] as const)('a stream that %s is an error, which names the run', async (_, end) => {
  const { types, error } = await readAll(await streamed(`${chunk('start')}data: {"half`, end));
  expect(types).toEqual(['start']);
  expect(error).toMatchObject({ code: 'connection-failed', runId: 'r-1' });
  expect(error?.message).toContain('The run goes on.');
});

test('what is no JSON is an error, not left out', async () => {
  const { error } = await readAll(await streamed(`data: <html>\n\n${done}`));
  expect(error?.code).toBe('bad-answer');
});

test('what onChunk throws ends the reading', async () => {
  const stream = await streamed(`${chunk('start')}${chunk('finish')}${done}`, 'stay');
  const told: string[] = [];
  const reading = stream.processDataStream({
    onChunk({ type }) {
      told.push(type);
      throw new Error('mine');
    },
  });
  await expect(reading).rejects.toThrow('mine');
  expect(told).toEqual(['start']);
});

test('an abort ends the reading, with its reason', async () => {
  const { url } = await scriptServer(events(chunk('start'), 'stay'));
  const controller = new AbortController();
  const options = { abortSignal: controller.signal };
  const stream = await new CountersignClient({ baseUrl: url }).getAgent('desk').stream('Hi', options);
  const reading = stream.processDataStream({ onChunk: () => controller.abort(new Error('enough')) });
  await expect(reading).rejects.toThrow('enough');
});
