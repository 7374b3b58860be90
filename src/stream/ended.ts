/** The leg of a decision that is repeated after its run has ended: told from the records alone. */
import type { Listener, RunLog } from '../core/log.ts';
import type { Call, Run } from '../core/state.ts';
import type { DecisionRecord, EndedRun } from '../core/store.ts';
import { type Leg, openLeg } from './leg.ts';

/** A leg that replays the recorded call with its outcome, and then the end of the run. */
export function endedLeg(ended: EndedRun, record: DecisionRecord, warn: (message: string) => void): Leg {
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
    listen(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    pass: refuse,
    fail: refuse,
  };
  const leg = openLeg(log, {}, warn);
  leg.begin([record.toolCallId]);
  for (const listener of listeners) listener.onGone(ended);
  return leg;
}

/** As much of the run as the record still knows: its one call, not yet settled. */
function runOf({ runId, agentId, at }: EndedRun, record: DecisionRecord): Run {
  const { toolCallId, toolName, fingerprint, args = null, stop } = record;
  const call: Call = {
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
    toolCallId,
    toolName,
    args,
    state: 'running',
    stop,
    since: at,
    attempts: 1,
    decisions: [],
  };
  return {
    started: {
      type: 'run-started',
      runId,
      at,
      agentId,
      messageId: '',
      messages: [],
      options: { maxSteps: 1, maxRetries: 0, toolCallConcurrency: 1 },
      context: {},
      missing: [],
    },
    length: 0,
    steps: [],
    calls: new Map([[toolCallId, call]]),
  };
}
