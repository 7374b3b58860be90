/** Owns how the last text of a run is read as an object. */
import { CountersignError } from '../core/errors.ts';
import { type Schema, validate } from '../core/schema.ts';
import type { Run } from '../core/state.ts';

/** That an object was asked for, and by which schema it is checked; without one it is any JSON. */
export interface AnswerPlan {
  readonly schema: Schema | undefined;
}

/** Whether a run that ended so asked for calls in its last step: then it gave no answer. */
export function endsAfterCalls(finishReason: string): boolean {
  return ['max-steps', 'tool-calls', 'answered'].includes(finishReason);
}

/**
 * The object that the run's last text is, or `undefined` while the run waits, when none was asked for, and when the
 * run ended without an answer.
 * @throws `invalid-object` when the text is no JSON, or does not match the schema. The run itself has finished.
 */
export async function objectOf(run: Run, plan: AnswerPlan | undefined): Promise<unknown> {
  const { outcome, started } = run;
  if (plan === undefined || outcome?.status !== 'finished') return undefined;
  const { text, finishReason } = outcome;
  if (endsAfterCalls(finishReason)) return undefined;
  const refuse = (what: string, issues: readonly string[]): never => {
    throw new CountersignError('invalid-object', what, {
      runId: started.runId,
      agentId: started.agentId,
      issues,
      outcome: { status: outcome.status, finishReason },
      text,
      expected: 'JSON that matches the schema of structuredOutput',
      todo: 'The run has finished, with all that it did: do not repeat it for this. details.text has its answer.',
    });
  };
  const parsed = parse(text);
  if (parsed === undefined) return refuse(`The answer is no JSON (finishReason ${finishReason}).`, []);
  const valid = await validate(plan.schema, parsed.value);
  return valid.ok ? valid.value : refuse('The answer does not match the schema.', valid.issues);
}

function parse(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}
