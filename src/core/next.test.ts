import { describe, expect, test } from 'vitest';
import type { Event } from './event.ts';
import { failure, headOf, next, riders, totalUsage, waitingCalls } from './next.ts';
import { fold } from './run.ts';
import type { Run } from './state.ts';
import {
  asking,
  callIs,
  callStarted,
  cancelRequested,
  decided,
  deepFreeze,
  finished,
  me,
  other,
  requested,
  runContinued,
  runEnded,
  runId,
  runOf,
  runStarted,
  runWith,
  stepFailed,
  stepFinished,
  stepReleased,
  stepStarted,
  suspended,
  withOptions,
} from './test-support/events.ts';

const free = requested('c1', 'free');
const held = requested('c2', 'held');
const sameWorker = { worker: me.worker, leg: '2' };

/** What rides along, in short. */
const ridesIn = (run: Run, holder = me): string[] =>
  riders(run, holder, 99).map((event) => {
    switch (event.type) {
      case 'step-started':
        return `step ${event.step} attempt ${event.claim.attempt}`;
      case 'call-started':
        return `start ${event.toolCallId} attempt ${event.claim.attempt}`;
      case 'call-cancelled':
        return `cancel ${event.toolCallId}`;
      case 'run-ended':
        return `end ${event.outcome.status} ${event.outcome.finishReason}`;
      default:
        return event.type;
    }
  });

const lastOf = (maxSteps: number, ...more: readonly Event[]): Run =>
  runOf(...asking([free], withOptions({ maxSteps })), callStarted('c1'), ...more);

/**
 * For each kind of state: what `next` tells the holder and somebody else, where the head is, and what rides in the
 * holder's append.
 */
const table: readonly [
  name: string,
  run: Run,
  mine: string,
  others: string,
  head: string,
  rides: readonly string[],
][] = [
  ['just begun', runOf(runStarted()), 'wait', 'wait', 'runnable', ['step 0 attempt 1']],
  ['model claimed', runOf(runStarted(), stepStarted()), 'model', 'wait', 'owned', []],
  [
    'model claim given back',
    runOf(runStarted(), stepStarted(), stepReleased()),
    'wait',
    'wait',
    'runnable',
    ['step 0 attempt 2'],
  ],
  ['stalled', runOf(runStarted(), stepStarted(), stepFailed()), 'wait', 'wait', 'waiting', []],
  [
    'continued',
    runOf(runStarted(), stepStarted(), stepFailed(), runContinued),
    'wait',
    'wait',
    'runnable',
    ['step 0 attempt 2'],
  ],
  ['free calls ready', runWith([free, held]), 'wait', 'wait', 'runnable', ['start c1 attempt 1']],
  ['a call runs', runWith([free, held], callStarted('c1')), 'calls', 'wait', 'owned', []],
  [
    'two run, one of them mine',
    runWith(
      [free, requested('c3', 'free'), requested('c4', 'free')],
      callStarted('c3', other),
      callStarted('c1'),
    ),
    'calls',
    'calls',
    'owned',
    ['start c4 attempt 1'],
  ],
  ['only held', runWith([held]), 'wait', 'wait', 'waiting', []],
  ['only suspended', runWith([free], callStarted('c1'), suspended('c1')), 'wait', 'wait', 'waiting', []],
  [
    'only interrupted',
    runWith([free], callStarted('c1'), callIs('call-interrupted', 'c1')),
    'wait',
    'wait',
    'waiting',
    [],
  ],
  ['approved', runWith([held], decided('c2', 'approve')), 'wait', 'wait', 'runnable', ['start c2 attempt 1']],
  [
    'resumed',
    runWith([free], callStarted('c1'), suspended('c1'), decided('c1', 'resume')),
    'wait',
    'wait',
    'runnable',
    ['start c1 attempt 2'],
  ],
  [
    'one settled, one waits',
    runWith([free, held], callStarted('c1'), finished('c1')),
    'wait',
    'wait',
    'waiting',
    [],
  ],
  [
    'all settled',
    runWith([held], decided('c2', 'decline')),
    'wait',
    'wait',
    'runnable',
    ['step 1 attempt 1'],
  ],
  ['all refused', runWith([requested('c1', 'refused')]), 'wait', 'wait', 'runnable', ['step 1 attempt 1']],
  [
    'all settled in the last step',
    lastOf(1, finished('c1')),
    'done',
    'done',
    'runnable',
    ['end finished max-steps'],
  ],
  ['one step is left', lastOf(2, finished('c1')), 'wait', 'wait', 'runnable', ['step 1 attempt 1']],
  [
    'answered',
    runOf(runStarted(), stepStarted(), stepFinished(0, [])),
    'done',
    'done',
    'runnable',
    ['end finished stop'],
  ],
  [
    'cancelled, before anything',
    runOf(runStarted(), cancelRequested),
    'done',
    'done',
    'runnable',
    ['end cancelled cancelled'],
  ],
  [
    'cancelled while the model writes',
    runOf(runStarted(), stepStarted(), cancelRequested),
    'model',
    'wait',
    'owned',
    [],
  ],
  [
    'cancelled while a call runs',
    runWith([free, held], callStarted('c1'), cancelRequested),
    'calls',
    'wait',
    'owned',
    [],
  ],
  [
    'cancelled while calls wait and are ready',
    runWith([free, held], cancelRequested),
    'done',
    'done',
    'runnable',
    ['cancel c1', 'cancel c2', 'end cancelled cancelled'],
  ],
  [
    'cancelled while stalled',
    runOf(runStarted(), stepStarted(), stepFailed(), cancelRequested),
    'done',
    'done',
    'runnable',
    ['end cancelled cancelled'],
  ],
  ['ended', runOf(runStarted(), runEnded), 'wait', 'wait', 'ended', []],
];

describe.each(table)('%s', (_, run, mine, others, head, rides) => {
  test(`next: '${mine}' for the holder, '${others}' for another worker`, () => {
    expect(next(run, me)).toBe(mine);
    expect(next(run, other)).toBe(others);
  });

  test("another leg of the holder's worker is no holder", () => {
    expect(['model', 'calls']).not.toContain(next(run, sameWorker));
  });

  test(`the head is ${head}`, () => {
    expect(headOf(run)).toBe(head);
  });

  test(`rides along: ${rides.join(', ') || 'nothing'}`, () => {
    expect(ridesIn(run)).toEqual(rides);
    const riding = riders(run, me, 99);
    for (const event of riding) {
      expect(event).toMatchObject({ runId, at: 99 });
      if ('claim' in event) expect(event.claim).toMatchObject(me);
    }
    if (riding.length > 0) expect(() => fold(riding, run)).not.toThrow();
  });
});

describe('the concurrency of calls', () => {
  const requests = ['c1', 'c2', 'c3', 'c4'].map((id) => requested(id, 'free'));
  const two = asking(requests, withOptions({ toolCallConcurrency: 2 }));

  test('bounds what one holder claims', () => {
    expect(ridesIn(runOf(...two))).toEqual(['start c1 attempt 1', 'start c2 attempt 1']);
    expect(ridesIn(runOf(...two, callStarted('c1')))).toEqual(['start c2 attempt 1']);
    expect(ridesIn(runOf(...two, callStarted('c1'), callStarted('c2')))).toEqual([]);
    expect(ridesIn(runOf(...two, callStarted('c1'), callStarted('c2'), finished('c1')))).toEqual([
      'start c3 attempt 1',
    ]);
  });

  test('counts only what runs', () => {
    const run = runOf(...two, callStarted('c1'), callStarted('c2'), finished('c1'), suspended('c2'));
    expect(ridesIn(run)).toEqual(['start c3 attempt 1', 'start c4 attempt 1']);
  });

  test('is that of each holder', () => {
    const run = runOf(...two, callStarted('c1'), callStarted('c2'));
    expect(ridesIn(run, other)).toEqual(['start c3 attempt 1', 'start c4 attempt 1']);
  });
});

test('what waits is told in the order of the model', () => {
  const run = runWith([held, free, requested('c3', 'held')], callStarted('c1'), suspended('c1'));
  expect(waitingCalls(run).map(({ id }) => id)).toEqual(['c2', 'c1', 'c3']);
});

describe('the end', () => {
  const outcomeIn = (run: Run) => {
    const last = riders(run, me, 99).at(-1);
    return last?.type === 'run-ended' ? last.outcome : undefined;
  };

  test('tells the last text and the sum of the usage', () => {
    const usage = { inputTokens: 1, details: { cached: 2, deep: { x: 1 } }, name: 'm', none: null };
    const run = runOf(
      ...asking([free]),
      callStarted('c1'),
      finished('c1'),
      stepStarted(1),
      stepFinished(1, [], { usage: usage as never, finishReason: 'length' }),
    );
    expect(outcomeIn(run)).toEqual({
      status: 'finished',
      finishReason: 'length',
      messageId: expect.any(String),
      text: 'text 1',
      usage: {
        inputTokens: 11,
        outputTokens: 5,
        totalTokens: 15,
        details: { cached: 2, deep: { x: 1 } },
      },
    });
    expect(totalUsage(deepFreeze(run))).toEqual(outcomeIn(run)?.usage);
  });

  test('of a cancelled run says why and who', () => {
    const cancel = { ...cancelRequested, by: { id: 'ann' } } as Event;
    expect(outcomeIn(runWith([held], cancel))).toMatchObject({
      status: 'cancelled',
      finishReason: 'cancelled',
      reason: 'enough',
      by: { id: 'ann' },
    });
  });

  test('of a run that failed before it was stored', () => {
    const run = runOf(runStarted(), stepStarted());
    const events = failure(run, { code: 'model-failed', message: 'No answer.' }, 99);
    expect(events).toMatchObject([
      {
        type: 'run-ended',
        outcome: { status: 'failed', finishReason: 'error', error: { code: 'model-failed' } },
      },
    ]);
    expect(headOf(fold(events, run) as Run)).toBe('ended');
  });
});

describe('a call that answers a call of another run', () => {
  const answering = { runId: 'run-2', toolCallId: 'resume-1' };
  const answered = decided('c1', 'resume', { answering });
  const waits = [callStarted('c1'), suspended('c1')];
  const going = [callStarted('c1', me, 2)];

  test('ends its run when it settles the last open call, with its result in the outcome', () => {
    const run = runWith([free], ...waits, answered, ...going, finished('c1', 'sunny'));
    expect(ridesIn(run)).toEqual(['answered-by']);
    const over = fold(riders(run, me, 99), run) as Run;
    expect(next(over, me)).toBe('done');
    expect(riders(over, me, 99)).toMatchObject([
      {
        outcome: {
          status: 'finished',
          finishReason: 'answered',
          answered: { ...answering, result: 'sunny' },
        },
      },
    ]);
  });

  test('ends it with what the model is to read in place of the result, or with the error', () => {
    const outcomeAfter = (settled: Event): unknown => {
      const run = runWith([free], ...waits, answered, ...going, settled);
      return riders(fold(riders(run, me, 99), run) as Run, me, 99)[0];
    };
    const modelOutput = { type: 'text', value: 'It is sunny.' } as const;
    expect(outcomeAfter({ ...finished('c1', 'sunny'), modelOutput } as Event)).toMatchObject({
      outcome: { answered: { ...answering, result: 'sunny', modelOutput } },
    });
    const error = { code: 'tool-failed', message: 'No weather.' } as const;
    expect(outcomeAfter({ ...finished('c1'), type: 'call-failed', error } as Event)).toMatchObject({
      outcome: { status: 'finished', answered: { ...answering, error } },
    });
  });

  test('leaves the others waiting, and the run goes on with whichever is settled last', () => {
    const open = runWith([free, held], ...waits, answered, ...going, finished('c1', 'sunny'));
    expect(ridesIn(open)).toEqual([]);
    expect(headOf(open)).toBe('waiting');
    const declined = fold([decided('c2', 'decline')], open) as Run;
    expect(ridesIn(declined)).toEqual(['step 1 attempt 1']);
  });

  test('that asks again keeps its run waiting, and an answer of a person goes on there', () => {
    const again = runWith([free], ...waits, answered, ...going, suspended('c1', 2));
    expect(headOf(again)).toBe('waiting');
    const byPerson = fold(
      [decided('c1', 'resume', { stop: 2 }), callStarted('c1', me, 3), finished('c1')],
      again,
    ) as Run;
    expect(ridesIn(byPerson)).toEqual(['step 1 attempt 1']);
  });
});
