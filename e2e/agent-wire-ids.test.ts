/** Models named by an id: the provider's package is loaded by the product, and takes its address from the environment. */
import { LLMock } from '@copilotkit/aimock';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import type { JsonObject } from '../src/core/json.ts';
import { type Answer, scriptAnswers } from './support/wire.ts';
import { openDesk, settings } from './support/wire-desk.ts';
import { problemsOf } from './support/wire-rules.ts';

let mock: LLMock;
/** As they went over the wire: the packages call the global `fetch`. */
let sent: { url: string; key: string | null; body: JsonObject }[] = [];

// The packages read their address once, when they are first loaded.
beforeAll(async () => {
  mock = await LLMock.create({ port: 0, logLevel: 'silent' });
  process.env.OPENAI_BASE_URL = `${mock.url}/v1`;
  process.env.ANTHROPIC_BASE_URL = `${mock.url}/v1`;
  const realFetch = globalThis.fetch;
  vi.stubGlobal('fetch', (input: string, init: RequestInit) => {
    const headers = new Headers(init.headers);
    sent.push({
      url: String(input),
      key: headers.get('x-api-key') ?? headers.get('authorization'),
      body: JSON.parse(String(init.body)) as JsonObject,
    });
    return realFetch(input, init);
  });
});

afterEach(() => {
  mock.clearFixtures();
  sent = [];
  vi.unstubAllEnvs();
});

afterAll(async () => {
  vi.unstubAllGlobals();
  delete process.env.OPENAI_BASE_URL;
  delete process.env.ANTHROPIC_BASE_URL;
  await mock.stop();
});

const refund = (id: string): Answer => ({
  toolCalls: [{ id, name: 'refund', arguments: '{"order":7,"amount":40}' }],
});
const answer: Answer = { content: 'That is settled.' };

const named = [
  {
    id: 'openai/gpt-5-mini',
    format: 'openai responses',
    path: '/v1/responses',
    variable: 'OPENAI_API_KEY',
    sentKey: 'Bearer my-key',
  },
  {
    id: 'anthropic/claude-sonnet-4-5',
    format: 'anthropic',
    path: '/v1/messages',
    variable: 'ANTHROPIC_API_KEY',
    sentKey: 'my-key',
  },
] as const;

describe.each(named)('$id', ({ id, format, path, variable, sentKey }) => {
  test.each(settings)('$name: pause, approve, answer', async (setting) => {
    vi.stubEnv(variable, 'my-key');
    scriptAnswers(mock, [refund('toolu_1'), answer]);
    const desk = openDesk(setting, () => id);
    const { runId } = await desk.start();
    expect(await desk.approve(runId)).toMatchObject({ finishReason: 'stop', text: 'That is settled.' });
    expect(desk.effects).toEqual(['refund 7 40 EUR']);
    expect(sent).toHaveLength(2);
    for (const { url, key, body } of sent) {
      expect(url).toBe(`${mock.url}${path}`);
      expect(key).toBe(sentKey);
      expect(body.model).toBe(id.slice(id.indexOf('/') + 1));
      expect(problemsOf(format, body)).toEqual([]);
    }
  });

  test.each(settings)('$name: without its key', async (setting) => {
    vi.stubEnv(variable, '');
    const desk = openDesk(setting, () => id);
    const failed = await desk.start().catch((error: unknown) => error);
    const error = failed instanceof Error ? failed : (failed as { error: unknown }).error;
    expect(error).toMatchObject({ code: 'model-unavailable', message: expect.stringContaining(variable) });
    expect(sent).toEqual([]);
    expect((await desk.another().listSuspendedRuns({ status: 'all' })).total).toBe(0);
  });

  test.each(settings)(
    '$name: a key that is gone when the decision comes, and comes back',
    async (setting) => {
      vi.stubEnv(variable, 'my-key');
      scriptAnswers(mock, [refund('toolu_2'), answer]);
      const desk = openDesk(setting, () => id);
      const { runId } = await desk.start();

      vi.stubEnv(variable, '');
      const stalled = await desk.another().approveToolCallGenerate({ runId });
      expect(stalled).toMatchObject({ finishReason: 'error', error: { code: 'run-stalled' } });
      expect(stalled.error?.message).toContain(variable);
      expect(desk.effects).toEqual(['refund 7 40 EUR']);
      expect(sent).toHaveLength(1);

      vi.stubEnv(variable, 'my-key');
      expect(await desk.continueRun(runId)).toMatchObject({ finishReason: 'stop', text: 'That is settled.' });
      expect(desk.effects).toEqual(['refund 7 40 EUR']);
      expect(problemsOf(format, sent.at(-1)?.body as JsonObject)).toEqual([]);
    },
  );
});

test('a model id that was given to the run is kept with it', async () => {
  vi.stubEnv('OPENAI_API_KEY', 'my-key');
  vi.stubEnv('ANTHROPIC_API_KEY', '');
  scriptAnswers(mock, [refund('call_3'), answer]);
  const cold = settings.filter((setting) => setting.cold)[0];
  const desk = openDesk(cold as (typeof settings)[number], () => 'anthropic/claude-sonnet-4-5');
  const { runId } = await desk.start('Refund order 7.', { model: 'openai/gpt-5-nano' });
  expect(await desk.decline(runId, { reason: 'No.' })).toMatchObject({ text: 'That is settled.' });
  expect(sent.map(({ body }) => body.model)).toEqual(['gpt-5-nano', 'gpt-5-nano']);
});

describe('a model id that cannot be used', () => {
  test.each([
    { id: 'nobody/model', code: 'model-unavailable', says: ['"nobody/model"', 'openai', 'anthropic'] },
    { id: 'gpt-5-mini', code: 'model-unavailable', says: ['"gpt-5-mini"', "'provider/model'"] },
    { id: 'cohere/command', code: 'dependency-missing', says: ['npm install @ai-sdk/cohere'] },
  ])('$id: $code', async ({ id, code, says }) => {
    vi.stubEnv('COHERE_API_KEY', 'my-key');
    const [setting] = settings;
    for (const face of ['stream', 'generate'] as const) {
      const desk = openDesk({ ...(setting as (typeof settings)[number]), face }, () => id);
      const failed = await desk.start().catch((error: unknown) => error);
      const error = (failed instanceof Error ? failed : (failed as { error: Error }).error) as Error;
      expect(error).toMatchObject({ code });
      for (const words of says) expect(error.message).toContain(words);
    }
    expect(sent).toEqual([]);
  });
});
