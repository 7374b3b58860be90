import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { isJson } from '../core/json.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { modelOf } from './ai-sdk.ts';
import type { LanguageModelObject } from './ai-sdk-types.ts';
import { answerTo, contentOf, failureOf, request } from './test-support/requests.ts';

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
    vi.stubGlobal('AI_SDK_LOG_WARNINGS', false);
    onTestFinished(() => void vi.unstubAllGlobals());
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
