/** What one append changes in head, index and records: computed from the states before and after it. Pure. */
import { type Found, findCall, type PathStep, pathTo, qualifiedId } from './below.ts';
import type { CallDecided, Event } from './event.ts';
import { eventText } from './event.ts';
import type { Json } from './json.ts';
import { headOf, stalledRuns, waitingCalls } from './next.ts';
import { type Call, isSettled, isWaiting, type Run } from './state.ts';
import type { Batch, DecisionRecord, HeadRow, OpenCall, RecordedOutcome } from './store.ts';
import { openClaims } from './takeover.ts';

/** Above this many characters, a record keeps no copy of arguments or result. */
const recordLimit = 16 * 1024;

/** @param before the state that is stored, undefined for the first write. */
export function batchOf(id: string, before: Run | undefined, after: Run, events: readonly Event[]): Batch {
  const indexed = before ? waitingCalls(before) : [];
  const stops = new Map(indexed.map(({ id, call }) => [id, call.stop]));
  const waiting = waitingCalls(after);
  const changed = changedCalls(before, events, after);
  return {
    id,
    runId: after.started.runId,
    expectedVersion: before?.length ?? 0,
    events: events.map(eventText),
    head: headRow(after, waiting, events.at(-1)?.at ?? after.started.at),
    opened: waiting.filter(({ id, call }) => stops.get(id) !== call.stop).map(openCall(after)),
    closed: indexed
      .filter(({ id }) => !isWaiting((findCall(after, id) as Found).call))
      .map(({ id }) => ({ toolCallId: id })),
    records: [
      ...events.filter((event) => event.type === 'call-decided').map((event) => decisionRecord(after, event)),
      ...changed
        .filter(({ call }) => call.state === 'cancelled' && call.stop > call.decisions.length)
        .map((found) => cancelRecord(after, found)),
    ],
    outcomes: changed.flatMap(({ id, call }) => {
      const { stop } = call.decisions.at(-1) ?? call;
      const outcome = outcomeToKeep(call, before && findCall(before, id)?.call);
      return outcome ? [{ toolCallId: id, toolName: call.toolName, stop, outcome }] : [];
    }),
    durability: events.some(mustSurvivePowerCut) ? 'full' : 'relaxed',
  };
}

function changedCalls(before: Run | undefined, events: readonly Event[], after: Run): Found[] {
  const changed = new Map<string, Found>();
  for (const event of events) {
    if (!('toolCallId' in event)) continue;
    const id = qualifiedId(after, event.runId, event.toolCallId);
    const found = findCall(after, id) as Found;
    if (found.call.state !== (before && findCall(before, id)?.call.state)) changed.set(id, found);
  }
  return [...changed.values()];
}

const lasting: ReadonlySet<Event['type']> = new Set(['call-started', 'call-decided', 'call-suspended']);

function mustSurvivePowerCut(event: Event): boolean {
  return lasting.has(event.type) || (event.type === 'call-requested' && event.gate === 'held');
}

function headRow(run: Run, waiting: readonly Found[], at: number): HeadRow {
  const { agentId, threadId, resourceId } = run.started;
  let suspendedSince: number | undefined;
  let interruptedSince: number | undefined;
  for (const { call } of waiting) {
    if (call.state === 'interrupted') interruptedSince = Math.max(interruptedSince ?? call.since, call.since);
    else suspendedSince = Math.max(suspendedSince ?? call.since, call.since);
  }
  return {
    agentId,
    threadId,
    resourceId,
    head: headOf(run),
    workers: [...new Set(openClaims(run).map((claim) => claim.worker))],
    suspendedSince,
    interruptedSince,
    stalledSince: stalledRuns(run).length > 0 ? at : undefined,
  };
}

const openCall =
  (root: Run) =>
  ({ id, run, call }: Found): OpenCall => ({
    runId: run.started.runId,
    toolCallId: id,
    ...pathOf(root, run),
    stop: call.stop,
    kind: call.state as OpenCall['kind'],
    toolName: call.toolName,
    since: call.since,
    requestSeq: call.requestSeq,
    stopSeq: call.stopSeq,
  });

function small(value: Json): boolean {
  return JSON.stringify(value).length <= recordLimit;
}

function pathOf(root: Run, run: Run): { path?: PathStep[] } {
  return run === root ? {} : { path: pathTo(root, run.started.runId) };
}

function recordOf(root: Run, found: Found, stop: number): Omit<DecisionRecord, 'verdict' | 'at'> {
  const { id, run, call } = found;
  return {
    runId: root.started.runId,
    toolCallId: id,
    ...pathOf(root, run),
    stop,
    agentId: root.started.agentId,
    toolName: call.toolName,
    fingerprint: call.request.fingerprint,
    ...(call.request.approver ? { approver: call.request.approver } : {}),
    ...(small(call.args) ? { args: call.args } : {}),
  };
}

/** A decision of an open run, as it is recorded. */
export function decisionRecord(run: Run, event: CallDecided): DecisionRecord {
  const found = findCall(run, qualifiedId(run, event.runId, event.toolCallId)) as Found;
  const { call } = found;
  const { type: _type, runId: _runId, toolCallId: _toolCallId, data, ...decision } = event;
  const outcome = call.decisions.at(-1)?.stop === event.stop ? outcomeOf(call) : undefined;
  return {
    ...recordOf(run, found, event.stop),
    ...decision,
    ...(data !== undefined && small(data) ? { data } : {}),
    ...(outcome ? { outcome } : {}),
  };
}

/** The result of an attempt that came when the call was settled without it. Never dropped. */
export function lateRecord(
  run: Run,
  call: Call,
  outcome: Extract<Event, { type: 'call-finished' | 'call-failed' }>,
): DecisionRecord {
  const { at } = outcome;
  return {
    ...recordOf(run, { id: call.toolCallId, run, call }, -call.attempts),
    verdict: 'ran-twice',
    at,
    outcome:
      outcome.type === 'call-failed'
        ? { state: 'failed', at, error: outcome.error }
        : { state: 'finished', at, ...kept(outcome.result) },
  };
}

function kept(result: Json): { result: Json } | { truncated: true } {
  return small(result) ? { result } : { truncated: true };
}

function cancelRecord(root: Run, found: Found): DecisionRecord {
  const { run, call } = found;
  return {
    ...recordOf(root, found, call.stop),
    verdict: 'cancel',
    at: call.since,
    ...run.cancel,
    outcome: { state: 'cancelled', at: call.since },
  };
}

/** What the last decision came to. A cancel at a later stop is recorded there: this one came to that stop. */
function outcomeToKeep(call: Call, before: Call | undefined): RecordedOutcome | undefined {
  const decision = call.decisions.at(-1);
  if (decision === undefined) return before && isWaiting(before) ? outcomeOf(call) : undefined;
  if (call.state !== 'cancelled' || decision.stop === call.stop) return outcomeOf(call);
  return before?.stop === call.stop ? undefined : { state: 'suspended', at: call.since };
}

function outcomeOf(call: Call): RecordedOutcome | undefined {
  if (!isSettled(call) && call.state !== 'suspended' && call.state !== 'interrupted') return undefined;
  const base = { state: call.state as RecordedOutcome['state'], at: call.since };
  if (call.error) return { ...base, error: call.error };
  if (call.result === undefined) return base;
  return { ...base, ...kept(call.result) };
}
