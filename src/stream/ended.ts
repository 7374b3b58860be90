/** The leg of someone who comes when the run has ended: told from what is kept of it. */
import { childIdOf, type PathStep } from '../core/below.ts';
import type { CallDecided } from '../core/event.ts';
import type { Listener, RunLog } from '../core/log.ts';
import type { Call, Run } from '../core/state.ts';
import type { DecisionRecord, EndedRun } from '../core/store.ts';
import { type Leg, type LegPlan, openLeg } from './leg.ts';

/** A leg that replays a recorded call with its outcome, if one is meant, and then the end of the run. */
export function endedLeg(
  ended: EndedRun,
  record: DecisionRecord | undefined,
  plan: LegPlan,
  warn: (message: string) => void,
): Leg {
  const listeners = new Set<Listener>();
  const refuse = (): never => {
    throw new Error('An ended run takes no more events.');
  };
  const log: RunLog = {
    runId: ended.runId,
    run: runOf(ended, record),
    stored: true,
    commit: refuse,
    refresh: async () => {},
    elsewhere: undefined,
    claimedAt: () => 0,
    record: refuse,
    listen(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    pass: refuse,
    fail: refuse,
  };
  const leg = openLeg(log, plan, warn);
  leg.begin(record ? [record.toolCallId] : []);
  for (const listener of listeners) listener.onGone(ended);
  return leg;
}

/** As much of the run as is still known: at most its one recorded call, not yet settled. */
function runOf({ runId, agentId, at, outcome }: EndedRun, record: DecisionRecord | undefined): Run {
  const run = bareRun(runId, agentId, at, outcome.messageId);
  return record ? withCall(run, record, record.toolCallId.split('~'), record.path ?? [], at) : run;
}

function bareRun(runId: string, agentId: string, at: number, messageId = ''): Run {
  return {
    started: {
      type: 'run-started',
      runId,
      at,
      agentId,
      messageId,
      messages: [],
      options: { maxSteps: 1, maxRetries: 0, toolCallConcurrency: 1 },
      context: {},
      missing: [],
    },
    length: 0,
    steps: [],
    calls: new Map(),
  };
}

/** The run with the recorded call, or with the delegation that leads to it. */
function withCall(
  run: Run,
  record: DecisionRecord,
  ids: readonly string[],
  path: readonly PathStep[],
  at: number,
): Run {
  const [toolCallId = '', ...inner] = ids;
  const [step, ...rest] = path;
  const call = callOf({ ...record, toolCallId }, at);
  if (step === undefined) return { ...run, calls: new Map([[toolCallId, call]]) };
  const below = bareRun(childIdOf(run.started.runId, toolCallId), step.agentId, at);
  const child = withCall(below, record, inner, rest, at);
  return { ...run, calls: new Map([[toolCallId, { ...call, child }]]) };
}

function callOf(record: DecisionRecord, at: number): Call {
  const { runId, toolCallId, toolName, fingerprint, args = null, stop } = record;
  return {
    request: {
      type: 'call-requested',
      runId,
      at,
      toolCallId,
      step: 0,
      toolName,
      raw: args,
      textHash: '',
      fingerprint,
      gate: 'held',
    },
    requestSeq: 0,
    stopSeq: 0,
    stateSeq: 0,
    toolCallId,
    toolName,
    args,
    state: 'running',
    stop,
    since: at,
    attempts: 1,
    decisions: decisionsOf(record),
  };
}

function decisionsOf({ verdict, ...record }: DecisionRecord): CallDecided[] {
  if (verdict === 'cancel' || verdict === 'ran-twice') return [];
  const { runId, toolCallId, stop, at, fingerprint, reason, by } = record;
  const facts = { ...(reason === undefined ? {} : { reason }), ...(by ? { by } : {}) };
  return [{ type: 'call-decided', runId, toolCallId, stop, at, verdict, fingerprint, ...facts }];
}
