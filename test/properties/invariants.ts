/** The invariants of SPEC.md, told from the list of events alone where that is possible. Each throws. */
import { deepStrictEqual, fail, ok, strictEqual } from 'node:assert/strict';
import type { CallDecided, Event } from '../../src/core/event.ts';
import { type Head, headOf, next, riders } from '../../src/core/next.ts';
import { type CallState, lastStep, openCalls, type Run } from '../../src/core/state.ts';
import { messagesOf } from '../../src/models/prompt.ts';
import { checkPrompt } from '../../src/testing/check-prompt.ts';
import { type Answered, holders, type World } from './world.ts';

/** What the events say of one call, kept apart from the fold that is under test. */
interface Ledger {
  readonly gate: 'free' | 'held' | 'refused';
  readonly fingerprint: string;
  readonly decisions: CallDecided[];
  starts: number;
  givenBack: number;
  running: boolean;
  settled: boolean;
  declined: boolean;
}

type CallEvent = Exclude<Extract<Event, { toolCallId: string }>, { type: 'call-requested' }>;

/** Reads the whole history: invariants 1, 2, 5 and 10. */
export function checkHistory(events: readonly Event[]): void {
  const calls = new Map<string, Ledger>();
  for (const event of events) {
    if (event.type === 'call-requested') {
      ok(!calls.has(event.toolCallId), 'ids are unique');
      const { gate, fingerprint } = event;
      const settled = gate === 'refused';
      const facts = { starts: 0, givenBack: 0, running: false, settled, declined: false };
      calls.set(event.toolCallId, { gate, fingerprint, decisions: [], ...facts });
    } else if ('toolCallId' in event) {
      follow(calls.get(event.toolCallId) as Ledger, event);
    }
  }
}

function follow(call: Ledger, event: CallEvent): void {
  ok(!call.settled, `${event.type} on a settled call`);
  switch (event.type) {
    case 'call-started':
      call.starts++;
      start(call);
      return;
    case 'call-decided':
      ok(!call.running, 'nothing is decided while it runs');
      ok(!call.decisions.some(({ stop }) => stop === event.stop), 'invariant 2: one decision for each stop');
      call.decisions.push(event);
      if (event.verdict === 'decline') call.declined = call.settled = true;
      return;
    case 'call-released':
      call.givenBack++;
      call.running = false;
      return;
    case 'call-suspended':
    case 'call-interrupted':
      call.running = false;
      return;
    default:
      call.running = false;
      call.settled = true;
  }
}

function start(call: Ledger): void {
  const { gate, decisions, fingerprint, starts, givenBack } = call;
  ok(!call.running, 'no two starts at once');
  ok(!call.declined, 'invariant 10: declined never starts');
  call.running = true;
  const approved = decisions.some((made) => made.verdict === 'approve' && made.fingerprint === fingerprint);
  ok(gate !== 'held' || approved, 'invariant 1: a held call starts on its approval');
  const tickets = (gate === 'free' ? 1 : 0) + decisions.filter(({ verdict }) => verdict !== 'decline').length;
  ok(starts - givenBack <= tickets, 'invariant 2: one start for each decision that allows it');
}

/** Reads the state: who may go on, where the head is, what is listed, what the model would be sent. */
export function checkState(world: World): void {
  const { run } = world;
  const told = holders.map((holder) => next(run, holder));
  const running = openCalls(run).filter((call) => call.state === 'running');
  ok(told.filter((word) => word === 'model').length <= 1, "'model' to one holder at most");
  for (const [position, word] of told.entries()) {
    const { worker } = holders[position] as { worker: string };
    if (word === 'model') {
      const step = lastStep(run);
      deepStrictEqual([step?.state, step?.claim?.worker], ['claimed', worker]);
      deepStrictEqual(running, []);
      deepStrictEqual(checkPrompt(messagesOf(run) as never), [], 'invariant 6');
    }
    if (word === 'calls') ok(running.some((call) => call.claim?.worker === worker));
  }
  strictEqual(headOf(run), expectedHead(run), 'the head');
  if (world.stored > 0) checkStored(world);
}

/** The head, by what a stranger could do: nobody is forgotten. */
function expectedHead(run: Run): Head {
  if (run.outcome) return 'ended';
  const claims = [lastStep(run)?.claim, ...[...run.calls.values()].map((call) => call.claim)];
  if (claims.some((claim) => claim !== undefined)) return 'owned';
  const stranger = { worker: 'stranger', leg: '1' };
  if (riders(run, stranger, 0).length > 0) return 'runnable';
  const waits = [...run.calls.values()].some(({ state }) => waitingStates.includes(state));
  if (waits || lastStep(run)?.state === 'stalled') return 'waiting';
  return fail('nobody can move this run');
}

const waitingStates: readonly CallState[] = ['held', 'suspended', 'interrupted'];

/** The index, the head row and the records are what the state is (invariant 4). */
function checkStored({ run, index, head, records, events, stored }: World): void {
  strictEqual(stored, events.length);
  strictEqual(head?.head, headOf(run));
  const waiting = [...run.calls.values()].filter(({ state }) => waitingStates.includes(state));
  strictEqual(index.size, waiting.length, 'what waits is listed, and nothing else');
  for (const { toolCallId, stop, state, since } of waiting) {
    const listed = index.get(toolCallId) ?? fail(`${toolCallId} waits and is not listed`);
    deepStrictEqual([listed.stop, listed.kind, listed.since], [stop, state, since]);
    const request = events[listed.requestSeq - 1];
    const opening = events[listed.stopSeq - 1];
    ok(request?.type === 'call-requested' && request.toolCallId === toolCallId);
    ok(opening && 'toolCallId' in opening && opening.toolCallId === toolCallId);
    ok(
      opening.type === { held: 'call-requested', suspended: 'call-suspended' }[state as string] ||
        state === 'interrupted',
    );
  }
  const decisions = events.filter((event) => event.type === 'call-decided');
  const kept = [...records.values()].filter(({ verdict }) => verdict !== 'cancel');
  strictEqual(kept.length, decisions.length);
  for (const { toolCallId, stop, verdict, by, reason, decisionId, at, fingerprint } of decisions) {
    const record = records.get(`${stop} ${toolCallId}`);
    deepStrictEqual(
      [record?.verdict, record?.by, record?.reason, record?.decisionId, record?.at, record?.fingerprint],
      [verdict, by, reason, decisionId, at, fingerprint],
    );
  }
}

/** Whether a decision was answered as the state before it demands: who decides wrongly decides nothing. */
export function checkAnswer({ before, request, code }: Answered): void {
  const { toolCallId, verdict, stop, fingerprint, decisionId } = request;
  if (toolCallId === undefined) return;
  // An id means one decision of the run: sent for another call or with another word it decides nothing.
  const others = [...before.calls.values()].flatMap(({ decisions }) => decisions);
  const isTaken = decisionId !== undefined && others.some((other) => other.decisionId === decisionId);
  if (isTaken && code === 'already-decided') return;
  const call = before.calls.get(toolCallId);
  if (call === undefined) {
    strictEqual(code, 'call-not-found');
    return;
  }
  const at = stop ?? Math.max(1, call.stop);
  const earlier = call.decisions.find((decision) => decision.stop === at);
  if (earlier) {
    const isYes = (word: string): boolean => word === 'approve' || word === 'resume';
    const sameWord = earlier.verdict === verdict || (isYes(earlier.verdict) && isYes(verdict));
    const same = decisionId !== undefined && earlier.decisionId === decisionId && sameWord;
    strictEqual(code, same ? 'repeated' : 'already-decided');
    return;
  }
  const fits = {
    approve: ['held'],
    decline: ['held', 'suspended'],
    resume: ['suspended'],
    resolve: ['interrupted'],
  }[verdict].includes(call.state);
  const right =
    fits &&
    before.cancel === undefined &&
    at === call.stop &&
    (fingerprint === undefined || fingerprint === call.request.fingerprint);
  strictEqual(code === 'decided', right, `${verdict} of a ${call.state} call: ${code}`);
}

/** What is true when a run has ended. */
export function checkEnd({ run, index, records, stored }: World): void {
  strictEqual(headOf(run), 'ended');
  strictEqual(index.size, 0);
  for (const holder of holders) deepStrictEqual([next(run, holder), riders(run, holder, 0)], ['wait', []]);
  const question = { role: 'user', content: [{ type: 'text', text: 'And?' }] };
  deepStrictEqual(checkPrompt([...messagesOf(run), question] as never), []);
  if (stored === 0) return;
  for (const call of run.calls.values()) {
    const last = call.decisions.at(-1);
    if (last === undefined) continue;
    const record = records.get(`${last.stop} ${call.toolCallId}`);
    ok(record?.outcome, 'the record tells what came of it');
    if (last.stop === call.stop) strictEqual(record.outcome.state, call.state);
  }
}
