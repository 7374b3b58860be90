/** Conversations as a caller writes them: messages of a page go in and come out as the AI SDK has them. */
import type { UIMessage } from 'ai';
import { Agent, Memory } from 'countersign';

const memory = new Memory();
const agent = new Agent({ id: 'desk', model: 'openai/gpt-5-mini', memory });

export async function page(threadId: string, resourceId: string, sent: UIMessage[]): Promise<UIMessage[]> {
  await memory.saveMessages({ threadId, resourceId, messages: sent });
  await memory.saveMessages({
    threadId,
    resourceId,
    messages: ['Hi', { role: 'assistant', content: 'Hello' }],
  });
  await agent.stream(sent, { memory: { thread: { id: threadId, title: 'New' }, resource: resourceId } });
  const { messages } = await memory.recall({ threadId, resourceId, last: 10 });
  for (const part of messages.flatMap(({ parts }) => parts)) {
    if (!('approval' in part) || part.state !== 'approval-requested') continue;
    const [runId = '', toolCallId = '', stop] = part.approval.id.split('::');
    await agent.approveToolCall({ runId, toolCallId, stop: Number(stop) });
  }
  return messages;
}

/** A memory, or a function of the request that gives one. */
export const chosen = new Agent({
  id: 'desk',
  model: 'openai/gpt-5-mini',
  memory: ({ requestContext }) =>
    requestContext.has('guest') ? new Memory({ options: { readOnly: true } }) : memory,
});

/** Or none; and of sub-agents those that this request may have. */
export const sometimes = new Agent({
  id: 'desk',
  model: 'openai/gpt-5-mini',
  memory: ({ requestContext }) => (requestContext.has('guest') ? undefined : memory),
  agents: ({ requestContext }) => ({ chosen, agent: requestContext.has('guest') ? undefined : agent }),
});

// @ts-expect-error a thread belongs to a resource
void memory.recall({ threadId: 'a' });
// @ts-expect-error the memory's word for it is a number, or false
export const wrong = new Memory({ options: { lastMessages: true } });
