/** Ends a run on request. */
import { RequestContext } from '../core/context.ts';
import { checkRequest } from './check-request.ts';
import { placesOf } from './conversation.ts';
import { acquireOpen } from './legs.ts';
import type { CancelOptions } from './options.ts';
import { requestCancel } from './request-cancel.ts';
import type { AgentCore } from './types.ts';

/** Ends a run: what waits is cancelled, what runs is told so, awaited, and its true outcome recorded. */
export async function cancelRun(
  agent: AgentCore,
  options: CancelOptions,
): Promise<{ runId: string; status: 'cancelled' | 'cancelling' }> {
  checkRequest(options);
  const { runId, reason, by } = options;
  const { worker } = agent.binding();
  const lease = await acquireOpen(agent, worker, runId);
  try {
    const { started } = lease.log.run;
    const context = (): RequestContext => new RequestContext(Object.entries(started.context));
    lease.log.elsewhere = (await placesOf(agent, worker, started, context)).elsewhere;
    await requestCancel(lease.log, worker, reason, by);
    return { runId, status: lease.log.run.outcome ? 'cancelled' : 'cancelling' };
  } finally {
    lease.release();
  }
}
