/** Begins, decides, continues and cancels runs: each opens a leg and lets the one loop move the run. */
import {
  checkRequest,
  type DecisionRequest,
  decide,
  decideEnded,
  targetOf,
  verdictIn,
} from '../core/decide.ts';
import { drive } from '../core/drive.ts';
import { CountersignError } from '../core/errors.ts';
import type { CallDecided, Event, Person } from '../core/event.ts';
import { endedError, type RunLog } from '../core/log.ts';
import { toMessages } from '../core/message.ts';
import { headOf } from '../core/next.ts';
import type { Parts } from '../core/parts.ts';
import { validate } from '../core/schema.ts';
import { lastStep, type Run } from '../core/state.ts';
import type { EndedRun } from '../core/store.ts';
import { endedLeg } from '../stream/ended.ts';
import { type Leg, openLeg } from '../stream/leg.ts';
import type { CancelOptions, ContinueOptions, DecisionOptions, LegOptions, RunOptions } from './options.ts';
import { partsOf, startedEvent } from './prepare.ts';
import type { AgentCore, MessagesInput } from './types.ts';
import type { Lease, Worker } from './worker.ts';

export async function startRun(agent: AgentCore, input: MessagesInput, options: RunOptions): Promise<Leg> {
  const { worker } = agent.binding();
  const started = startedEvent(agent, toMessages(await agent.messages(input)), options, worker);
  if (options.runId !== undefined && (await worker.store.load(options.runId, Number.MAX_SAFE_INTEGER))) {
    throw new CountersignError('run-exists', `A run "${options.runId}" exists already.`, {
      runId: options.runId,
      todo: 'Leave runId out, and one is made.',
    });
  }
  const parts = await partsOf(agent, worker, started, options, true);
  const lease = worker.begin(started);
  const leg = openLeg(lease.log, callbacksOf(agent, options), worker.warn);
  leg.begin();
  go(agent, lease, leg, parts, options);
  return leg;
}

/** Approve, decline, resume. Resolves when the decision is stored; the leg then carries what follows. */
export async function decideCall(
  agent: AgentCore,
  verdict: DecisionRequest['verdict'],
  options: DecisionOptions,
  data?: { readonly value: unknown },
): Promise<Leg> {
  const given: DecisionRequest = { ...requestOf(options), verdict, ...(data ? { data: data.value } : {}) };
  checkRequest(given);
  const { worker } = agent.binding();
  const lease = await acquire(agent, worker, options.runId);
  if (lease.kind === 'ended') {
    const record = decideEnded(lease, decidedRequest(given, undefined));
    return endedLeg(lease, record, worker.warn);
  }
  return withLease(lease, async () => {
    const { log } = lease;
    const target = targetOf(log.run, given, agent.whenSeveralWait());
    const request = decidedRequest(given, log.run.calls.get(target.toolCallId)?.state);
    decide(log.run, request, target, 0);
    const parts = await partsOf(agent, worker, log.run.started, options, false);
    const checked = await checkData(request, target.toolCallId, log.run, parts);
    const leg = openLeg(log, callbacksOf(agent, options), worker.warn);
    try {
      const repeated = await commitDecision(log, parts, leg, (run) =>
        decide(run, checked, target, worker.clock.now()),
      );
      if (repeated) leg.begin([target.toolCallId]);
    } catch (error) {
      leg.discard();
      throw error;
    }
    go(agent, lease, leg, parts, options);
    return leg;
  });
}

/** Appends the decision with the claims it makes possible. True when this very decision was recorded before. */
async function commitDecision(
  log: RunLog,
  parts: Parts,
  leg: Leg,
  propose: (run: Run) => CallDecided | undefined,
): Promise<boolean> {
  let repeated = false;
  await log.commit(
    (run) => {
      const event = propose(run);
      repeated = event === undefined;
      if (event) {
        leg.beginAt((stored) => stored === event);
        return [event];
      }
      return lastStep(run)?.state === 'stalled' ? [continued(run, parts, undefined)] : [];
    },
    { me: parts.me },
  );
  return repeated;
}

function continued(run: Run, parts: Parts, by: Person | undefined): Event {
  return { type: 'run-continued', runId: run.started.runId, at: parts.clock.now(), ...(by ? { by } : {}) };
}

function requestOf(options: DecisionOptions): Omit<DecisionRequest, 'verdict'> {
  const { runId, toolCallId, stop, fingerprint, reason, by, decisionId } = options;
  return { runId, toolCallId, stop, fingerprint, reason, by, decisionId };
}

/** `resumeStream` on a held call is a decision only for exactly `{ approved, reason? }`. */
function decidedRequest(given: DecisionRequest, state: string | undefined): DecisionRequest {
  if (given.verdict !== 'resume' || state === 'suspended') return given;
  const verdict = verdictIn(given.data);
  return verdict ? { ...given, data: undefined, ...verdict } : given;
}

/** Resume data is checked before anything is written; what is wrong is an error and the call keeps waiting. */
async function checkData(
  request: DecisionRequest,
  toolCallId: string,
  run: Run,
  parts: Parts,
): Promise<DecisionRequest> {
  const call = run.calls.get(toolCallId);
  if (request.verdict !== 'resume' || call?.state !== 'suspended') return request;
  const tool = parts.tools.get(call.toolName)?.tool;
  const details = { runId: run.started.runId, toolCallId, toolName: call.toolName };
  if (tool === undefined) {
    throw new CountersignError('agent-missing', `The agent has no tool "${call.toolName}" any more.`, {
      ...details,
      todo: 'Decide it where the tool is deployed, or decline it.',
    });
  }
  if (request.data === undefined) {
    throw new CountersignError('invalid-resume-data', 'There is no resume data.', {
      ...details,
      expected: tool.resumeSchema ? "data for the tool's resumeSchema" : 'a JSON value',
    });
  }
  const valid = await validate(tool.resumeSchema, request.data);
  if (valid.ok) return request;
  throw new CountersignError('invalid-resume-data', 'The resume data does not match the resumeSchema.', {
    ...details,
    issues: valid.issues,
    expected: valid.issues.join('; '),
    todo: 'The call keeps waiting.',
  });
}

/** Tries the model call of a stalled run again. */
export async function continueRun(agent: AgentCore, options: ContinueOptions): Promise<Leg> {
  const { worker } = agent.binding();
  const lease = await acquireOpen(agent, worker, options.runId);
  return withLease(lease, async () => {
    const { log } = lease;
    const parts = await partsOf(agent, worker, log.run.started, options, false);
    const leg = openLeg(log, callbacksOf(agent, options), worker.warn);
    try {
      await log.commit(
        (run) => {
          if (lastStep(run)?.state !== 'stalled') throw notStalled(run);
          const event = continued(run, parts, options.by);
          leg.beginAt((stored) => stored === event);
          return [event];
        },
        { me: parts.me },
      );
    } catch (error) {
      leg.discard();
      throw error;
    }
    go(agent, lease, leg, parts, options);
    return leg;
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

/** Ends a run: what waits is cancelled, what runs is told so, awaited, and its true outcome recorded. */
export async function cancelRun(
  agent: AgentCore,
  { runId, reason, by }: CancelOptions,
): Promise<{ runId: string; status: 'cancelled' | 'cancelling' }> {
  const { worker } = agent.binding();
  checkRequest({ verdict: 'decline', runId, reason, by });
  const lease = await acquireOpen(agent, worker, runId);
  try {
    await requestCancel(lease.log, worker, reason, by);
    return { runId, status: lease.log.run.outcome ? 'cancelled' : 'cancelling' };
  } finally {
    lease.release();
  }
}

async function requestCancel(log: RunLog, worker: Worker, reason?: string, by?: Person): Promise<void> {
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

async function acquire(agent: AgentCore, worker: Worker, runId: string): Promise<Lease | EndedRun> {
  const found = await worker.acquire(runId);
  if (found === undefined) throw endedError(runId, undefined);
  const owner = found.kind === 'lease' ? found.log.run.started.agentId : found.agentId;
  if (owner === agent.id) return found;
  if (found.kind === 'lease') found.release();
  throw endedError(runId, undefined);
}

async function acquireOpen(agent: AgentCore, worker: Worker, runId: string): Promise<Lease> {
  const found = await acquire(agent, worker, runId);
  if (found.kind === 'ended') throw endedError(runId, found);
  return found;
}

/** Releases the run when opening the leg fails; else the leg's drive does. */
async function withLease(lease: Lease, open: () => Promise<Leg>): Promise<Leg> {
  try {
    return await open();
  } catch (error) {
    lease.release();
    throw error;
  }
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

/** Follows the stored events while another worker moves the run. Events of this worker arrive by themselves. */
async function follow(log: RunLog, leg: Leg, worker: Worker): Promise<void> {
  for (let pause = 10; !leg.end && isOwnedElsewhere(log.run, worker.id); pause = Math.min(pause * 2, 500)) {
    await worker.clock.sleep(pause);
    await log.refresh();
  }
}

function isOwnedElsewhere(run: Run, worker: string): boolean {
  if (run.outcome) return false;
  const claims = [lastStep(run)?.claim, ...[...run.calls.values()].map((call) => call.claim)];
  return claims.some((claim) => claim && claim.worker !== worker);
}
