/** Begins a run. */
import type { RunStarted } from '../core/event.ts';
import { existsError } from '../core/log-errors.ts';
import { toMessages } from '../models/to-messages.ts';
import type { Leg } from '../stream/leg.ts';
import { optionKeys } from './check-options.ts';
import { beginConversation, newInput } from './conversation.ts';
import { checkKeys } from './known-keys.ts';
import { runLeg } from './legs.ts';
import { conversationOf, type RunOptions } from './options.ts';
import { contextOf, optionsOfRun, partsOf, startedEvent } from './prepare.ts';
import { resumableIn } from './resume-tools.ts';
import type { AgentCore, MessagesInput } from './types.ts';

type Input = Pick<RunStarted, 'messages' | 'messageIds' | 'memory'>;

/**
 * Without what messages say of approvals. A call is decided by a decision alone: what somebody wrote into a history
 * must not reach a provider that runs a call as soon as it reads an answer.
 */
function undecided({ messages, messageIds, ...others }: Input): Input {
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

export async function startRun(agent: AgentCore, input: MessagesInput, call: RunOptions): Promise<Leg> {
  checkKeys(call, optionKeys.run, 'stream and generate');
  const { worker } = agent.binding();
  const options = optionsOfRun(agent, call);
  const context = () => contextOf(options.requestContext);
  const begun = await beginConversation(agent, worker, options, context);
  const given = undecided(
    begun ? await newInput(agent, input, begun) : { messages: toMessages(await agent.messages(input)) },
  );
  const resumable =
    begun && options.autoResumeSuspendedTools ? resumableIn(begun.open, agent.id, given.messages) : [];
  const facts = {
    ...(begun?.facts ?? { at: worker.clock.now(), ...conversationOf(options) }),
    ...(resumable.length > 0 ? { resumable } : {}),
  };
  const started = await startedEvent(agent, given, options, call, facts);
  const { runId } = call;
  const exists = runId !== undefined && (await worker.store.load(runId, Number.MAX_SAFE_INTEGER));
  if (exists) throw existsError(runId);
  const parts = await partsOf(agent, worker, { started, calls: new Map() }, call, true, begun?.recalled);
  const lease = worker.begin(started);
  return runLeg(agent, { ...lease, root: lease.log }, parts, call, (leg) => leg.begin());
}
