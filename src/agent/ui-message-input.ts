import type { MessagePart } from '../core/message.ts';

/** A message of an AI SDK chat page. */
export interface UiMessageInput {
  /** With a `Memory` it is kept: the same id is the same message. */
  readonly id?: string | undefined;
  readonly role: 'system' | 'user' | 'assistant';
  readonly parts: readonly MessagePart[];
}
