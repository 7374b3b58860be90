/** Ends a run on request. */
import { checkRequest } from '../core/decide.ts';
import { checkKeys } from './known-keys.ts';
import { acquireOpen, requestCancel } from './legs.ts';
import { type CancelOptions, optionKeys } from './options.ts';
import type { AgentCore } from './types.ts';

/** Ends a run: what waits is cancelled, what runs is told so, awaited, and its true outcome recorded. */
export async function cancelRun(
  agent: AgentCore,
  options: CancelOptions,
): Promise<{ runId: string; status: 'cancelled' | 'cancelling' }> {
  checkRequest(options);
  checkKeys(options, optionKeys.cancel, 'cancelRun');
  const { runId, reason, by } = options;
  const { worker } = agent.binding();
  const lease = await acquireOpen(agent, worker, runId);
  try {
    await requestCancel(lease.log, worker, reason, by);
    return { runId, status: lease.log.run.outcome ? 'cancelled' : 'cancelling' };
  } finally {
    lease.release();
  }
}
