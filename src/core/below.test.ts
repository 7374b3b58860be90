import { describe, expect, test } from 'vitest';
import { batchOf } from './batch.ts';
import {
  everyCall,
  everyRun,
  findCall,
  findRun,
  firstIdOf,
  isWithin,
  openRuns,
  pathTo,
  qualifiedId,
} from './below.ts';
import type { Event, Holder } from './event.ts';
import { headOf, next, riders, stalledRuns, waitingCalls } from './next.ts';
import { fold, transition } from './run.ts';
import type { Run } from './state.ts';
import { giveBack, openClaims, stalling, takeOver } from './takeover.ts';
import { answerOf, request } from './test-support/decide.ts';
import {
  asking,
  callIs,
  callStarted,
  cancelRequested,
  claimOf,
  decided,
  finished,
  me,
  other,
  requested,
  runContinued,
  runEnded,
  runId,
  runOf,
  runStarted,
  stepFailed,
  stepFinished,
  stepReleased,
  stepStarted,
  suspended,
  withOptions,
} from './test-support/events.ts';
import { begins, deep, delegation, of, one, team, two } from './test-support/team.ts';

const teamAfter = (...events: readonly Event[]): Run => runOf(...team, ...events);
const ridesIn = (run: Run, holder: Holder = me): string[] =>
  riders(run, holder, 99).map(
    (event) => `${event.type} ${'toolCallId' in event ? event.toolCallId : ''} in ${event.runId}`,
  );

describe('names', () => {
  test('of calls and runs, from the top and from between', () => {
    const run = teamAfter();
    const middle = findRun(run, two) as Run;
    expect(everyRun(run).map(({ started }) => started.runId)).toEqual([runId, one, two, deep]);
    expect(everyCall(run).map(({ id }) => id)).toEqual([
      'one',
      'two',
      'one~a',
      'two~b',
      'two~deep',
      'two~deep~c',
    ]);
    expect(everyCall(middle).map(({ id }) => id)).toEqual(['b', 'deep', 'deep~c']);
    expect(findCall(run, 'two~deep~c')).toMatchObject({
      id: 'two~deep~c',
      run: { started: { runId: deep } },
    });
    expect(findCall(middle, 'deep~c')?.call.toolCallId).toBe('c');
    expect(qualifiedId(middle, deep, 'c')).toBe('deep~c');
    expect(pathTo(run, deep)).toEqual([
      { agentId: 'agent of two', toolCallId: 'two' },
      { agentId: 'agent of deep', toolCallId: 'deep' },
    ]);
    expect([firstIdOf(deep), firstIdOf('two~deep~c')]).toEqual([runId, 'two']);
  });

  test.each(['c', 'one~b', 'one~a~a', 'two~deep', '~a', 'one~', '', 'two~deep~c~c'])(
    '"%s" is no other call',
    (id) => {
      const found = findCall(teamAfter(), id);
      expect(found?.call.toolCallId).toBe(id === 'two~deep' ? 'deep' : undefined);
    },
  );

  test.each([`${runId}~three`, `${runId}~one~a`, `${runId}2`, 'run', `${runId}~`])('"%s" is no run', (id) => {
    expect(findRun(teamAfter(), id)).toBeUndefined();
  });

  test('a run whose id begins alike is not within another', () => {
    expect([isWithin('run-1~a', 'run-1'), isWithin('run-11', 'run-1'), isWithin('run-1', 'run-1~a')]).toEqual(
      [true, false, false],
    );
  });
});

describe('how a delegation moves', () => {
  const asked = asking([delegation('one')]);
  const started = of(one, runStarted());

  test('claimed, it begins its run, and runs on without a claim', () => {
    const run = runOf(...asked, callStarted('one'), ...started);
    expect(run.calls.get('one')).toMatchObject({
      state: 'running',
      attempts: 1,
      child: { length: run.length },
    });
    expect(run.calls.get('one')?.claim).toBeUndefined();
  });

  test('when its run has ended it is ready, and is claimed again to take the result', () => {
    const run = runOf(...asked, callStarted('one'), ...started, ...of(one, runEnded));
    expect(run.calls.get('one')).toMatchObject({
      state: 'ready',
      child: { outcome: { status: 'finished' } },
    });
    const taken = [callStarted('one', me, 2), finished('one')].reduce(transition, run);
    expect(taken.calls.get('one')).toMatchObject({ state: 'finished', attempts: 2 });
  });

  const illegal: readonly [string, readonly Event[]][] = [
    ['a run below that no call began', started],
    ['a run below twice', [callStarted('one'), ...started, ...started]],
    ['a run below of a call that is not there', of(`${runId}~no`, runStarted())],
    ['an event of a run below that has not begun', [callStarted('one'), ...of(one, stepStarted())]],
    [
      'an event below an ended run below',
      [callStarted('one'), ...started, ...of(one, runEnded, stepStarted())],
    ],
    ['an event of a foreign run', of('run-2', stepStarted())],
    ['a begin two levels below', [callStarted('one'), ...of(`${one}~x`, runStarted())]],
    ['the end of the root above an open run below', [callStarted('one'), ...started, runEnded]],
  ];
  test.each(illegal)('illegal: %s', (_, events) => {
    expect(() => fold([...asked, ...events])).toThrow('Illegal transition');
  });

  test('a cancel at the top cancels all below that has not ended, and one below only what is below it', () => {
    const ended = [...of(one, callIs('call-cancelled', 'a'), runEnded)];
    const cancelsOf = (run: Run) => everyRun(run).map(({ cancel }) => cancel?.reason);
    expect(cancelsOf(teamAfter(...ended, cancelRequested))).toEqual([
      'enough',
      undefined,
      'enough',
      'enough',
    ]);
    expect(cancelsOf(teamAfter(...of(two, cancelRequested)))).toEqual([
      undefined,
      undefined,
      'enough',
      'enough',
    ]);
  });
});

describe('who may do what, and where the head is', () => {
  const approved = of(deep, decided('c', 'approve'));
  const table: readonly [
    name: string,
    run: Run,
    mine: string,
    theirs: string,
    head: string,
    rides: readonly string[],
  ][] = [
    ['all wait', teamAfter(), 'wait', 'wait', 'waiting', []],
    ['one approved', teamAfter(...approved), 'wait', 'wait', 'runnable', [`call-started c in ${deep}`]],
    ['one runs', teamAfter(...approved, ...of(deep, callStarted('c'))), 'calls', 'wait', 'owned', []],
    [
      'a model call below',
      teamAfter(...of(deep, decided('c', 'decline'), stepStarted(1))),
      'calls',
      'wait',
      'owned',
      [],
    ],
    [
      'a run below is stalled',
      teamAfter(...of(deep, decided('c', 'decline'), stepStarted(1), stepFailed(1))),
      'wait',
      'wait',
      'waiting',
      [],
    ],
    [
      'given back below',
      teamAfter(...of(deep, decided('c', 'decline'), stepStarted(1), stepReleased(1))),
      'wait',
      'wait',
      'runnable',
      [`step-started  in ${deep}`],
    ],
    [
      'a run below has ended',
      teamAfter(...of(one, callIs('call-cancelled', 'a'), runEnded)),
      'wait',
      'wait',
      'runnable',
      [`call-started one in ${runId}`],
    ],
    [
      'a stalled run above what is ready',
      teamAfter(...approved, ...of(two, stepFailed())),
      'wait',
      'wait',
      'waiting',
      [],
    ],
    ['the root is stalled', teamAfter(...approved, stepFailed()), 'wait', 'wait', 'waiting', []],
    [
      '… and continued',
      teamAfter(...approved, stepFailed(), runContinued),
      'wait',
      'wait',
      'runnable',
      [`call-started c in ${deep}`],
    ],
    [
      'cancelled at the top',
      teamAfter(cancelRequested),
      'calls',
      'calls',
      'runnable',
      [
        `call-cancelled a in ${one}`,
        `run-ended  in ${one}`,
        `call-cancelled c in ${deep}`,
        `run-ended  in ${deep}`,
      ],
    ],
    [
      'cancelled while it is stalled between',
      teamAfter(...of(two, stepFailed()), ...of(two, cancelRequested)),
      'calls',
      'calls',
      'runnable',
      [`call-cancelled c in ${deep}`, `run-ended  in ${deep}`],
    ],
  ];
  test.each(table)('%s', (_, run, mine, theirs, head, rides) => {
    expect([next(run, me), next(run, other), headOf(run)]).toEqual([mine, theirs, head]);
    expect(ridesIn(run)).toEqual(rides);
  });

  test('what rides along ends a cancelled team from below, until nothing is left', () => {
    let run = teamAfter(cancelRequested);
    for (let events = riders(run, me, 1); events.length > 0; events = riders(run, me, 1))
      run = fold(events, run) as Run;
    expect(headOf(run)).toBe('ended');
    expect(everyRun(run).every(({ outcome }) => outcome?.status === 'cancelled')).toBe(true);
  });

  test('a delegation counts for the concurrency while it moves, and not while it waits', () => {
    const asked = asking([delegation('one'), delegation('two')], withOptions({ toolCallConcurrency: 1 }));
    const begun = runOf(...asked, callStarted('one'), ...of(one, runStarted()));
    expect(ridesIn(begun)).toEqual([`step-started  in ${one}`]);
    const moving = fold(of(one, stepStarted()), begun) as Run;
    expect(ridesIn(moving)).toEqual([]);
    const waits = fold(of(one, stepFinished(0, ['a']), requested('a', 'held')), moving) as Run;
    expect(ridesIn(waits)).toEqual([`call-started two in ${runId}`]);
  });

  test('stalled runs and waiting calls below an ended run are none', () => {
    const stalled = teamAfter(...of(deep, decided('c', 'decline'), stepStarted(1), stepFailed(1)));
    expect(stalledRuns(stalled).map(({ started }) => started.runId)).toEqual([deep]);
    const ended = fold(of(deep, cancelRequested, runEnded), stalled) as Run;
    expect([stalledRuns(ended), openRuns(ended).length]).toEqual([[], 3]);
    expect(waitingCalls(ended).map(({ id }) => id)).toEqual(['one~a', 'two~b']);
  });
});

describe('what becomes of claims below', () => {
  const running = [
    ...of(one, decided('a', 'approve'), callStarted('a')),
    ...of(deep, decided('c', 'approve'), callStarted('c', other)),
  ];
  const told = (events: readonly Event[]) => events.map(({ type, runId: run }) => `${type} in ${run}`);

  test('a dead worker costs exactly its own', () => {
    const run = teamAfter(...running);
    expect(openClaims(run)).toEqual([claimOf(me), claimOf(other)]);
    const dead = new Set(openClaims(run).filter(({ worker }) => worker === other.worker));
    expect(told(takeOver(run, dead, 9))).toEqual([`call-interrupted in ${deep}`]);
    const taken = fold(takeOver(run, dead, 9), run) as Run;
    expect(findCall(taken, 'one~a')?.call.state).toBe('running');
    expect(waitingCalls(taken).map(({ id, call }) => [id, call.state])).toEqual([
      ['two~b', 'held'],
      ['two~deep~c', 'interrupted'],
    ]);
  });

  test('a delegation that was about to begin, or to take its result, is never interrupted', () => {
    const beginning = runOf(...asking([delegation('one')]), callStarted('one', other));
    expect(told(takeOver(beginning, new Set(openClaims(beginning)), 9))).toEqual([
      `call-released in ${runId}`,
    ]);
    const taking = teamAfter(
      ...of(one, callIs('call-cancelled', 'a'), runEnded),
      callStarted('one', other, 2),
    );
    expect(told(takeOver(taking, new Set(openClaims(taking)), 9))).toEqual([`call-released in ${runId}`]);
  });

  test('a claim of a run below that ended is none', () => {
    const failed = teamAfter(...of(one, decided('a', 'decline'), stepStarted(1), runEnded));
    expect(openClaims(failed)).toEqual([]);
    expect(takeOver(failed, new Set([claimOf(me)]), 9)).toEqual([]);
    expect(
      giveBack(
        failed,
        () => true,
        () => true,
        9,
      ),
    ).toEqual([]);
  });

  test('where a run below cannot go on here, what was claimed in it and below it is given back', () => {
    const run = teamAfter(...running, ...of(two, decided('b', 'approve'), callStarted('b')));
    const middle = findRun(run, two) as Run;
    const error = { code: 'agent-missing', message: 'Gone.' };
    const events = stalling(middle, ({ worker }) => worker === me.worker, error, 9);
    expect(told(events)).toEqual([`call-released in ${two}`, `step-failed in ${two}`]);
    const all = stalling(middle, () => true, error, 9);
    expect(told(all)).toEqual([
      `call-released in ${two}`,
      `call-released in ${deep}`,
      `step-failed in ${two}`,
    ]);
    const stalled = fold(all, run) as Run;
    expect(headOf(findRun(stalled, two) as Run)).toBe('waiting');
    expect(ridesIn(stalled)).toEqual([]);
    expect(stalling(findRun(stalled, two) as Run, () => true, error, 9)).toEqual([]);
  });
});

describe('decisions', () => {
  test('under the qualified id at the top, and under the inner one in the run itself', () => {
    const run = teamAfter();
    const event = { runId: deep, toolCallId: 'c', stop: 1, verdict: 'approve' };
    expect(answerOf(run, request('approve', { toolCallId: 'two~deep~c' }))).toMatchObject(event);
    expect(answerOf(findRun(run, two) as Run, request('approve', { toolCallId: 'deep~c' }))).toMatchObject(
      event,
    );
    expect(answerOf(findRun(run, deep) as Run, request('approve', { toolCallId: 'c' }))).toMatchObject(event);
    for (const toolCallId of ['c', 'deep~c', 'one~c', 'two~deep~c~']) {
      expect(answerOf(run, request('approve', { toolCallId }))).toBe('call-not-found');
    }
    expect(answerOf(run, request('approve', { toolCallId: 'two~deep' }))).toBe('call-not-waiting');
  });

  test('one decisionId means one call of the whole team', () => {
    const run = teamAfter(...of(deep, decided('c', 'approve', { decisionId: 'd' })));
    expect(answerOf(run, request('approve', { toolCallId: 'two~deep~c', decisionId: 'd' }))).toBe('repeat');
    expect(answerOf(run, request('approve', { toolCallId: 'one~a', decisionId: 'd' }))).toBe(
      'already-decided',
    );
  });

  test('too late for a call below a cancelled run, and not beside it', () => {
    const run = teamAfter(...of(two, cancelRequested));
    expect(answerOf(run, request('approve', { toolCallId: 'two~deep~c' }))).toBe('run-ended');
    expect(answerOf(run, request('approve', { toolCallId: 'one~a' }))).toMatchObject({ toolCallId: 'a' });
  });
});

describe('the batch of an append', () => {
  test('lists, records and closes calls below under their qualified ids, with the way to them', () => {
    const path = [
      { agentId: 'agent of two', toolCallId: 'two' },
      { agentId: 'agent of deep', toolCallId: 'deep' },
    ];
    const first = batchOf('b-1', undefined, teamAfter(), team);
    expect(first.opened).toMatchObject([
      { runId: one, toolCallId: 'one~a', path: [{ agentId: 'agent of one', toolCallId: 'one' }] },
      { runId: two, toolCallId: 'two~b', path: path.slice(0, 1) },
      { runId: deep, toolCallId: 'two~deep~c', path },
    ]);
    expect(first.head).toMatchObject({ agentId: 'agent-1', head: 'waiting', workers: [] });
    for (const { requestSeq, toolCallId } of first.opened) {
      expect(first.events[requestSeq - 1]).toContain(`"toolCallId":"${toolCallId.split('~').at(-1)}"`);
    }
    const events = of(deep, decided('c', 'decline', { reason: 'No.' }));
    const second = batchOf('b-2', teamAfter(), fold(events, teamAfter()) as Run, events);
    expect(second.closed).toEqual([{ toolCallId: 'two~deep~c' }]);
    expect(second.records).toMatchObject([
      {
        runId,
        agentId: 'agent-1',
        toolCallId: 'two~deep~c',
        path,
        stop: 1,
        verdict: 'decline',
        reason: 'No.',
      },
    ]);
    expect(second.durability).toBe('full');
  });

  test('a suspension below is the next stop of the same row; an end closes what is left', () => {
    const before = runOf(
      ...asking([delegation('one')]),
      ...begins('one', [requested('a', 'free')]),
      ...of(one, callStarted('a')),
    );
    const events = of(one, suspended('a'));
    const opened = batchOf('b', before, fold(events, before) as Run, events).opened;
    expect(opened).toMatchObject([
      { toolCallId: 'one~a', kind: 'suspended', stop: 1, stopSeq: before.length + 1 },
    ]);
    const cancel = [cancelRequested, ...of(one, callIs('call-cancelled', 'a'), runEnded)];
    const waiting = fold(events, before) as Run;
    const batch = batchOf('b', waiting, fold(cancel, waiting) as Run, cancel);
    expect(batch.closed).toEqual([{ toolCallId: 'one~a' }]);
    expect(batch.records).toMatchObject([
      { runId, toolCallId: 'one~a', verdict: 'cancel', reason: 'enough' },
    ]);
  });
});
