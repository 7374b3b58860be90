/** The rules themselves: a good request passes, and each way to break it is seen. */
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../src/core/json.ts';
import type { WireFormat } from './support/wire-formats.ts';
import { problemsOf } from './support/wire-rules.ts';

const schema = { type: 'object', properties: {} };
const ids = ['call_1', 'call_2'];

const good: Readonly<Record<WireFormat['name'], { body: JsonObject; history: string }>> = {
  'openai chat': {
    history: 'messages',
    body: {
      model: 'gpt-4o',
      stream: true,
      tools: [{ type: 'function', function: { name: 'refund', parameters: schema } }],
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Refund both.' },
        {
          role: 'assistant',
          content: null,
          tool_calls: ids.map((id) => ({
            id,
            type: 'function',
            function: { name: 'refund', arguments: '{}' },
          })),
        },
        ...ids.map((id) => ({ role: 'tool', tool_call_id: id, content: 'done' })),
      ],
    },
  },
  'openai responses': {
    history: 'input',
    body: {
      model: 'gpt-5-mini',
      stream: true,
      tools: [{ type: 'function', name: 'refund', parameters: schema }],
      input: [
        { role: 'developer', content: 'Be brief.' },
        { role: 'user', content: [{ type: 'input_text', text: 'Refund both.' }] },
        { type: 'item_reference', id: 'rs_1' },
        ...ids.map((id) => ({ type: 'function_call', call_id: id, name: 'refund', arguments: '{}' })),
        ...ids.map((id) => ({ type: 'function_call_output', call_id: id, output: 'done' })),
      ],
    },
  },
  anthropic: {
    history: 'messages',
    body: {
      model: 'claude',
      max_tokens: 9,
      stream: true,
      tools: [{ name: 'refund', input_schema: schema }],
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'Refund both.' }] },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'Both.', signature: 'signed' },
            ...ids.map((id) => ({ type: 'tool_use', id, name: 'refund', input: {} })),
          ],
        },
        {
          role: 'user',
          content: ids.map((id) => ({ type: 'tool_result', tool_use_id: id, content: 'done' })),
        },
      ],
    },
  },
};

/** Ways to break a history, as replacements in its JSON text or of its list. */
type Break = (list: JsonObject[]) => unknown[];

const swapLast: Break = (list) => [...list.slice(0, -2), ...list.slice(-2).reverse()];
const rewrite =
  (from: string, to: string): Break =>
  (list) => {
    const text = JSON.stringify(list);
    if (!text.includes(from)) throw new Error(`The history has no ${from}.`);
    return JSON.parse(text.replace(from, to)) as unknown[];
  };
const lastContent =
  (change: Break): Break =>
  (list) => [
    ...list.slice(0, -1),
    { ...list.at(-1), content: change((list.at(-1)?.content ?? []) as JsonObject[]) },
  ];

const breaks: Readonly<Record<WireFormat['name'], Readonly<Record<string, Break>>>> = {
  'openai chat': {
    'a missing result': (list) => list.slice(0, -1),
    'a result twice': (list) => [...list, list.at(-1)],
    'results in another order': swapLast,
    'a result without its call': (list) => [...list, { role: 'tool', tool_call_id: 'call_9', content: 'x' }],
    'somebody between call and result': (list) => [
      ...list.slice(0, -1),
      { role: 'user', content: 'Well?' },
      ...list.slice(-1),
    ],
    'an id that is too long': rewrite('call_1', 'x'.repeat(41)),
    'a name with a dot': rewrite('"name":"refund"', '"name":"functions.refund"'),
    'arguments that are no object': rewrite('"arguments":"{}"', '"arguments":"[]"'),
    'arguments that are no JSON': rewrite('"arguments":"{}"', '"arguments":"{"'),
    'an empty result': rewrite('"content":"done"', '"content":""'),
    'an assistant at the end': (list) => [...list, { role: 'assistant', content: 'Done.' }],
    'an empty assistant': (list) => [...list, { role: 'assistant', content: '' }, list[1]],
    'a late system message': (list) => [...list, { role: 'system', content: 'x' }, list[1]],
  },
  'openai responses': {
    'a missing output': (list) => list.slice(0, -1),
    'an output twice': (list) => [...list, list.at(-1)],
    'outputs in another order': swapLast,
    'an output without its call': (list) => [
      ...list,
      { type: 'function_call_output', call_id: 'call_9', output: 'x' },
    ],
    'a user between call and output': (list) => [...list.slice(0, -1), list[1], ...list.slice(-1)],
    'a call between outputs of another step': (list) => [
      ...list.slice(0, -1),
      { type: 'function_call', call_id: 'call_9', name: 'refund', arguments: '{}' },
      ...list.slice(-1),
      { type: 'function_call_output', call_id: 'call_9', output: 'x' },
    ],
    'an item referred to twice': (list) => [...list.slice(0, 3), ...list.slice(2)],
    'an item nobody knows': rewrite('rs_1', 'rs_2'),
    'an approval without its request': (list) => [
      ...list,
      { type: 'mcp_approval_response', approval_request_id: 'mcpr_1', approve: true },
    ],
    'a name with a dot': rewrite('"name":"refund"', '"name":"functions.refund"'),
    'arguments that are no JSON': rewrite('"arguments":"{}"', '"arguments":"{"'),
    'an empty output': rewrite('"output":"done"', '"output":""'),
    'an assistant at the end': (list) => [...list, { role: 'assistant', content: 'Done.' }],
  },
  anthropic: {
    'a missing result': lastContent((content) => content.slice(0, -1)),
    'a result twice': lastContent((content) => [...content, content.at(-1)]),
    'results in another order': lastContent((content) => swapLast(content)),
    'a result without its call': lastContent((content) => [
      ...content,
      { type: 'tool_result', tool_use_id: 'call_9', content: 'x' },
    ]),
    'text before the results': lastContent((content) => [{ type: 'text', text: 'Well?' }, ...content]),
    'results one message later': (list) => [
      ...list.slice(0, -1),
      list[0],
      { role: 'assistant', content: [{ type: 'text', text: 'Well?' }] },
      ...list.slice(-1),
    ],
    'thinking without its signature': rewrite('"signature":"signed"', '"signature":""'),
    'thinking after the call': (list) => {
      const [user, assistant, results] = list;
      return [
        user,
        { ...assistant, content: [...((assistant?.content ?? []) as unknown[])].reverse() },
        results,
      ];
    },
    'an input that is no object': rewrite('"input":{}', '"input":[]'),
    'an id with "~"': (list) => JSON.parse(JSON.stringify(list).replaceAll('call_1', 'call~1')) as unknown[],
    'empty text': lastContent((content) => [...content, { type: 'text', text: ' ' }]),
    'an assistant at the end': (list) => [
      ...list,
      { role: 'assistant', content: [{ type: 'text', text: 'Done.' }] },
    ],
    'two users in a row': (list) => [list[0], ...list],
  },
};

const received = ['{"item":{"id":"rs_1"}}'];

describe.each(Object.keys(good) as WireFormat['name'][])('%s', (name) => {
  const { body, history } = good[name];

  test('a good request', () => {
    expect(problemsOf(name, body, received)).toEqual([]);
  });

  test.each(Object.entries(breaks[name]))('%s', (_, broken) => {
    const list = broken(body[history] as JsonObject[]) as JsonObject[];
    expect(problemsOf(name, { ...body, [history]: list }, received)).not.toEqual([]);
  });

  test('a request that does not say whether to stream, or offers a tool without its schema', () => {
    expect(problemsOf(name, { ...body, stream: 'yes' }, received)).toHaveLength(1);
    const tools = JSON.parse(JSON.stringify(body.tools).replace('"object"', '"string"')) as JsonObject[];
    expect(problemsOf(name, { ...body, tools }, received)).toHaveLength(1);
  });
});
