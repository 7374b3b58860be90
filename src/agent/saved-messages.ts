/** Histories that people bring, as messages of a thread. */
import { uiMessagesFrom } from '../conversation/input-view.ts';
import { CountersignError } from '../core/errors.ts';
import { toJson } from '../core/json.ts';
import type { Message, MessageInput } from '../core/message.ts';
import type { UIMessage } from '../models/ai-sdk-types.ts';
import { toMessages } from '../models/to-messages.ts';
import { isId } from './ids.ts';
import type { UiMessageInput } from './ui-message-input.ts';

/** What `saveMessages` takes: messages of a chat page, of a prompt, or texts of a user. */
export type SavedMessage = string | UiMessageInput | MessageInput | Message;

/** UI messages with their ids, all others with new ones. */
export function uiMessagesOf(given: SavedMessage | readonly SavedMessage[]): UIMessage[] {
  const list = (Array.isArray(given) ? given : [given]) as readonly SavedMessage[];
  const isUi = (message: SavedMessage): message is UiMessageInput =>
    typeof message === 'object' && message !== null && 'parts' in message;
  if (!list.some(isUi)) {
    const made = uiMessagesFrom(
      toMessages(list as never),
      () => undefined,
      () => crypto.randomUUID(),
    );
    return made.map(({ message }) => message);
  }
  return list.map((message, index) => {
    const { id = crypto.randomUUID(), role, parts } = message as Partial<UiMessageInput>;
    if (
      !isUi(message) ||
      !isId(id) ||
      !Array.isArray(parts) ||
      !['system', 'user', 'assistant'].includes(role ?? '')
    ) {
      throw new CountersignError('invalid-message', `Message ${index} is no UIMessage.`, {
        expected: "UIMessages { id, role: 'user' | 'assistant' | 'system', parts } throughout, or none",
      });
    }
    return { ...(toJson(message, `message ${index}`) as unknown as UIMessage), id };
  });
}
