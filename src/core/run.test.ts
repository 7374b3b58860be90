import { describe, expect, test } from 'vitest';
import type { Event } from './event.ts';
import { eventFrom, eventText } from './event.ts';
import { fold, transition } from './run.ts';
import { type CallMove, type CallState, callTable, isSettled, isWaiting, lastDecision } from './state.ts';
import {
  asking,
  callIs,
  callStarted,
  cancelRequested,
  claimOf,
  decided,
  eventOf,
  finished,
  me,
  type OwnMove,
  other,
  requested,
  runContinued,
  runEnded,
  runIn,
  runOf,
  runStarted,
  runWith,
  states,
  stepFailed,
  stepFinished,
  stepReleased,
  stepStarted,
  suspended,
} from './test-support/events.ts';

/** The table of SPEC.md, written once more: what is not named is illegal. */
const legal: Record<CallState, Partial<Record<CallMove, CallState>>> = {
  ready: { start: 'running', cancel: 'cancelled' },
  held: { approve: 'ready', decline: 'declined', cancel: 'cancelled' },
  suspended: { resume: 'ready', decline: 'declined', cancel: 'cancelled' },
  running: {
    finish: 'finished',
    fail: 'failed',
    suspend: 'suspended',
    interrupt: 'interrupted',
    release: 'ready',
  },
  interrupted: {
    suspend: 'suspended',
    finish: 'finished',
    fail: 'failed',
    cancel: 'cancelled',
    'run-again': 'ready',
    'report-output': 'finished',
    'report-error': 'failed',
  },
  finished: {},
  failed: {},
  declined: {},
  cancelled: {},
};

const moves = Object.keys(eventOf) as OwnMove[];
const cells = states.flatMap((state) => moves.map((move) => ({ state, move, to: legal[state][move] })));

describe('the table of a call', () => {
  test('has every state and every move', () => {
    expect(Object.keys(callTable).sort()).toEqual([...states].sort());
    for (const row of Object.values(callTable))
      expect(Object.keys(row).sort()).toEqual([...moves, 'delegate', 'return'].sort());
    expect(cells).toHaveLength(9 * 13);
  });

  test.each(cells.filter(({ to }) => to))('$state + $move = $to', ({ state, move, to }) => {
    const run = runIn(state);
    const before = run.calls.get('c1')!;
    expect(before.state).toBe(state);
    const after = transition(run, eventOf[move](before.stop)).calls.get('c1');
    expect(after?.state).toBe(to);
  });

  test.each(cells.filter(({ to }) => !to))('$state + $move is illegal', ({ state, move }) => {
    const run = runIn(state);
    const { stop } = run.calls.get('c1')!;
    expect(() => transition(run, eventOf[move](stop))).toThrow(/Illegal transition/);
  });

  test('waiting and settled', () => {
    const where = (is: (call: never) => boolean) =>
      states.filter((state) => is(runIn(state).calls.get('c1') as never));
    expect(where(isWaiting)).toEqual(['held', 'suspended', 'interrupted']);
    expect(where(isSettled)).toEqual(['finished', 'failed', 'declined', 'cancelled']);
  });
});

describe('what an event leaves behind', () => {
  test('a request: arguments, stop and gate', () => {
    const run = runWith([
      requested('c1', 'free'),
      requested('c2', 'held', { args: { id: 2 } }),
      requested('c3', 'refused', { args: null }),
    ]);
    expect([...run.calls.values()]).toMatchObject([
      { state: 'ready', stop: 0, args: { id: 'c1' }, requestSeq: 4, attempts: 0 },
      { state: 'held', stop: 1, args: { id: 2 }, requestSeq: 5, stopSeq: 5 },
      { state: 'failed', stop: 0, args: null, error: { code: 'invalid-arguments' } },
    ]);
    expect(run.steps[0]?.calls).toEqual(['c1', 'c2', 'c3']);
    expect(run.length).toBe(6);
  });

  test('a start: claim and attempt, which its end clears', () => {
    const running = runWith([requested('c1', 'free')], callStarted('c1', other));
    expect(running.calls.get('c1')).toMatchObject({ claim: claimOf(other), attempts: 1, since: 6 });
    for (const end of [finished('c1'), suspended('c1'), callIs('call-released', 'c1')]) {
      expect(transition(running, end).calls.get('c1')?.claim).toBeUndefined();
    }
    const again = fold([callIs('call-released', 'c1'), callStarted('c1', me, 2)], running);
    expect(again?.calls.get('c1')).toMatchObject({ attempts: 2, claim: { worker: 'worker-1', attempt: 2 } });
  });

  test('a suspension: the next stop, its place in the log and its payload', () => {
    const run = runWith([requested('c1', 'held')], decided('c1', 'approve'), callStarted('c1'));
    const waiting = transition(run, suspended('c1', 2));
    expect(waiting.calls.get('c1')).toMatchObject({
      state: 'suspended',
      stop: 2,
      stopSeq: 7,
      requestSeq: 4,
      suspension: { payload: { question: 'Which?' } },
    });
    for (const stop of [1, 3]) expect(() => transition(run, suspended('c1', stop))).toThrow(/at stop 1/);
  });

  test('an interruption opens a stop, and a late result settles it', () => {
    const run = runIn('interrupted');
    expect(run.calls.get('c1')).toMatchObject({ stop: 1, stopSeq: run.length });
    expect(transition(run, finished('c1', 'late')).calls.get('c1')).toMatchObject({
      state: 'finished',
      result: 'late',
      decisions: [],
    });
  });

  test('a decision, only at the stop of the call', () => {
    const run = runWith([requested('c1', 'held')]);
    const approve = decided('c1', 'approve', { by: { id: 'ann' } });
    const call = transition(run, approve).calls.get('c1')!;
    expect(call.decisions).toEqual([approve]);
    expect(lastDecision(call)).toBe(approve);
    for (const stop of [0, 2]) {
      expect(() => transition(run, decided('c1', 'approve', { stop }))).toThrow(/at stop 1/);
    }
    const asking = fold([approve, callStarted('c1'), suspended('c1', 2)], run)!;
    expect(lastDecision(asking.calls.get('c1')!)).toBeUndefined();
  });

  test('what a person reports of an interrupted call', () => {
    const run = runIn('interrupted');
    expect(transition(run, eventOf['report-output'](1)).calls.get('c1')?.result).toBe('as reported');
    expect(transition(run, eventOf['report-error'](1)).calls.get('c1')?.error).toEqual({
      code: 'reported',
      message: 'as reported',
    });
  });

  test('a request to cancel, the first of two', () => {
    const run = runOf(runStarted(), cancelRequested, { ...cancelRequested, reason: 'again' } as Event);
    expect(run.cancel).toEqual({ reason: 'enough' });
    expect(run.length).toBe(3);
  });
});

describe('steps', () => {
  test('claimed, released and claimed again', () => {
    const run = runOf(runStarted(), stepStarted(), stepReleased(), stepStarted(0, other, 2));
    expect(run.steps).toEqual([
      { index: 0, state: 'claimed', attempts: 2, takeovers: 0, claim: claimOf(other, 2), calls: [] },
    ]);
  });

  test('stalled, continued and finished', () => {
    const stalled = runOf(runStarted(), stepStarted(), stepFailed());
    expect(stalled.steps[0]).toMatchObject({ state: 'stalled', error: { code: 'model-failed' } });
    expect(stalled.steps[0]?.claim).toBeUndefined();
    const open = transition(stalled, runContinued);
    expect(open.steps[0]).toEqual({ index: 0, state: 'open', attempts: 1, takeovers: 0, calls: [] });
    const done = fold([stepStarted(0, me, 2), stepFinished(0, [])], open);
    expect(done?.steps[0]).toMatchObject({
      state: 'finished',
      attempts: 2,
      response: { finishReason: 'stop' },
    });
  });
});

describe('illegal events throw', () => {
  const asked = asking([requested('c1', 'held')]);
  const claimed = [runStarted(), stepStarted()];
  const stalled = [...claimed, stepFailed()];

  test.each<[string, readonly Event[], Event]>([
    ['an event before the start', [], stepStarted()],
    ['a second start', [runStarted()], runStarted()],
    ['a response without a claim', [runStarted()], stepFinished(0, [])],
    ['a response of another step', claimed, stepFinished(1, [])],
    ['a second response', [...claimed, stepFinished(0, [])], stepFinished(0, [])],
    ['a second claim of a step', claimed, stepStarted(0, other, 2)],
    ['a step too far', [runStarted()], stepStarted(1)],
    ['the next step while a call waits', asked, stepStarted(1)],
    ['the step before', [...asked, decided('c1', 'decline')], stepStarted(0)],
    ['a claim of a stalled step', stalled, stepStarted(0, me, 2)],
    ['a failure without a step', [runStarted()], stepFailed()],
    ['a second failure', stalled, stepFailed()],
    ['a release of a finished step', asked, stepReleased()],
    ['a release of a stalled step', stalled, stepReleased()],
    ['a continue of a run that is not stalled', claimed, runContinued],
    ['a continue without a step', [runStarted()], runContinued],
    ['a call of a step without response', claimed, requested('c1', 'free')],
    ['a call of another step', asked, requested('c2', 'free', { step: 1 })],
    ['a repeated id', asked, requested('c1', 'free')],
    ['a move of an unknown call', asked, callStarted('c9')],
    ['the end while a call waits', asked, runEnded],
    ['anything after the end', [runStarted(), runEnded], cancelRequested],
    ['a second end', [runStarted(), runEnded], runEnded],
  ])('%s', (_, before, event) => {
    const run = before.length === 0 ? undefined : runOf(...before);
    expect(() => transition(run, event)).toThrow(/^Illegal transition/);
  });

  test('and their text names no arguments', () => {
    const run = runWith([requested('c1', 'free', { raw: { password: 'hunter2' } })]);
    expect(() => transition(run, finished('c1', 'hunter2'))).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('hunter2') }),
    );
  });
});

describe('the fold', () => {
  const history: readonly Event[] = [
    ...asking([requested('c1', 'held'), requested('c2', 'free'), requested('c3', 'refused')]),
    callStarted('c2'),
    suspended('c2'),
    decided('c1', 'approve'),
    callStarted('c1', other),
    decided('c2', 'resume'),
    callStarted('c2', me, 2),
    finished('c2'),
    finished('c1', null),
    stepStarted(1),
    stepFailed(1),
    runContinued,
    stepStarted(1, other, 2),
    stepFinished(1, []),
  ];

  test('gives the same state each time, from any point, and from the stored texts', () => {
    const whole = fold(history);
    expect(fold(history)).toEqual(whole);
    expect(fold(history.map(eventText).map(eventFrom))).toMatchObject({ length: history.length });
    for (let cut = 1; cut < history.length; cut++) {
      expect(fold(history.slice(cut), runOf(...history.slice(0, cut)))).toEqual(whole);
    }
    const stripped = (value: unknown) => JSON.parse(JSON.stringify(value).replaceAll('"v":1,', ''));
    const stored = fold(history.map(eventText).map(eventFrom));
    expect(stripped([...(stored?.calls ?? [])])).toEqual(stripped([...(whole?.calls ?? [])]));
    expect(stripped(stored?.steps)).toEqual(stripped(whole?.steps));
  });

  test('never changes a state', () => {
    let run = runOf(history[0]!);
    for (const event of history.slice(1)) {
      const before = JSON.stringify([run, [...run.calls]]);
      const after = runOf(...history.slice(0, run.length + 1));
      transition(run, event);
      expect(JSON.stringify([run, [...run.calls]])).toBe(before);
      run = after;
    }
  });

  test('stores each event with the version of its form', () => {
    expect(JSON.parse(eventText(runStarted()))).toMatchObject({ v: 1, type: 'run-started' });
  });
});
