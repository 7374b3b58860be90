/**
 * Owns which chunks a leg says, in which order, each once: a call before its outcome, a step's end before the next
 * step, text as it streams or from the stored response, never both.
 */
import type { Event } from '../core/event.ts';
import type { Json } from '../core/json.ts';
import type { Passing } from '../core/log.ts';
import type { ResponseDelta } from '../core/model.ts';
import { type Call, isSettled, lastStep, openCalls, type Run, type Step } from '../core/state.ts';
import type { Chunk } from './chunk.ts';
import {
  chunk,
  contentChunks,
  outcomeChunk,
  stepFinishChunk,
  stepStartChunk,
  toolCallChunk,
} from './render.ts';
import { isStepSettled } from './result.ts';

export interface Narrator {
  /** `start`, and the calls that this leg will settle. */
  begin(run: Run, settles: readonly string[]): void;
  tell(event: Event, run: Run): void;
  /** The ends of steps of which nothing is open any more. */
  closeSteps(run: Run): void;
  pass(passing: Passing, run: Run): void;
  showOutcome(call: Call): void;
  /** The ends of texts of which the rest will not come. */
  closeTexts(): void;
  /** Whether the leg passed on parts of a response that is now asked for again. */
  hasPassedOn(step: number): boolean;
  hasShown(toolCallId: string): boolean;
  /** Whether this leg announced that the call waits at this stop. */
  hasAnnounced(toolCallId: string, stop: number): boolean;
}

/** @param mayStop whether steps of this leg may be given up: their beginning is then told with their first word. */
export function narrator(
  runId: string,
  emit: (chunk: Chunk) => void,
  onStepEnd: (step: Step, run: Run) => void,
  mayStop = false,
): Narrator {
  const shown = new Set<string>();
  const announced = new Set<string>();
  /** The last step whose end was told, here or in an earlier leg. */
  let closedStep = -1;
  /** The step whose response this leg has seen from its beginning, and whether its text came in deltas. */
  let watchedStep: number | undefined;
  let streamed = false;
  /** The beginning of a step that may yet be given up before the model is asked. */
  let untold: Chunk | undefined;
  let passedOn = false;
  const openTexts = new Map<string, 'text-end' | 'reasoning-end'>();

  const showCall = (call: Call, replayed: boolean): void => {
    if (shown.has(call.toolCallId)) return;
    shown.add(call.toolCallId);
    emit(toolCallChunk(runId, call, replayed));
  };

  const showOutcome = (call: Call): void => {
    const outcome = outcomeChunk(runId, call);
    if (!outcome) return;
    if (call.state === 'held' || call.state === 'suspended') announced.add(`${call.stop} ${call.toolCallId}`);
    showCall(call, true);
    emit(outcome);
  };

  const tellStart = (): void => {
    if (untold) emit(untold);
    untold = undefined;
  };

  const noteText = ({ type, payload }: ResponseDelta): void => {
    if (type === 'text-start') openTexts.set(payload.id, 'text-end');
    else if (type === 'reasoning-start') openTexts.set(payload.id, 'reasoning-end');
    else if (type === 'text-end' || type === 'reasoning-end') openTexts.delete(payload.id);
  };

  const closeTexts = (): void => {
    for (const [id, type] of openTexts) emit(chunk(runId, type, { id }));
    openTexts.clear();
  };

  const closeSteps = (run: Run): void => {
    for (const step of run.steps.slice(closedStep + 1)) {
      if (!isStepSettled(run, step)) return;
      closedStep = step.index;
      emit(stepFinishChunk(run, step));
      onStepEnd(step, run);
    }
  };

  return {
    begin(run, settles) {
      const calls = settles.map((id) => run.calls.get(id) as Call);
      const openStep = Math.min(run.steps.length - 1, ...calls.map((call) => call.request.step));
      closedStep = Math.max(openStep, 0) - 1;
      emit(chunk(runId, 'start', { id: run.started.agentId, messageId: run.started.messageId }));
      for (const call of calls) showCall(call, true);
      for (const call of openCalls(run))
        if (call.state === 'ready' || call.state === 'running') showCall(call, true);
      for (const call of calls) if (isSettled(call)) showOutcome(call);
    },
    tell(event, run) {
      switch (event.type) {
        case 'step-started':
          closeSteps(run);
          watchedStep = event.step;
          streamed = false;
          passedOn = false;
          untold = stepStartChunk(run, event);
          if (!mayStop) tellStart();
          break;
        case 'step-finished':
          tellStart();
          for (const item of contentChunks(runId, event.step, event.content, streamed)) emit(item);
          break;
        case 'call-requested': {
          const call = run.calls.get(event.toolCallId) as Call;
          showCall(call, false);
          if (event.gate !== 'free') showOutcome(call);
          break;
        }
        case 'call-decided':
          if (isSettled(run.calls.get(event.toolCallId) as Call))
            showOutcome(run.calls.get(event.toolCallId) as Call);
          break;
        case 'call-suspended':
        case 'call-finished':
        case 'call-failed':
        case 'call-cancelled':
          showOutcome(run.calls.get(event.toolCallId) as Call);
          break;
      }
    },
    closeSteps,
    pass(passing, run) {
      if (!('payload' in passing)) {
        emit({ ...passing, runId, from: 'AGENT', data: passing.data as Json } as Chunk);
      } else if (passing.type === 'tool-output') {
        const toolName = run.calls.get(passing.payload.toolCallId)?.toolName;
        emit(chunk(runId, 'tool-output', { ...passing.payload, ...(toolName ? { toolName } : {}) }));
      } else {
        const step = lastStep(run);
        if (step?.state !== 'claimed' || step.index !== watchedStep) return;
        tellStart();
        passedOn = true;
        noteText(passing);
        if (!passing.type.startsWith('tool-')) streamed = true;
        emit({ type: passing.type, runId, from: 'AGENT', payload: passing.payload } as Chunk);
      }
    },
    showOutcome,
    closeTexts,
    hasPassedOn: (step) => step === watchedStep && passedOn,
    hasShown: (toolCallId) => shown.has(toolCallId),
    hasAnnounced: (toolCallId, stop) => announced.has(`${stop} ${toolCallId}`),
  };
}
