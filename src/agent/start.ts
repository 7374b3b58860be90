/** Begins a run. */
import { existsError } from '../core/log-errors.ts';
import { toMessages } from '../models/to-messages.ts';
import type { Leg } from '../stream/leg.ts';
import { toolsOf } from './agent-code.ts';
import { optionKeys } from './check-options.ts';
import { beginConversation, newInput } from './conversation.ts';
import { checkKeys } from './known-keys.ts';
import { runLeg } from './legs.ts';
import { conversationOf, type RunOptions } from './options.ts';
import { contextOf, optionsOfRun, partsOf, startedEvent } from './prepare.ts';
import { resumableIn } from './resume-tools.ts';
import type { TracedSpan } from './span.ts';
import { firstSpan } from './telemetry.ts';
import type { AgentCore, MessagesInput } from './types.ts';
import { undecided } from './undecided.ts';

export async function startRun(agent: AgentCore, input: MessagesInput, call: RunOptions): Promise<Leg> {
  checkKeys(call, optionKeys.run, 'stream and generate');
  const span = firstSpan(agent);
  if (span === undefined) return beginRun(agent, input, call, undefined);
  try {
    return await span.within(() => beginRun(agent, input, call, span));
  } catch (error) {
    span.end(error);
    throw error;
  }
}

async function beginRun(
  agent: AgentCore,
  input: MessagesInput,
  call: RunOptions,
  span: TracedSpan | undefined,
): Promise<Leg> {
  const { worker } = agent.binding();
  const options = optionsOfRun(agent, call);
  const context = () => contextOf(options.requestContext);
  const begun = await beginConversation(agent, worker, options, context);
  const given = undecided(
    begun ? await newInput(agent, input, begun) : { messages: toMessages(await agent.messages(input)) },
  );
  const mayAnswer = options.autoResumeSuspendedTools && begun && begun.open.length > 0;
  const resumable = mayAnswer
    ? resumableIn(begun.open, agent.id, given.messages, (await toolsOf(agent, context, call)).keys())
    : [];
  const facts = {
    ...(begun?.facts ?? { at: worker.clock.now(), ...conversationOf(options) }),
    ...(resumable.length > 0 ? { resumable } : {}),
    ...span?.kept,
  };
  const started = await startedEvent(agent, given, options, call, facts);
  const { runId } = call;
  const exists = runId !== undefined && (await worker.store.load(runId, Number.MAX_SAFE_INTEGER));
  if (exists) throw existsError(runId);
  const parts = await partsOf(agent, worker, { started, calls: new Map() }, call, true, begun?.recalled);
  const lease = worker.begin(started);
  return runLeg(agent, { ...lease, root: lease.log, span }, parts, call, (leg) => leg.begin());
}
