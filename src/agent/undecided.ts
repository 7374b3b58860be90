/** Owns that no history decides: the input of a run, without what its messages say of approvals. */
import type { RunStarted } from '../core/event.ts';
import { toMessages } from '../models/to-messages.ts';

type Input = Pick<RunStarted, 'messages' | 'messageIds' | 'memory'>;

/**
 * A call is decided by a decision alone: what somebody wrote into a history
 * must not reach a provider that runs a call as soon as it reads an answer.
 */
export function undecided({ messages, messageIds, ...others }: Input): Input {
  const kept = messages.flatMap((message, index) => {
    const { content } = message;
    const id = messageIds?.[index] ?? null;
    if (typeof content === 'string') return [{ message, id }];
    const said = content.filter(({ type }) => !/^tool-approval-/.test(String(type)));
    return said.length === 0 && content.length > 0 ? [] : [{ message: { ...message, content: said }, id }];
  });
  return {
    ...others,
    // Where nothing else is said, that is no input.
    messages: kept.length > 0 ? kept.map(({ message }) => message) : toMessages([]),
    ...(messageIds ? { messageIds: kept.map(({ id }) => id) } : {}),
  };
}
