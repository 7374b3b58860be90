import { describe, expect, test } from 'vitest';
import { type ScriptedStep, scriptedModel } from '../testing/scripted-model.ts';
import { modelOf } from './ai-sdk.ts';
import type { GenerateResultV4, StreamPartV4 } from './ai-sdk-types.ts';
import { newAnswer } from './model-answer.ts';
import { failureOf, request } from './test-support/requests.ts';

describe('a stream', () => {
  test('ends with its first error, also where the model does not end it', async () => {
    let cancel = (): void => {};
    const cancelled = new Promise<void>((resolve) => {
      cancel = resolve;
    });
    const stream = new ReadableStream<StreamPartV4>({
      start: (controller) => controller.enqueue({ type: 'error', error: new Error('broken') }),
      cancel,
    });
    const model = { ...scriptedModel([]), doStream: async () => ({ stream }) };
    expect((await failureOf(modelOf(model).call(request()))).message).toContain('broken');
    await cancelled;
  });

  test('of calls that may not be made shows nothing of them', async () => {
    const asked = request({ toolChoice: 'none' });
    await failureOf(modelOf(scriptedModel([{ text: 'Well', calls: [{ toolName: 'weather' }] }])).call(asked));
    expect(asked.deltas.map(({ type }) => type)).toEqual(['text-start', 'text-delta', 'text-end']);
  });
});

describe('a whole answer', () => {
  const step: ScriptedStep = {
    reasoning: 'Hm, well',
    text: 'Let me see.',
    calls: [
      { toolName: 'weather', args: { city: 'Graz' } },
      { toolName: 'weather', argsText: '{' },
    ],
    parts: [{ type: 'source', sourceType: 'url', id: 's1', url: 'https://example.com' }],
  };

  test('is what streaming gives, without deltas', async () => {
    const [whole, streamed] = [request(), request()];
    const { response: _response, ...expected } = await modelOf(scriptedModel([step])).call(streamed);
    expect(await modelOf(scriptedModel([step])).whole.call(whole)).toEqual(expected);
    expect(streamed.deltas).not.toEqual([]);
    expect(whole.deltas).toEqual([]);
  });

  test('has its metadata and warnings', async () => {
    const model = scriptedModel(['Done.']);
    const doGenerate = async (
      options: Parameters<typeof model.doGenerate>[0],
    ): Promise<GenerateResultV4> => ({
      ...(await model.doGenerate(options)),
      response: { id: 'r1', modelId: 'exact', timestamp: new Date(0) },
      providerMetadata: { p: { cached: 1 } },
      warnings: [{ type: 'unsupported', feature: 'seed' }],
    });
    expect(await modelOf({ ...model, doGenerate }).whole.call(request())).toMatchObject({
      content: [{ type: 'text', text: 'Done.' }],
      response: { id: 'r1', modelId: 'exact', timestamp: '1970-01-01T00:00:00.000Z' },
      providerMetadata: { p: { cached: 1 } },
      warnings: [{ type: 'unsupported', feature: 'seed' }],
    });
  });

  test('of a model of an older specification', async () => {
    const usage = { inputTokens: 1, outputTokens: 2, totalTokens: 3 };
    const model = {
      ...scriptedModel([]),
      specificationVersion: 'v2',
      doGenerate: async () => ({
        content: [{ type: 'text', text: 'Done.' }],
        finishReason: 'stop',
        usage,
        warnings: [],
      }),
    } as never;
    const response = await modelOf(model).whole.call(request());
    expect(response.content).toEqual([{ type: 'text', text: 'Done.' }]);
    expect(response.usage).toMatchObject(usage);
  });

  test('is asked for again when it failed, as its text was shown to nobody', async () => {
    const times: number[] = [];
    const broken = Object.assign(new Error('Overloaded'), { isRetryable: true });
    const model = scriptedModel([{ text: 'Well', error: broken }, 'Done.']);
    const sleep = async (milliseconds: number): Promise<void> => void times.push(milliseconds);
    const response = await modelOf(model, { sleep }).whole.call(request({ maxRetries: 1 }));
    expect(response.content).toEqual([{ type: 'text', text: 'Done.' }]);
    expect(times).toEqual([2000]);
  });

  test('that came is not asked for again', () => {
    const answer = newAnswer(() => {});
    expect(answer.begun).toBe(false);
    answer.takeWhole({ type: 'text', text: 'Done.' });
    expect(answer.begun).toBe(true);
  });

  test('that hangs ends with the abort', async () => {
    const controller = new AbortController();
    const model = {
      ...scriptedModel([]),
      doGenerate: () => {
        controller.abort('why');
        return new Promise<never>(() => {});
      },
    };
    const failure = await failureOf(modelOf(model).whole.call(request({ abortSignal: controller.signal })));
    expect(failure).toMatchObject({ message: 'The model call was aborted.', cause: 'why' });
  });
});
