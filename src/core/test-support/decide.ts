/** Requests of a decision, and their answers, for tests of `decide`. */
import { type DecisionRequest, decide, targetOf } from '../decide.ts';
import type { Verdict } from '../event.ts';
import type { Run } from '../state.ts';
import { runId } from './events.ts';

export const request = (verdict: Verdict, over: Partial<DecisionRequest> = {}): DecisionRequest => ({
  verdict,
  runId,
  ...(verdict === 'resume' ? { data: { answer: 42 } } : {}),
  ...over,
});

/** The event, 'repeat', or the code of the error. */
export function answerOf(run: Run, asked: DecisionRequest, several: 'latest' | 'refuse' = 'latest'): unknown {
  try {
    return decide(run, asked, targetOf(run, asked, several), 99) ?? 'repeat';
  } catch (thrown) {
    return (thrown as { code?: string }).code ?? thrown;
  }
}
