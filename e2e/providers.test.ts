/** The model layer against real provider packages, over real HTTP: what they are sent, and what we make of it. */
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { LLMock } from '@copilotkit/aimock';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { JsonObject } from '../src/core/json.ts';
import type { Message, ModelOutput } from '../src/core/message.ts';
import type { ModelRequest, ModelResponse, ResponseDelta, ResponsePart } from '../src/core/model.ts';
import { modelOf } from '../src/models/ai-sdk.ts';
import type { LanguageModelObject } from '../src/models/ai-sdk-types.ts';
import { type Connection, openAiServer, serverOf, urlOf } from './support/servers.ts';

const providers: Record<string, (connection: Connection) => LanguageModelObject> = {
  'openai chat': (connection) => createOpenAI(connection).chat('gpt-4o'),
  'openai responses': (connection) => createOpenAI(connection).responses('gpt-5-mini'),
  anthropic: (connection) => createAnthropic(connection)('claude-sonnet-4-5'),
  'openai-compatible': (connection) =>
    createOpenAICompatible({ name: 'own', includeUsage: true, ...connection }).chatModel('llama'),
};

let mock: LLMock;
/** The bodies as they went over the wire; aimock's journal keeps them in one form for all providers. */
let sent: JsonObject[];

beforeEach(async () => {
  sent = [];
  mock = await LLMock.create({ port: 0, logLevel: 'silent' });
});

afterEach(() => mock.stop());

function connectionTo(baseURL: string): Connection {
  return {
    baseURL,
    apiKey: 'key',
    fetch: (input, init) => {
      sent.push(JSON.parse(String(init?.body)));
      return fetch(input, init);
    },
  };
}

function connection(): Connection {
  return connectionTo(`${mock.url}/v1`);
}

const user: Message = { role: 'user', content: 'Refund orders 1 to 3.' };

function request(over: Partial<ModelRequest> = {}): ModelRequest & { deltas: ResponseDelta[] } {
  const deltas: ResponseDelta[] = [];
  return {
    messages: [user],
    instructions: 'Be brief.',
    tools: [
      {
        name: 'refund',
        description: 'Refunds an order.',
        inputSchema: {
          type: 'object',
          properties: { order: { type: 'number' } },
          required: ['order'],
          additionalProperties: false,
        },
      },
    ],
    maxRetries: 0,
    abortSignal: new AbortController().signal,
    onDelta: (delta) => deltas.push(delta),
    deltas,
    ...over,
  };
}

type Call = Extract<ResponsePart, { type: 'call' }>;

function callsOf(response: ModelResponse): Call[] {
  return response.content.filter((part) => part.type === 'call');
}

/** The messages that a response and the results of its calls add to the prompt. */
function turn(response: ModelResponse, outputs: readonly ModelOutput[]): Message[] {
  const content = response.content.map((part): JsonObject => {
    if (part.type !== 'call') return part as JsonObject;
    const { type: _type, raw: input, approvalId: _approvalId, ...call } = part;
    return { type: 'tool-call', ...call, input };
  });
  const results = callsOf(response).map(({ toolCallId, toolName }, index) => ({
    type: 'tool-result',
    toolCallId,
    toolName,
    output: outputs[index] as ModelOutput & JsonObject,
  }));
  return [
    { role: 'assistant', content },
    { role: 'tool', content: results },
  ];
}

/** In aimock's journal: the ids of the calls and of the results, in order. */
function idsOfLastRequest(): { called: string[]; answered: string[] } {
  const body = mock.getLastRequest()?.body as unknown as {
    messages: { role: string; tool_call_id?: string; tool_calls?: { id: string }[] }[];
  };
  const { messages } = body;
  return {
    called: messages.flatMap(({ tool_calls }) => tool_calls?.map(({ id }) => id) ?? []),
    answered: messages.flatMap(({ role, tool_call_id }) => (role === 'tool' ? [String(tool_call_id)] : [])),
  };
}

const toolCalls = [1, 2, 3].map((order) => ({ name: 'refund', arguments: JSON.stringify({ order }) }));

describe.each(Object.entries(providers))('%s', (name, make) => {
  test('text streams', async () => {
    mock.on({}, { content: 'Which orders do you mean, please?' }, { chunkSize: 5 });
    const asked = request();
    const response = await modelOf(make(connection())).call(asked);
    expect(response.content).toMatchObject([{ type: 'text', text: 'Which orders do you mean, please?' }]);
    expect(response.finishReason).toBe('stop');
    const texts = asked.deltas.flatMap((delta) => (delta.type === 'text-delta' ? [delta.payload.text] : []));
    expect(texts.length).toBeGreaterThan(3);
    expect(texts.join('')).toBe('Which orders do you mean, please?');
  });

  test('one call streams', async () => {
    mock.on({}, { toolCalls: toolCalls.slice(0, 1) }, { chunkSize: 4 });
    const asked = request();
    const response = await modelOf(make(connection())).call(asked);
    expect(response.finishReason).toBe('tool-calls');
    expect(response.content).toMatchObject([{ type: 'call', toolName: 'refund', raw: { order: 1 } }]);
    const [call] = callsOf(response);
    const { toolCallId } = call as Call;
    const argsText = asked.deltas
      .filter((delta) => delta.type === 'tool-call-delta')
      .map(({ payload }) => {
        expect(payload.toolCallId).toBe(toolCallId);
        return payload.argsTextDelta;
      })
      .join('');
    expect(JSON.parse(argsText)).toEqual({ order: 1 });
  });

  test('a whole answer is what the stream gives', async () => {
    mock.on({}, { content: 'On it.', toolCalls });
    const model = modelOf(make(connection()));
    const asked = request();
    const whole = await model.whole.call(asked);
    const streamed = await model.call(request());
    const told = ({ content, finishReason }: ModelResponse): object => ({
      finishReason,
      content: (content as readonly JsonObject[]).map(({ type, text, toolName, raw }) => ({
        type,
        text,
        toolName,
        raw,
      })),
    });
    expect(told(whole)).toEqual(told(streamed));
    expect(callsOf(whole)).toHaveLength(3);
    expect(asked.deltas).toEqual([]);
    expect(sent.map(({ stream = false }) => stream)).toEqual([false, true]);
  });

  test('a call that does not match its schema comes as written', async () => {
    mock.on({}, { toolCalls: [{ name: 'refund', arguments: '{"order":"one","also":null}' }] });
    const response = await modelOf(make(connection())).call(request());
    expect(response.content).toMatchObject([{ type: 'call', raw: { order: 'one', also: null } }]);
  });

  test('parallel calls, and a prompt that answers each of them once', async () => {
    mock.on({ hasToolResult: true }, { content: 'One refunded, one failed, one declined.' });
    mock.on({}, { content: 'On it.', toolCalls });
    const model = modelOf(make(connection()));
    const first = await model.call(request());
    expect(callsOf(first).map((call) => call.raw)).toEqual([{ order: 1 }, { order: 2 }, { order: 3 }]);
    const ids = callsOf(first).map((call) => call.toolCallId);
    expect(new Set(ids).size).toBe(3);

    const outputs: ModelOutput[] = [
      { type: 'json', value: { refunded: true } },
      { type: 'error-text', value: 'The order is closed.' },
      { type: 'execution-denied', reason: 'A person declined this call.' },
    ];
    const second = await model.call(request({ messages: [user, ...turn(first, outputs)] }));
    expect(second.content).toMatchObject([{ type: 'text', text: 'One refunded, one failed, one declined.' }]);
    expect(idsOfLastRequest()).toEqual({ called: ids, answered: ids });
    const body = JSON.stringify(sent.at(-1));
    expect(body).toContain('The order is closed.');
    expect(body).toContain('A person declined this call.');
    wireRules[name]?.(sent.at(-1) as never, ids);

    const answered = [user, ...turn(first, outputs), ...turn(second, []).slice(0, 1)];
    await model.call(request({ messages: [...answered, { role: 'user', content: 'Thanks.' }] }));
    expect(idsOfLastRequest()).toEqual({ called: ids, answered: ids });
  });

  test('an overloaded provider is asked again', async () => {
    mock.on({}, { content: 'Here.' });
    mock.nextRequestError(529, { message: 'Overloaded', type: 'overloaded_error' });
    const slept: number[] = [];
    const model = modelOf(make(connection()), {
      sleep: async (milliseconds) => void slept.push(milliseconds),
    });
    const response = await model.call(request({ maxRetries: 2 }));
    expect(response.content).toMatchObject([{ type: 'text', text: 'Here.' }]);
    expect(slept).toHaveLength(1);
    expect(sent).toHaveLength(2);
    expect(sent[1]).toEqual(sent[0]);
  });

  test('a refused request is not repeated', async () => {
    mock.nextRequestError(400, { message: 'Bad request', type: 'invalid_request_error' });
    const model = modelOf(make(connection()), { sleep: async () => {} });
    await expect(model.call(request({ maxRetries: 2 }))).rejects.toMatchObject({
      code: 'model-failed',
      message: expect.stringContaining('HTTP 400'),
    });
    expect(sent).toHaveLength(1);
  });
});

interface Item {
  readonly type: string;
  readonly [key: string]: unknown;
}

/** What each API demands of a history with calls, on its own wire format. */
const wireRules: Record<string, (body: never, ids: readonly string[]) => void> = {
  'openai chat': chatRule,
  'openai-compatible': chatRule,
  'openai responses': ({ input }: { input: Item[] }, ids) => {
    const calls = input.filter(({ type }) => type === 'function_call');
    const outputs = input.filter(({ type }) => type === 'function_call_output');
    expect(calls.map(({ call_id }) => call_id)).toEqual(ids);
    expect(outputs.map(({ call_id }) => call_id)).toEqual(ids);
    expect(input.indexOf(outputs[0] as Item)).toBeGreaterThan(input.indexOf(calls[2] as Item));
    for (const call of calls) expect(JSON.parse(String(call.arguments))).toBeTypeOf('object');
  },
  anthropic: ({ messages }: { messages: { role: string; content: Item[] }[] }, ids) => {
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
    const uses = messages[1]?.content.filter(({ type }) => type === 'tool_use') ?? [];
    expect(uses.map(({ id }) => id)).toEqual(ids);
    for (const { input } of uses) expect(input).toBeTypeOf('object');
    const results = messages[2]?.content ?? [];
    expect(results.map(({ type, tool_use_id }) => [type, tool_use_id])).toEqual(
      ids.map((id) => ['tool_result', id]),
    );
    expect(results.map(({ is_error }) => is_error === true)).toEqual([false, true, expect.any(Boolean)]);
  },
};

function chatRule({ messages }: { messages: Item[] }, ids: readonly string[]): void {
  expect(messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool', 'tool', 'tool']);
  const calls = messages[2]?.tool_calls as { id: string; function: { arguments: string } }[];
  expect(calls.map(({ id }) => id)).toEqual(ids);
  for (const call of calls) expect(JSON.parse(call.function.arguments)).toBeTypeOf('object');
  expect(messages.slice(3).map(({ tool_call_id }) => tool_call_id)).toEqual(ids);
}

describe('anthropic', () => {
  test('reasoning goes back with its signature, before the call', async () => {
    mock.on({ hasToolResult: true }, { content: 'Done.' });
    mock.on(
      {},
      {
        toolCalls: toolCalls.slice(0, 1),
        reasoning: 'It must be order 1.',
        reasoningSignature: 'signed-by-anthropic',
      },
    );
    const model = modelOf(createAnthropic(connection())('claude-sonnet-4-5'));
    const thinking = { anthropic: { thinking: { type: 'enabled', budgetTokens: 1024 } } };
    const first = await model.call(request({ providerOptions: thinking }));
    expect(first.content.map((part) => part.type)).toEqual(['reasoning', 'call']);
    const messages = [user, ...turn(first, [{ type: 'text', value: 'ok' }])];
    await model.call(request({ messages, providerOptions: thinking }));
    expect(sent.at(-1)?.messages).toMatchObject([
      { role: 'user' },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'It must be order 1.', signature: 'signed-by-anthropic' },
          { type: 'tool_use' },
        ],
      },
      { role: 'user' },
    ]);
  });
});

describe('a connection that breaks', () => {
  const chunk = { choices: [{ index: 0, delta: { role: 'assistant', content: 'Well, ' } }] };

  test('after a delta: the response is discarded, and not asked for again', async () => {
    const server = await serverOf((_, outgoing) => void outgoing.write(`data: ${JSON.stringify(chunk)}\n\n`));
    const slept: number[] = [];
    const asked = request({
      maxRetries: 2,
      onDelta: (delta) => delta.type === 'text-delta' && server.closeAllConnections(),
    });
    const model = modelOf(createOpenAI(connectionTo(urlOf(server))).chat('gpt-4o'), {
      sleep: async (milliseconds) => void slept.push(milliseconds),
    });
    await expect(model.call(asked)).rejects.toMatchObject({ code: 'model-failed' });
    expect(slept).toEqual([]);
    expect(sent).toHaveLength(1);
    server.close();
  });

  test('before anything was answered: it is asked again', async () => {
    let count = 0;
    const server = await serverOf((_, outgoing) => {
      if (count++ === 0) return outgoing.destroy();
      for (const data of [chunk, { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }]) {
        outgoing.write(`data: ${JSON.stringify(data)}\n\n`);
      }
      return outgoing.end('data: [DONE]\n\n');
    });
    const slept: number[] = [];
    const model = modelOf(createOpenAI(connectionTo(urlOf(server))).chat('gpt-4o'), {
      sleep: async (milliseconds) => void slept.push(milliseconds),
    });
    const response = await model.call(request({ maxRetries: 2 }));
    expect(response.content).toEqual([{ type: 'text', text: 'Well, ' }]);
    expect(slept).toEqual([2000]);
    server.close();
  });

  test('a stream that is only cut short counts as no response', async () => {
    const server = await serverOf((_, outgoing) => outgoing.end(`data: ${JSON.stringify(chunk)}\n\n`));
    const model = modelOf(createOpenAI(connectionTo(urlOf(server))).chat('gpt-4o'));
    await expect(model.call(request())).rejects.toMatchObject({
      message: 'The response of the model ended before it was complete.',
    });
    server.close();
  });
});

/** A call over MCP that OpenAI itself wants approved: aimock does not know these. */
describe('openai responses, with a tool that the provider asks about', () => {
  const asks = {
    id: 'mcpr_1',
    type: 'mcp_approval_request',
    server_label: 'shop',
    name: 'delete',
    arguments: '{"id":7}',
  };
  const ran = {
    ...asks,
    id: 'mcp_1',
    type: 'mcp_call',
    status: 'completed',
    approval_request_id: 'mcpr_1',
    output: 'deleted',
  };

  test.each([true, false])(
    'its request is a call of ours, and our answer (%s) goes back',
    async (approved) => {
      const server = await openAiServer([[asks], approved ? [ran] : []]);
      try {
        const model = modelOf(createOpenAI(connectionTo(urlOf(server))).responses('gpt-5-mini'));
        const first = await model.call(request());
        const [call] = callsOf(first);
        expect(call).toMatchObject({ toolName: 'mcp.delete', raw: { id: 7 }, approvalId: 'mcpr_1' });

        const { toolCallId, toolName, raw: input } = call as Call;
        const messages: Message[] = [
          user,
          {
            role: 'assistant',
            content: [
              { type: 'tool-call', toolCallId, toolName, input, providerExecuted: true },
              { type: 'tool-approval-request', approvalId: 'mcpr_1', toolCallId },
            ],
          },
          {
            role: 'tool',
            content: [
              { type: 'tool-approval-response', approvalId: 'mcpr_1', approved, providerExecuted: true },
            ],
          },
        ];
        const second = await model.call(request({ messages }));
        expect(sent.at(-1)?.input).toContainEqual({
          type: 'mcp_approval_response',
          approval_request_id: 'mcpr_1',
          approve: approved,
        });
        expect(second.content.map((part) => part.type)).toEqual(
          approved ? ['provider-call', 'provider-result'] : [],
        );
      } finally {
        server.close();
      }
    },
  );
});
