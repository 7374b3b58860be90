/** Owns the life of a leg in this process: the run it acts on, its drive, its abort signal, its end. */
import { findRun, firstIdOf, isWithin } from '../core/below.ts';
import { childLog } from '../core/child-log.ts';
import { drive } from '../core/drive.ts';
import { isCountersignError } from '../core/errors.ts';
import type { RunLog } from '../core/log.ts';
import { endedError } from '../core/log-errors.ts';
import { headOf, stalledRuns } from '../core/next.ts';
import type { Parts } from '../core/parts.ts';
import type { Schema } from '../core/schema.ts';
import type { Run } from '../core/state.ts';
import type { EndedRun } from '../core/store.ts';
import { openClaims } from '../core/takeover.ts';
import type { LegCallbacks } from '../stream/callbacks.ts';
import { endedWithin } from '../stream/ended-within.ts';
import { type Leg, openLeg } from '../stream/leg.ts';
import { checkConversation } from './check-options.ts';
import type { ConversationOption, LegOptions } from './options.ts';
import type { LegParts } from './prepare.ts';
import { requestCancel } from './request-cancel.ts';
import type { TracedSpan } from './span.ts';
import { checkStructuredOutput, schemaOfLeg } from './structured-output.ts';
import { traced } from './traced-parts.ts';
import type { AgentCore } from './types.ts';
import type { Lease, Worker } from './worker.ts';

/** A run that is acted on, as part of the run at the top. */
export interface RunLease extends Lease {
  readonly root: RunLog;
  /** Whose code moves it: the agent of the root, unless that is deployed elsewhere. */
  readonly mover: AgentCore | undefined;
  /** In which the run began. */
  readonly span?: TracedSpan | undefined;
}

/**
 * The run, if it is this agent's and of the conversation that is named: another is unknown here. A run of a sub-agent
 * is found in the log of its root.
 * @throws `run-not-found`, `invalid-option` for a conversation that is malformed.
 */
export async function acquire(
  agent: AgentCore,
  worker: Worker,
  runId: string,
  named: ConversationOption = {},
): Promise<RunLease | EndedRun> {
  if (named.memory !== undefined) checkConversation(named.memory);
  const found = await acquireAny(worker, runId);
  const owner = found.kind === 'lease' ? found.log.run.started : found;
  if (owner.agentId === agent.id && isOf(owner, named)) {
    if (found.kind === 'ended') return found;
    const ofRoot = found.root.run.started.agentId;
    return { ...found, mover: ofRoot === agent.id ? agent : agent.binding().agentOf(ofRoot) };
  }
  if (found.kind === 'lease') found.release();
  throw endedError(runId, undefined);
}

/** The run, whosever it is. @throws `run-not-found`. */
export async function acquireAny(worker: Worker, runId: string): Promise<Omit<RunLease, 'mover'> | EndedRun> {
  const found = await worker.acquire(firstIdOf(runId));
  if (found?.kind === 'ended') {
    const ended = endedWithin(found, runId);
    if (ended) return ended;
  } else if (found) {
    const root = found.log;
    if (findRun(root.run, runId)) {
      return { ...found, log: root.runId === runId ? root : childLog(root, runId), root };
    }
    found.release();
  }
  throw endedError(runId, undefined);
}

function isOf(
  owner: { readonly threadId?: string | undefined; readonly resourceId?: string | undefined },
  { memory }: ConversationOption,
): boolean {
  const { thread, resource } = memory ?? {};
  const threadId = typeof thread === 'object' ? thread?.id : thread;
  return (
    (threadId === undefined || threadId === owner.threadId) &&
    (resource === undefined || resource === owner.resourceId)
  );
}

/** Does what an open run allows, or answers from what others left that ended it meanwhile. */
export async function orFromRecords<T>(
  work: () => Promise<T>,
  again: () => Promise<Lease | EndedRun>,
  fromRecords: (ended: EndedRun) => T,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isCountersignError(error, 'run-ended')) throw error;
    const found = await again();
    if (found.kind === 'ended') return fromRecords(found);
    found.release();
    throw error;
  }
}

/** As `acquire`, for what only an open run allows. @throws `run-ended`. */
export async function acquireOpen(
  agent: AgentCore,
  worker: Worker,
  runId: string,
  named: ConversationOption = {},
): Promise<RunLease> {
  const found = await acquire(agent, worker, runId, named);
  if (found.kind === 'ended') throw endedError(runId, found);
  const { outcome } = found.log.run;
  if (outcome === undefined) return found;
  // A run below may have ended before its root.
  found.release();
  throw endedError(runId, { outcome });
}

/** Releases the run when what is done with it fails; else the leg's drive does. */
export async function withLease<T>(lease: Lease, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    lease.release();
    throw error;
  }
}

/** Opens a leg, lets it begin, and lets the loop move the run. What `begin` throws leaves nothing behind. */
export async function runLeg(
  agent: AgentCore,
  lease: Pick<RunLease, 'log' | 'root' | 'release' | 'span'>,
  legParts: LegParts,
  options: LegOptions,
  begin: (leg: Leg, parts: Parts) => void | Promise<void>,
): Promise<Leg> {
  const { worker } = agent.binding();
  lease.root.elsewhere = legParts.elsewhere;
  const schema =
    lease.log === lease.root ? legParts.answerSchema : await schemaBelow(agent, lease.log, options);
  const plan = { ...callbacksOf(agent, options), mayStop: legParts.shouldStop !== undefined, schema };
  const leg = openLeg(lease.log, plan, worker.warn);
  const parts = { ...legParts, me: { worker: worker.id, leg: worker.beginLeg() } };
  try {
    await begin(leg, parts);
  } catch (error) {
    leg.discard();
    worker.endLeg(parts.me.leg);
    throw error;
  }
  const { abortSignal = agent.defaultOptions.abortSignal, waitUntil = agent.defaultOptions.waitUntil } =
    options;
  const stopAborting = abortWith(abortSignal, leg, lease.log, worker);
  moveRun(agent, lease, parts, { waitUntil }, leg, stopAborting);
  return leg;
}

/** A leg of a run that others move. */
export async function followedLeg(
  agent: AgentCore,
  lease: RunLease,
  options: LegOptions,
  begin: (leg: Leg) => Promise<void>,
): Promise<Leg> {
  const { worker } = agent.binding();
  const schema = await schemaBelow(agent, lease.log, options);
  const leg = openLeg(lease.log, { ...callbacksOf(agent, options), schema }, worker.warn);
  try {
    await begin(leg);
  } catch (error) {
    leg.discard();
    throw error;
  }
  followLeg(lease, leg, worker);
  return leg;
}

/** By which a leg of a run below reads its answer: the schema of its caller, or of its own agent. */
async function schemaBelow(
  { defaultOptions }: AgentCore,
  { run }: RunLog,
  { structuredOutput }: LegOptions,
): Promise<Schema | undefined> {
  checkStructuredOutput(structuredOutput);
  return schemaOfLeg(structuredOutput, defaultOptions.structuredOutput, run.started);
}

/** The callbacks of a leg: its caller's over those of the agent's defaults. */
export function callbacksOf({ defaultOptions }: AgentCore, options: LegOptions): LegCallbacks {
  return {
    onChunk: options.onChunk ?? defaultOptions.onChunk,
    onStepFinish: options.onStepFinish ?? defaultOptions.onStepFinish,
    onFinish: options.onFinish ?? defaultOptions.onFinish,
    onError: options.onError ?? defaultOptions.onError,
  };
}

/**
 * Lets the loop move the run, as long as its leg follows it. The one place where a background promise ends: a
 * failure reaches every open leg.
 */
export function moveRun(
  agent: AgentCore,
  lease: Pick<RunLease, 'root' | 'release' | 'span'>,
  given: Parts,
  options: Pick<LegOptions, 'waitUntil'>,
  leg: Leg | undefined,
  finish: () => void,
): void {
  const { worker, warnOfMemory, waitUntil } = agent.binding();
  const log = lease.root;
  const { parts, within, end } = traced(agent, log.run.started, given, lease.span);
  let failure: unknown;
  const moved = within(() =>
    drive(log, parts).then(() => (leg ? follow(log, leg, parts, worker) : undefined)),
  )
    .catch((error: unknown) => {
      failure = error;
      log.fail(error);
    })
    .finally(() => {
      finish();
      end(log.run, failure);
      if (log.stored && !worker.store.persistent) warnOfMemory();
      worker.endLeg(parts.me.leg);
      lease.release();
    });
  worker.track(moved);
  waitUntil?.(moved);
  options.waitUntil?.(moved);
}

/** Keeps an observer's leg up to date until it ends. It moves nothing. */
export function followLeg(lease: Pick<RunLease, 'log' | 'root' | 'release'>, leg: Leg, worker: Worker): void {
  const { log, root } = lease;
  const work = (async () => {
    for (let pause = 10; !leg.end; pause = Math.min(pause * 2, 500))
      await nextChange(log, root, leg, worker, pause);
  })()
    .catch((error: unknown) => log.fail(error))
    .finally(() => lease.release());
  worker.track(work);
}

/**
 * Resolves when the leg has ended, or others may have changed the run and it was read again. While only this process
 * moves the run, the wait does not keep it from ending.
 */
async function nextChange(log: RunLog, root: RunLog, leg: Leg, worker: Worker, pause: number): Promise<void> {
  if (isBelowStalled(root.run, leg.runId)) return leg.stall(root.run);
  const claims = openClaims(log.run);
  const background = claims.length > 0 && claims.every((claim) => claim.worker === worker.id);
  const sleep = (): Promise<void> => worker.clock.sleep(pause, { background });
  const changed = background ? sleep() : (worker.store.changed?.(log.runId, pause) ?? sleep());
  await Promise.race([changed, leg.ended]);
  if (!leg.end && log.stored) await log.refresh();
}

/** Whether nothing of the run goes on because one above it is stalled. */
function isBelowStalled(root: Run, runId: string): boolean {
  const run = findRun(root, runId);
  if (run === undefined || headOf(run) !== 'runnable') return false;
  return stalledRuns(root).some(({ started }) => started.runId !== runId && isWithin(runId, started.runId));
}

/** Cancels the run when the signal aborts while the leg is open. */
function abortWith(signal: AbortSignal | undefined, leg: Leg, log: RunLog, worker: Worker): () => void {
  if (!signal) return () => {};
  const onAbort = (): void => {
    if (!leg.end) requestCancel(log, worker, 'aborted').catch((error: unknown) => log.fail(error));
  };
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  const stop = (): void => signal.removeEventListener('abort', onAbort);
  void leg.ended.then(stop);
  return stop;
}

/**
 * Follows the run until the leg has ended, and moves it again when nobody does. Events of this worker arrive by
 * themselves; those of others are read from the store.
 */
async function follow(log: RunLog, leg: Leg, parts: Parts, worker: Worker): Promise<void> {
  let hasDriven = true;
  for (let pause = 10; !leg.end; pause = Math.min(pause * 2, 500)) {
    // What was given back just now is not claimed again at once: that could go on for ever.
    if (headOf(log.run) === 'runnable' && !hasDriven) {
      await drive(log, parts);
      hasDriven = true;
    } else {
      hasDriven = false;
      await nextChange(log, log, leg, worker, pause);
      if (!leg.end) await worker.recover(log);
    }
  }
}
