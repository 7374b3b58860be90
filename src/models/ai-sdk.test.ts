import { readFileSync } from 'node:fs';
import { APICallError, jsonSchema } from 'ai';
import { describe, expect, test } from 'vitest';
import { isCountersignError } from '../core/errors.ts';
import { isJson } from '../core/json.ts';
import type { ModelRequest, ModelResponse, ResponseDelta, ToolDescription } from '../core/model.ts';
import { type ScriptedModelOptions, type ScriptStep, scriptedModel } from '../testing/scripted-model.ts';
import { messagesFromUi, modelOf } from './ai-sdk.ts';
import type { LanguageModelObject, StreamPartV4 } from './ai-sdk-types.ts';

const weather: ToolDescription = {
  name: 'weather',
  description: 'Tells the weather.',
  inputSchema: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  },
};

function request(over: Partial<ModelRequest> = {}): ModelRequest & { deltas: ResponseDelta[] } {
  const deltas: ResponseDelta[] = [];
  return {
    messages: [{ role: 'user', content: 'Hi' }],
    tools: [weather],
    maxRetries: 0,
    abortSignal: new AbortController().signal,
    onDelta: (delta) => deltas.push(delta),
    deltas,
    ...over,
  };
}

async function answerTo(
  step: ScriptStep,
  over: Partial<ModelRequest> = {},
  options?: ScriptedModelOptions,
): Promise<ModelResponse> {
  return modelOf(scriptedModel([step], options)).call(request(over));
}

async function contentOf(...parts: StreamPartV4[]): Promise<ModelResponse['content']> {
  return (await answerTo({ parts })).content;
}

async function failureOf(promise: Promise<unknown>): Promise<Error & { code?: string; cause?: unknown }> {
  return promise.then(
    () => expect.unreachable(),
    (thrown) => thrown,
  );
}

describe('what a model wrote', () => {
  test('text: deltas while it streams, one part, usage and metadata', async () => {
    const asked = request();
    const response = await modelOf(scriptedModel(['Hello big world'])).call(asked);
    expect(response).toEqual({
      content: [{ type: 'text', text: 'Hello big world' }],
      finishReason: 'stop',
      usage: {
        inputTokens: 10,
        outputTokens: 5,
        totalTokens: 15,
        inputTokenDetails: { noCacheTokens: 10 },
        outputTokenDetails: { textTokens: 5 },
      },
      response: { id: 'response-0', modelId: 'scripted', timestamp: '1970-01-01T00:00:00.000Z' },
    });
    expect(asked.deltas).toEqual([
      { type: 'text-start', payload: { id: 'text-0' } },
      { type: 'text-delta', payload: { id: 'text-0', text: 'Hello ' } },
      { type: 'text-delta', payload: { id: 'text-0', text: 'big ' } },
      { type: 'text-delta', payload: { id: 'text-0', text: 'world' } },
      { type: 'text-end', payload: { id: 'text-0' } },
    ]);
  });

  test('calls: their input streams, and the arguments come back as written', async () => {
    const asked = request();
    const step = { calls: [{ toolName: 'weather', args: { city: 'Graz', extra: [1] } }] };
    const response = await modelOf(scriptedModel([step])).call(asked);
    expect(response.finishReason).toBe('tool-calls');
    expect(response.content).toEqual([
      { type: 'call', toolCallId: 'call-0-0', toolName: 'weather', raw: { city: 'Graz', extra: [1] } },
    ]);
    expect(asked.deltas).toEqual([
      { type: 'tool-call-input-streaming-start', payload: { toolCallId: 'call-0-0', toolName: 'weather' } },
      {
        type: 'tool-call-delta',
        payload: { toolCallId: 'call-0-0', argsTextDelta: '{"city":"Graz","extra":[1]}' },
      },
      { type: 'tool-call-input-streaming-end', payload: { toolCallId: 'call-0-0' } },
    ]);
  });

  test.each([
    ['{"city": 7}', { raw: { city: 7 } }],
    ['[1, 2]', { raw: [1, 2] }],
    ['"text"', { raw: 'text' }],
    ['null', { raw: null }],
    ['', { raw: {} }],
    ['  ', { raw: {} }],
    ['{"city": ', { raw: '{"city": ', unparsable: true }],
    ['{"__proto__": {"admin": true}}', { raw: '{"__proto__": {"admin": true}}', unparsable: true }],
  ])('arguments %j of a known tool', async (argsText, expected) => {
    const { content } = await answerTo({ calls: [{ toolName: 'weather', argsText }] });
    expect(content).toEqual([{ type: 'call', toolCallId: 'call-0-0', toolName: 'weather', ...expected }]);
  });

  test.each([
    ['{"a": 1}', { raw: { a: 1 } }],
    ['', { raw: {} }],
    ['{', { raw: '{', unparsable: true }],
  ])('arguments %j of a tool that there is not', async (argsText, expected) => {
    const step = { calls: [{ toolName: 'toString', argsText }] };
    const call = { type: 'call', toolCallId: 'call-0-0', toolName: 'toString', ...expected };
    expect((await answerTo(step)).content).toEqual([call]);
    expect((await answerTo(step, { tools: [] })).content).toEqual([call]);
  });

  test('parts stay in their order, interleaved deltas are merged, and empty text is dropped', async () => {
    const content = await contentOf(
      { type: 'text-start', id: 'empty' },
      { type: 'text-start', id: 'a' },
      { type: 'text-start', id: 'b' },
      { type: 'text-delta', id: 'b', delta: 'B1 ' },
      { type: 'text-delta', id: 'a', delta: 'A1 ' },
      { type: 'text-delta', id: 'b', delta: 'B2' },
      { type: 'text-end', id: 'b' },
      { type: 'text-delta', id: 'a', delta: 'A2' },
      { type: 'text-end', id: 'a' },
      { type: 'text-end', id: 'empty' },
      { type: 'text-start', id: 'a' },
      { type: 'text-delta', id: 'a', delta: 'again' },
      { type: 'text-end', id: 'a' },
    );
    expect(content).toEqual([
      { type: 'text', text: 'A1 A2' },
      { type: 'text', text: 'B1 B2' },
      { type: 'text', text: 'again' },
    ]);
  });

  test('reasoning keeps what its provider must see again', async () => {
    const asked = request();
    const { content } = await modelOf(scriptedModel([{ reasoning: 'Hm, well', text: 'Yes.' }])).call(asked);
    const scripted = { signature: 'signature-0' };
    expect(content).toEqual([
      { type: 'reasoning', text: 'Hm, well', providerOptions: { scripted } },
      { type: 'text', text: 'Yes.' },
    ]);
    expect(asked.deltas.find((delta) => delta.type === 'reasoning-end')?.payload).toEqual({
      id: 'reasoning-0',
      providerMetadata: { scripted },
    });
  });

  test('files, sources and custom parts, as JSON', async () => {
    const content = await contentOf(
      { type: 'file', mediaType: 'text/plain', data: { type: 'data', data: new Uint8Array([104, 105]) } },
      {
        type: 'reasoning-file',
        mediaType: 'image/png',
        data: { type: 'data', data: 'aGk=' },
        providerMetadata: { p: { a: 1 } },
      },
      { type: 'source', sourceType: 'url', id: 's1', url: 'https://example.com' },
      { type: 'custom', kind: 'p.thing', providerMetadata: { p: { b: 2 } } },
    );
    expect(content).toEqual([
      { type: 'file', data: 'aGk=', mediaType: 'text/plain' },
      {
        type: 'reasoning-file',
        data: 'aGk=',
        mediaType: 'image/png',
        providerOptions: { p: { a: 1 } },
      },
      { type: 'source', sourceType: 'url', id: 's1', url: 'https://example.com' },
      { type: 'custom', kind: 'p.thing', providerOptions: { p: { b: 2 } } },
    ]);
    expect(isJson(content)).toBe(true);
  });

  test('calls that the provider ran, with result and error; a later result replaces a preliminary one', async () => {
    const ran = { type: 'tool-call', toolName: 'search', providerExecuted: true, dynamic: true } as const;
    const content = await contentOf(
      { ...ran, toolCallId: 's1', input: '{"q":"x"}', providerMetadata: { p: { item: 1 } } },
      { type: 'tool-result', toolCallId: 's1', toolName: 'search', result: 'half', preliminary: true },
      { ...ran, toolCallId: 's2', input: '{' },
      { type: 'tool-result', toolCallId: 's1', toolName: 'search', result: { hits: 2 } },
      { type: 'tool-result', toolCallId: 's2', toolName: 'search', result: 'broken', isError: true },
    );
    expect(content).toEqual([
      {
        type: 'provider-call',
        toolCallId: 's1',
        toolName: 'search',
        raw: { q: 'x' },
        providerOptions: { p: { item: 1 } },
      },
      { type: 'provider-result', toolCallId: 's1', toolName: 'search', result: { hits: 2 } },
      { type: 'provider-call', toolCallId: 's2', toolName: 'search', raw: {} },
      { type: 'provider-result', toolCallId: 's2', toolName: 'search', result: 'broken', isError: true },
    ]);
  });

  test('a call that the provider asks about is a call of ours, in its place', async () => {
    const content = await contentOf(
      {
        type: 'tool-call',
        toolCallId: 'm1',
        toolName: 'mcp.delete',
        input: '{"id":1}',
        providerExecuted: true,
        dynamic: true,
      },
      { type: 'text-start', id: 't' },
      { type: 'text-delta', id: 't', delta: 'May I?' },
      { type: 'text-end', id: 't' },
      { type: 'tool-approval-request', approvalId: 'a1', toolCallId: 'm1' },
    );
    expect(content).toEqual([
      { type: 'call', toolCallId: 'm1', toolName: 'mcp.delete', raw: { id: 1 }, approvalId: 'a1' },
      { type: 'text', text: 'May I?' },
    ]);
  });

  test('warnings', async () => {
    const warnings = [{ type: 'unsupported', feature: 'seed' } as const];
    expect((await answerTo({ parts: [{ type: 'stream-start', warnings }] })).warnings).toEqual(warnings);
  });

  test('models of the older specifications', async () => {
    const usage = { inputTokens: 1, outputTokens: 2, totalTokens: 3 };
    const older = (specificationVersion: string, finish: object): LanguageModelObject =>
      ({
        ...scriptedModel([]),
        specificationVersion,
        doStream: async () => ({
          stream: ReadableStream.from([
            { type: 'stream-start', warnings: [] },
            { type: 'tool-call', toolCallId: 'c1', toolName: 'weather', input: '{"city":"Graz"}' },
            { type: 'finish', ...finish },
          ]),
        }),
      }) as never;
    const two = older('v2', { finishReason: 'tool-calls', usage });
    const three = older('v3', {
      finishReason: { unified: 'tool-calls', raw: 'tool_calls' },
      usage: { inputTokens: { total: 1 }, outputTokens: { total: 2 } },
    });
    for (const model of [two, three]) {
      const response = await modelOf(model).call(request());
      expect(response.content).toEqual([
        { type: 'call', toolCallId: 'c1', toolName: 'weather', raw: { city: 'Graz' } },
      ]);
      expect(response.finishReason).toBe('tool-calls');
      expect(response.usage).toMatchObject(usage);
    }
  });

  test('a model of an unknown specification', async () => {
    const model = { ...scriptedModel([]), specificationVersion: 'v9' } as never;
    expect((await failureOf(modelOf(model).call(request()))).message).toContain('v9');
  });
});

describe('what the model is given', () => {
  test('prompt, tools, choice, settings and options', async () => {
    const model = scriptedModel([{ calls: [{ toolName: 'weather', args: {} }] }]);
    const provider = { type: 'provider', id: 'p.search', args: { depth: 2 }, inputSchema: jsonSchema({}) };
    await modelOf(model).call(
      request({
        messages: [
          { role: 'system', content: 'Remember.' },
          { role: 'user', content: 'Hi' },
        ],
        instructions: 'Be brief.',
        tools: [
          {
            ...weather,
            strict: true,
            inputExamples: [{ input: { city: 'Graz' } }],
            providerOptions: { p: { c: 1 } },
          },
          { name: 'search', inputSchema: {}, provider },
          { name: '__proto__', inputSchema: { type: 'object' } },
        ],
        toolChoice: { type: 'tool', toolName: 'weather' },
        settings: { temperature: 0.5, maxOutputTokens: 9, prompt: 'Ignore all.', headers: { 'x-a': 'b' } },
        providerOptions: { p: { d: 1 } },
      }),
    );
    const [call] = model.calls;
    expect(call?.prompt).toMatchObject([
      { role: 'system', content: 'Be brief.' },
      { role: 'system', content: 'Remember.' },
      { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
    ]);
    expect(call?.tools).toEqual([
      {
        type: 'function',
        name: 'weather',
        description: 'Tells the weather.',
        inputSchema: weather.inputSchema,
        inputExamples: [{ input: { city: 'Graz' } }],
        providerOptions: { p: { c: 1 } },
        strict: true,
      },
      { type: 'provider', name: 'search', id: 'p.search', args: { depth: 2 } },
      { type: 'function', name: '__proto__', inputSchema: { type: 'object' } },
    ]);
    expect(call).toMatchObject({
      toolChoice: { type: 'tool', toolName: 'weather' },
      temperature: 0.5,
      maxOutputTokens: 9,
      headers: { 'x-a': 'b' },
      providerOptions: { p: { d: 1 } },
    });
  });

  test("a provider's own tool does not validate either", async () => {
    const provider = {
      type: 'provider',
      id: 'p.bash',
      args: {},
      inputSchema: jsonSchema({}, { validate: () => ({ success: false, error: new Error('no') }) }),
      execute: () => expect.unreachable(),
    };
    const { content } = await answerTo(
      { calls: [{ toolName: 'bash', args: { command: 'ls' } }] },
      { tools: [{ name: 'bash', inputSchema: {}, provider }] },
    );
    expect(content).toEqual([
      { type: 'call', toolCallId: 'call-0-0', toolName: 'bash', raw: { command: 'ls' } },
    ]);
  });

  test('UI messages become messages', async () => {
    const messages = await messagesFromUi([
      { role: 'user', parts: [{ type: 'text', text: 'Hi' }] },
      { role: 'assistant', parts: [{ type: 'text', text: 'Hello' }] },
    ]);
    expect(messages).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
      { role: 'assistant', content: [{ type: 'text', text: 'Hello' }] },
    ]);
  });
});

const overloaded = (headers: Record<string, string> = {}): APICallError =>
  new APICallError({
    message: 'Overloaded',
    url: 'http://provider',
    requestBodyValues: { secret: 'of the prompt' },
    statusCode: 529,
    responseHeaders: headers,
  });

function slept(): { sleep: (milliseconds: number) => Promise<void>; times: number[] } {
  const times: number[] = [];
  return { times, sleep: async (milliseconds) => void times.push(milliseconds) };
}

describe('failures', () => {
  test.each<[string, ScriptStep, string]>([
    ['a thrown error', { error: overloaded() }, 'The model call failed (HTTP 529): Overloaded'],
    ['an error part', { text: 'Well', error: overloaded() }, 'The model call failed (HTTP 529): Overloaded'],
    ['an error part that is text', { text: 'Well', error: 'broken' }, 'The model call failed: broken'],
    [
      'an end by error',
      { text: 'Well', finishReason: 'error' },
      'The model ended its response with an error.',
    ],
    [
      'an end without completion',
      { text: 'Well', finishReason: 'interrupted' },
      'The response of the model ended before it was complete.',
    ],
  ])('%s', async (_, step, message) => {
    const failure = await failureOf(answerTo(step));
    expect(isCountersignError(failure, 'model-failed')).toBe(true);
    expect(failure.message).toBe(message);
  });

  test('the cause is kept, the prompt is not told', async () => {
    const cause = overloaded();
    const failure = await failureOf(answerTo({ error: cause }));
    expect(failure.cause).toBe(cause);
    expect(JSON.stringify(failure)).not.toContain('secret');
  });

  test('an error of the SDK that quotes is told by its name only', async () => {
    const cause = Object.assign(new Error('Type validation failed: Value: {"secret":1}'), {
      name: 'AI_TypeValidationError',
    });
    const failure = await failureOf(answerTo({ error: cause }));
    expect(failure.message).toBe('The model call failed: TypeValidationError.');
  });

  test('a stream that ends without a word', async () => {
    const model = {
      ...scriptedModel(['x']),
      doStream: async () => ({ stream: ReadableStream.from<StreamPartV4>([]) }),
    };
    const failure = await failureOf(modelOf(model).call(request()));
    expect(failure.message).toBe('The response of the model ended before it was complete.');
  });

  test.each(['required', { type: 'tool', toolName: 'weather' }] as const)(
    'no call where %j',
    async (toolChoice) => {
      const failure = await failureOf(answerTo('No.', { toolChoice }));
      expect(failure.code).toBe('model-failed');
      expect(failure.message).toContain('did not contain a');
    },
  );

  test('a call where none may be', async () => {
    const step = { calls: [{ toolName: 'weather', args: {} }] };
    const asked = request({ toolChoice: 'none' });
    const failure = await failureOf(modelOf(scriptedModel([step])).call(asked));
    expect(failure.code).toBe('model-failed');
    expect(asked.deltas).toEqual([]);
  });

  test('a prompt that breaks the rules', async () => {
    const failure = await failureOf(answerTo('x', { messages: [{ role: 'assistant', content: 'Hi' }] }));
    expect(failure.message).toContain('user-first: the conversation begins with a message of the assistant');
  });
});

describe('retries', () => {
  test('overloaded, then success', async () => {
    const { sleep, times } = slept();
    const model = scriptedModel([{ error: overloaded() }, { error: overloaded() }, 'Done.']);
    const response = await modelOf(model, { sleep }).call(request({ maxRetries: 2 }));
    expect(response.content).toEqual([{ type: 'text', text: 'Done.' }]);
    expect(times).toEqual([2000, 4000]);
  });

  test('as often as allowed and no more', async () => {
    const { sleep, times } = slept();
    const model = scriptedModel(() => ({ error: overloaded() }));
    const failure = await failureOf(modelOf(model, { sleep }).call(request({ maxRetries: 3 })));
    expect(failure.message).toContain('HTTP 529');
    expect(times).toEqual([2000, 4000, 8000]);
    expect(model.calls).toHaveLength(4);
  });

  test('an error part before any output is tried again too', async () => {
    const { sleep, times } = slept();
    const early = { parts: [{ type: 'error', error: overloaded({ 'retry-after': '7' }) }] } as const;
    const response = await modelOf(scriptedModel([early, 'Done.']), { sleep }).call(
      request({ maxRetries: 1 }),
    );
    expect(response.content).toEqual([{ type: 'text', text: 'Done.' }]);
    expect(times).toEqual([7000]);
  });

  test('never after something was passed on', async () => {
    const { sleep, times } = slept();
    const model = scriptedModel([{ text: 'Well', error: overloaded() }, 'Done.']);
    const asked = request({ maxRetries: 2 });
    const failure = await failureOf(modelOf(model, { sleep }).call(asked));
    expect(failure.message).toContain('HTTP 529');
    expect(asked.deltas).toHaveLength(3);
    expect(times).toEqual([]);
    expect(model.calls).toHaveLength(1);
  });

  test('what is not retryable is not tried again', async () => {
    const { sleep, times } = slept();
    const model = scriptedModel([{ error: new Error('no') }, 'Done.']);
    await failureOf(modelOf(model, { sleep }).call(request({ maxRetries: 2 })));
    expect(times).toEqual([]);
    expect(model.calls).toHaveLength(1);
  });
});

describe('abort', () => {
  test('before the call', async () => {
    const model = scriptedModel(['x']);
    const failure = await failureOf(modelOf(model).call(request({ abortSignal: AbortSignal.abort('why') })));
    expect(failure).toMatchObject({
      code: 'model-failed',
      message: 'The model call was aborted.',
      cause: 'why',
    });
    expect(model.calls).toEqual([]);
  });

  test('while a model that does not listen has not answered', async () => {
    const controller = new AbortController();
    const model = {
      ...scriptedModel([]),
      doStream: () => {
        controller.abort('why');
        return new Promise<never>(() => {});
      },
    };
    const failure = await failureOf(modelOf(model).call(request({ abortSignal: controller.signal })));
    expect(failure).toMatchObject({ message: 'The model call was aborted.', cause: 'why' });
  });

  test('an answer that comes after the abort is cancelled', async () => {
    const controller = new AbortController();
    let cancel = (): void => {};
    const cancelled = new Promise<void>((resolve) => {
      cancel = resolve;
    });
    const stream = new ReadableStream<StreamPartV4>({ cancel });
    let answer = (_: { stream: ReadableStream<StreamPartV4> }): void => {};
    const model = {
      ...scriptedModel([]),
      doStream: () => {
        controller.abort('why');
        return new Promise<{ stream: ReadableStream<StreamPartV4> }>((resolve) => {
          answer = resolve;
        });
      },
    };
    await failureOf(modelOf(model).call(request({ abortSignal: controller.signal })));
    answer({ stream });
    await cancelled;
  });

  test('while the stream hangs: it is cancelled', async () => {
    const controller = new AbortController();
    let cancel = (): void => {};
    const cancelled = new Promise<void>((resolve) => {
      cancel = resolve;
    });
    const stream = new ReadableStream<StreamPartV4>({
      start(stream) {
        stream.enqueue({ type: 'text-start', id: 't' });
      },
      cancel,
    });
    const model = { ...scriptedModel([]), doStream: async () => ({ stream }) };
    const asked = request({ abortSignal: controller.signal, onDelta: () => controller.abort('why') });
    expect(await failureOf(modelOf(model).call(asked))).toMatchObject({
      message: 'The model call was aborted.',
    });
    await cancelled;
  });

  test('while it waits for a retry', async () => {
    const controller = new AbortController();
    const sleep = (_: number, signal: AbortSignal): Promise<never> =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
        controller.abort('why');
      });
    const model = scriptedModel([{ error: overloaded() }, 'x']);
    const asked = request({ maxRetries: 5, abortSignal: controller.signal });
    expect(await failureOf(modelOf(model, { sleep }).call(asked))).toMatchObject({
      message: 'The model call was aborted.',
      cause: 'why',
    });
    expect(model.calls).toHaveLength(1);
  });
});

describe('loading', () => {
  test('an id is loaded with the first call, once', async () => {
    const names: string[] = [];
    const load = async (name: string): Promise<unknown> => {
      names.push(name);
      return { openai: () => scriptedModel(['One.', 'Two.']) };
    };
    const model = modelOf('openai/gpt-5-mini', { load, env: { OPENAI_API_KEY: 'key' } });
    expect(model.modelId).toBe('openai/gpt-5-mini');
    expect(names).toEqual([]);
    await model.call(request());
    expect((await model.call(request())).content).toEqual([{ type: 'text', text: 'Two.' }]);
    expect(names).toEqual(['@ai-sdk/openai']);
  });

  test('an id that cannot be loaded says so, without retries', async () => {
    const failure = await failureOf(modelOf('nobody/x').call(request({ maxRetries: 2 })));
    expect(failure.code).toBe('model-unavailable');
  });

  test('no file of this layer imports ai by value when it is loaded', () => {
    const source = readFileSync(new URL('./ai-sdk.ts', import.meta.url), 'utf8');
    expect(source.match(/^import (?!type).* from 'ai';$/gm)).toBeNull();
  });
});
