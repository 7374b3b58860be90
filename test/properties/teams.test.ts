/** Random schedules of teams on the pure functions: no order of moves, at the top or below, breaks an invariant. */
import { deepStrictEqual, fail, ok, strictEqual } from 'node:assert/strict';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { batchOf } from '../../src/core/batch.ts';
import {
  childIdOf,
  everyCall,
  everyRun,
  findCall,
  findRun,
  openRuns,
  qualifiedId,
} from '../../src/core/below.ts';
import { changesOf, changesWithRiders } from '../../src/core/changes.ts';
import { decide, targetOf } from '../../src/core/decide.ts';
import { isCountersignError } from '../../src/core/errors.ts';
import { type Event, eventFrom, eventText, type Holder } from '../../src/core/event.ts';
import { failure, headOf, isMine, next, riders, stalledRuns, waitingCalls } from '../../src/core/next.ts';
import { fold } from '../../src/core/run.ts';
import { type Call, lastStep, openCalls, type Run } from '../../src/core/state.ts';
import type { DecisionRecord } from '../../src/core/store.ts';
import { openClaims, stalling, takeOver } from '../../src/core/takeover.ts';
import {
  asStep,
  deepFreeze,
  failed,
  finished,
  me,
  other,
  requested,
  runId,
  runStarted,
  stepFinished,
  suspended,
  withOptions,
} from '../../src/core/test-support/events.ts';
import { of } from '../../src/core/test-support/team.ts';
import { messagesOf } from '../../src/models/prompt.ts';
import { checkPrompt } from '../../src/testing/check-prompt.ts';
import { checkHistory } from './invariants.ts';
import { type Plan, plannedBelow, plannedCallOf, seed, teamPlans } from './plan.ts';

const numRuns = 500;
const holders: readonly [Holder, Holder] = [me, other];
const reached = new Map<string, number>();
const count = (what: string): void => void reached.set(what, (reached.get(what) ?? 0) + 1);

interface Team {
  root: Run;
  readonly plan: Plan;
  readonly events: Event[];
  stored: number;
  readonly index: Set<string>;
  readonly records: Map<string, DecisionRecord>;
}

/** A number below `bound`, the next of the tape. */
type Draw = (bound: number) => number;

const idsTo = (run: Run): string[] => run.started.runId.slice(runId.length).split('~').filter(Boolean);

/** Appends as `commit` does, and keeps the index and the records as a store does. */
function append(team: Team, events: readonly Event[], holder: Holder | undefined): void {
  const before = team.root;
  const changes = holder
    ? changesWithRiders(events, before, holder, team.events.length)
    : changesOf(events, before);
  if (changes.length === 0) return;
  for (const { event } of changes) count(event.type);
  const after = deepFreeze(changes.at(-1)?.run as Run);
  team.root = after;
  team.events.push(...changes.map(({ event }) => event));
  if (team.stored === 0 && (after.outcome || waitingCalls(after).length === 0)) return;
  const batch = batchOf('b', team.stored === 0 ? undefined : before, after, team.events.slice(team.stored));
  strictEqual(batch.expectedVersion, team.stored);
  team.stored += batch.events.length;
  strictEqual(team.stored, after.length);
  for (const { toolCallId } of batch.closed) ok(team.index.delete(toolCallId), `${toolCallId} was open`);
  for (const { toolCallId } of batch.opened) team.index.add(toolCallId);
  for (const record of batch.records) {
    const key = `${record.stop} ${record.toolCallId}`;
    ok(!team.records.has(key), `one record for ${key}`);
    team.records.set(key, record);
  }
  for (const { toolCallId, stop, outcome } of batch.outcomes) {
    const key = `${stop} ${toolCallId}`;
    // Nobody decided an interrupted call that its late result settles.
    if (!team.records.has(key) && batch.closed.some((call) => call.toolCallId === toolCallId)) continue;
    const record = team.records.get(key) ?? fail(`an outcome without a record: ${key}`);
    team.records.set(key, { ...record, outcome });
  }
}

/** One thing that a holder may do, in any of the runs. */
function act(team: Team, holder: Holder, draw: Draw): void {
  const mine = openRuns(team.root).flatMap((run): (() => Event[])[] => {
    if (next(run, holder) === 'model') return [() => model(team, run, draw)];
    return openCalls(run)
      .filter((call) => isMine(call.claim, holder))
      .map((call) => () => perform(team, run, call));
  });
  const doIt = mine[draw(Math.max(1, mine.length))];
  append(team, doIt ? doIt() : [], holder);
}

function model(team: Team, run: Run, draw: Draw): Event[] {
  const step = lastStep(run)?.index ?? 0;
  const on = { runId: run.started.runId, at: 0, step };
  if (run.cancel) return [{ ...on, type: 'step-released' }];
  deepStrictEqual(checkPrompt(messagesOf(run) as never), [], 'invariant 6');
  if (draw(12) === 0) {
    const error = { code: 'model-failed', message: 'No answer.' };
    return team.stored > 0 ? [{ ...on, type: 'step-failed', error }] : failure(run, error, 0);
  }
  const calls = plannedBelow(team.plan, idsTo(run))[step] ?? [];
  const ids = calls.map((_, position) => `${step}-${position}`);
  return of(
    on.runId,
    stepFinished(step, ids),
    ...calls.map(({ gate, below }, position) => {
      const tool = below ? { toolName: 'agent-x', repeatable: true } : {};
      return asStep(requested(ids[position] as string, gate, tool), step);
    }),
  );
}

function perform(team: Team, run: Run, call: Call): Event[] {
  const { toolCallId } = call;
  const on = run.started.runId;
  const planned = plannedCallOf(plannedBelow(team.plan, idsTo(run)), toolCallId);
  if (planned?.below && !call.child) {
    if (run.cancel) return [{ type: 'call-released', runId: on, at: 0, toolCallId }];
    return [runStarted({ runId: childIdOf(on, toolCallId), agentId: `agent of ${toolCallId}` })];
  }
  if (call.child) {
    ok(call.child.outcome, 'a result is taken when the run below has ended');
    return of(on, call.child.outcome.status === 'finished' ? finished(toolCallId) : failed(toolCallId));
  }
  const resumes = call.suspension ? call.decisions.filter(({ verdict }) => verdict === 'resume').length : 0;
  const ending = planned?.starts[resumes];
  if (ending === 'suspend') return of(on, suspended(toolCallId, call.stop + 1));
  return of(on, ending === 'fail' ? failed(toolCallId) : finished(toolCallId));
}

const goingOn = { held: 'approve', suspended: 'resume', interrupted: 'resolve' } as const;

/** Decides something, at the top, below, or in between; sometimes wrongly. */
function decideOne(team: Team, draw: Draw, holder: Holder | undefined): void {
  const waiting = waitingCalls(team.root);
  const found = waiting[draw(Math.max(1, waiting.length))];
  if (found === undefined || team.root.outcome) return;
  const above = everyRun(team.root).filter(({ started }) =>
    found.run.started.runId.startsWith(started.runId),
  );
  const from = above[draw(above.length)] as Run;
  const right = goingOn[found.call.state as keyof typeof goingOn];
  const verdict = (['decline', 'approve', right, right, right] as const)[draw(5)] ?? right;
  const id = qualifiedId(from, found.run.started.runId, found.call.toolCallId);
  const request = {
    verdict,
    runId: from.started.runId,
    toolCallId: [id, found.id, `${id}~x`, undefined, id, id][draw(6)],
    ...(draw(4) === 0 ? { decisionId: `d-${draw(3)}` } : {}),
    ...(verdict === 'resume' ? { data: 1 } : {}),
    ...(verdict === 'resolve' ? { resolution: 'run-again' as const } : {}),
  };
  try {
    const target = targetOf(from, request, 'latest');
    const event = decide(from, request, target, 0);
    count(event ? 'decided' : 'repeated');
    if (!event) return;
    ok(findRun(from, event.runId), 'a decision hits no run above');
    append(team, [event], holder);
  } catch (thrown) {
    if (!isCountersignError(thrown)) throw thrown;
    count(thrown.code);
  }
}

function move(team: Team, draw: Draw): void {
  const holder = holders[draw(2)] as Holder;
  const open = openRuns(team.root);
  const run = open[draw(Math.max(1, open.length))];
  if (run === undefined) return;
  const on = { runId: run.started.runId, at: 0 };
  switch (draw(16)) {
    case 0: {
      const dead = new Set(openClaims(team.root).filter(({ worker }) => worker === holder.worker));
      const others = openClaims(team.root).filter((claim) => !dead.has(claim));
      append(team, takeOver(team.root, dead, 0), undefined);
      deepStrictEqual(openClaims(team.root), others, 'a dead worker costs exactly its own');
      break;
    }
    case 1:
      if (draw(3) === 0 && !run.cancel) append(team, [{ ...on, type: 'cancel-requested' }], holder);
      break;
    case 2: {
      const continued = stalledRuns(team.root).map(({ started }) => ({ runId: started.runId, at: 0 }));
      append(
        team,
        continued.map((one): Event => ({ ...one, type: 'run-continued' })),
        holder,
      );
      break;
    }
    case 7: {
      // Its agent is gone where the holder acts.
      const error = { code: 'agent-missing', message: 'Gone.' };
      const isOurs = ({ worker }: Holder): boolean => worker === holder.worker;
      if (draw(3) === 0 && team.stored > 0 && !run.cancel)
        append(team, stalling(run, isOurs, error, 0), holder);
      break;
    }
    case 3:
    case 4:
    case 5:
    case 6:
      decideOne(team, draw, draw(3) === 0 ? undefined : holder);
      break;
    default:
      act(team, holder, draw);
  }
  check(team);
}

/** The invariants, told from the state. */
function check({ root, index, stored }: Team): void {
  for (const run of openRuns(root)) {
    ok(holders.filter((holder) => next(run, holder) === 'model').length <= 1, "'model' to one holder");
  }
  strictEqual(headOf(root), expectedHead(root), 'the head');
  if (stored > 0)
    deepStrictEqual(
      [...index].sort(),
      waitingCalls(root)
        .map(({ id }) => id)
        .sort(),
      'the index',
    );
  for (const { id, run, call } of everyCall(root))
    strictEqual(findCall(root, id)?.call, call, run.started.runId);
}

function expectedHead(root: Run): string {
  if (root.outcome) return 'ended';
  if (openClaims(root).length > 0) return 'owned';
  if (riders(root, { worker: 'stranger', leg: '1' }, 0).length > 0) return 'runnable';
  if (waitingCalls(root).length > 0 || stalledRuns(root).length > 0) return 'waiting';
  return fail('nobody can move this team');
}

/** Everybody does what is theirs, and people decide what waits. */
function finish(team: Team, draw: Draw): void {
  for (let turn = 0; team.root.outcome === undefined; turn++) {
    if (turn === 2000) throw new Error('The team does not come to its end.');
    const holder = holders[turn % 2] as Holder;
    const stalled = stalledRuns(team.root);
    if (stalled.length > 0) {
      append(
        team,
        stalled.map(({ started }): Event => ({ type: 'run-continued', runId: started.runId, at: 0 })),
        holder,
      );
    }
    act(team, holder, draw);
    check(team);
    // What waits in a run that is being cancelled is cancelled when the claims beside it have ended.
    const waiting = team.root.outcome ? [] : waitingCalls(team.root);
    const found = waiting.find(({ run }) => !run.cancel);
    if (found && turn % 3 === 0) {
      const verdict = goingOn[found.call.state as keyof typeof goingOn];
      const data = verdict === 'resume' ? { data: 1 } : {};
      const request = { verdict, runId, toolCallId: found.id, ...data, resolution: 'run-again' as const };
      const event = decide(team.root, request, targetOf(team.root, request, 'latest'), 0);
      if (event) append(team, [event], holder);
    }
  }
}

function checkEnd({ root, events, records, index, stored }: Team): void {
  strictEqual(index.size, 0);
  deepStrictEqual(openClaims(root), []);
  for (const run of everyRun(root)) {
    ok(run.outcome, 'all below has ended');
    const isTool = (event: Event): boolean =>
      !('toolCallId' in event && run.calls.get(event.toolCallId)?.toolName === 'agent-x');
    checkHistory(events.filter((event) => event.runId === run.started.runId && isTool(event)));
    const question = { role: 'user', content: [{ type: 'text', text: 'And?' }] };
    deepStrictEqual(checkPrompt([...messagesOf(run), question] as never), []);
  }
  const decided = events.filter((event) => event.type === 'call-decided');
  const kept = [...records.values()].filter(({ verdict }) => verdict !== 'cancel');
  if (stored > 0) {
    deepStrictEqual(
      kept.map(({ toolCallId, stop }) => `${toolCallId} ${stop}`).sort(),
      decided.map((event) => `${qualifiedId(root, event.runId, event.toolCallId)} ${event.stop}`).sort(),
    );
    for (const { toolCallId, path = [] } of kept) strictEqual(path.length, toolCallId.split('~').length - 1);
  }
  const again = fold(events.map(eventText).map(eventFrom)) as Run;
  expect(everyCall(again).map(({ id, call }) => [id, call.state])).toEqual(
    everyCall(root).map(({ id, call }) => [id, call.state]),
  );
}

test(`${numRuns} random schedules of teams (PROPERTY_SEED=${seed})`, { timeout: 120_000 }, () => {
  const tape = fc.array(fc.nat(5039), { minLength: 200, maxLength: 200 });
  const property = fc.property(teamPlans, tape, fc.integer({ min: 20, max: 120 }), (plan, drawn, moves) => {
    let position = 0;
    const draw: Draw = (bound) => (drawn[position++ % drawn.length] as number) % bound;
    const started = withOptions({ maxSteps: plan.maxSteps, toolCallConcurrency: plan.concurrency });
    const root = deepFreeze(fold([started]) as Run);
    const team: Team = { root, plan, events: [started], stored: 0, index: new Set(), records: new Map() };
    act(team, me, draw);
    for (let left = moves; left > 0 && !team.root.outcome; left--) move(team, draw);
    finish(team, draw);
    checkEnd(team);
    count(`runs ${Math.min(3, everyRun(team.root).length)}`);
  });
  fc.assert(property, { seed, numRuns });
  for (const what of [
    'runs 1',
    'runs 2',
    'runs 3',
    'call-suspended',
    'call-interrupted',
    'call-released',
    'step-failed',
    'run-continued',
    'cancel-requested',
    'decided',
    'already-decided',
    'call-not-found',
  ]) {
    expect(reached.get(what) ?? 0, what).toBeGreaterThan(3);
  }
});
