/**
 * The messages of a prompt: the shapes of the AI SDK's `ModelMessage`, as JSON. What a provider needs to see again
 * (reasoning signatures, item ids) travels in `providerOptions`.
 */
import { CountersignError } from './errors.ts';
import { type Json, type JsonObject, toJson } from './json.ts';

/** A part of a message: text, a file, a tool call … */
export type MessagePart =
  | { readonly type: string }
  | { readonly type: string; readonly [key: string]: unknown };

/** A message as callers may write it: `ModelMessage`s of the AI SDK fit. */
export interface MessageInput {
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly content: string | readonly MessagePart[];
}

/** A message as it is kept and sent: JSON all through. */
export interface Message extends JsonObject {
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly content: string | readonly JsonObject[];
}

/** What a model reads as the result of a call (AI SDK `ToolResultOutput`). */
export type ModelOutput =
  | { readonly type: 'text' | 'error-text'; readonly value: string }
  | { readonly type: 'json' | 'error-json' | 'content'; readonly value: Json }
  | { readonly type: 'execution-denied'; readonly reason: string };

const roles = new Set(['system', 'user', 'assistant', 'tool']);

/**
 * Turns what a caller passed into messages: a string or strings become user messages; bytes become base64, URLs
 * strings.
 * @throws `invalid-message` when there is none, or one has another shape.
 */
export function toMessages(
  input: string | MessageInput | Message | readonly (string | MessageInput | Message)[],
): Message[] {
  const list: readonly unknown[] = Array.isArray(input) ? input : [input];
  if (list.length === 0) throw invalid('There is no message.');
  return list.map((item, index) => {
    if (typeof item === 'string') return { role: 'user', content: item };
    const message = item as MessageInput | null | undefined;
    if (typeof message !== 'object' || message === null || !roles.has(message.role)) {
      throw invalid(`Message ${index} has no role.`);
    }
    if (typeof message.content !== 'string' && !Array.isArray(message.content)) {
      throw invalid(`Message ${index} has no content.`);
    }
    return toJson(message, `message ${index}`) as Message;
  });
}

function invalid(what: string): CountersignError {
  return new CountersignError('invalid-message', what, {
    expected:
      "a string, or messages { role: 'user' | 'assistant' | 'system' | 'tool', content: string or parts }",
  });
}

/** The text of a message's text parts. */
export function textOf(content: readonly Json[]): string {
  let text = '';
  for (const part of content as readonly JsonObject[]) if (part.type === 'text') text += part.text;
  return text;
}
