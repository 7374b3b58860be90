/**
 * Owns the life of one leg: what its caller is told from `start` to `finish`. A leg listens to the run's log and
 * never drives it, so a reader that goes away changes nothing. It ends when the run waits for a person
 * or has ended, or when a call that it announced is decided.
 */
import { everyRun, findCall, qualifiedId } from '../core/below.ts';
import type { Change } from '../core/changes.ts';
import type { CountersignError } from '../core/errors.ts';
import type { Event } from '../core/event.ts';
import type { Json } from '../core/json.ts';
import type { RunLog } from '../core/log.ts';
import { textOf } from '../core/message.ts';
import { headOf, stalledRuns } from '../core/next.ts';
import type { Schema } from '../core/schema.ts';
import { isSettled, lastStep, type Run } from '../core/state.ts';
import type { EndedRun } from '../core/store.ts';
import { type AnswerPlan, endsAfterCalls } from './answer.ts';
import { type ReplayBuffer, replayBuffer } from './buffer.ts';
import { type LegCallbacks, legCallbacks } from './callbacks.ts';
import type { Chunk, FinishReason, ToolCallChunk, ToolResultChunk } from './chunk.ts';
import { sizeOf } from './chunk-size.ts';
import { endedWithin } from './ended-within.ts';
import { brokenError, failedError, stalledError, takenOverError } from './leg-errors.ts';
import { narrator } from './narrator.ts';
import { chunk, finishChunk, textChunks } from './render.ts';
import { stepResult, stepResults } from './result.ts';

/** How a leg ended, and the run as it was then. */
export interface LegEnd {
  readonly finishReason: FinishReason;
  readonly decided: boolean;
  readonly run: Run;
  readonly error?: CountersignError;
}

export interface Leg {
  readonly runId: string;
  readonly messageId: string;
  /** Given where the answer is to be an object. */
  readonly answer: AnswerPlan | undefined;
  readonly chunks: ReplayBuffer<Chunk>;
  /** The leg's own text so far. */
  readonly text: string;
  readonly toolCalls: readonly ToolCallChunk[];
  readonly toolResults: readonly ToolResultChunk[];
  readonly end: LegEnd | undefined;
  /** Resolves when the leg has ended. Never rejects. */
  readonly ended: Promise<LegEnd>;
  /** Begins at once, with what the run is now: for the first leg, and to follow what was decided before. */
  begin(settles?: readonly string[]): void;
  /** Begins with what happened before: an observer's leg. */
  replay(changes: readonly [Change, ...Change[]]): void;
  /** Begins when this event is stored. */
  beginAt(isFirst: (event: Event) => boolean): void;
  /** Ends because the run at the top, or one on the way there, is stalled. */
  stall(root: Run): void;
  /** Ends without having begun: the decision was refused. */
  discard(): void;
}

/** What a leg is opened with, beside the run. */
export interface LegPlan extends LegCallbacks {
  /** Whether the caller's condition may end the run in place of a model call. */
  readonly mayStop?: boolean | undefined;
  /** By which the answer is read as an object. */
  readonly schema?: Schema | undefined;
}

export function openLeg(log: RunLog, plan: LegPlan, warn: (message: string) => void): Leg {
  const { runId } = log;
  const buffer = replayBuffer(sizeOf);
  const toolCalls: ToolCallChunk[] = [];
  const toolResults: ToolResultChunk[] = [];
  const notify = legCallbacks(plan, warn);
  let isFirst: (event: Event) => boolean = () => false;
  let begun = false;
  /** It goes on when what it announced is decided: nobody else tells it what follows. */
  let isObserver = false;
  let text = '';
  let end: LegEnd | undefined;
  let resolveEnded: (end: LegEnd) => void = () => {};
  const ended = new Promise<LegEnd>((resolve) => {
    resolveEnded = resolve;
  });

  const emit = (item: Chunk): void => {
    if (item.type === 'text-delta') text += item.payload.text;
    else if (item.type === 'tool-call') toolCalls.push(item);
    else if (item.type === 'tool-result') toolResults.push(item);
    buffer.push(item);
    notify.chunk(item);
  };
  const narration = narrator(
    runId,
    emit,
    (step, run) => notify.stepFinish(() => stepResult(run, step)),
    plan.mayStop,
  );

  const finish = (
    run: Run,
    finishReason: FinishReason,
    facts: Pick<LegEnd, 'error'> & { decided?: true } = {},
  ): void => {
    const { decided, error } = facts;
    narration.closeTexts();
    if (error) {
      emit(chunk(runId, 'error', { error }));
      notify.error(error);
    }
    if (run.cancel)
      emit(chunk(runId, 'abort', run.cancel?.reason === undefined ? {} : { reason: run.cancel.reason }));
    emit(finishChunk(run, finishReason, decided));
    end = { finishReason, decided: decided === true, run, ...(error ? { error } : {}) };
    stopListening();
    if (run.outcome?.status === 'finished')
      notify.finish(() => ({ finishReason, text, steps: stepResults(run) }));
    buffer.end();
    resolveEnded(end);
  };

  /** Ends the leg if the run waits for a person or has ended. */
  const finishIfAtRest = (run: Run): void => {
    if (run.outcome) {
      const { finishReason, error } = run.outcome;
      finish(run, finishReason, error ? { error: failedError(run, error) } : {});
    } else if (headOf(run) === 'waiting') {
      if (stalledRuns(run).length > 0) finish(run, 'error', { error: stalledError(run) });
      else finish(run, 'suspended');
    }
  };

  const tell = (changes: readonly Change[]): void => {
    for (const { event, run } of changes) {
      const isDecided =
        event.type === 'call-decided' &&
        narration.hasAnnounced(qualifiedId(run, event.runId, event.toolCallId), event.stop);
      if (isDecided && !isObserver) {
        finish(run, 'suspended', { decided: true });
        return;
      }
      if (event.type === 'step-started' && narration.hasPassedOn(event.runId, event.step)) {
        finish(run, 'error', { error: takenOverError(run) });
        return;
      }
      narration.tell(event, run);
    }
    const run = changes.at(-1)?.run ?? log.run;
    narration.closeSteps(run);
    finishIfAtRest(run);
  };

  const begin = (run: Run, settles: readonly string[]): void => {
    begun = true;
    narration.begin(run, settles);
  };

  /** The run ended elsewhere: what of it this leg still owes is told from the records. */
  const finishFromRecords = ({ outcome, records }: EndedRun): void => {
    const isVoid = (run: Run): boolean => {
      const step = lastStep(run);
      return step?.state === 'claimed' && narration.hasPassedOn(run.started.runId, step.index);
    };
    if (everyRun(log.run).some(isVoid)) {
      finish(log.run, 'error', { error: takenOverError(log.run) });
      return;
    }
    for (const { toolCallId, outcome: recorded } of records) {
      const found = findCall(log.run, toolCallId);
      if (!found || !recorded || isSettled(found.call) || !narration.hasShown(toolCallId)) continue;
      const { state, result, error } = recorded;
      const call = {
        ...found.call,
        state,
        ...(result === undefined ? {} : { result }),
        ...(error ? { error } : {}),
      };
      narration.showOutcome({ ...found, call }, log.run);
    }
    // A run that ended with calls said its last words before them, and they are told, here or in an earlier leg.
    const step = lastStep(log.run);
    const isKnown =
      (step?.calls.length ?? 0) > 0 &&
      textOf((step?.response?.content ?? []) as readonly Json[]) === outcome.text;
    if (!isKnown || !endsAfterCalls(outcome.finishReason)) {
      for (const item of textChunks(runId, 'outcome', outcome.text)) emit(item);
    }
    finish({ ...log.run, outcome }, outcome.finishReason);
  };

  const stopListening = log.listen({
    onChanges(changes) {
      let told = 0;
      if (!begun) {
        told = changes.findIndex(({ event }) => isFirst(event)) + 1;
        const first = changes[told - 1];
        if (first === undefined) return;
        const { event } = first;
        begin(
          first.run,
          'toolCallId' in event ? [qualifiedId(first.run, event.runId, event.toolCallId)] : [],
        );
      }
      tell(changes.slice(told));
    },
    onPassing(passing, from) {
      if (begun) narration.pass(passing, from, log.run);
    },
    onGone(gone) {
      const own = endedWithin(gone, runId) ?? {
        ...gone,
        records: [],
        outcome: { ...gone.outcome, text: '' },
      };
      if (begun) finishFromRecords(own);
    },
    onBroken(error) {
      if (begun) finish(log.run, 'error', { error: brokenError(error) });
    },
  });

  return {
    runId,
    messageId: log.run.started.messageId,
    answer: plan.schema || log.run.started.options.outputSchema ? { schema: plan.schema } : undefined,
    chunks: buffer,
    get text() {
      return text;
    },
    toolCalls,
    toolResults,
    get end() {
      return end;
    },
    ended,
    begin(settles = []) {
      begin(log.run, settles);
      tell([]);
    },
    replay([first, ...rest]) {
      isObserver = true;
      begin(first.run, []);
      tell(rest);
    },
    beginAt(first) {
      isFirst = first;
    },
    stall(root) {
      if (!end) finish(log.run, 'error', { error: stalledError(root) });
    },
    discard: stopListening,
  };
}
