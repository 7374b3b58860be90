/** Follows a run from any process: its stored events as they come, not the tokens of its model. */
import { type Change, changesOf } from '../core/changes.ts';
import { changesBelow } from '../core/child-log.ts';
import { CountersignError, isCountersignError } from '../core/errors.ts';
import { eventFrom } from '../core/event.ts';
import type { RunLog } from '../core/log.ts';
import { headOf } from '../core/next.ts';
import type { EndedRun } from '../core/store.ts';
import { endedLeg } from '../stream/ended.ts';
import { type Leg, openLeg } from '../stream/leg.ts';
import { checkRequest } from './check-request.ts';
import type { KeysOf } from './known-keys.ts';
import { acquire, followLeg, withLease } from './legs.ts';
import { recoverRun } from './recovery.ts';
import type { AgentCore } from './types.ts';
import type { Worker } from './worker.ts';

export interface ObserveOptions {
  readonly runId: string;
  /** How many of the run's events the observer knows already. Default 0: from the beginning. */
  readonly afterEvent?: number | undefined;
}

const observeKeys = { runId: true, afterEvent: true } as const satisfies KeysOf<ObserveOptions>;

/**
 * A leg that tells what happened, and what happens until the run waits for a person or ends. A run that nobody moves
 * is moved, as a sweep would.
 */
export async function observeRun(agent: AgentCore, options: ObserveOptions): Promise<Leg> {
  const found = await observeOpenRun(agent, options);
  return 'kind' in found ? endedLeg(found, undefined, {}, agent.binding().worker.warn) : found;
}

/** As `observeRun`, of a run that is open; of another one, what is kept. */
export async function observeOpenRun(agent: AgentCore, options: ObserveOptions): Promise<Leg | EndedRun> {
  checkRequest(options, observeKeys, 'observe');
  const { runId, afterEvent = 0 } = options;
  if (!Number.isInteger(afterEvent) || afterEvent < 0) {
    throw new CountersignError('invalid-option', 'The option afterEvent is malformed.', {
      runId,
      expected: 'a whole number from 0',
    });
  }
  const { worker } = agent.binding();
  const lease = await acquire(agent, worker, runId);
  if (lease.kind === 'ended') return lease;
  return withLease<Leg | EndedRun>(lease, async () => {
    const { log, root, mover } = lease;
    let known = await changesOfRun(root, worker);
    // Between two ticks others may have moved on; from here on the leg hears of it.
    while (known.length !== root.run.length) known = await changesOfRun(root, worker);
    const leg = openLeg(log, {}, worker.warn);
    const own = log === root ? known : changesBelow(known, runId);
    const from = own.findLastIndex(({ run }) => run.length <= Math.max(afterEvent, 1));
    leg.replay(own.slice(Math.max(from, 0)) as [Change, ...Change[]]);
    followLeg(lease, leg, worker);
    if (mover && headOf(root.run) === 'runnable') await recoverRun(mover, root.runId);
    return leg;
  }).catch(async (error: unknown) => {
    const ended = isCountersignError(error, 'run-ended') ? await acquire(agent, worker, runId) : undefined;
    if (ended?.kind === 'ended') return ended;
    ended?.release();
    throw error;
  });
}

/** All changes of the run up to the state that its log has now. */
async function changesOfRun(log: RunLog, worker: Worker): Promise<Change[]> {
  if (!log.stored) return [{ event: log.run.started, run: log.run }];
  for (;;) {
    const found = await worker.store.load(log.runId, 0);
    if (found?.kind !== 'open' || found.events.length < log.run.length) {
      await log.refresh();
      if (log.run.outcome)
        throw new CountersignError('run-ended', 'The run has ended.', { runId: log.runId });
      continue;
    }
    return changesOf(found.events.slice(0, log.run.length).map(eventFrom), undefined);
  }
}
