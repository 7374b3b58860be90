/**
 * The messages of a prompt: the shapes of the AI SDK's `ModelMessage`, as JSON. What a provider needs to see again
 * (reasoning signatures, item ids) travels in `providerOptions`.
 */
import type { Json, JsonObject } from './json.ts';

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

/** The text of a message's text parts. */
export function textOf(content: readonly Json[]): string {
  let text = '';
  for (const part of content as readonly JsonObject[]) if (part.type === 'text') text += part.text;
  return text;
}
