/**
 * The one loop. It asks `next`, performs it, and the commit of what it produced claims what follows; it returns
 * when somebody else moves the run next. `stream`, `generate`, decisions and recovery all come through here.
 */
import { lateRecord } from './batch.ts';
import { firstIdOf } from './below.ts';
import { type CallIds, callIds } from './call-ids.ts';
import { childLog } from './child-log.ts';
import { CountersignError, isCountersignError, messageOf } from './errors.ts';
import type { Claim, Event, RunError } from './event.ts';
import { executeCall } from './execute.ts';
import { gateResponse } from './gate.ts';
import type { RunLog } from './log.ts';
import type { ModelResponse, ResponseDelta } from './model.ts';
import { failure, isMine, movesBelow, next } from './next.ts';
import type { Delegate, Parts } from './parts.ts';
import { type Call, lastStep, openCalls, type Run, type Step } from './state.ts';
import { stalling } from './takeover.ts';

/** Moves the run as far as `parts.me` may. Rejects only when the store fails. */
export async function drive(log: RunLog, parts: Parts): Promise<void> {
  const cancelled = new AbortController();
  const alarm = { wake: (): void => {} };
  const stopListening = log.listen({
    onChanges: () => {
      if (log.run.cancel) cancelled.abort();
      alarm.wake();
    },
    onPassing: () => {},
    onGone: () => cancelled.abort(),
    onBroken: () => {},
  });
  if (log.run.cancel) cancelled.abort();
  const running = new Map<string, Promise<void>>();
  try {
    await loop(log, parts, cancelled.signal, running, alarm);
  } finally {
    stopListening();
    // Whoever thinks that this leg performs nothing any more must be right.
    await Promise.allSettled(running.values());
  }
}

async function loop(
  log: RunLog,
  parts: Parts,
  abortSignal: AbortSignal,
  running: Map<string, Promise<void>>,
  alarm: { wake(): void },
): Promise<void> {
  const { me } = parts;
  await log.commit(() => [], { me });
  for (;;) {
    switch (next(log.run, me)) {
      case 'model':
        await modelStep(log, parts, abortSignal);
        break;
      case 'calls':
        for (const call of openCalls(log.run)) {
          if (running.has(call.toolCallId)) continue;
          const work = isMine(call.claim, me)
            ? callStep(log, call, parts, abortSignal)
            : movesBelow(call, me) && driveBelow(log, call, parts);
          if (work)
            running.set(
              call.toolCallId,
              work.finally(() => running.delete(call.toolCallId)),
            );
        }
        // A commit of one of them may have claimed for us what another run can begin now.
        await Promise.race([...running.values(), new Promise<void>((wake) => (alarm.wake = wake))]);
        break;
      case 'done':
        await log.commit(() => [], { me, persist: true });
        break;
      case 'wait':
        // What a call still does here may be nobody's by now; what its late result claims is this leg's.
        if (running.size === 0) return;
        await Promise.race(running.values());
        break;
    }
  }
}

async function callStep(log: RunLog, call: Call, parts: Parts, abortSignal: AbortSignal): Promise<void> {
  const mayBegin = (): boolean => {
    const may = mayPerform(log, call.claim, parts);
    if (may) parts.noteBegun(log.runId, call.toolCallId, call.attempts);
    return may;
  };
  const outcome = await executeCall({ run: log.run, call, parts, abortSignal, pass: log.pass, mayBegin });
  let isLate = false;
  try {
    await log.commit(
      (run) => {
        isLate = !settles(run, call, parts, outcome);
        return isLate ? [] : [atItsStop(outcome, call, run)];
      },
      // What is given back must not be claimed again at once; a cancelled run ends with it.
      { me: outcome.type === 'call-released' && !log.run.cancel ? undefined : parts.me, persist: true },
    );
  } catch (error) {
    if (!isCountersignError(error, 'run-ended')) throw error;
    isLate = true;
  }
  if (isLate && (outcome.type === 'call-finished' || outcome.type === 'call-failed')) {
    parts.warn(`Run ${log.runId}: call ${call.toolCallId} ran twice; its late result is in the records.`);
    await log.record(lateRecord(log.run, call, outcome));
  }
}

/** Moves the run of a delegation. Where its agent cannot be had here, it is stalled, or fails if it is not stored. */
async function driveBelow(log: RunLog, call: Call, parts: Parts): Promise<void> {
  const { started } = call.child as Run;
  const below = childLog(log, started.runId);
  let childParts: Parts;
  try {
    childParts = await delegateOf(call, parts).partsOf(started, parts);
  } catch (thrown) {
    const at = parts.clock.now();
    const code = isCountersignError(thrown) ? thrown.code : 'agent-missing';
    const error = { code, message: messageOf(thrown) };
    const isOurs = (claim: Claim): boolean => isMine(claim, parts.me);
    const ends = (run: Run): Event[] =>
      log.stored ? stalling(run, isOurs, error, at) : failure(run, error, at);
    await below.commit(ends, { me: parts.me });
    return;
  }
  await drive(below, childParts);
  // Whoever ended it elsewhere had no claim to what follows.
  if (below.run.outcome) await log.commit(() => [], { me: parts.me });
}

function delegateOf(call: Call, parts: Parts): Delegate {
  const delegate = parts.tools.get(call.toolName)?.delegate;
  if (delegate) return delegate;
  throw new CountersignError('agent-missing', `The agent has no sub-agent "${call.toolName}" any more.`, {
    toolName: call.toolName,
    todo: 'Continue the run where it is deployed, or cancel it.',
  });
}

/** A suspension that comes when the call was interrupted meanwhile is its next stop all the same. */
function atItsStop(outcome: Event, call: Call, run: Run): Event {
  if (outcome.type === 'run-started' && run.cancel) {
    return { type: 'call-released', runId: run.started.runId, at: outcome.at, toolCallId: call.toolCallId };
  }
  if (outcome.type !== 'call-suspended') return outcome;
  return { ...outcome, stop: (run.calls.get(outcome.toolCallId)?.stop ?? 0) + 1 };
}

/** A worker that may be thought dead by now begins nothing: others may have taken over. */
function mayPerform(log: RunLog, claim: Claim | undefined, parts: Parts): boolean {
  return !log.stored || (claim !== undefined && parts.mayBegin(log.claimedAt(claim)));
}

/** Whether the outcome of this attempt is the call's: it still runs, or nobody knows yet what became of it. */
function settles(run: Run, { toolCallId, attempts }: Call, { me }: Parts, outcome: Event): boolean {
  const now = run.calls.get(toolCallId);
  if (now?.attempts !== attempts) return false;
  if (now.state === 'running') return isMine(now.claim, me);
  return now.state === 'interrupted' && outcome.type !== 'call-released';
}

async function modelStep(log: RunLog, parts: Parts, abortSignal: AbortSignal): Promise<void> {
  const { me, clock } = parts;
  const step = lastStep(log.run) as Step;
  const { runId } = log;
  const settle = async (events: (run: Run) => readonly Event[], claims = true): Promise<void> => {
    const holds = (run: Run): boolean => {
      const now = lastStep(run);
      return now?.index === step.index && now.attempts === step.attempts && isMine(now.claim, me);
    };
    await log.commit((run) => (holds(run) ? events(run) : []), { me: claims ? me : undefined });
  };
  const leave = (type: 'step-released' | 'run-stopped') => (): Event[] => [
    { type, runId, at: clock.now(), step: step.index },
  ];
  const release = leave('step-released');
  const failWith = (thrown: unknown): Promise<void> =>
    settle((run) => {
      if (run.cancel) return release();
      const at = clock.now();
      const code = isCountersignError(thrown) ? thrown.code : 'model-failed';
      const error: RunError = { code, message: messageOf(thrown) };
      return log.stored
        ? [{ type: 'step-failed', runId, at, step: step.index, error }]
        : failure(run, error, at);
    });

  const ids = callIds(log.run, parts.history);
  let response: ModelResponse;
  try {
    // What is returned here without being awaited is no failure of the model.
    if (step.index > 0 && (await parts.shouldStop?.(log.run))) return settle(leave('run-stopped'));
    if (!mayPerform(log, step.claim, parts)) return settle(release, false);
    const onDelta = (delta: ResponseDelta): void => log.pass(renamed(delta, ids));
    response = await parts.model.call({ ...(await parts.requestOf(log.run)), abortSignal, onDelta });
  } catch (thrown) {
    return failWith(thrown);
  }
  if (log.run.cancel) return settle(release);
  try {
    const events = await gateResponse(log.run, step.index, response, ids, parts);
    await settle((run) => (run.cancel ? release() : events));
  } catch (thrown) {
    // A pause below that cannot be stored is no failure of the sub-agent: the whole run fails, loudly.
    const isOfStore =
      isCountersignError(thrown, 'store-failed') || isCountersignError(thrown, 'store-closed');
    if (isOfStore && (log.stored || firstIdOf(runId) !== runId)) throw thrown;
    await failWith(thrown);
  }
}

function renamed(delta: ResponseDelta, ids: CallIds): ResponseDelta {
  switch (delta.type) {
    case 'tool-call-input-streaming-start':
      return { ...delta, payload: { ...delta.payload, toolCallId: ids.begin(delta.payload.toolCallId) } };
    case 'tool-call-delta':
    case 'tool-call-input-streaming-end': {
      const toolCallId = ids.current(delta.payload.toolCallId);
      return { ...delta, payload: { ...delta.payload, toolCallId } } as ResponseDelta;
    }
    default:
      return delta;
  }
}
