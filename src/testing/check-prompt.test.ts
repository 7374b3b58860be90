import { describe, expect, test } from 'vitest';
import type { MessageV4, PromptV4 } from '../models/ai-sdk-types.ts';
import { checkPrompt, type PromptRuleName, type PromptRules, promptRules } from './check-prompt.ts';

const user: MessageV4 = { role: 'user', content: [{ type: 'text', text: 'Hi' }] };
const system: MessageV4 = { role: 'system', content: 'Be brief.' };
const text = { type: 'text', text: 'Well.' } as const;

type Assistant = Extract<MessageV4, { role: 'assistant' }>;
type Tool = Extract<MessageV4, { role: 'tool' }>;

const call = (toolCallId: string, over: object = {}): Assistant['content'][number] => ({
  type: 'tool-call',
  toolCallId,
  toolName: 'refund',
  input: { id: 1 },
  ...over,
});
const result = (
  toolCallId: string,
  over: object = {},
): Extract<Tool['content'][number], { type: 'tool-result' }> => ({
  type: 'tool-result',
  toolCallId,
  toolName: 'refund',
  output: { type: 'text', value: 'done' },
  ...over,
});
const assistant = (...content: Assistant['content']): Assistant => ({ role: 'assistant', content });
const results = (...content: Tool['content']): Tool => ({ role: 'tool', content });
const reasoning = (providerOptions?: Assistant['providerOptions']): Assistant['content'][number] => ({
  type: 'reasoning',
  text: 'Hm.',
  ...(providerOptions ? { providerOptions } : {}),
});
const approval = (approvalId: string): Tool['content'][number] => ({
  type: 'tool-approval-response',
  approvalId,
  approved: true,
});
const byProvider = { providerExecuted: true };

/** A prompt with everything that may stand in one. */
const whole: PromptV4 = [
  system,
  user,
  assistant(text, call('1'), call('2')),
  results(
    result('1', { output: { type: 'error-text', value: 'no' } }),
    result('2', { output: { type: 'execution-denied', reason: 'no' } }),
  ),
  assistant(call('3', byProvider), result('3'), text),
  user,
  assistant(call('4')),
  results(result('4')),
  assistant(call('5', byProvider)),
  results(approval('a')),
];

/** For each rule a prompt that keeps it where it matters, and prompts that break it and nothing else. */
const cases: Record<
  PromptRuleName,
  {
    readonly kept: PromptV4;
    readonly broken: Readonly<Record<string, PromptV4>>;
    readonly rules?: PromptRules;
  }
> = {
  'every-call-answered': {
    kept: [user, assistant(call('1'), call('2')), results(result('1'), result('2'))],
    broken: {
      'no result': [user, assistant(call('1')), user],
      'one of two': [user, assistant(call('1'), call('2')), results(result('1'))],
      'two results': [user, assistant(call('1')), results(result('1'), result('1'))],
      'a call at the end': [user, assistant(call('1')), user],
    },
  },
  'no-orphan-result': {
    kept: [user, assistant(call('1')), results(result('1'))],
    broken: {
      'another call': [user, assistant(call('1')), results(result('1'), result('2'))],
      'no call at all': [user, assistant(text), results(result('1'))],
      'only an earlier call': [
        user,
        assistant(call('1')),
        results(result('1')),
        assistant(call('2')),
        results(result('2'), result('1')),
      ],
    },
  },
  'results-in-call-order': {
    kept: [user, assistant(call('1'), call('2')), results(result('1'), result('2'))],
    broken: { reversed: [user, assistant(call('1'), call('2')), results(result('2'), result('1'))] },
  },
  'unique-call-ids': {
    kept: [user, assistant(call('1')), results(result('1')), assistant(call('2')), results(result('2'))],
    broken: {
      'in two turns': [
        user,
        assistant(call('1')),
        results(result('1')),
        assistant(call('1')),
        results(result('1')),
      ],
      'with a call of the provider': [
        user,
        assistant(call('1')),
        results(result('1')),
        assistant(call('1', byProvider)),
        user,
      ],
    },
  },
  'results-in-tool-messages': {
    kept: [user, assistant(call('1', byProvider), result('1')), user],
    broken: {
      'in the assistant message': [user, assistant(text, result('1')), user],
      'in a user message': [{ role: 'user', content: [text, result('1') as never] }],
    },
  },
  'input-is-object': {
    kept: [user, assistant(call('1', { input: {} })), results(result('1'))],
    broken: {
      text: [user, assistant(call('1', { input: '{"id"' })), results(result('1'))],
      list: [user, assistant(call('1', { input: [] })), results(result('1'))],
      null: [user, assistant(call('1', { input: null })), results(result('1'))],
      nothing: [user, assistant(call('1', { input: undefined })), results(result('1'))],
    },
  },
  'tool-names': {
    kept: [
      user,
      assistant(call('1', { toolName: 'a-B_9' }), call('2', { toolName: 'mcp.x', ...byProvider })),
      results(result('1')),
    ],
    broken: {
      dot: [user, assistant(call('1', { toolName: 'a.b' })), results(result('1'))],
      empty: [user, assistant(call('1', { toolName: '' })), results(result('1'))],
      long: [user, assistant(call('1', { toolName: 'a'.repeat(65) })), results(result('1'))],
      'of a result': [user, assistant(call('1')), results(result('1', { toolName: 'a b' }))],
    },
  },
  'no-empty-text': {
    kept: [system, user, assistant(text), user],
    broken: {
      system: [{ role: 'system', content: '' }, user],
      user: [{ role: 'user', content: [{ type: 'text', text: '' }] }],
      assistant: [user, assistant(text, { type: 'text', text: '' }), user],
    },
  },
  'no-empty-message': {
    kept: [user],
    broken: {
      user: [{ role: 'user', content: [] }],
      assistant: [user, assistant(), user],
      tool: [user, assistant(text), results()],
    },
  },
  'system-first': {
    kept: [system, system, user],
    broken: { later: [user, system, user] },
  },
  'user-first': {
    kept: [system, user],
    broken: { assistant: [system, assistant(text), user] },
  },
  'ends-with-user-or-tool': {
    kept: [user, assistant(call('1')), results(result('1'))],
    broken: { assistant: [user, assistant(text)], nothing: [] },
  },
  'reasoning-signed': {
    kept: [
      user,
      assistant(
        reasoning({ anthropic: { signature: 's' } }),
        reasoning({ anthropic: { redactedData: 'd' } }),
        reasoning({ openai: { itemId: 'i', reasoningEncryptedContent: null } }),
        reasoning({ somebody: {} }),
        reasoning(),
      ),
      user,
    ],
    broken: {
      anthropic: [user, assistant(reasoning({ anthropic: {} })), user],
      openai: [user, assistant(reasoning({ openai: { itemId: null } })), user],
      scripted: [user, assistant(reasoning({ scripted: {} })), user],
    },
  },
  'approval-responses': {
    kept: [user, assistant(call('1', byProvider)), results(approval('a'))],
    broken: {
      'no call': [user, assistant(text), results(approval('a'))],
      'a call of ours': [user, assistant(call('1')), results(result('1'), approval('a'))],
      twice: [user, assistant(call('1', byProvider)), results(approval('a'), approval('a'))],
    },
  },
};

test('a prompt with everything breaks nothing', () => {
  for (const rules of ['all', 'openai', 'anthropic', 'google'] as const) {
    expect(checkPrompt(whole, rules)).toEqual([]);
  }
});

describe.each(Object.entries(cases))('%s', (name, { kept, broken }) => {
  test('kept', () => {
    expect(checkPrompt(kept)).toEqual([]);
  });

  test.each(Object.entries(broken))('broken: %s', (_, prompt) => {
    const violations = checkPrompt(prompt);
    expect(new Set(violations.map((violation) => violation.split(':', 1)[0]))).toEqual(new Set([name]));
  });
});

describe('rules of one provider', () => {
  test('the first message matters to Anthropic and Gemini only', () => {
    const prompt = [assistant(text), user];
    expect(checkPrompt(prompt, 'anthropic')).toHaveLength(1);
    expect(checkPrompt(prompt, 'google')).toHaveLength(1);
    expect(checkPrompt(prompt, 'openai')).toEqual([]);
  });

  test('reasoning without options is unsigned where its reader is known', () => {
    const prompt = [user, assistant(reasoning(), text), user];
    expect(checkPrompt(prompt, 'anthropic')).toEqual([
      'reasoning-signed: reasoning of message 1 has lost its anthropic signature',
    ]);
    expect(checkPrompt(prompt, 'google')).toEqual([]);
  });

  test('every rule is somebody’s', () => {
    for (const { providers } of Object.values(promptRules)) expect(providers.length).toBeGreaterThan(0);
  });
});

test('violations quote nothing', () => {
  const prompt: PromptV4 = [
    { role: 'user', content: [{ type: 'text', text: 'secret' }] },
    assistant(call('1', { input: 'secret', toolName: 'secret name' })),
    results(result('2', { output: { type: 'text', value: 'secret' } })),
  ];
  const violations = checkPrompt(prompt);
  expect(violations.length).toBeGreaterThan(3);
  expect(violations.join()).not.toContain('secret');
});
