/** Conditions of the caller that end a run between two steps. */
import { CountersignError, messageOf } from '../core/errors.ts';
import type { Parts } from '../core/parts.ts';
import type { StepResult } from '../stream/chunk.ts';
import { stepResults } from '../stream/result.ts';

/** Asked when all calls of a step are settled, with the steps of the whole run so far, the last one last. */
type OwnCondition = (given: { readonly steps: readonly StepResult[] }) => boolean | PromiseLike<boolean>;

/**
 * A condition for the AI SDK's larger steps, such as `isStepCount(3)` and `hasToolCall('name')`. With two signatures
 * it says nothing of the type of a function's parameters, so that those of your own have ours.
 */
interface ForeignCondition {
  (given: never): boolean | PromiseLike<boolean>;
  <Given extends never>(given: Given): boolean | PromiseLike<boolean>;
}

export type StopCondition = OwnCondition | ForeignCondition;

export type StopWhen = StopCondition | readonly StopCondition[];

export function isStopWhen(value: unknown): value is StopWhen {
  return Array.isArray(value)
    ? value.every((item) => typeof item === 'function')
    : typeof value === 'function';
}

/** Asks all conditions; one that says yes is enough. What one throws fails the leg. */
export function stopperOf(stopWhen: StopWhen | undefined): Parts['shouldStop'] {
  if (stopWhen === undefined) return undefined;
  const conditions = (Array.isArray(stopWhen) ? stopWhen : [stopWhen]) as readonly OwnCondition[];
  return async (run) => {
    const steps = stepResults(run);
    try {
      const answers = await Promise.all(conditions.map((condition) => condition({ steps })));
      return answers.some(Boolean);
    } catch (cause) {
      throw new CountersignError('invalid-option', `stopWhen threw: ${messageOf(cause)}`, { cause });
    }
  };
}
