/** A decision that comes when the run has ended. */
import { type DecisionRequest, decidedText, isRepeat, withoutValues } from '../core/decide.ts';
import { CountersignError } from '../core/errors.ts';
import { endedError } from '../core/log-errors.ts';
import type { DecisionRecord, EndedRun } from '../core/store.ts';

/**
 * What a decision on an ended run amounts to: the record of the same `decisionId`, or an error that says it is too
 * late.
 */
export function decideEnded(ended: EndedRun, request: DecisionRequest): DecisionRecord {
  const { toolCallId, stop } = request;
  const records = ended.records
    .filter((record) => toolCallId === undefined || record.toolCallId === toolCallId)
    .filter((record) => stop === undefined || record.stop === stop);
  const repeated = records.find(
    (record) => record.verdict !== 'cancel' && isRepeat(record as never, request),
  );
  if (repeated) return repeated;
  const last = records.at(-1);
  if (last && last.verdict !== 'cancel') {
    throw new CountersignError('already-decided', decidedText(last), {
      runId: ended.runId,
      toolCallId: last.toolCallId,
      stop: last.stop,
      decision: withoutValues(last),
      outcome: { status: ended.outcome.status, finishReason: ended.outcome.finishReason },
    });
  }
  throw endedError(ended.runId, ended);
}
