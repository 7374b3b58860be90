/**
 * Owns whether a decision is legal, and the event that it becomes. One event for one stop of one call; the first
 * one wins. A decision comes from here alone, never from what a model wrote.
 */
import { decisionRecord } from './batch.ts';
import { everyCall, type Found, findCall, qualifiedId } from './below.ts';
import { CountersignError, type ErrorCode, type ErrorDetails } from './errors.ts';
import type { Answering, CallDecided, Decision, Door, Person, Verdict } from './event.ts';
import { type Json, toJson } from './json.ts';
import { stalledRuns, waitingCalls } from './next.ts';
import { type CallState, isSettled, type Run } from './state.ts';
import type { DecisionRecord } from './store.ts';

/** What a caller asks for. */
export interface DecisionRequest {
  readonly verdict: Verdict;
  readonly runId: string;
  readonly toolCallId?: string | undefined;
  readonly stop?: number | undefined;
  readonly fingerprint?: string | undefined;
  readonly reason?: string | undefined;
  readonly by?: Person | undefined;
  readonly via?: Door | undefined;
  readonly decisionId?: string | undefined;
  /** Resume: the data, as given. */
  readonly data?: unknown;
  /** Resume: the call of a later turn that answers. */
  readonly answering?: Answering | undefined;
  /** Resolve: what is to become of an interrupted call. */
  readonly resolution?: Decision['resolution'] | undefined;
}

/** The call and stop that a request means, chosen once. */
export interface Target {
  readonly toolCallId: string;
  readonly stop: number;
  readonly addressed?: 'latest';
}

/** `resumeStream` on a held call decides it for exactly `{ approved: boolean, reason?: string }`, else undefined. */
export function verdictIn(data: unknown): { verdict: 'approve' | 'decline'; reason?: string } | undefined {
  if (typeof data !== 'object' || data === null) return undefined;
  const prototype: unknown = Object.getPrototypeOf(data);
  if (prototype !== Object.prototype && prototype !== null) return undefined;
  if (!Object.hasOwn(data, 'approved')) return undefined;
  const { approved, reason, ...others } = data as { approved?: unknown; reason?: unknown };
  if (typeof approved !== 'boolean' || Object.keys(others).length > 0) return undefined;
  if (reason !== undefined && typeof reason !== 'string') return undefined;
  return { verdict: approved ? 'approve' : 'decline', ...(reason === undefined ? {} : { reason }) };
}

const movable: Record<Verdict, readonly CallState[]> = {
  approve: ['held'],
  decline: ['held'],
  resume: ['suspended'],
  resolve: ['interrupted'],
};

/**
 * Chooses the call: the one that is named, else of those that the verdict can move the one announced last. Where
 * there is none of them, the newest waiting call, so that the error says what it waits for.
 * @throws `call-not-found`, `call-required`, `already-decided`, `call-not-waiting`.
 */
export function targetOf(run: Run, request: DecisionRequest, whenSeveralWait: 'latest' | 'refuse'): Target {
  const { toolCallId, verdict } = request;
  const calls = everyCall(run);
  const decisions = calls.flatMap(({ id, call }) => call.decisions.map((decision) => ({ id, decision })));
  // An id means one decision, whatever it is sent with again.
  const recorded = decisions.find(
    ({ decision: { decisionId } }) => decisionId && decisionId === request.decisionId,
  );
  if (recorded) {
    const { id, decision } = recorded;
    const isSame = isRepeat(decision, request) && (toolCallId ?? id) === id;
    if (!isSame) throw alreadyDecided(run, decision);
    return { toolCallId: id, stop: decision.stop };
  }
  if (toolCallId !== undefined) {
    const found = findCall(run, toolCallId);
    if (found === undefined) throw notFound(run, toolCallId);
    return { toolCallId, stop: request.stop ?? Math.max(found.call.stop, 1) };
  }
  const waiting = waitingCalls(run);
  if (waiting.length > 1 && whenSeveralWait === 'refuse') {
    throw problem(run, 'call-required', `${waiting.length} calls wait in this run.`, {
      expected: `toolCallId, one of: ${waiting.map(({ id }) => id).join(', ')}`,
    });
  }
  const fitting = waiting.filter(({ call }) => movable[verdict].includes(call.state));
  const latest = newest(fitting) ?? newest(waiting);
  if (latest) return { toolCallId: latest.id, stop: request.stop ?? latest.call.stop, addressed: 'latest' };
  const decided = newest(calls.filter(({ call }) => call.decisions.length > 0));
  if (decided) throw alreadyDecided(run, decided.call.decisions.at(-1) as CallDecided);
  throw problem(run, 'call-not-waiting', 'No call of this run waits for a person.', {
    todo: 'listSuspendedRuns lists what waits.',
  });
}

function newest(calls: readonly Found[]): Found | undefined {
  let last: Found | undefined;
  for (const found of calls) if (!last || found.call.stopSeq >= last.call.stopSeq) last = found;
  return last;
}

/**
 * The event that the decision is, or undefined when this very `decisionId` is recorded already.
 * @throws when the decision is not legal in this state; then nothing happens.
 */
export function decide(
  run: Run,
  request: DecisionRequest,
  target: Target,
  at: number,
): CallDecided | undefined {
  const { verdict, fingerprint, reason, by, decisionId } = request;
  const found = findCall(run, target.toolCallId);
  if (found === undefined) throw notFound(run, target.toolCallId);
  const { call } = found;
  const earlier = call.decisions.find((decision) => decision.stop === target.stop);
  if (earlier) {
    if (isRepeat(earlier, request)) return undefined;
    throw alreadyDecided(run, earlier);
  }
  const { toolCallId } = target;
  if (found.run.cancel && !isSettled(call)) {
    throw problem(run, 'run-ended', 'The run is being cancelled; this comes too late.', { toolCallId });
  }
  if (call.stop !== target.stop && call.stop > 0) {
    throw problem(run, 'stop-mismatch', `The call waits at stop ${call.stop}, not ${target.stop}.`, {
      toolCallId,
      stop: call.stop,
      todo: 'Show the person what it waits for now, and decide that.',
    });
  }
  if (fingerprint !== undefined && fingerprint !== call.request.fingerprint) {
    throw problem(run, 'fingerprint-mismatch', 'The decision is for other arguments than the call has.', {
      toolCallId,
      expected: 'the fingerprint of the call as it was announced',
      todo: 'Show the person the call again.',
    });
  }
  checkState(run, toolCallId, call.state, verdict);
  if (verdict === 'resolve' && request.resolution === undefined) {
    throw problem(run, 'invalid-decision', 'It is not said what is to become of the call.', {});
  }
  return {
    type: 'call-decided',
    runId: found.run.started.runId,
    at,
    toolCallId: call.toolCallId,
    stop: call.stop,
    verdict,
    fingerprint: call.request.fingerprint,
    ...(by === undefined ? {} : { by: personOf(by) }),
    ...(request.via === undefined ? {} : { via: request.via }),
    ...(reason === undefined ? {} : { reason }),
    ...(decisionId === undefined ? {} : { decisionId }),
    ...(target.addressed ? { addressed: target.addressed } : {}),
    ...(verdict === 'resume' ? { data: toJson(request.data, 'resume data') as Json } : {}),
    ...(request.answering ? { answering: request.answering } : {}),
    ...(verdict === 'resolve' && request.resolution ? { resolution: request.resolution } : {}),
  };
}

function personOf({ id, name, messageId }: Person): Person {
  return { id, ...(name === undefined ? {} : { name }), ...(messageId === undefined ? {} : { messageId }) };
}

/** Whether a request is the recorded decision once more: under its id, with the same yes or no. */
export function isRepeat(
  recorded: { decisionId?: string; verdict: string },
  request: DecisionRequest,
): boolean {
  if (recorded.decisionId === undefined || recorded.decisionId !== request.decisionId) return false;
  const isVerdict = request.verdict === 'resume' && recorded.verdict !== 'resume';
  const word = isVerdict ? (verdictIn(request.data)?.verdict ?? 'resume') : request.verdict;
  const isYes = (verdict: string): boolean => verdict === 'approve' || verdict === 'resume';
  return recorded.verdict === word || (isYes(recorded.verdict) && isYes(word));
}

function checkState(run: Run, toolCallId: string, state: CallState, verdict: Verdict): void {
  const legal = verdict === 'decline' ? ['held', 'suspended'] : movable[verdict];
  if (legal.includes(state)) return;
  if (state === 'interrupted') {
    throw problem(
      run,
      'call-interrupted',
      'Its worker died while the call ran; nobody knows whether it happened.',
      {
        toolCallId,
        expected: 'resolveInterruptedCall: run it again, or say what happened',
      },
    );
  }
  if (state === 'suspended') {
    throw problem(run, 'needs-data', 'The call suspended itself and waits for data, not for an approval.', {
      toolCallId,
      expected: 'resumeStream(data, …) with data for its resumeSchema, or a decline',
    });
  }
  if (state === 'held') {
    throw problem(run, 'needs-verdict', 'The call waits for an approval, and this is none.', {
      toolCallId,
      expected: '{ approved: true } or { approved: false, reason? }, or approveToolCall / declineToolCall',
    });
  }
  throw problem(run, 'call-not-waiting', `The call is ${state}; it does not wait for this.`, {
    toolCallId,
    todo: 'listSuspendedRuns lists what waits.',
  });
}

function alreadyDecided(run: Run, decision: CallDecided): CountersignError {
  const stalled = stalledRuns(run).length > 0;
  return problem(run, 'already-decided', decidedText(decision), {
    toolCallId: qualifiedId(run, decision.runId, decision.toolCallId),
    stop: decision.stop,
    decision: withoutValues(decisionRecord(run, decision)),
    ...(stalled ? { stalled, todo: 'The run is stalled; continueRun tries its model call again.' } : {}),
  });
}

/** Errors go to whoever came second: they say who decided what, and no arguments, data or results. */
export function withoutValues({
  args: _args,
  data: _data,
  resolution: _resolution,
  outcome,
  ...record
}: DecisionRecord): object {
  return outcome ? { ...record, outcome: { state: outcome.state, at: outcome.at } } : record;
}

export function decidedText({ verdict, by, stop }: { verdict: string; by?: Person; stop: number }): string {
  return `Stop ${stop} of this call was decided before: ${verdict}${by ? ` by "${by.id}"` : ''}.`;
}

function notFound(run: Run, toolCallId: string): CountersignError {
  return problem(run, 'call-not-found', `There is no call "${toolCallId}" in this run.`, {
    toolCallId,
    expected: 'a toolCallId of this run, as announced or listed',
  });
}

function problem(run: Run, code: ErrorCode, what: string, details: ErrorDetails): CountersignError {
  return new CountersignError(code, what, {
    runId: run.started.runId,
    agentId: run.started.agentId,
    ...details,
  });
}
