import { readFileSync } from 'node:fs';
import { jsonSchema } from 'ai';
import { describe, expect, test } from 'vitest';
import type { Message } from '../core/message.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { messagesFromUi, modelOf } from './ai-sdk.ts';
import { answerTo, failureOf, request, weather } from './test-support/requests.ts';

describe('what the model is given', () => {
  test('of texts the same, however they are written', async () => {
    const providerOptions = { p: { cache: true } };
    const text = { type: 'text', text: 'Hi' };
    const messages: Message[] = [
      { role: 'user', content: [text] },
      { role: 'assistant', content: [text], providerOptions },
      { role: 'user', content: [text, text] },
      { role: 'assistant', content: [{ ...text, providerOptions }] },
      { role: 'user', content: 'Hi' },
    ];
    const model = scriptedModel(['Ho']);
    await modelOf(model).call(request({ messages }));
    const asParts = messages.map((message) =>
      typeof message.content === 'string' ? { ...message, content: [text] } : message,
    );
    expect(model.calls[0]?.prompt).toEqual(asParts);
  });

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

  test('ai itself is imported with the first call only', () => {
    const source = readFileSync(new URL('./ai-sdk.ts', import.meta.url), 'utf8');
    expect(source.match(/^import (?!type).* from 'ai';$/gm)).toBeNull();
  });
});
