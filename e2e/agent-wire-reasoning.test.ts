/** What a provider sent with its reasoning must come back unchanged after the pause, in any process. */
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../src/core/json.ts';
import { type Answer, openWire, type Wire } from './support/wire.ts';
import { type Desk, openDesk, requestsOf, settings } from './support/wire-desk.ts';
import type { Item } from './support/wire-formats.ts';
import { anthropic, openAiResponses } from './support/wire-providers.ts';

const refund = { id: 'call_1', name: 'refund', arguments: '{"order":7,"amount":40}' };
const again = { id: 'call_2', name: 'refund', arguments: '{"order":8,"amount":1}' };
const thinking: Answer = { reasoning: 'It is order 7.', reasoningSignature: 'signed-1', toolCalls: [refund] };
const more: Answer = { reasoning: 'And order 8.', reasoningSignature: 'signed-2', toolCalls: [again] };
const answer: Answer = { content: 'That is settled.' };

describe.each(settings)('$name', (setting) => {
  test('anthropic: thinking keeps its signature and its place, over two pauses', async () => {
    const wire = await openWire([thinking, more, answer]);
    const desk = openDesk(setting, () => anthropic.model(wire.connection));
    const { runId } = await desk.start('Refund order 7.', {
      providerOptions: { anthropic: { thinking: { type: 'enabled', budgetTokens: 1024 } } },
    });
    await desk.approve(runId);
    await desk.decline(runId, { reason: 'Once is enough.' });
    await requestsOf(wire, anthropic);
    expect(wire.sent).toHaveLength(3);
    for (const { thinking: asked } of wire.sent) {
      expect(asked).toEqual({ type: 'enabled', budget_tokens: 1024 });
    }
    const messages = wire.sent.at(-1)?.messages as unknown as { content: Item[] }[];
    expect(messages[1]?.content).toEqual([
      { type: 'thinking', thinking: 'It is order 7.', signature: 'signed-1' },
      { type: 'tool_use', id: 'call_1', name: 'refund', input: { order: 7, amount: 40 } },
    ]);
    expect(messages[3]?.content).toEqual([
      { type: 'thinking', thinking: 'And order 8.', signature: 'signed-2' },
      { type: 'tool_use', id: 'call_2', name: 'refund', input: { order: 8, amount: 1 } },
    ]);
  });

  const responses = async (store: boolean): Promise<{ desk: Desk; wire: Wire; input: Item[] }> => {
    const wire = await openWire([{ reasoning: 'It is order 7.', toolCalls: [refund] }, answer]);
    const desk = openDesk(setting, () => openAiResponses.model(wire.connection));
    const { runId } = await desk.start('Refund order 7.', { providerOptions: { openai: { store } } });
    await desk.approve(runId);
    await requestsOf(wire, openAiResponses);
    expect(wire.sent).toHaveLength(2);
    return { desk, wire, input: (wire.sent.at(-1) as JsonObject).input as unknown as Item[] };
  };

  test('openai responses: reasoning that OpenAI stores is referred to, before its call', async () => {
    const { input } = await responses(true);
    expect(input.map(({ type, role }) => type ?? role)).toEqual([
      'developer',
      'user',
      'item_reference',
      'function_call',
      'function_call_output',
    ]);
    expect(input[2]?.id).toMatch(/^rs[-_]/);
  });

  test('openai responses: reasoning that nobody stores goes back encrypted, before its call', async () => {
    const { input, wire } = await responses(false);
    const [first] = await wire.received();
    expect(wire.sent.map(({ include }) => include)).toEqual([
      ['reasoning.encrypted_content'],
      ['reasoning.encrypted_content'],
    ]);
    expect(input.slice(2)).toMatchObject([
      {
        type: 'reasoning',
        id: expect.stringMatching(/^rs[-_]/),
        encrypted_content: expect.stringMatching(/./),
        summary: [{ type: 'summary_text', text: 'It is order 7.' }],
      },
      { type: 'function_call', call_id: 'call_1' },
      { type: 'function_call_output', call_id: 'call_1' },
    ]);
    expect(first).toContain(`"encrypted_content":"${input[2]?.encrypted_content}"`);
    expect(input.some(({ type }) => type === 'item_reference')).toBe(false);
  });
});
