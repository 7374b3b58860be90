/** Tries a stalled run again. */
import { checkRequest } from '../core/decide.ts';
import { CountersignError } from '../core/errors.ts';
import type { Event, Person } from '../core/event.ts';
import { headOf, isClaim } from '../core/next.ts';
import type { Parts } from '../core/parts.ts';
import { lastStep, type Run } from '../core/state.ts';
import type { Leg } from '../stream/leg.ts';
import { checkKeys } from './known-keys.ts';
import { acquireOpen, runLeg, withLease } from './legs.ts';
import { type ContinueOptions, optionKeys } from './options.ts';
import { partsOf } from './prepare.ts';
import type { AgentCore } from './types.ts';

/** Tries the model call of a stalled run again. */
export async function continueRun(agent: AgentCore, options: ContinueOptions): Promise<Leg> {
  checkRequest(options);
  checkKeys(options, optionKeys.continue, 'continueRun');
  const { worker } = agent.binding();
  const lease = await acquireOpen(agent, worker, options.runId);
  return withLease(lease, async () => {
    const { log } = lease;
    const legParts = await partsOf(agent, worker, log.run.started, options, false);
    return runLeg(agent, lease, legParts, options, async (leg, parts) => {
      await log.commit(
        (run) => {
          if (lastStep(run)?.state === 'stalled') {
            const event = continued(run, parts, options.by);
            leg.beginAt((stored) => stored === event);
            return [event];
          }
          // Nobody moves it, though nothing failed: the claims of this leg ride along.
          if (headOf(run) !== 'runnable') throw notStalled(run);
          leg.beginAt(isClaim);
          return [];
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

/** The event by which a stalled run goes on. */
export function continued(run: Run, parts: Parts, by: Person | undefined): Event {
  return { type: 'run-continued', runId: run.started.runId, at: parts.clock.now(), ...(by ? { by } : {}) };
}
