/** What callers write as messages, as messages of a prompt. */
import { CountersignError } from '../core/errors.ts';
import { toJson } from '../core/json.ts';
import type { Message, MessageInput } from '../core/message.ts';

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
