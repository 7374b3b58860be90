/** Tries a stalled run again. */
import { isWithin } from '../core/below.ts';
import { CountersignError } from '../core/errors.ts';
import type { Event, Person } from '../core/event.ts';
import { headOf, isClaim, stalledRuns } from '../core/next.ts';
import type { Run } from '../core/state.ts';
import type { Leg } from '../stream/leg.ts';
import { optionKeys } from './check-options.ts';
import { checkRequest } from './check-request.ts';
import { acquireOpen, runLeg, withLease } from './legs.ts';
import { broughtToRoot, type ContinueOptions } from './options.ts';
import { partsOf } from './prepare.ts';
import type { AgentCore } from './types.ts';

/** Tries the model call of a stalled run again. */
export async function continueRun(agent: AgentCore, options: ContinueOptions): Promise<Leg> {
  checkRequest(options, optionKeys.continue, 'continueRun');
  const { worker } = agent.binding();
  const lease = await acquireOpen(agent, worker, options.runId, options);
  return withLease(lease, async () => {
    const { log, root, mover } = lease;
    if (mover === undefined) throw moverMissing(root.run);
    const brought = broughtToRoot(options, log === root, root.run.started);
    const legParts = await partsOf(mover, worker, root.run, brought, false);
    return runLeg(agent, lease, legParts, options, async (leg, parts) => {
      await log.commit(
        (run) => {
          const events = continued(root.run, log.runId, worker.clock.now(), options.by);
          const first = events.find(({ runId }) => isWithin(runId, log.runId));
          // Nobody moves it, though nothing of it failed: the claims of this leg ride along.
          if (first === undefined && headOf(run) !== 'runnable') throw notStalled(run);
          leg.beginAt(first ? (stored) => stored === first : isClaim);
          return events;
        },
        { me: parts.me },
      );
    });
  });
}

function notStalled(run: Run): CountersignError {
  const { runId, agentId } = run.started;
  return new CountersignError('run-not-stalled', `The run "${runId}" is not stalled.`, {
    runId,
    agentId,
    expected: "a run that listSuspendedRuns lists with status 'stalled'",
    todo: headOf(run) === 'waiting' ? 'It waits for a decision.' : 'It is going on.',
  });
}

/** The events by which a stalled run goes on, stalled runs below it, and those above, without which nothing does. */
export function continued(root: Run, id: string, at: number, by: Person | undefined): Event[] {
  return stalledRuns(root)
    .map(({ started: { runId } }) => runId)
    .filter((runId) => isWithin(runId, id) || isWithin(id, runId))
    .map((runId) => ({ type: 'run-continued', runId, at, ...(by ? { by } : {}) }));
}

/** The error of someone who asks for what only the root's agent can do. */
export function moverMissing({ started }: Run): CountersignError {
  return new CountersignError('agent-missing', `The agent "${started.agentId}" of the run is not here.`, {
    runId: started.runId,
    agentId: started.agentId,
    todo: 'Approve or decline, or do it where that agent is deployed.',
  });
}
