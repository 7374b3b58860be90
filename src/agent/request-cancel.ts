/** Asks a run to end, whatever code its agent has. */
import type { Event, Person } from '../core/event.ts';
import type { RunLog } from '../core/log.ts';
import type { Worker } from './worker.ts';

/** Asks the run to end, and ends it when nothing runs. */
export async function requestCancel(
  log: RunLog,
  worker: Worker,
  reason?: string,
  by?: Person,
): Promise<void> {
  const me = { worker: worker.id, leg: worker.beginLeg() };
  const request = (runId: string): Event => ({
    type: 'cancel-requested',
    runId,
    at: worker.clock.now(),
    ...(reason === undefined ? {} : { reason }),
    ...(by === undefined ? {} : { by }),
  });
  try {
    await log.commit((run) => (run.outcome || run.cancel ? [] : [request(run.started.runId)]), { me });
  } finally {
    worker.endLeg(me.leg);
  }
}
