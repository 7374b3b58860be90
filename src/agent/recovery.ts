/** Moves a run that nobody moves, without a caller: after a crash, or when a decision was taken elsewhere. */
import { isCountersignError } from '../core/errors.ts';
import type { RunError } from '../core/event.ts';
import { headOf } from '../core/next.ts';
import { lastStep } from '../core/state.ts';
import { acquireOpen, moveRun, withLease } from './legs.ts';
import { type LegParts, partsOf } from './prepare.ts';
import type { AgentCore } from './types.ts';
import type { Lease } from './worker.ts';

/**
 * Takes the run over and lets the loop move it in the background. What could not be stored is asked of `supply`;
 * where that lacks something, nothing begins and the run is stalled with `option-missing`.
 */
export async function recoverRun(agent: AgentCore, runId: string): Promise<void> {
  const { worker } = agent.binding();
  const lease = await acquireOpen(agent, worker, runId);
  await withLease(lease, async () => {
    const { log } = lease;
    if (headOf(log.run) !== 'runnable') return lease.release();
    let legParts: LegParts;
    try {
      legParts = await partsOf(agent, worker, log.run, {}, false);
    } catch (error) {
      if (!isCountersignError(error, 'option-missing')) throw error;
      await stall(lease, worker.clock.now(), {
        code: error.code,
        message: error.message,
        missing: error.details.missing ?? [],
      });
      return lease.release();
    }
    const parts = { ...legParts, me: { worker: worker.id, leg: worker.beginLeg() } };
    log.elsewhere = legParts.elsewhere;
    moveRun(agent, lease, parts, {}, undefined, () => {});
  });
}

async function stall({ log }: Lease, at: number, error: RunError): Promise<void> {
  await log.commit((run) => {
    const step = lastStep(run);
    if (!step || headOf(run) !== 'runnable') return [];
    return [{ type: 'step-failed', runId: log.runId, at, step: step.index, error }];
  });
}
