/** `--chat`: a conversation that is kept in the store, so that a later process goes on where this one stopped. */
import { createInterface } from 'node:readline/promises';
import type { AgentStream } from 'countersign';
import { decide } from './conversation.ts';
import type { Desk } from './desk.ts';
import { type HeldCall, print, showLeg } from './print.ts';
import type { Reviewer } from './review.ts';

const thread = { thread: 'refund-chat', resource: 'you' };
const ids = { threadId: thread.thread, resourceId: thread.resource };

/** Answers message by message, until there is none. What is held is decided in between. */
export async function runChat(desk: Desk, reviewer: Reviewer, input: NodeJS.ReadStream): Promise<void> {
  if (!(await goOn(desk, reviewer))) desk.shop.reset();
  for await (const message of messagesFrom(input)) {
    if (!input.isTTY) print.customer(message);
    await follow(desk, await desk.agent.stream(message, { memory: thread }), reviewer);
  }
}

/** Whether there is a conversation already; what is held in it is decided first. */
async function goOn({ agent, memory }: Desk, reviewer: Reviewer): Promise<boolean> {
  const { threads } = await memory.listThreads({ resourceId: ids.resourceId });
  if (threads.length === 0) return false;
  const { messages } = await memory.recall(ids);
  print.note(`The conversation goes on: ${messages.length} messages are in the store.`);
  const { runs } = await agent.listSuspendedRuns(ids);
  for (const { runId, toolCalls } of runs) {
    for (const call of toolCalls.filter(({ requiresApproval }) => requiresApproval)) {
      const leg = await decided(agent, runId, call, reviewer);
      if (leg) await showLeg(leg);
    }
  }
  return true;
}

async function follow({ agent }: Desk, leg: AgentStream, reviewer: Reviewer): Promise<void> {
  await showLeg(leg);
  const waiting = await leg.suspendPayloads;
  for (const call of waiting)
    if (!call.requiresApproval) print.question(String(call.suspendPayload.question));
  const held = waiting.find(({ requiresApproval }) => requiresApproval);
  const next = held && (await decided(agent, leg.runId, held, reviewer));
  if (next) await follow({ agent } as Desk, next, reviewer);
}

async function decided(
  agent: Desk['agent'],
  runId: string,
  call: HeldCall,
  reviewer: Reviewer,
): Promise<AgentStream | undefined> {
  print.held(call);
  const verdict = await reviewer(call);
  return verdict === 'later' ? undefined : decide(agent, runId, call, verdict);
}

/** Line by line. A terminal is asked anew each time, since in between it is asked for decisions. */
async function* messagesFrom(input: NodeJS.ReadStream): AsyncGenerator<string> {
  if (!input.isTTY) {
    for await (const line of createInterface({ input })) if (line.trim() !== '') yield line;
    return;
  }
  print.note('Write to the desk, for instance: My lamp arrived broken, please refund it. Ctrl-D ends.');
  for (;;) {
    const terminal = createInterface({ input, output: process.stdout });
    const leaves = new Promise<undefined>((resolve) => terminal.once('close', () => resolve(undefined)));
    const line = await Promise.race([terminal.question('\nYou: ').catch(() => undefined), leaves]);
    terminal.close();
    if (line === undefined) return;
    if (line.trim() !== '') yield line;
  }
}
