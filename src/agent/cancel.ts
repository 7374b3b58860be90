/** Ends a run on request. */
import { RequestContext } from '../core/context.ts';
import { optionKeys } from './check-options.ts';
import { checkRequest } from './check-request.ts';
import { placesOf } from './conversation.ts';
import { acquireOpen } from './legs.ts';
import type { CancelOptions } from './options.ts';
import { recoverRun } from './recovery.ts';
import { requestCancel } from './request-cancel.ts';
import type { AgentCore } from './types.ts';

/** Ends a run: what waits is cancelled, what runs is told so, awaited, and its true outcome recorded. */
export async function cancelRun(
  agent: AgentCore,
  options: CancelOptions,
): Promise<{ runId: string; status: 'cancelled' | 'cancelling' }> {
  checkRequest(options, optionKeys.cancel, 'cancelRun');
  const { runId, reason, by } = options;
  const { worker } = agent.binding();
  const lease = await acquireOpen(agent, worker, runId);
  const { log, root, mover } = lease;
  try {
    const { started } = root.run;
    if (mover) {
      const context = (): RequestContext => new RequestContext(Object.entries(started.context));
      root.elsewhere = (await placesOf(mover, worker, started, context)).elsewhere;
    }
    await requestCancel(log, worker, reason, by);
    // The run above goes on with what became of this one.
    if (log !== root && mover && !root.run.outcome) await recoverRun(mover, root.runId);
    return { runId, status: log.run.outcome ? 'cancelled' : 'cancelling' };
  } finally {
    lease.release();
  }
}
