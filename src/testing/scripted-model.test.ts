import { generateText, jsonSchema, streamText, tool } from 'ai';
import { describe, expect, test } from 'vitest';
import type { CallOptionsV4, PromptV4, StreamPartV4 } from '../models/ai-sdk-types.ts';
import { type ScriptedModel, scriptedModel } from './scripted-model.ts';

const prompt: PromptV4 = [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }];

async function partsOf(model: ScriptedModel, over: Partial<CallOptionsV4> = {}): Promise<StreamPartV4[]> {
  const { stream } = await model.doStream({ prompt, ...over });
  const parts: StreamPartV4[] = [];
  for await (const part of stream) parts.push(part);
  return parts;
}

describe('scriptedModel', () => {
  test('streams the parts that a provider streams', async () => {
    const model = scriptedModel([
      { reasoning: 'Hm.', text: 'Two words', calls: [{ toolName: 'refund', args: { id: 1 } }] },
    ]);
    expect(await partsOf(model)).toEqual([
      { type: 'stream-start', warnings: [] },
      { type: 'response-metadata', id: 'response-0', modelId: 'scripted', timestamp: new Date(0) },
      { type: 'reasoning-start', id: 'reasoning-0' },
      { type: 'reasoning-delta', id: 'reasoning-0', delta: 'Hm.' },
      {
        type: 'reasoning-end',
        id: 'reasoning-0',
        providerMetadata: { scripted: { signature: 'signature-0' } },
      },
      { type: 'text-start', id: 'text-0' },
      { type: 'text-delta', id: 'text-0', delta: 'Two ' },
      { type: 'text-delta', id: 'text-0', delta: 'words' },
      { type: 'text-end', id: 'text-0' },
      { type: 'tool-input-start', id: 'call-0-0', toolName: 'refund' },
      { type: 'tool-input-delta', id: 'call-0-0', delta: '{"id":1}' },
      { type: 'tool-input-end', id: 'call-0-0' },
      { type: 'tool-call', toolCallId: 'call-0-0', toolName: 'refund', input: '{"id":1}' },
      expect.objectContaining({ type: 'finish', finishReason: { unified: 'tool-calls', raw: 'tool-calls' } }),
    ]);
  });

  test('answers in order, with raw arguments, ids, usage and finish reasons as written', async () => {
    const model = scriptedModel([
      { calls: [{ toolName: 'a', argsText: '{"broken', toolCallId: 'mine' }, { toolName: 'b' }] },
      { text: 'Cut', finishReason: 'length', usage: { inputTokens: 1, outputTokens: 2 } },
    ]);
    const calls = (await partsOf(model)).filter((part) => part.type === 'tool-call');
    expect(calls).toEqual([
      { type: 'tool-call', toolCallId: 'mine', toolName: 'a', input: '{"broken' },
      { type: 'tool-call', toolCallId: 'call-0-1', toolName: 'b', input: '{}' },
    ]);
    expect((await partsOf(model)).at(-1)).toMatchObject({
      finishReason: { unified: 'length' },
      usage: { inputTokens: { total: 1 }, outputTokens: { total: 2 } },
    });
  });

  test('records what it was given', async () => {
    const model = scriptedModel(['One.', 'Two.']);
    await partsOf(model, { toolChoice: { type: 'none' } });
    await model.doGenerate({ prompt, seed: 7 });
    expect(model.calls).toEqual([
      { prompt, toolChoice: { type: 'none' } },
      { prompt, seed: 7 },
    ]);
  });

  test('a script may be a function of the prompt', async () => {
    const model = scriptedModel(async (given, index, tools) => `${given.length} ${index} ${tools.length}`);
    await partsOf(model);
    const { content } = await model.doGenerate({
      prompt,
      tools: [{ type: 'function', name: 'a', inputSchema: {} }],
    });
    expect(content).toEqual([{ type: 'text', text: '1 1 1' }]);
  });

  test('running out of script is an error', async () => {
    const model = scriptedModel(['One.']);
    await partsOf(model);
    await expect(partsOf(model)).rejects.toThrow('The script has 1 answers, and this is model call 1');
    await expect(partsOf(scriptedModel(() => undefined as never))).rejects.toThrow('returned nothing');
  });

  test('an error comes before the stream, or after the other parts of its step', async () => {
    const error = new Error('broken');
    const model = scriptedModel([{ error }, { text: 'Well', error }, { text: 'Well', error }]);
    await expect(model.doStream({ prompt })).rejects.toBe(error);
    const parts = await partsOf(model);
    expect(parts.map((part) => part.type)).toEqual([
      'stream-start',
      'response-metadata',
      'text-start',
      'text-delta',
      'text-end',
      'error',
    ]);
    await expect(model.doGenerate({ prompt })).rejects.toBe(error);
  });

  test('waits for delayUntil, or for the abort', async () => {
    let release = (): void => {};
    const delayUntil = new Promise<void>((resolve) => {
      release = resolve;
    });
    const model = scriptedModel([
      { text: 'Late.', delayUntil },
      { text: 'Never.', delayUntil: new Promise(() => {}) },
    ]);
    const late = partsOf(model);
    release();
    expect(await late).toHaveLength(6);
    const controller = new AbortController();
    const never = partsOf(model, { abortSignal: controller.signal });
    controller.abort(new Error('why'));
    await expect(never).rejects.toThrow('why');
  });

  test('an abort ends the stream', async () => {
    const controller = new AbortController();
    const { stream } = await scriptedModel(['One two']).doStream({ prompt, abortSignal: controller.signal });
    const reader = stream.getReader();
    await reader.read();
    controller.abort(new Error('why'));
    await expect(
      (async () => {
        while (!(await reader.read()).done);
      })(),
    ).rejects.toThrow('why');
  });

  test('refuses a prompt that breaks the rules, unless told not to', async () => {
    const bad: PromptV4 = [{ role: 'assistant', content: [{ type: 'text', text: 'Hi' }] }];
    await expect(scriptedModel(['x']).doStream({ prompt: bad })).rejects.toThrow(
      'The prompt of model call 0 breaks rules of providers: user-first: ',
    );
    const first: PromptV4 = [...bad, ...prompt];
    await expect(scriptedModel(['x'], { check: 'google' }).doStream({ prompt: first })).rejects.toThrow(
      'user-first',
    );
    await scriptedModel(['x'], { check: 'openai' }).doStream({ prompt: first });
    await scriptedModel(['x'], { check: false }).doStream({ prompt: bad });
  });

  test('its reasoning must come back with the signature', async () => {
    const model = scriptedModel([{ reasoning: 'Hm.', text: 'One.' }, 'Two.', 'Three.']);
    await partsOf(model);
    const withReasoning = (part: object): PromptV4 => [
      ...prompt,
      { role: 'assistant', content: [{ type: 'reasoning', text: 'Hm.', ...part }] },
      ...prompt,
    ];
    await partsOf(model, {
      prompt: withReasoning({ providerOptions: { scripted: { signature: 'signature-0' } } }),
    });
    await expect(partsOf(model, { prompt: withReasoning({}) })).rejects.toThrow(
      'lost its scripted signature',
    );
  });

  test('further parts are streamed as they are', async () => {
    const source = { type: 'source', sourceType: 'url', id: 's', url: 'https://example.com' } as const;
    expect(await partsOf(scriptedModel([{ parts: [source] }]))).toContainEqual(source);
    expect((await scriptedModel([{ parts: [source] }]).doGenerate({ prompt })).content).toEqual([source]);
  });
});

test('generateText and streamText of the AI SDK run with it', async () => {
  const refund = tool({ inputSchema: jsonSchema({ type: 'object' }), execute: async () => 'refunded' });
  const model = scriptedModel([
    { reasoning: 'Hm.', calls: [{ toolName: 'refund', args: { id: 1 } }] },
    'One.',
  ]);
  const generated = await generateText({ model, prompt: 'Hi', tools: { refund }, stopWhen: () => false });
  expect(generated.text).toBe('One.');
  expect(generated.totalUsage).toMatchObject({ inputTokens: 20, outputTokens: 10 });
  expect(generated.steps[0]?.reasoningText).toBe('Hm.');
  const streamed = streamText({ model: scriptedModel(['Two.']), prompt: 'Hi' });
  expect(await streamed.text).toBe('Two.');
});
