/** Answers a suspended call for a later turn of its conversation, exactly once, and takes the result for that turn. */
import { everyCall, findCall, firstIdOf } from '../core/below.ts';
import { RequestContext } from '../core/context.ts';
import { isCountersignError, messageOf } from '../core/errors.ts';
import { type Answer, type Answering, eventFrom, type Resumable } from '../core/event.ts';
import { fold } from '../core/run.ts';
import { type Call, isSettled, isWaiting, lastDecision, type Run } from '../core/state.ts';
import type { RecordedOutcome, Store } from '../core/store.ts';
import { cancelledText } from '../models/prompt.ts';
import type { Leg } from '../stream/leg.ts';
import { cancelRun } from './cancel.ts';
import { decideCall } from './decision.ts';
import type { LegOptions } from './options.ts';
import { contextKeys } from './prepare.ts';
import type { AgentCore, AnsweringTurn, TurnAnswer } from './types.ts';

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
): Promise<TurnAnswer> {
  const { runId, toolCallId, stop } = resumable;
  const { store } = agent.binding().worker;
  const answering = { runId: context.runId, toolCallId: context.toolCallId };
  const decision = {
    ...(await broughtAlong(store, runId, leg, context.requestContext)),
    runId,
    toolCallId,
    stop,
    decisionId: `auto-resume:${answering.runId}:${answering.toolCallId}`,
    by: { id: 'auto-resume', messageId },
    via: 'auto-resume' as const,
  };
  const told = await decideCall(agent, decision, { verdict: 'resume', data, answering });
  const endWithTurn = (): Promise<void> => endWith(agent, runId, context.runId);
  context.abortSignal.addEventListener('abort', endWithTurn, { once: true });
  try {
    if (context.abortSignal.aborted) await endWithTurn();
    return await outcomeIn(store, told, toolCallId, answering);
  } finally {
    context.abortSignal.removeEventListener('abort', endWithTurn);
  }
}

/** What this leg has of what the waiting run lacks. */
async function broughtAlong(
  store: Store,
  runId: string,
  { requireToolApproval, hooks, delegation, toolsets, model }: LegOptions,
  context: RequestContext,
): Promise<LegOptions> {
  const started = (await openRun(store, runId))?.started;
  const lacking = started ? contextKeys(started) : [];
  const known = lacking.filter((key) => context.has(key)).map((key) => [key, context.get(key)] as const);
  return {
    requireToolApproval,
    hooks,
    delegation,
    toolsets,
    ...(started?.missing.includes('model') ? { model } : {}),
    ...(known.length > 0 ? { requestContext: new RequestContext(known) } : {}),
  };
}

async function openRun(store: Store, runId: string): Promise<Run | undefined> {
  const found = await store.load(firstIdOf(runId), 0);
  return found?.kind === 'open' ? fold(found.events.map(eventFrom)) : undefined;
}

/** A turn that is cancelled ends what it lets run, unless others have a part in that run: then it goes on. */
async function endWith(agent: AgentCore, runId: string, turn: string): Promise<void> {
  const { store, warn } = agent.binding().worker;
  try {
    const run = await openRun(store, runId);
    if (!run || everyCall(run).some(({ call }) => isOfOthers(call, turn))) return;
    await cancelRun(agent, { runId, reason: 'aborted' });
  } catch (error) {
    if (!isCountersignError(error, 'run-ended')) warn(`Run ${runId} was not cancelled: ${messageOf(error)}`);
  }
}

/** Whether it waits for a person, or goes on because of one. */
function isOfOthers(call: Call, turn: string): boolean {
  const decision = call.decisions.at(-1);
  if (isSettled(call) || call.child) return false;
  return isWaiting(call) || (decision !== undefined && decision.answering?.runId !== turn);
}

const notFinished = 'The answer was taken. What it belongs to is not finished yet.';
const notKept =
  'The answer was taken, and the call is finished. Its result is too large to be repeated here.';

/** What became of the call: its result, or that of the delegation that it is part of; or that it asks again. */
async function outcomeIn(
  store: Store,
  told: Leg,
  toolCallId: string,
  answering: Answering,
): Promise<TurnAnswer> {
  const { run } = await told.ended;
  const { answered } = run.outcome ?? {};
  const isOurs = answered?.runId === answering.runId && answered.toolCallId === answering.toolCallId;
  if (isOurs) return resultOf({ state: answered.error ? 'failed' : 'finished', ...answered });
  const call = run.calls.get(firstIdOf(toolCallId));
  if (call && isSettled(call)) return resultOf({ ...call, reason: lastDecision(call)?.reason });
  const asked = findCall(run, toolCallId)?.call;
  if (asked?.state === 'suspended') {
    return { result: { waiting: true, asked: asked.suspension?.payload ?? null } };
  }
  const recorded = run.outcome && (await recordedOf(store, run.started.runId, toolCallId));
  return recorded ? resultOf(recorded) : { result: { waiting: true, note: notFinished } };
}

/** The last that is recorded of the call of a run that ended elsewhere, or before. */
async function recordedOf(
  store: Store,
  runId: string,
  toolCallId: string,
): Promise<RecordedOutcome | undefined> {
  const found = await store.load(runId, Number.MAX_SAFE_INTEGER);
  const records = found?.kind === 'ended' ? found.records : [];
  return records.findLast((record) => record.toolCallId === toolCallId && record.outcome)?.outcome;
}

interface Settled extends Omit<Answer, 'error'> {
  readonly state: string;
  readonly error?: { readonly message: string } | undefined;
  readonly reason?: string | undefined;
  readonly truncated?: boolean | undefined;
}

/** @throws what the model is told of a call that has no result. */
function resultOf({ state, result, modelOutput, error, reason, truncated }: Settled): TurnAnswer {
  if (state === 'failed') throw new Error(error?.message ?? 'The call failed.');
  if (state === 'declined') throw new Error(`A person declined it.${reason ? ` Reason: ${reason}` : ''}`);
  if (state === 'cancelled') throw new Error(cancelledText);
  if (truncated) return { result: { finished: true, note: notKept } };
  return { result: result ?? null, ...(modelOutput ? { modelOutput } : {}) };
}
