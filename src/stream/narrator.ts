/**
 * Owns which chunks a leg says, in which order, each once: a call before its outcome, a step's end before the next
 * step, text as it streams or from the stored response, never both. What a run below says comes within `tool-output`;
 * its calls that wait for a person are told at the top.
 */
import { childIdOf, type Found, findCall, firstIdOf, qualifiedId } from '../core/below.ts';
import type { Event } from '../core/event.ts';
import type { Json } from '../core/json.ts';
import type { Passing } from '../core/log.ts';
import type { ResponseDelta } from '../core/model.ts';
import { type Call, isSettled, lastStep, openCalls, type Run, type Step } from '../core/state.ts';
import type { Chunk } from './chunk.ts';
import {
  chunk,
  contentChunks,
  finishChunk,
  outcomeChunk,
  stepFinishChunk,
  stepStartChunk,
  toolCallChunk,
} from './render.ts';
import { isStepSettled } from './result.ts';

export interface Narrator {
  /** `start`, and the calls (by qualified id) that this leg will settle. */
  begin(run: Run, settles: readonly string[]): void;
  tell(event: Event, run: Run): void;
  /** The ends of steps of which nothing is open any more. */
  closeSteps(run: Run): void;
  pass(passing: Passing, from: string, run: Run): void;
  showOutcome(found: Found, run: Run): void;
  /** The ends of texts of which the rest will not come. */
  closeTexts(): void;
  /** Whether the leg passed on parts of a response that is now asked for again. */
  hasPassedOn(runId: string, step: number): boolean;
  hasShown(id: string): boolean;
  /** Whether this leg announced that the call waits at this stop. */
  hasAnnounced(id: string, stop: number): boolean;
}

/** Deltas of a text whose beginning was passed on before. */
const textAfterStart: ReadonlySet<string> = new Set([
  'text-delta',
  'text-end',
  'reasoning-delta',
  'reasoning-end',
]);

/**
 * @param mayStop whether steps of this leg may be given up: their beginning is then told with their first word.
 * @param announces false for a run below: what waits there is announced at the top alone.
 */
export function narrator(
  runId: string,
  emit: (chunk: Chunk) => void,
  onStepEnd: (step: Step, run: Run) => void,
  mayStop = false,
  announces = true,
): Narrator {
  const shown = new Set<string>();
  const announced = new Set<string>();
  const below = new Map<string, Narrator>();
  /** The last step whose end was told, here or in an earlier leg. */
  let closedStep = -1;
  /** The step whose response this leg has seen from its beginning, and whether its text came in deltas. */
  let watchedStep: number | undefined;
  let streamed = false;
  /** The beginning of a step that may yet be given up before the model is asked. */
  let untold: Chunk | undefined;
  let passedOn = false;
  const openTexts = new Map<string, 'text-end' | 'reasoning-end'>();

  const ownCall = (run: Run, call: Call): Found => ({ id: call.toolCallId, run, call });

  const showCall = (found: Found, run: Run, replayed: boolean): void => {
    if (shown.has(found.id)) return;
    shown.add(found.id);
    emit(toolCallChunk(run, found, replayed));
  };

  const showOutcome = (found: Found, run: Run): void => {
    const { state, stop } = found.call;
    const outcome = outcomeChunk(run, found);
    if (!outcome) return;
    if (state === 'held' || state === 'suspended') {
      if (!announces) return;
      announced.add(`${stop} ${found.id}`);
    }
    showCall(found, run, found.run === run);
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

  const isOfTextBefore = ({ type, payload }: ResponseDelta): boolean =>
    textAfterStart.has(type) && !openTexts.has((payload as { id: string }).id);

  const closeTexts = (): void => {
    for (const [id, type] of openTexts) emit(chunk(runId, type, { id }));
    openTexts.clear();
    for (const child of below.values()) child.closeTexts();
  };

  const closeSteps = (run: Run): void => {
    for (const [toolCallId, child] of below) child.closeSteps(run.calls.get(toolCallId)?.child as Run);
    for (const step of run.steps.slice(closedStep + 1)) {
      if (!isStepSettled(run, step)) return;
      closedStep = step.index;
      emit(stepFinishChunk(run, step));
      onStepEnd(step, run);
    }
  };

  /** Whoever tells of the run of a delegation that another one belongs to. */
  const narratorBelow = (from: string, run: Run): { child: Narrator; childRun: Run } | undefined => {
    const toolCallId = firstIdOf(from.slice(runId.length + 1));
    const call = run.calls.get(toolCallId);
    if (call?.child === undefined) return undefined;
    const known = below.get(toolCallId);
    if (known) return { child: known, childRun: call.child };
    const wrap = (output: Chunk): void =>
      emit(chunk(runId, 'tool-output', { toolCallId, toolName: call.toolName, output }));
    const child = narrator(childIdOf(runId, toolCallId), wrap, () => {}, mayStop, false);
    below.set(toolCallId, child);
    showCall(ownCall(run, call), run, true);
    child.begin(call.child, []);
    return { child, childRun: call.child };
  };

  const tellBelow = (event: Event, run: Run): void => {
    const found = narratorBelow(event.runId, run);
    if (!found || event.type === 'run-started') return;
    found.child.tell(event, found.childRun);
    if (!announces || !('toolCallId' in event)) return;
    const inner = findCall(run, qualifiedId(run, event.runId, event.toolCallId)) as Found;
    if (event.type === 'call-decided') showCall(inner, run, true);
    if (!isSettled(inner.call) || shown.has(inner.id)) showOutcome(inner, run);
  };

  return {
    begin(run, settles) {
      const calls = settles.map((id) => findCall(run, id) as Found);
      const steps = settles.map((id) => (run.calls.get(firstIdOf(id)) as Call).request.step);
      const openStep = Math.min(run.steps.length - 1, ...steps);
      closedStep = Math.max(openStep, 0) - 1;
      emit(chunk(runId, 'start', { id: run.started.agentId, messageId: run.started.messageId }));
      for (const found of calls) if (found.run === run) showCall(found, run, true);
      for (const call of openCalls(run))
        if (call.state === 'ready' || call.state === 'running') showCall(ownCall(run, call), run, true);
      for (const found of calls) showCall(found, run, true);
      for (const found of calls) if (isSettled(found.call)) showOutcome(found, run);
    },
    tell(event, run) {
      if (event.runId !== runId) return tellBelow(event, run);
      const callOf = (toolCallId: string): Found => ownCall(run, run.calls.get(toolCallId) as Call);
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
          showCall(callOf(event.toolCallId), run, false);
          if (event.gate !== 'free') showOutcome(callOf(event.toolCallId), run);
          break;
        }
        case 'call-decided': {
          // Whoever hears of a decision will hear what comes of it.
          const found = callOf(event.toolCallId);
          showCall(found, run, true);
          if (isSettled(found.call)) showOutcome(found, run);
          break;
        }
        case 'call-suspended':
        case 'call-finished':
        case 'call-failed':
        case 'call-cancelled':
          showOutcome(callOf(event.toolCallId), run);
          break;
        case 'run-ended':
          // The end of the run at the top is told by its leg.
          if (!announces) {
            closeTexts();
            closeSteps(run);
            emit(finishChunk(run, event.outcome.finishReason));
          }
          break;
      }
    },
    closeSteps,
    pass(passing, from, run) {
      if (from !== runId) {
        const found = narratorBelow(from, run);
        found?.child.pass(passing, from, found.childRun);
      } else if (!('payload' in passing)) {
        emit({ ...passing, runId, from: 'AGENT', data: passing.data as Json } as Chunk);
      } else if (passing.type === 'tool-output') {
        const toolName = run.calls.get(passing.payload.toolCallId)?.toolName;
        emit(chunk(runId, 'tool-output', { ...passing.payload, ...(toolName ? { toolName } : {}) }));
      } else {
        const step = lastStep(run);
        if (step?.state !== 'claimed' || step.index !== watchedStep) return;
        if (isOfTextBefore(passing)) {
          // Its beginning was passed on before this leg listened: the step is told when it is whole.
          watchedStep = undefined;
          return;
        }
        tellStart();
        passedOn = true;
        noteText(passing);
        if (!passing.type.startsWith('tool-')) streamed = true;
        emit({ type: passing.type, runId, from: 'AGENT', payload: passing.payload } as Chunk);
      }
    },
    showOutcome,
    closeTexts,
    hasPassedOn(from, step) {
      if (from === runId) return step === watchedStep && passedOn;
      return below.get(firstIdOf(from.slice(runId.length + 1)))?.hasPassedOn(from, step) ?? false;
    },
    hasShown: (id) => shown.has(id),
    hasAnnounced: (id, stop) => announced.has(`${stop} ${id}`),
  };
}
