/** Why a leg ended before its run came to rest or to its end, as its caller is told. */
import { CountersignError, type ErrorCode, isCountersignError } from '../core/errors.ts';
import { stalledRuns } from '../core/next.ts';
import { lastStep, type Run } from '../core/state.ts';

export function failedError(run: Run, error: { code: string; message: string }): CountersignError {
  const { runId, agentId } = run.started;
  return new CountersignError(error.code as ErrorCode, `The run failed: ${error.message}`, {
    runId,
    agentId,
  });
}

export function takenOverError(run: Run): CountersignError {
  const { runId, agentId } = run.started;
  return new CountersignError(
    'taken-over',
    'Another worker asks the model again; what was passed on is void.',
    {
      runId,
      agentId,
      todo: 'observe({ runId }) follows the run.',
    },
  );
}

export function stalledError(run: Run): CountersignError {
  const { runId, agentId } = run.started;
  const [stalled = run] = stalledRuns(run);
  const error = lastStep(stalled)?.error;
  const why = error?.message ?? 'its model call failed.';
  return new CountersignError('run-stalled', `The run is stalled: ${/[.!?…]$/.test(why) ? why : `${why}.`}`, {
    runId,
    agentId,
    ...(error?.missing ? { missing: error.missing } : {}),
    todo: 'continueRun tries the model call again, cancelRun ends the run. Nothing that was executed runs twice.',
  });
}

export function brokenError(thrown: unknown): CountersignError {
  if (isCountersignError(thrown)) return thrown;
  return new CountersignError('store-failed', 'The run cannot go on here.', { cause: thrown });
}
