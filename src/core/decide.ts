/**
 * Owns whether a decision is legal, and the event that it becomes. One event for one stop of one call; the first
 * one wins. A decision comes from here alone, never from what a model wrote.
 */
import { decisionRecord } from './batch.ts';
import { CountersignError, type ErrorCode, type ErrorDetails } from './errors.ts';
import type { CallDecided, Decision, Person, Verdict } from './event.ts';
import { type Json, toJson } from './json.ts';
import { endedError } from './log-errors.ts';
import { waitingCalls } from './next.ts';
import { type Call, type CallState, isSettled, lastStep, type Run } from './state.ts';
import type { DecisionRecord, EndedRun } from './store.ts';

/** What a caller asks for. */
export interface DecisionRequest {
  readonly verdict: Verdict;
  readonly runId: string;
  readonly toolCallId?: string | undefined;
  readonly stop?: number | undefined;
  readonly fingerprint?: string | undefined;
  readonly reason?: string | undefined;
  readonly by?: Person | undefined;
  readonly decisionId?: string | undefined;
  /** Resume: the data, as given. */
  readonly data?: unknown;
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
  const decisions = [...run.calls.values()].flatMap((call) => call.decisions);
  // An id means one decision, whatever it is sent with again.
  const recorded = decisions.find(({ decisionId }) => decisionId && decisionId === request.decisionId);
  if (recorded) {
    const isSame = isRepeat(recorded, request) && (toolCallId ?? recorded.toolCallId) === recorded.toolCallId;
    if (!isSame) throw alreadyDecided(run, recorded);
    return { toolCallId: recorded.toolCallId, stop: recorded.stop };
  }
  if (toolCallId !== undefined) {
    const call = run.calls.get(toolCallId);
    if (call === undefined) throw notFound(run, toolCallId);
    return { toolCallId, stop: request.stop ?? Math.max(call.stop, 1) };
  }
  const waiting = waitingCalls(run);
  if (waiting.length > 1 && whenSeveralWait === 'refuse') {
    throw problem(run, 'call-required', `${waiting.length} calls wait in this run.`, {
      expected: `toolCallId, one of: ${waiting.map((call) => call.toolCallId).join(', ')}`,
    });
  }
  const fitting = waiting.filter((call) => movable[verdict].includes(call.state));
  const latest = newest(fitting) ?? newest(waiting);
  if (latest)
    return { toolCallId: latest.toolCallId, stop: request.stop ?? latest.stop, addressed: 'latest' };
  const decided = newest([...run.calls.values()].filter((call) => call.decisions.length > 0));
  if (decided) throw alreadyDecided(run, decided.decisions.at(-1) as CallDecided);
  throw problem(run, 'call-not-waiting', 'No call of this run waits for a person.', {
    todo: 'listSuspendedRuns lists what waits.',
  });
}

function newest(calls: readonly Call[]): Call | undefined {
  let found: Call | undefined;
  for (const call of calls) if (found === undefined || call.stopSeq >= found.stopSeq) found = call;
  return found;
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
  const call = run.calls.get(target.toolCallId);
  if (call === undefined) throw notFound(run, target.toolCallId);
  const earlier = call.decisions.find((decision) => decision.stop === target.stop);
  if (earlier) {
    if (isRepeat(earlier, request)) return undefined;
    throw alreadyDecided(run, earlier);
  }
  if (run.cancel && !isSettled(call)) {
    const { toolCallId } = call;
    throw problem(run, 'run-ended', 'The run is being cancelled; this comes too late.', { toolCallId });
  }
  if (call.stop !== target.stop && call.stop > 0) {
    throw problem(run, 'stop-mismatch', `The call waits at stop ${call.stop}, not ${target.stop}.`, {
      toolCallId: call.toolCallId,
      stop: call.stop,
      todo: 'Show the person what it waits for now, and decide that.',
    });
  }
  if (fingerprint !== undefined && fingerprint !== call.request.fingerprint) {
    throw problem(run, 'fingerprint-mismatch', 'The decision is for other arguments than the call has.', {
      toolCallId: call.toolCallId,
      expected: 'the fingerprint of the call as it was announced',
      todo: 'Show the person the call again.',
    });
  }
  checkState(run, call, verdict);
  if (verdict === 'resolve' && request.resolution === undefined) {
    throw problem(run, 'invalid-decision', 'It is not said what is to become of the call.', {});
  }
  return {
    type: 'call-decided',
    runId: run.started.runId,
    at,
    toolCallId: call.toolCallId,
    stop: call.stop,
    verdict,
    fingerprint: call.request.fingerprint,
    ...(by === undefined ? {} : { by: by.name === undefined ? { id: by.id } : { id: by.id, name: by.name } }),
    ...(reason === undefined ? {} : { reason }),
    ...(decisionId === undefined ? {} : { decisionId }),
    ...(target.addressed ? { addressed: target.addressed } : {}),
    ...(verdict === 'resume' ? { data: toJson(request.data, 'resume data') as Json } : {}),
    ...(verdict === 'resolve' && request.resolution ? { resolution: request.resolution } : {}),
  };
}

/** Whether a request is the recorded decision once more: under its id, with the same yes or no. */
function isRepeat(recorded: { decisionId?: string; verdict: string }, request: DecisionRequest): boolean {
  if (recorded.decisionId === undefined || recorded.decisionId !== request.decisionId) return false;
  const word =
    request.verdict === 'resume' ? (verdictIn(request.data)?.verdict ?? 'resume') : request.verdict;
  const isYes = (verdict: string): boolean => verdict === 'approve' || verdict === 'resume';
  return recorded.verdict === word || (isYes(recorded.verdict) && isYes(word));
}

function checkState(run: Run, call: Call, verdict: Verdict): void {
  const { toolCallId, state } = call;
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

/**
 * What a decision on an ended run amounts to: the record of the same `decisionId`, or an error that says it is too
 * late.
 */
export function decideEnded(ended: EndedRun, request: DecisionRequest): DecisionRecord {
  const { toolCallId, stop } = request;
  const records = ended.records
    .filter((record) => toolCallId === undefined || record.toolCallId === toolCallId)
    .filter((record) => stop === undefined || record.stop === stop);
  const repeated = records.find(
    (record) => record.verdict !== 'cancel' && isRepeat(record as never, request),
  );
  if (repeated) return repeated;
  const last = records.at(-1);
  if (last && last.verdict !== 'cancel') {
    throw new CountersignError('already-decided', decidedText(last), {
      runId: ended.runId,
      toolCallId: last.toolCallId,
      stop: last.stop,
      decision: withoutValues(last),
      outcome: { status: ended.outcome.status, finishReason: ended.outcome.finishReason },
    });
  }
  throw endedError(ended.runId, ended);
}

function alreadyDecided(run: Run, decision: CallDecided): CountersignError {
  const stalled = lastStep(run)?.state === 'stalled';
  return problem(run, 'already-decided', decidedText(decision), {
    toolCallId: decision.toolCallId,
    stop: decision.stop,
    decision: withoutValues(decisionRecord(run, decision)),
    ...(stalled ? { stalled, todo: 'The run is stalled; continueRun tries its model call again.' } : {}),
  });
}

/** Errors go to whoever came second: they say who decided what, and no arguments, data or results. */
function withoutValues({
  args: _args,
  data: _data,
  resolution: _resolution,
  outcome,
  ...record
}: DecisionRecord): object {
  return outcome ? { ...record, outcome: { state: outcome.state, at: outcome.at } } : record;
}

function decidedText({ verdict, by, stop }: { verdict: string; by?: Person; stop: number }): string {
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
