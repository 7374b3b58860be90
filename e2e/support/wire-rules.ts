/**
 * What each provider demands of a request, on its own wire format. A request that breaks one of these is answered
 * with HTTP 400. The rules say what is wrong; nothing wrong is an empty list.
 */
import type { JsonObject } from '../../src/core/json.ts';
import type { AnthropicMessage, ChatMessage, Item, WireFormat } from './wire-formats.ts';
import { formatOf } from './wire-formats.ts';

type Name = WireFormat['name'];

/** OpenAI chat refuses longer ids ("Expected a string with maximum length 40"), Responses longer than 64. */
const idPatterns: Readonly<Record<Name, RegExp>> = {
  'openai chat': /^.{1,40}$/,
  'openai responses': /^.{1,64}$/,
  anthropic: /^[a-zA-Z0-9_-]+$/,
};

const toolName = /^[a-zA-Z0-9_-]{1,64}$/;

/**
 * @param received the bodies of the answers before, where items of the provider may be referred to by their ids.
 */
export function problemsOf(name: Name, body: JsonObject, received: readonly string[] = []): string[] {
  return [...common(name, body), ...history[name](body, received)];
}

function common(name: Name, body: JsonObject): string[] {
  const { calls, results, tools } = formatOf(name).read(body);
  const problems: string[] = [];
  if (typeof (body.stream ?? false) !== 'boolean') problems.push('it does not say whether to stream');
  if (typeof body.model !== 'string') problems.push('there is no model');
  const ids = calls.map(({ id }) => id);
  if (new Set(ids).size !== ids.length) problems.push('a call id is used twice');
  if (JSON.stringify(results.map(({ id }) => id)) !== JSON.stringify(ids)) {
    problems.push(
      `calls ${ids.join(', ')} are answered by ${results.map(({ id }) => id).join(', ') || 'nothing'}`,
    );
  }
  for (const { id, name: called, arguments: text } of calls) {
    if (!idPatterns[name].test(id)) problems.push(`the call id "${id}" is refused there`);
    if (!toolName.test(called)) problems.push(`the name "${called}" of call ${id} is refused there`);
    if (!isObjectText(text)) problems.push(`the arguments of call ${id} are no JSON object`);
  }
  for (const { id, text } of results) if (text === '') problems.push(`the result of ${id} is empty`);
  for (const { name: offered, schema } of tools) {
    if (!toolName.test(offered)) problems.push(`the tool name "${offered}" is refused there`);
    if (schema?.type !== 'object') problems.push(`the schema of tool ${offered} describes no object`);
  }
  return problems;
}

const history: Readonly<Record<Name, (body: JsonObject, received: readonly string[]) => string[]>> = {
  'openai chat': (body) => chatProblems((body as unknown as { messages: ChatMessage[] }).messages),
  'openai responses': (body, received) =>
    responsesProblems((body as unknown as { input: Item[] }).input, received),
  anthropic: (body) => anthropicProblems(body),
};

/** The messages directly after an assistant message with calls are its results, in order. */
function chatProblems(messages: readonly ChatMessage[]): string[] {
  const problems: string[] = [];
  let open: string[] = [];
  messages.forEach((message, index) => {
    if (message.role === 'tool') {
      if (message.tool_call_id !== open.shift()) problems.push(`message ${index} answers out of turn`);
      return;
    }
    if (open.length > 0) problems.push(`message ${index} comes before the results of ${open.join(', ')}`);
    open = message.tool_calls?.map(({ id }) => id) ?? [];
    if (message.role === 'assistant' && !message.content && open.length === 0) {
      problems.push(`message ${index} is empty`);
    }
    if (message.role === 'system' && index > 0) problems.push(`message ${index} is a late system message`);
  });
  if (open.length > 0) problems.push(`nothing answers ${open.join(', ')}`);
  return [...problems, ...endProblems(messages.at(-1)?.role, ['user', 'tool'])];
}

/** Outputs follow their calls before anybody else speaks; items are referred to once, and only known ones. */
function responsesProblems(input: readonly Item[], received: readonly string[]): string[] {
  const problems: string[] = [];
  const referred = new Set<string>();
  const open: string[] = [];
  let answering = false;
  input.forEach((item, index) => {
    if (item.type === 'function_call') {
      if (answering && open.length > 0)
        problems.push(`item ${index} comes before outputs of the step before`);
      open.push(String(item.call_id));
      answering = false;
    } else if (item.type === 'function_call_output') {
      if (item.call_id !== open.shift()) problems.push(`item ${index} answers out of turn`);
      answering = true;
    } else if (item.role === 'user') {
      if (open.length > 0) problems.push(`item ${index} comes before the outputs of ${open.join(', ')}`);
    } else if (item.type === 'item_reference') {
      const id = String(item.id);
      if (referred.has(id)) problems.push(`item ${id} is referred to twice`);
      referred.add(id);
      if (!received.some((body) => body.includes(`"id":"${id}"`))) problems.push(`item ${id} is unknown`);
    } else if (item.type === 'mcp_approval_response') {
      const id = String(item.approval_request_id);
      if (!referred.has(id)) problems.push(`the request ${id} is not there before its answer`);
      if (input.filter((other) => other.approval_request_id === id).length > 1) {
        problems.push(`the request ${id} is answered twice`);
      }
    }
  });
  const last = input.at(-1);
  return [...problems, ...endProblems(last?.role ?? last?.type, ['user', ...endings])];
}

const endings = ['function_call_output', 'mcp_approval_response'];

/** Roles alternate; the message after one with tool_use begins with exactly its results; thinking is signed. */
function anthropicProblems(body: JsonObject): string[] {
  const { messages } = body as unknown as { messages: AnthropicMessage[] };
  const problems: string[] = [];
  if (typeof body.max_tokens !== 'number') problems.push('there is no max_tokens');
  messages.forEach(({ role, content }, index) => {
    if (role !== (index % 2 === 0 ? 'user' : 'assistant'))
      problems.push(`message ${index} is by the ${role}`);
    if (content.length === 0) problems.push(`message ${index} is empty`);
    const before = messages[index - 1]?.content.filter(({ type }) => type === 'tool_use') ?? [];
    const results = content.filter(({ type }) => type === 'tool_result');
    const first = content.slice(0, before.length).map(({ tool_use_id }) => tool_use_id);
    if (results.length !== before.length || before.some(({ id }, position) => id !== first[position])) {
      problems.push(`message ${index} does not begin with the results of the calls before it`);
    }
    if (role !== 'user' && results.length > 0) problems.push(`message ${index} holds results`);
    for (const block of content) {
      if (block.type === 'text' && !String(block.text).trim())
        problems.push(`message ${index} has empty text`);
      if (block.type === 'thinking' && !block.signature) problems.push(`message ${index} is not signed`);
      if (block.type === 'tool_use' && (typeof block.input !== 'object' || Array.isArray(block.input))) {
        problems.push(`a call of message ${index} has no object as input`);
      }
    }
    const spoken = content.findIndex(({ type }) => type !== 'thinking' && type !== 'redacted_thinking');
    if (content.slice(spoken).some(({ type }) => type === 'thinking')) {
      problems.push(`message ${index} thinks after it spoke`);
    }
  });
  return [...problems, ...endProblems(messages.at(-1)?.role, ['user'])];
}

function endProblems(last: string | undefined, allowed: readonly string[]): string[] {
  return last !== undefined && allowed.includes(last) ? [] : [`it ends with ${last ?? 'nothing'}`];
}

function isObjectText(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
