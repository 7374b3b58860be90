/** The three wire formats: how a request is read, whatever the provider calls its parts. */
import type { JsonObject } from '../../src/core/json.ts';

export interface WireCall {
  readonly id: string;
  readonly name: string;
  /** The JSON text of the arguments. */
  readonly arguments: string;
}

export interface WireResult {
  readonly id: string;
  readonly text: string;
  /** Whether the provider is told that the call failed, in its own way. */
  readonly failed: boolean;
}

export interface WireTool {
  readonly name: string;
  readonly description: string | undefined;
  readonly schema: JsonObject;
}

/** What a request says, in the order of its history. */
export interface WireRequest {
  readonly instructions: string | undefined;
  readonly calls: readonly WireCall[];
  readonly results: readonly WireResult[];
  readonly tools: readonly WireTool[];
}

export interface WireFormat {
  readonly name: 'openai chat' | 'openai responses' | 'anthropic';
  read(body: JsonObject): WireRequest;
}

export interface Item {
  readonly type: string;
  readonly role?: string;
  readonly [key: string]: unknown;
}

export interface ChatMessage {
  readonly role: string;
  readonly content?: unknown;
  readonly tool_calls?: readonly {
    readonly id: string;
    readonly type: string;
    readonly function: { readonly name: string; readonly arguments: string };
  }[];
  readonly tool_call_id?: string;
}

export interface AnthropicMessage {
  readonly role: string;
  readonly content: readonly Item[];
}

const formats: readonly WireFormat[] = [
  { name: 'openai chat', read: readChat },
  { name: 'openai responses', read: readResponses },
  { name: 'anthropic', read: readAnthropic },
];

export function formatOf(name: WireFormat['name']): WireFormat {
  return formats.find((format) => format.name === name) as WireFormat;
}

function readChat(body: JsonObject): WireRequest {
  const { messages, tools = [] } = body as unknown as {
    messages: ChatMessage[];
    tools?: { function: { name: string; description?: string; parameters: JsonObject } }[];
  };
  return {
    instructions: messages.find(({ role }) => role === 'system')?.content as string | undefined,
    calls: messages.flatMap(({ tool_calls = [] }) =>
      tool_calls.map(({ id, function: { name, arguments: text } }) => ({ id, name, arguments: text })),
    ),
    results: messages
      .filter(({ role }) => role === 'tool')
      .map(({ tool_call_id, content }) => openAiResult(tool_call_id, content)),
    tools: tools.map(({ function: { name, description, parameters } }) => ({
      name,
      description,
      schema: parameters,
    })),
  };
}

function readResponses(body: JsonObject): WireRequest {
  const { input, tools = [] } = body as unknown as {
    input: Item[];
    tools?: { type: string; name: string; description?: string; parameters: JsonObject }[];
  };
  return {
    instructions: input.find(({ role }) => role === 'system' || role === 'developer')?.content as
      | string
      | undefined,
    calls: input
      .filter(({ type }) => type === 'function_call')
      .map((item) => ({
        id: String(item.call_id),
        name: String(item.name),
        arguments: String(item.arguments),
      })),
    results: input
      .filter(({ type }) => type === 'function_call_output')
      .map(({ call_id, output }) => openAiResult(call_id, output)),
    tools: tools
      .filter(({ type }) => type === 'function')
      .map(({ name, description, parameters }) => ({ name, description, schema: parameters })),
  };
}

function readAnthropic(body: JsonObject): WireRequest {
  const {
    system,
    messages,
    tools = [],
  } = body as unknown as {
    system?: { text: string }[];
    messages: AnthropicMessage[];
    tools?: { name: string; description?: string; input_schema: JsonObject }[];
  };
  const blocks = messages.flatMap(({ content }) => content);
  return {
    instructions: system?.map(({ text }) => text).join('\n'),
    calls: blocks
      .filter(({ type }) => type === 'tool_use')
      .map(({ id, name, input }) => ({
        id: String(id),
        name: String(name),
        arguments: JSON.stringify(input),
      })),
    results: blocks
      .filter(({ type }) => type === 'tool_result')
      .map(({ tool_use_id, content, is_error }) => ({
        id: String(tool_use_id),
        text: String(content),
        failed: is_error === true,
      })),
    tools: tools.map(({ name, description, input_schema }) => ({ name, description, schema: input_schema })),
  };
}

/** OpenAI knows no failed result: the SDK wraps its text in `{ error }`. */
function openAiResult(id: unknown, content: unknown): WireResult {
  const text = String(content);
  const wrapped = /^\{"error":(".*")\}$/s.exec(text)?.[1];
  return wrapped === undefined
    ? { id: String(id), text, failed: false }
    : { id: String(id), text: JSON.parse(wrapped) as string, failed: true };
}
