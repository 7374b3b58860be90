/** Owns the life of a leg in this process: the run it acts on, its drive, its abort signal, its end. */
import { drive } from '../core/drive.ts';
import type { Person } from '../core/event.ts';
import { endedError, type RunLog } from '../core/log.ts';
import type { Parts } from '../core/parts.ts';
import type { EndedRun } from '../core/store.ts';
import { type Leg, openLeg } from '../stream/leg.ts';
import type { LegOptions } from './options.ts';
import type { AgentCore } from './types.ts';
import type { Lease, Worker } from './worker.ts';

/** The run, if it is this agent's: a foreign one is unknown here. @throws `run-not-found`. */
export async function acquire(agent: AgentCore, worker: Worker, runId: string): Promise<Lease | EndedRun> {
  const found = await worker.acquire(runId);
  if (found === undefined) throw endedError(runId, undefined);
  const owner = found.kind === 'lease' ? found.log.run.started.agentId : found.agentId;
  if (owner === agent.id) return found;
  if (found.kind === 'lease') found.release();
  throw endedError(runId, undefined);
}

/** As `acquire`, for what only an open run allows. @throws `run-ended`. */
export async function acquireOpen(agent: AgentCore, worker: Worker, runId: string): Promise<Lease> {
  const found = await acquire(agent, worker, runId);
  if (found.kind === 'ended') throw endedError(runId, found);
  return found;
}

/** Releases the run when opening the leg fails; else the leg's drive does. */
export async function withLease(lease: Lease, open: () => Promise<Leg>): Promise<Leg> {
  try {
    return await open();
  } catch (error) {
    lease.release();
    throw error;
  }
}

/** Opens a leg, lets it begin, and lets the loop move the run. What `begin` throws leaves nothing behind. */
export async function runLeg(
  agent: AgentCore,
  lease: Lease,
  parts: Parts,
  options: LegOptions,
  begin: (leg: Leg) => void | Promise<void>,
): Promise<Leg> {
  const leg = openLeg(lease.log, callbacksOf(agent, options), parts.warn);
  try {
    await begin(leg);
  } catch (error) {
    leg.discard();
    throw error;
  }
  go(agent, lease, leg, parts, options);
  return leg;
}

function callbacksOf(agent: AgentCore, options: LegOptions): LegOptions {
  const { onStepFinish, onFinish, onError } = agent.defaultOptions;
  return {
    ...(onStepFinish ? { onStepFinish } : {}),
    ...(onFinish ? { onFinish } : {}),
    ...(onError ? { onError } : {}),
    ...options,
  };
}

/** Lets the loop move the run. The one place where a background promise ends: a failure reaches every open leg. */
function go(agent: AgentCore, lease: Lease, leg: Leg, parts: Parts, options: LegOptions): void {
  const { worker, warnOfMemory } = agent.binding();
  const { log } = lease;
  const stopAborting = abortWith(options.abortSignal, () => requestCancel(log, worker, 'aborted'));
  void drive(log, parts)
    .then(() => follow(log, leg, worker))
    .catch((error: unknown) => log.fail(error))
    .finally(() => {
      stopAborting();
      if (log.stored && !worker.store.persistent) warnOfMemory();
      lease.release();
    });

  function abortWith(signal: AbortSignal | undefined, cancel: () => Promise<void>): () => void {
    if (!signal) return () => {};
    const onAbort = (): void => {
      if (!leg.end) cancel().catch((error: unknown) => log.fail(error));
    };
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    const stop = (): void => signal.removeEventListener('abort', onAbort);
    void leg.ended.then(stop);
    return stop;
  }
}

/** Asks the run to end, and ends it when nothing runs. */
export async function requestCancel(
  log: RunLog,
  worker: Worker,
  reason?: string,
  by?: Person,
): Promise<void> {
  const { clock, id } = worker;
  const me = { worker: id, leg: worker.nextLeg() };
  await log.commit(
    (run) => {
      if (run.outcome || run.cancel) return [];
      const facts = { ...(reason === undefined ? {} : { reason }), ...(by === undefined ? {} : { by }) };
      return [{ type: 'cancel-requested', runId: run.started.runId, at: clock.now(), ...facts }];
    },
    { me },
  );
}

/**
 * Follows the run until the leg has ended, whoever moves it: events of this worker arrive by themselves, those of
 * others are read from the store.
 */
async function follow(log: RunLog, leg: Leg, worker: Worker): Promise<void> {
  for (let pause = 10; !leg.end; pause = Math.min(pause * 2, 500)) {
    await Promise.race([worker.clock.sleep(pause), leg.ended]);
    if (!leg.end) await log.refresh();
  }
}
