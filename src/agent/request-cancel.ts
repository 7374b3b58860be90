/** Asks a run to end, whatever code its agent has. */
import { changesWithRiders } from '../core/changes.ts';
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
    // Only ends may ride along, of this run and of those below: nobody here performs claims of a run above.
    await log.commit((run) => {
      const events = run.outcome || run.cancel ? [] : [request(run.started.runId)];
      return changesWithRiders(events, run, me, worker.clock.now()).map(({ event }) => event);
    });
  } finally {
    worker.endLeg(me.leg);
  }
}
