/** Messages of a prompt as messages of a chat page. Pure. */
import type { Json, JsonObject } from '../core/json.ts';
import type { Message, ModelOutput } from '../core/message.ts';
import type { UIMessage } from '../models/ai-sdk-types.ts';
import { isObject, type UiPart, withNotes } from './ui-parts.ts';

export interface InputMessage {
  /** The place of its first message. */
  readonly index: number;
  readonly message: UIMessage;
}

interface Draft {
  readonly index: number;
  readonly given: string | undefined;
  readonly role: UIMessage['role'];
  readonly parts: UiPart[];
}

/**
 * One UI message for each user or system message, and one for all that an assistant said and did between two of them.
 * @param given the id of the UI message that a message came from, if it came from one.
 * @param made the id of one that has none.
 */
export function uiMessagesFrom(
  messages: readonly Message[],
  given: (index: number) => string | null | undefined,
  made: (index: number) => string,
): InputMessage[] {
  const drafts: Draft[] = [];
  for (const [index, message] of messages.entries()) {
    const id = given(index) ?? undefined;
    const last = drafts.at(-1);
    if (message.role === 'user' || message.role === 'system') {
      drafts.push({ index, given: id, role: message.role, parts: partsOf(message).flatMap(contentPart) });
    } else if (last?.role === 'assistant' && last.given === id) {
      addTo(last.parts, message);
    } else if (message.role === 'assistant') {
      const draft: Draft = { index, given: id, role: 'assistant', parts: [] };
      drafts.push(draft);
      addTo(draft.parts, message);
    }
  }
  return drafts
    .filter(({ parts }) => parts.length > 0)
    .map(({ index, given: id, role, parts }) => ({
      index,
      message: { id: id ?? made(index), role, parts: parts as unknown as UIMessage['parts'] },
    }));
}

function partsOf({ content }: Message): readonly JsonObject[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content;
}

function addTo(parts: UiPart[], message: Message): void {
  if (message.role === 'assistant') parts.push({ type: 'step-start' });
  for (const part of partsOf(message)) {
    if (part.type === 'tool-result') settle(parts, part);
    else parts.push(...contentPart(part));
  }
}

function contentPart(part: JsonObject): UiPart[] {
  const metadata: JsonObject = isObject(part.providerOptions)
    ? { providerMetadata: part.providerOptions }
    : {};
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return [{ type: part.type, text: String(part.text), ...metadata }];
    case 'custom':
      return [{ type: 'custom', kind: String(part.kind), ...metadata }];
    case 'image':
      return filePart('file', part.image, part.mediaType ?? 'image', part, metadata);
    case 'file':
    case 'reasoning-file':
      return filePart(part.type, part.data, part.mediaType, part, metadata);
    case 'tool-call':
      return [
        {
          type: `tool-${part.toolName}`,
          toolCallId: String(part.toolCallId),
          state: 'input-available',
          input: part.input ?? {},
          ...(part.providerExecuted === true ? { providerExecuted: true } : {}),
          ...(isObject(part.providerOptions) ? { callProviderMetadata: part.providerOptions } : {}),
        },
      ];
    default:
      return [];
  }
}

function filePart(
  type: string,
  data: Json | undefined,
  mediaType: Json | undefined,
  { filename }: JsonObject,
  metadata: JsonObject,
): UiPart[] {
  const found = urlOf(data, String(mediaType));
  if (found === undefined) return [];
  const named: JsonObject = typeof filename === 'string' ? { filename } : {};
  return [{ type, mediaType: String(mediaType), ...found, ...named, ...metadata }];
}

/** Where the content of a file is: bytes become a data URL. */
function urlOf(data: Json | undefined, mediaType: string): { url: string } | undefined {
  if (typeof data === 'string') {
    return { url: /^(https?|data):/.test(data) ? data : dataUrl(data, mediaType) };
  }
  if (!isObject(data)) return undefined;
  if (typeof data.url === 'string') return { url: data.url };
  if (typeof data.data === 'string') return { url: dataUrl(data.data, mediaType) };
  if (typeof data.text === 'string') {
    return { url: `data:${mediaType},${encodeURIComponent(data.text)}` };
  }
  const reference = isObject(data.reference) ? data.reference : data;
  return { url: '', providerReference: reference } as { url: string };
}

export function dataUrl(base64: string, mediaType: string): string {
  return `data:${mediaType};base64,${base64}`;
}

/** Puts a result to its call. One of a call that is not there says nothing. */
function settle(parts: UiPart[], result: JsonObject): void {
  const place = parts.findIndex((part) => part.toolCallId === result.toolCallId);
  const call = parts[place];
  if (call) parts[place] = { ...call, ...outcomeOf(result.output as unknown as ModelOutput, call) };
}

function outcomeOf(output: ModelOutput | undefined, { toolCallId }: UiPart): JsonObject {
  switch (output?.type) {
    case 'text':
    case 'json':
      return { state: 'output-available', output: output.value };
    case 'error-text':
      return { state: 'output-error', errorText: output.value };
    case 'error-json':
      return {
        state: 'output-error',
        errorText: JSON.stringify(output.value),
        ...withNotes({ modelOutput: output }),
      };
    case 'execution-denied':
      return {
        state: 'output-denied',
        approval: {
          id: String(toolCallId),
          approved: false,
          ...(output.reason ? { reason: output.reason } : {}),
        },
        ...withNotes({ modelOutput: output }),
      };
    default:
      return {
        state: 'output-available',
        output: (output as JsonObject | undefined)?.value ?? null,
        ...(output ? withNotes({ modelOutput: output }) : {}),
      };
  }
}
