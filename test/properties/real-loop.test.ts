/** Random schedules through the real loop: two workers on one store, held promises, decisions in any order. */
import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { everyCall, everyRun, type Found, openRuns } from '../../src/core/below.ts';
import type { Event } from '../../src/core/event.ts';
import { stalledRuns, waitingCalls } from '../../src/core/next.ts';
import { lastStep, type Run } from '../../src/core/state.ts';
import type { DecisionRecord, Store } from '../../src/core/store.ts';
import { turn } from '../../src/core/test-support/parts.ts';
import { type Agent, InMemoryStore, isCountersignError } from '../../src/index.ts';
import { SQLiteStore } from '../../src/store/sqlite.ts';
import type { AgentStream } from '../../src/stream/output.ts';
import { type Desk, followLeg, openDesk, runId, stateOf } from './desk.ts';
import { checkHistory } from './invariants.ts';
import { type Plan, plannedBelow, plannedCallOf, plans, seed, teamPlans } from './plan.ts';

const numRuns = 200;

/** What a decision may be answered with, when it comes too late or asks for what cannot be. */
const refusals = new Set([
  'already-decided',
  'call-not-found',
  'call-not-waiting',
  'fingerprint-mismatch',
  'needs-data',
  'needs-verdict',
  'run-ended',
  // Of a run below nothing is kept where nothing was decided.
  'run-not-found',
  'run-not-stalled',
  'stop-mismatch',
]);

const reached = new Map<string, number>();
const count = (what: string): void => void reached.set(what, (reached.get(what) ?? 0) + 1);

/** Starts what somebody tries; it may be refused, and must then be refused in words. */
async function attempt(desk: Desk, act: () => Promise<AgentStream | { status: string }>): Promise<void> {
  try {
    const made = await act();
    count('accepted');
    if ('finishReason' in made) followLeg(desk, made);
  } catch (thrown) {
    if (!isCountersignError(thrown) || !refusals.has(thrown.code)) throw thrown;
    count(thrown.code);
  }
}

/** A number below `bound`, the next of the tape. */
type Draw = (bound: number) => number;

/** At the top, or, where the call is of a run below, by its own agent. */
function decideOne(desk: Desk, { id, run, call }: Found, draw: Draw): Promise<void> {
  const members = desk.members[draw(2)] as Record<string, Agent>;
  const isBelow = draw(3) === 0;
  const agent = members[isBelow ? run.started.agentId : 'desk'] as Agent;
  const toolCallId = isBelow ? call.toolCallId : id;
  const options = {
    runId: isBelow ? run.started.runId : runId,
    toolCallId: draw(8) === 0 ? 'unknown' : toolCallId,
    ...(draw(3) === 0 ? { stop: call.stop } : {}),
    ...(draw(3) === 0 ? { fingerprint: draw(4) === 0 ? 'wrong' : call.request.fingerprint } : {}),
    ...(draw(3) === 0 ? { decisionId: `d-${draw(2)}` } : {}),
  };
  return attempt(desk, () => {
    switch (draw(4)) {
      case 0:
        return agent.declineToolCall({ ...options, reason: 'no' });
      case 1:
        return agent.approveToolCall(options);
      case 2:
        return agent.resumeStream({ answer: 1 }, options);
      default:
        return call.state === 'held'
          ? agent.resumeStream({ approved: draw(3) > 0 }, options)
          : agent.resumeStream(0, options);
    }
  });
}

async function play(desk: Desk, draw: Draw, begun: Promise<unknown>): Promise<void> {
  const tried: Promise<void>[] = [begun as Promise<void>];
  for (let left = 40; left > 0 && !stateOf(desk)?.outcome; left--) {
    const run = stateOf(desk);
    const call = run && waitingCalls(run)[draw(4)];
    switch (draw(6)) {
      case 0:
      case 1:
        desk.doors.splice(draw(Math.max(1, desk.doors.length)), 1)[0]?.();
        break;
      case 2:
        if (call) tried.push(decideOne(desk, call, draw));
        break;
      case 3:
        if (call) tried.push(decideOne(desk, call, draw), decideOne(desk, call, draw));
        break;
      case 4: {
        const agent = desk.agents[draw(2)] as Desk['agents'][0];
        const one = run && openRuns(run)[draw(4)]?.started;
        const owner = one && (desk.members[draw(2)]?.[one.agentId] as Agent);
        if (one && owner && draw(6) === 0)
          tried.push(attempt(desk, () => owner.cancelRun({ runId: one.runId, reason: 'enough' })));
        else if (run && stalledRuns(run).length > 0) {
          tried.push(attempt(desk, () => agent.continueRun({ runId })));
        }
        break;
      }
    }
    await turn();
    await checkListed(desk);
  }
  await Promise.all([finish(desk, draw), ...tried]);
}

/** Opens all doors and decides what waits, until nothing is left to do. */
async function finish(desk: Desk, draw: Draw): Promise<void> {
  for (let turns = 0; ; turns++) {
    for (const open of desk.doors.splice(0)) open();
    await turn();
    const run = stateOf(desk);
    const stillOpen = desk.openLegs.size;
    if (stillOpen === 0 && (run === undefined || run.outcome)) return;
    if (turns === 3000) throw new Error(`It does not end: ${stillOpen} legs are open, ${describeRun(run)}.`);
    if (turns % 5 > 0 || run === undefined || run.outcome) continue;
    const agent = desk.agents[draw(2)] as Desk['agents'][0];
    if (stalledRuns(run).length > 0) await attempt(desk, () => agent.continueRun({ runId }));
    for (const { id: toolCallId, call } of waitingCalls(run)) {
      const { state } = call;
      await attempt(desk, () =>
        state === 'held'
          ? agent.approveToolCall({ runId, toolCallId })
          : agent.resumeStream(1, { runId, toolCallId }),
      );
    }
  }
}

const describeRun = (run: Run | undefined): string =>
  run === undefined
    ? 'nothing is stored'
    : JSON.stringify([lastStep(run)?.state, everyCall(run).map(({ id, call }) => [id, call.state])]);

/** What waits is listed by every worker, if nothing moved meanwhile. */
async function checkListed(desk: Desk): Promise<void> {
  const before = desk.recorded.length;
  const listed = await Promise.all(desk.agents.map((agent) => agent.listSuspendedRuns()));
  const run = stateOf(desk);
  if (run === undefined || desk.recorded.length !== before) return;
  // A list has the calls as they were asked for, over all runs below.
  const waiting = run.outcome ? [] : waitingCalls(run);
  const expected = waiting
    .toSorted((one, other) => one.call.requestSeq - other.call.requestSeq)
    .map(({ id, call }) => `${id} ${call.stop}`);
  for (const { runs } of listed) {
    const calls = runs.flatMap(({ toolCalls }) =>
      toolCalls.map(({ toolCallId, stop }) => `${toolCallId} ${stop}`),
    );
    deepStrictEqual(calls, expected);
  }
  count('compared lists');
}

async function checkOutcome(desk: Desk, plan: Plan): Promise<void> {
  const { recorded, effects, entered, store, broken } = desk;
  deepStrictEqual(broken, [], 'no prompt broke a rule of providers');
  for (const times of effects.values()) strictEqual(times, 1, 'no effect happens twice');
  const run = stateOf(desk);
  for (const one of run ? everyRun(run) : []) checkHistory(eventsOfTools(recorded, one));
  for (const event of recorded) {
    if (event.type === 'step-failed')
      ok(event.error.message.includes('planned failure'), event.error.message);
  }
  strictEqual((await store.list({ status: 'all', limit: 10 })).total, 0, 'no head is left over');
  if (run === undefined) return count('never stored');
  const ended = await store.load(runId, 0);
  ok(ended?.kind === 'ended', 'its events are gone');
  for (const { id, call } of everyCall(run)) {
    const { state } = call;
    const above = id.split('~');
    const planned = plannedCallOf(plannedBelow(plan, above.slice(0, -1)), above.at(-1) as string);
    count(`${planned?.below ? 'delegation' : planned?.gate} ${state}${above.length > 1 ? ' below' : ''}`);
    const records: DecisionRecord[] = ended.records.filter((record) => record.toolCallId === id);
    const verdicts = records.filter(({ verdict }) => verdict !== 'cancel').map(({ verdict }) => verdict);
    deepStrictEqual(
      verdicts,
      call.decisions.map(({ verdict }) => verdict),
    );
    if (planned?.below) continue;
    const happened = effects.get(id) ?? 0;
    const reported = planned?.gate !== 'refused' && (state === 'finished' || state === 'failed');
    strictEqual(happened, reported ? 1 : 0, `effects of a ${planned?.gate} call that is ${state}`);
    strictEqual(entered.get(id) ?? 0, call.attempts, 'each claim is one execute');
  }
}

/** The events of a run without those of its delegations, which are claimed once more to take their result. */
function eventsOfTools(events: readonly Event[], { started, calls }: Run): Event[] {
  return events.filter(
    (event) =>
      event.runId === started.runId &&
      !('toolCallId' in event && calls.get(event.toolCallId)?.toolName.startsWith('agent-')),
  );
}

async function runOne(
  plan: Plan,
  failures: readonly number[],
  tape: readonly number[],
  inner: Store,
): Promise<void> {
  const desk = openDesk(plan, new Set(failures), inner);
  let position = 0;
  const draw: Draw = (bound) => (tape[position++ % tape.length] as number) % bound;
  const { maxSteps, concurrency } = plan;
  const begun = desk.agents[0]
    .stream('Go.', { runId, maxSteps, toolCallConcurrency: concurrency, maxRetries: 0 })
    .then((leg) => followLeg(desk, leg));
  await play(desk, draw, begun);
  await checkOutcome(desk, plan);
}

const opened: Store[] = [];
afterAll(() => Promise.all(opened.map((store) => store.close())));

const stores: readonly [string, () => Store][] = [
  ['InMemoryStore', () => new InMemoryStore()],
  ['SQLiteStore', () => new SQLiteStore({ path: ':memory:' })],
];

const alone = [
  'accepted',
  'already-decided',
  'compared lists',
  'free finished',
  'held finished',
  'held declined',
  'held failed',
  'refused failed',
];
const inTeams = [
  ...alone,
  'delegation finished',
  'delegation finished below',
  'held finished below',
  'held declined below',
  'free finished below',
];

const sorts: readonly [string, fc.Arbitrary<Plan>, readonly string[]][] = [
  ['one agent', plans, alone],
  ['supervisors and sub-agents', teamPlans, inTeams],
];

describe.each(stores)('%s', (_, open) => {
  test.each(sorts)(
    `%s: ${numRuns} random schedules of two workers (PROPERTY_SEED=${seed})`,
    {
      timeout: 120_000,
    },
    async (_name, plansOf, cases) => {
      reached.clear();
      const failures = fc.array(fc.nat(2), { maxLength: 1 });
      const tape = fc.array(fc.nat(5039), { minLength: 120, maxLength: 120 });
      const property = fc.asyncProperty(plansOf, failures, tape, async (plan, failing, drawn) => {
        const store = open();
        opened.push(store);
        await runOne(plan, failing, drawn, store);
      });
      await fc.assert(property, { seed, numRuns, endOnFailure: true });
      for (const what of cases) {
        expect(reached.get(what) ?? 0, what).toBeGreaterThan(5);
      }
    },
  );
});
