/** The errors of those who act on a log that is not there, has ended, or cannot be written. */
import { CountersignError } from './errors.ts';
import type { EndedRun } from './store.ts';

export function storeFailed(runId: string, cause: unknown): CountersignError {
  return new CountersignError('store-failed', 'The store did not answer.', {
    runId,
    todo: 'Try again; nothing was decided unless it is listed as decided.',
    cause,
  });
}

/** The error of someone who comes too late, or asks for what never was. */
export function endedError(runId: string, ended: Pick<EndedRun, 'outcome'> | undefined): CountersignError {
  if (ended === undefined) {
    return new CountersignError('run-not-found', `There is no run "${runId}".`, {
      runId,
      expected: 'the runId of a run that waits (stream.runId, or one that listSuspendedRuns gives)',
      todo: 'A run that never paused, or whose record has expired, leaves nothing to decide.',
    });
  }
  return new CountersignError('run-ended', `The run "${runId}" has ended (${ended.outcome.status}).`, {
    runId,
    outcome: { status: ended.outcome.status, finishReason: ended.outcome.finishReason },
    todo: 'Nothing of it waits any more. Its decisions are in the record.',
  });
}

/** The error of someone who begins a run under an id that is taken. */
export function existsError(runId: string): CountersignError {
  return new CountersignError('run-exists', `A run "${runId}" exists already.`, {
    runId,
    expected: 'a new runId, or none',
    todo: 'Leave runId out, and one is made.',
  });
}
