/**
 * Owns how a run changes: the fold of its events. Pure. An illegal move throws, so nothing illegal can be stored.
 */
import { childIdOf, firstIdOf, isWithin } from './below.ts';
import type { CallRequested, Claim, Decision, Event, Person, RunStarted } from './event.ts';
import {
  type Call,
  type CallMove,
  callTable,
  isSettled,
  lastStep,
  openCalls,
  type Run,
  type Step,
} from './state.ts';

/** Folds one event into the state. Throws when the event is not legal there. */
export function transition(run: Run | undefined, event: Event): Run {
  if (run === undefined) {
    if (event.type !== 'run-started') throw illegal(event, 'no run');
    return begun(event, 1);
  }
  return change(run, event, run.length + 1);
}

function begun(started: RunStarted, length: number): Run {
  return { started, length, steps: [], calls: new Map() };
}

/** @param length of the root's log, with the event. */
function change(run: Run, event: Event, length: number): Run {
  if (run.outcome !== undefined) throw illegal(event, 'an ended run');
  const changed = event.runId === run.started.runId ? own(run, event, length) : below(run, event, length);
  return { ...changed, length };
}

/** An event of a run below. When that run begins or ends, so does the delegation move on. */
function below(run: Run, event: Event, length: number): Run {
  const { runId } = run.started;
  const toolCallId = firstIdOf(event.runId.slice(runId.length + 1));
  const call = isWithin(event.runId, runId) ? run.calls.get(toolCallId) : undefined;
  if (call === undefined) throw illegal(event, 'a run without that delegation');
  const isFirst = event.type === 'run-started' && event.runId === childIdOf(runId, toolCallId);
  if (isFirst && !call.child && call.claim) {
    return moved(run, call, 'delegate', event, { child: begun(event, length) });
  }
  if (call.child === undefined || isFirst) throw illegal(event, `a delegation that is ${call.state}`);
  const child = change(call.child, event, length);
  if (child.outcome) return moved(run, call, 'return', event, { child, stateSeq: length });
  return { ...run, calls: new Map(run.calls).set(toolCallId, { ...call, child }) };
}

function own(run: Run, event: Event, length: number): Run {
  switch (event.type) {
    case 'run-started':
      throw illegal(event, 'a started run');
    case 'step-started':
      return startStep(run, event.step, event.claim);
    case 'step-finished':
      return changeStep(run, event, ['claimed'], { state: 'finished', response: event });
    case 'step-failed':
      return changeStep(run, event, ['claimed', 'open', 'finished'], {
        state: 'stalled',
        error: event.error,
      });
    case 'step-released':
      return changeStep(run, event, ['claimed'], {
        state: 'open',
        ...(event.takenOver ? { takeovers: (lastStep(run)?.takeovers ?? 0) + 1 } : {}),
      });
    case 'run-continued': {
      const step = lastStep(run);
      if (step?.state !== 'stalled') throw illegal(event, 'a run that is not stalled');
      const state = step.response ? 'finished' : 'open';
      return changeStep(run, { type: event.type, step: step.index }, ['stalled'], { state, takeovers: 0 });
    }
    case 'run-stopped':
      return { ...changeStep(run, event, ['claimed'], {}), steps: run.steps.slice(0, -1), stopped: true };
    case 'call-requested':
      return requestCall(run, event, length);
    case 'cancel-requested':
      return cancelled(run, pick(event));
    case 'answered-by':
      return { ...run, answered: event.answering };
    case 'run-ended':
      if ([...run.calls.values()].some((call) => !isSettled(call)))
        throw illegal(event, 'a run with open calls');
      return { ...run, outcome: event.outcome };
    default:
      return moveCall(run, event, length);
  }
}

/** Folds a list of events. */
export function fold(events: Iterable<Event>, from?: Run): Run | undefined {
  let run = from;
  for (const event of events) run = transition(run, event);
  return run;
}

/** Whoever cancels a run cancels all runs below it. */
function cancelled(run: Run, cancel: NonNullable<Run['cancel']>): Run {
  const calls = [...run.calls].map(([id, call]): [string, Call] =>
    call.child && !call.child.outcome ? [id, { ...call, child: cancelled(call.child, cancel) }] : [id, call],
  );
  return { ...run, cancel: run.cancel ?? cancel, calls: new Map(calls) };
}

function pick(event: { reason?: string; by?: Person }): { reason?: string; by?: Person } {
  return {
    ...(event.reason === undefined ? {} : { reason: event.reason }),
    ...(event.by === undefined ? {} : { by: event.by }),
  };
}

function startStep(run: Run, index: number, claim: Claim): Run {
  const last = lastStep(run);
  if (last && last.state !== 'finished') {
    return changeStep(run, { type: 'step-started', step: index }, ['open'], {
      state: 'claimed',
      claim,
      attempts: last.attempts + 1,
    });
  }
  if (index !== run.steps.length || !openCalls(run).every(isSettled)) {
    throw illegal({ type: 'step-started' }, 'a step with open calls');
  }
  return {
    ...run,
    steps: [...run.steps, { index, state: 'claimed', attempts: 1, takeovers: 0, claim, calls: [] }],
  };
}

function changeStep(
  run: Run,
  event: { type: string; step: number },
  from: readonly Step['state'][],
  change: Partial<Step>,
): Run {
  const step = lastStep(run);
  if (step === undefined || step.index !== event.step || !from.includes(step.state)) {
    throw illegal(event, step === undefined ? 'a run without a step' : `step ${step.index}, ${step.state}`);
  }
  const changed = { ...step, claim: undefined, error: undefined, ...change };
  return { ...run, steps: [...run.steps.slice(0, -1), changed] };
}

function requestCall(run: Run, event: CallRequested, length: number): Run {
  const step = lastStep(run);
  if (step?.state !== 'finished' || step.index !== event.step || run.calls.has(event.toolCallId)) {
    throw illegal(event, 'a step that did not ask for it');
  }
  const call: Call = {
    request: event,
    requestSeq: length,
    stopSeq: length,
    stateSeq: length,
    toolCallId: event.toolCallId,
    toolName: event.toolName,
    args: event.args === undefined ? event.raw : event.args,
    state: event.gate === 'held' ? 'held' : event.gate === 'free' ? 'ready' : 'failed',
    stop: event.gate === 'held' ? 1 : 0,
    since: event.at,
    attempts: 0,
    decisions: [],
    ...(event.error ? { error: event.error } : {}),
  };
  const steps = [...run.steps.slice(0, -1), { ...step, calls: [...step.calls, event.toolCallId] }];
  return { ...run, steps, calls: new Map(run.calls).set(event.toolCallId, call) };
}

type CallEvent = Exclude<Extract<Event, { toolCallId: string }>, CallRequested>;

function moveCall(run: Run, event: CallEvent, length: number): Run {
  const call = run.calls.get(event.toolCallId);
  if (call === undefined) throw illegal(event, 'a run without that call');
  const change = changeOf(call, event);
  const stopSeq = change.stop === undefined ? call.stopSeq : length;
  return moved(run, call, moveOf(event), event, { stopSeq, stateSeq: length, ...change });
}

function moved(run: Run, call: Call, move: CallMove, event: Event, change: Partial<Call>): Run {
  const state = callTable[call.state][move];
  if (state === null) throw illegal(event, `a call that is ${call.state}`);
  const after: Call = { ...call, claim: undefined, state, since: event.at, ...change };
  return { ...run, calls: new Map(run.calls).set(call.toolCallId, after) };
}

function moveOf(event: CallEvent): CallMove {
  switch (event.type) {
    case 'call-started':
      return 'start';
    case 'call-suspended':
      return 'suspend';
    case 'call-finished':
      return 'finish';
    case 'call-failed':
      return 'fail';
    case 'call-interrupted':
      return 'interrupt';
    case 'call-released':
      return 'release';
    case 'call-cancelled':
      return 'cancel';
    case 'call-decided':
      return event.verdict === 'resolve' ? resolutionMove(event) : event.verdict;
  }
}

function resolutionMove({ resolution }: Decision): CallMove {
  if (resolution === undefined) throw illegal({ type: 'call-decided' }, 'a call, without a resolution');
  if (resolution === 'run-again') return 'run-again';
  return 'output' in resolution ? 'report-output' : 'report-error';
}

function changeOf(call: Call, event: CallEvent): Partial<Call> {
  switch (event.type) {
    case 'call-started':
      return { claim: event.claim, attempts: call.attempts + 1 };
    case 'call-suspended': {
      if (event.stop !== call.stop + 1) throw illegal(event, `a call at stop ${call.stop}`);
      const { payload, resumeSchema, autoResume } = event;
      const schema = { ...(resumeSchema ? { resumeSchema } : {}), ...(autoResume ? { autoResume } : {}) };
      return { stop: event.stop, suspension: { payload, ...schema } };
    }
    case 'call-interrupted':
      return { stop: call.stop + 1 };
    case 'call-finished':
      return { result: event.result, ...(event.modelOutput ? { modelOutput: event.modelOutput } : {}) };
    case 'call-failed':
      return { error: event.error };
    case 'call-decided': {
      if (event.stop !== call.stop) throw illegal(event, `a call at stop ${call.stop}`);
      const decisions = [...call.decisions, event];
      const { resolution } = event;
      if (typeof resolution !== 'object') return { decisions };
      return 'output' in resolution
        ? { decisions, result: resolution.output }
        : { decisions, error: { code: 'reported', message: resolution.error } };
    }
    default:
      return {};
  }
}

function illegal(event: { type: string }, where: string): Error {
  return new Error(`Illegal transition: ${event.type} on ${where}.`);
}
