/** Answers a suspended call for a later turn of its conversation, exactly once, and takes the result for that turn. */
import { findCall, firstIdOf } from '../core/below.ts';
import { RequestContext } from '../core/context.ts';
import { type Answering, eventFrom, type Resumable, type RunStarted } from '../core/event.ts';
import type { Json } from '../core/json.ts';
import { lastDecision } from '../core/state.ts';
import type { Leg } from '../stream/leg.ts';
import { decideCall } from './decision.ts';
import type { LegOptions } from './options.ts';
import { contextKeys } from './prepare.ts';
import type { AgentCore, AnsweringTurn } from './types.ts';

/**
 * Decides the waiting call with the data. Under one id for one call of the turn, so that whoever does it again, after
 * a crash, gets what became of it.
 * @throws what `resumeStream` throws; then the call keeps waiting. Also when the call failed.
 */
export async function answerCall(
  agent: AgentCore,
  resumable: Resumable,
  data: unknown,
  { messageId, context, leg }: AnsweringTurn,
): Promise<Json> {
  const { runId, toolCallId, stop } = resumable;
  const answering = { runId: context.runId, toolCallId: context.toolCallId };
  const decision = {
    ...(await broughtAlong(agent, runId, leg, context.requestContext)),
    runId,
    toolCallId,
    stop,
    decisionId: `auto-resume:${answering.runId}:${answering.toolCallId}`,
    by: { id: 'auto-resume', messageId },
  };
  const told = await decideCall(agent, decision, { verdict: 'resume', data, answering });
  return outcomeIn(told, toolCallId, answering);
}

/** What this leg has of what the waiting run lacks. */
async function broughtAlong(
  agent: AgentCore,
  runId: string,
  { requireToolApproval, hooks, delegation, toolsets, model }: LegOptions,
  context: RequestContext,
): Promise<LegOptions> {
  const found = await agent.binding().worker.store.load(firstIdOf(runId), 0);
  const [first] = found?.kind === 'open' ? found.events : [];
  const started = first === undefined ? undefined : (eventFrom(first) as RunStarted);
  const known = (started ? contextKeys(started) : [])
    .filter((key) => context.has(key))
    .map((key) => [key, context.get(key)] as const);
  const brought = known.length > 0 ? { requestContext: new RequestContext(known) } : {};
  // A model that the run has stored is its own: only one that it lacks is brought.
  const lackedModel = started?.missing.includes('model') ? { model } : {};
  return { requireToolApproval, hooks, delegation, toolsets, ...lackedModel, ...brought };
}

/** What became of the call: its result, or that of the delegation that it is part of; or that it asks again. */
async function outcomeIn(told: Leg, toolCallId: string, answering: Answering): Promise<Json> {
  const { run } = await told.ended;
  const { answered } = run.outcome ?? {};
  // Two calls of one run may be answered in one turn: the end has the result of the last.
  const isOurs = answered?.runId === answering.runId && answered.toolCallId === answering.toolCallId;
  if (isOurs) return answered.error ? failed(answered.error.message) : (answered.result ?? null);
  const asked = findCall(run, toolCallId)?.call;
  const call = run.calls.get(firstIdOf(toolCallId));
  if (call?.state === 'finished') return call.result ?? null;
  if (call?.state === 'failed') return failed(call.error?.message ?? 'The call failed.');
  if (call?.state === 'declined') return failed(`A person declined it. ${lastDecision(call)?.reason ?? ''}`);
  if (asked?.state === 'suspended') {
    return { waiting: true, asked: asked.suspension?.payload ?? null };
  }
  const recorded = told.toolResults.find(({ payload }) => payload.toolCallId === toolCallId);
  if (recorded) return recorded.payload.result as Json;
  return { waiting: true, note: 'The answer was taken. What it belongs to is not finished yet.' };
}

function failed(message: string): never {
  throw new Error(message);
}
