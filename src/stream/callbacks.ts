/** The callbacks of a leg. They look, they never change a run: what they throw is reported and forgotten. */
import { messageOf } from '../core/errors.ts';
import type { Chunk, FinishReason, StepResult } from './chunk.ts';

/** Called as a leg goes on. What they throw goes to `onError` and changes nothing. */
export interface LegCallbacks {
  /** Every chunk of the leg, in order, each once. */
  readonly onChunk?: ((event: { readonly chunk: Chunk }) => unknown) | undefined;
  /** A step's response is there and its calls are settled. */
  readonly onStepFinish?: ((step: StepResult) => unknown) | undefined;
  /** The run has finished. Not called when it only waits, failed or was cancelled. */
  readonly onFinish?: ((result: FinishedRun) => unknown) | undefined;
  readonly onError?: ((event: { readonly error: unknown }) => unknown) | undefined;
}

export interface FinishedRun {
  readonly finishReason: FinishReason;
  /** The text of the last leg. */
  readonly text: string;
  readonly steps: readonly StepResult[];
}

export function legCallbacks(
  { onChunk, onStepFinish, onFinish, onError }: LegCallbacks,
  warn: (message: string) => void,
): {
  chunk(chunk: Chunk): void;
  /** @param result makes what is told: only where somebody is. */
  stepFinish(result: () => StepResult): void;
  finish(result: () => FinishedRun): void;
  error(error: unknown): void;
} {
  const error = (problem: unknown): void => {
    if (onError) {
      guarded(
        () => onError({ error: problem }),
        (thrown) => warn(`onError threw: ${messageOf(thrown)}`),
      );
    }
  };
  const report = (thrown: unknown): void => {
    if (onError) error(thrown);
    else warn(`a callback threw: ${messageOf(thrown)}`);
  };
  return {
    chunk: (chunk) => onChunk && guarded(() => onChunk({ chunk }), report),
    stepFinish: (result) => onStepFinish && guarded(() => onStepFinish(result()), report),
    finish: (result) => onFinish && guarded(() => onFinish(result()), report),
    error,
  };
}

function guarded(callback: () => unknown, report: (thrown: unknown) => void): void {
  try {
    const outcome = callback();
    if (outcome instanceof Promise) outcome.catch(report);
  } catch (thrown) {
    report(thrown);
  }
}
