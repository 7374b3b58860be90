/** What callers write as messages, as messages of a prompt. */
import { CountersignError, isCountersignError } from '../core/errors.ts';
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
    if (Array.isArray(message.content) && !message.content.every(isPart)) {
      throw invalid(`Message ${index} has a part without a type.`);
    }
    return toJson(message, `message ${index}`) as Message;
  });
}

function isPart(part: unknown): boolean {
  return typeof part === 'object' && part !== null && typeof (part as { type?: unknown }).type === 'string';
}

/**
 * Converts messages of a chat page.
 * @param convert is the AI SDK's, which throws whatever it meets in messages that are none.
 * @throws `invalid-message`.
 */
export async function convertedUi<T>(messages: readonly unknown[], convert: () => Promise<T>): Promise<T> {
  const isUi = (message: unknown): boolean => {
    const { role, parts } = (message ?? {}) as { role?: unknown; parts?: unknown };
    return (
      ['system', 'user', 'assistant'].includes(role as string) && Array.isArray(parts) && parts.every(isPart)
    );
  };
  const wrong = messages.findIndex((message) => !isUi(message));
  if (wrong !== -1) throw invalidUi(`Message ${wrong} is no UIMessage.`);
  try {
    return await convert();
  } catch (cause) {
    if (isCountersignError(cause)) throw cause;
    throw invalidUi('The messages cannot be converted.', cause);
  }
}

function invalidUi(what: string, cause?: unknown): CountersignError {
  return new CountersignError('invalid-message', what, {
    expected: "UIMessages { id?, role: 'user' | 'assistant' | 'system', parts: [{ type, … }] }",
    cause,
  });
}

function invalid(what: string): CountersignError {
  return new CountersignError('invalid-message', what, {
    expected:
      "a string, or messages { role: 'user' | 'assistant' | 'system' | 'tool', content: string or parts }",
  });
}
