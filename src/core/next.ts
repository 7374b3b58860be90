/**
 * Owns what may happen next: `next` for the loop, `riders` for every append, `headOf` for the store. Pure.
 * `next` says 'model' and 'calls' only to the holder of the claim, so two drives never do the same thing.
 */

import { asFound, everyCall, type Found, openRuns } from './below.ts';
import type { Answering, Claim, Event, Holder, Outcome, RunError } from './event.ts';
import type { Json, JsonObject } from './json.ts';
import { textOf } from './message.ts';
import { type Call, isSettled, isWaiting, lastStep, openCalls, type Run } from './state.ts';

export type Next = 'model' | 'calls' | 'wait' | 'done';

/** What the holder `me` may do now. */
export function next(run: Run, me: Holder): Next {
  if (run.outcome) return 'wait';
  const step = lastStep(run);
  if (step?.state === 'claimed') return isMine(step.claim, me) ? 'model' : 'wait';
  const running = openCalls(run).filter((call) => call.state === 'running');
  if (running.some((call) => isMine(call.claim, me) || movesBelow(call, me))) return 'calls';
  if (running.length > 0) return 'wait';
  return isOver(run) ? 'done' : 'wait';
}

/** Whether the call is a delegation of which the holder may do something now. */
export function movesBelow({ child }: Call, me: Holder): boolean {
  return child !== undefined && next(child, me) !== 'wait';
}

/** The events that let somebody begin something: they are stored before it begins. */
export function isClaim(event: Event): event is Extract<Event, { claim: Claim }> {
  return event.type === 'call-started' || event.type === 'step-started';
}

export function isMine(claim: Claim | undefined, me: Holder): boolean {
  return claim !== undefined && claim.worker === me.worker && claim.leg === me.leg;
}

/** Nothing more may happen but the end: cancelled, stopped, or the last step asks for nothing more. */
function isOver(run: Run): boolean {
  if (run.cancel || run.answered || run.stopped) return true;
  const step = lastStep(run);
  if (step?.state !== 'finished' || !openCalls(run).every(isSettled)) return false;
  return step.calls.length === 0 || run.steps.length >= run.started.options.maxSteps;
}

/**
 * What rides in the append of `me` after which the run is in this state, so that it costs no commit of its own: the
 * claims of the free and approved calls up to the concurrency of the run, or, when everything is settled, the claim
 * of the next model call, or the end. Those of the runs below come first: what they make possible rides along next.
 */
export function riders(run: Run, me: Holder, at: number, isRoot = true): Event[] {
  if (run.outcome || (lastStep(run)?.state === 'stalled' && !run.cancel)) return [];
  const below = openCalls(run).flatMap(({ child }) => (child ? riders(child, me, at, false) : []));
  return below.length > 0 ? below : ownRiders(run, me, at, isRoot);
}

function ownRiders(run: Run, me: Holder, at: number, isRoot: boolean): Event[] {
  if (next(run, me) === 'done') return ending(run, at);
  if (isOver(run)) return [];
  const runId = run.started.runId;
  const step = lastStep(run);
  if (step?.state === 'claimed') return [];
  const startStep = (index: number, attempt: number): Event[] => [
    { type: 'step-started', runId, at, step: index, claim: { ...me, attempt } },
  ];
  if (step === undefined) return startStep(0, 1);
  if (step.state === 'open') return startStep(step.index, step.attempts + 1);
  const calls = openCalls(run);
  if (calls.every(isSettled)) {
    const answering = isRoot ? answeringOf(run) : undefined;
    return answering ? [{ type: 'answered-by', runId, at, answering }] : startStep(run.steps.length, 1);
  }
  const running = calls.filter((call) => isMine(call.claim, me) || movesBelow(call, me)).length;
  return calls
    .filter((call) => call.state === 'ready')
    .slice(0, Math.max(0, run.started.options.toolCallConcurrency - running))
    .map((call) => ({
      type: 'call-started',
      runId,
      at,
      toolCallId: call.toolCallId,
      claim: { ...me, attempt: call.attempts + 1 },
    }));
}

/** The call of another run whose answer settled the last open call of this one, or one below that: not a delegation. */
function answeringOf(run: Run): Answering | undefined {
  const last = latest(openCalls(run));
  const within = last?.child ? everyCall(last.child).map(({ call }) => call) : [last];
  return latest(within.filter((call) => call?.decisions.length && !call.child))?.decisions.at(-1)?.answering;
}

function latest(calls: readonly (Call | undefined)[]): Call | undefined {
  return calls.reduce(
    (last, call) => (last && call && last.stateSeq > call.stateSeq ? last : call),
    undefined,
  );
}

/** Who moves the run next: a living worker, a person, whoever comes first, or nobody any more. */
export type Head = 'owned' | 'waiting' | 'runnable' | 'ended';

export function headOf(run: Run): Head {
  if (run.outcome) return 'ended';
  const step = lastStep(run);
  const calls = openCalls(run);
  const below = calls.flatMap(({ child }) => (child && !child.outcome ? [headOf(child)] : []));
  if (step?.state === 'claimed' || calls.some((call) => call.claim) || below.includes('owned'))
    return 'owned';
  if (step?.state === 'stalled' && !run.cancel) return 'waiting';
  if (run.cancel || below.includes('runnable')) return 'runnable';
  if (step?.state !== 'finished' || calls.some((call) => call.state === 'ready')) return 'runnable';
  return calls.some(isWaiting) || below.includes('waiting') ? 'waiting' : 'runnable';
}

/** The calls at and below the run that a person can move, in the order of the model. */
export function waitingCalls(root: Run): Found[] {
  return openRuns(root).flatMap((run) => asFound(root, run, openCalls(run).filter(isWaiting)));
}

/** The run itself or the runs below it whose model call failed. */
export function stalledRuns(root: Run): Run[] {
  return openRuns(root).filter((run) => lastStep(run)?.state === 'stalled');
}

/** The events that end a run whose `next` is 'done'. Waiting calls are cancelled with it. */
function ending(run: Run, at: number): Event[] {
  const runId = run.started.runId;
  const cancelled = openCalls(run)
    .filter((call) => !isSettled(call))
    .map((call): Event => ({ type: 'call-cancelled', runId, at, toolCallId: call.toolCallId }));
  return [...cancelled, { type: 'run-ended', runId, at, outcome: outcomeOf(run) }];
}

/** The event that ends a run that was never stored and whose model call, or first store, failed. */
export function failure(run: Run, error: RunError, at: number): Event[] {
  const outcome = { ...outcomeOf(run), status: 'failed', finishReason: 'error', error } as const;
  return [{ type: 'run-ended', runId: run.started.runId, at, outcome }];
}

function outcomeOf(run: Run): Outcome {
  const text = textOf((lastStep(run)?.response?.content ?? []) as readonly Json[]);
  const summary = { messageId: run.started.messageId, text, usage: totalUsage(run) };
  if (run.cancel) return { status: 'cancelled', finishReason: 'cancelled', ...summary, ...run.cancel };
  if (run.answered) {
    const { result = null, error, modelOutput } = latest(openCalls(run)) ?? {};
    const given = { result, ...(modelOutput ? { modelOutput } : {}) };
    const answered = { ...run.answered, ...(error ? { error } : given) };
    return { status: 'finished', finishReason: 'answered', ...summary, answered };
  }
  const step = lastStep(run);
  const finishReason =
    step && step.calls.length > 0 && !run.stopped ? 'max-steps' : (step?.response?.finishReason ?? 'other');
  return { status: 'finished', finishReason, ...summary };
}

/** The sum over all steps. Numbers are added, one level of detail objects too. */
export function totalUsage(run: Run): JsonObject {
  const total: Record<string, number | Record<string, number>> = {};
  for (const step of run.steps) addUsage(total, step.response?.usage ?? {});
  return total as JsonObject;
}

function addUsage(total: Record<string, number | Record<string, number>>, usage: JsonObject): void {
  for (const [key, value] of Object.entries(usage)) {
    if (typeof value === 'number') {
      total[key] = ((total[key] as number | undefined) ?? 0) + value;
    } else if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      const inner = (total[key] ?? {}) as Record<string, number>;
      addUsage(inner, value as JsonObject);
      total[key] = inner;
    }
  }
}
