import { describe, expect, test } from 'vitest';
import { batchOf, decisionRecord } from './batch.ts';
import type { Event } from './event.ts';
import { fold } from './run.ts';
import type { Run } from './state.ts';
import type { Batch } from './store.ts';
import {
  asking,
  callIs,
  callStarted,
  cancelRequested,
  decided,
  failed,
  fingerprintOf,
  finished,
  me,
  other,
  requested,
  runEnded,
  runId,
  runOf,
  runStarted,
  stepFailed,
  stepStarted,
  suspended,
} from './test-support/events.ts';

const free = requested('c1', 'free');
const held = requested('c2', 'held');
const paused = asking([free, held]);

/** The batch of the last events, after the others. */
function batchAfter(before: readonly Event[], ...events: readonly Event[]): Batch {
  const run = runOf(...before);
  return batchOf('batch-1', run, fold(events, run) as Run, events);
}

describe('the index', () => {
  test('the first write opens what waits', () => {
    const events = [...paused, callStarted('c1')];
    expect(batchOf('batch-1', undefined, runOf(...events), events)).toMatchObject({
      id: 'batch-1',
      runId,
      expectedVersion: 0,
      closed: [],
      opened: [
        {
          runId,
          toolCallId: 'c2',
          stop: 1,
          kind: 'held',
          toolName: 'refund',
          since: 4,
          requestSeq: 5,
          stopSeq: 5,
        },
      ],
    });
  });

  test('a decision closes its call, and nothing else', () => {
    const batch = batchAfter(
      asking([held, requested('c3', 'held')]),
      decided('c2', 'approve'),
      callStarted('c2'),
    );
    expect(batch).toMatchObject({ expectedVersion: 5, opened: [], closed: [{ toolCallId: 'c2' }] });
  });

  test('a suspension opens its call at the next stop', () => {
    const before = [...asking([held]), decided('c2', 'approve'), callStarted('c2')];
    const batch = batchAfter(before, suspended('c2', 2));
    expect(batch.opened).toMatchObject([{ toolCallId: 'c2', stop: 2, kind: 'suspended', stopSeq: 7 }]);
    expect(batch.closed).toEqual([]);
  });

  test('an interruption opens, a late result closes', () => {
    const running = [...asking([free]), callStarted('c1')];
    const interrupted = callIs('call-interrupted', 'c1');
    expect(batchAfter(running, interrupted).opened).toMatchObject([{ kind: 'interrupted', stop: 1 }]);
    const late = batchAfter([...running, interrupted], finished('c1'));
    expect(late.closed).toEqual([{ toolCallId: 'c1' }]);
    expect(late.outcomes).toMatchObject([{ toolCallId: 'c1', stop: 1, outcome: { state: 'finished' } }]);
  });

  test('what goes on waiting is not written again', () => {
    const batch = batchAfter([...paused, callStarted('c1')], finished('c1'));
    expect(batch).toMatchObject({ opened: [], closed: [], records: [] });
  });

  test('the end closes what waited', () => {
    const batch = batchAfter([...asking([held]), cancelRequested], callIs('call-cancelled', 'c2'), {
      ...runEnded,
      at: 20,
    });
    expect(batch).toMatchObject({ closed: [{ toolCallId: 'c2' }], head: { head: 'ended' } });
  });
});

describe('the head row', () => {
  test('names agent, thread, resource and the workers of open claims', () => {
    const started = runStarted({ threadId: 'thread-1', resourceId: 'resource-1' });
    const events = [
      ...asking([free, held, requested('c3', 'free')], started),
      callStarted('c1'),
      callStarted('c3', other),
    ];
    expect(batchOf('b', undefined, runOf(...events), events).head).toEqual({
      agentId: 'agent-1',
      threadId: 'thread-1',
      resourceId: 'resource-1',
      head: 'owned',
      workers: [me.worker, other.worker],
      suspendedSince: 4,
      interruptedSince: undefined,
      stalledSince: undefined,
    });
  });

  test('names a worker once, and none whose claims are closed', () => {
    const two = [...asking([free, requested('c3', 'free')]), callStarted('c1'), callStarted('c3')];
    expect(batchAfter(two, finished('c1')).head.workers).toEqual([me.worker]);
    expect(batchAfter([...two, finished('c1')], finished('c3')).head.workers).toEqual([]);
  });

  test('says when the newest stop of each kind began', () => {
    const before = [
      ...asking([free, held, requested('c3', 'held', { at: 30 }), requested('c4', 'free')]),
      callStarted('c1'),
      callStarted('c4'),
    ];
    const interrupted = { ...callIs('call-interrupted', 'c1'), at: 40 };
    expect(batchAfter(before, interrupted, suspended('c4')).head).toMatchObject({
      suspendedSince: 30,
      interruptedSince: 40,
      stalledSince: undefined,
    });
  });

  test('says since when it is stalled', () => {
    const before = [...asking([held]), decided('c2', 'decline'), stepStarted(1)];
    const batch = batchAfter(before, { ...stepFailed(1), at: 50 });
    expect(batch.head).toMatchObject({ head: 'waiting', stalledSince: 50, suspendedSince: undefined });
  });
});

describe('records', () => {
  const by = { id: 'ann', name: 'Ann' };

  test('a decision, as it was made', () => {
    const decision = decided('c2', 'approve', {
      by,
      reason: 'fine',
      decisionId: 'd-1',
      addressed: 'latest',
      at: 60,
    });
    expect(batchAfter(asking([held]), decision).records).toEqual([
      {
        runId,
        toolCallId: 'c2',
        stop: 1,
        agentId: 'agent-1',
        toolName: 'refund',
        verdict: 'approve',
        at: 60,
        by,
        reason: 'fine',
        decisionId: 'd-1',
        addressed: 'latest',
        fingerprint: fingerprintOf('c2'),
        args: { id: 'c2' },
      },
    ]);
  });

  test('a decline with its outcome, at once', () => {
    const decision = decided('c2', 'decline', { reason: 'no' });
    const batch = batchAfter(asking([held]), decision, stepStarted(1));
    expect(batch.records).toMatchObject([
      { verdict: 'decline', reason: 'no', outcome: { state: 'declined', at: 5 } },
    ]);
  });

  test('a resume with its data; what is falsy is data too', () => {
    for (const data of [{ a: 1 }, null, 0, '', false]) {
      const batch = batchAfter(
        [...asking([free]), callStarted('c1'), suspended('c1')],
        decided('c1', 'resume', { data }),
      );
      expect(batch.records[0]).toMatchObject({ verdict: 'resume' });
      expect(batch.records[0]?.data).toEqual(data);
    }
  });

  test.each([
    ['finished', finished('c2'), { state: 'finished', at: 8, result: 'done' }],
    ['finished with null', finished('c2', null), { state: 'finished', at: 8, result: null }],
    ['failed', failed('c2'), { state: 'failed', at: 8, error: { code: 'tool-failed', message: 'Broke.' } }],
    ['suspended', suspended('c2', 2), { state: 'suspended', at: 7 }],
    ['interrupted', callIs('call-interrupted', 'c2'), { state: 'interrupted', at: 9 }],
  ])('what came of an approval: %s', (_, event, outcome) => {
    const before = [...asking([held]), decided('c2', 'approve'), callStarted('c2')];
    const batch = batchAfter(before, event);
    expect(batch.records).toEqual([]);
    expect(batch.outcomes).toEqual([{ toolCallId: 'c2', toolName: 'refund', stop: 1, outcome }]);
  });

  test('a call that nobody decided has no record', () => {
    const batch = batchAfter([...paused, callStarted('c1')], finished('c1'));
    expect([batch.records, batch.outcomes]).toEqual([[], []]);
  });

  test('arguments, data and results above 16 KB are left out', () => {
    const long = 'x'.repeat(16 * 1024);
    const exact = 'x'.repeat(16 * 1024 - 2);
    const recordOf = (raw: string, data: string) => {
      const before = [...asking([requested('c1', 'free', { raw })]), callStarted('c1'), suspended('c1')];
      return batchAfter(before, decided('c1', 'resume', { data })).records[0];
    };
    expect(recordOf(exact, exact)).toMatchObject({ args: exact, data: exact });
    expect(recordOf(long, long)).not.toHaveProperty('args');
    expect(recordOf(long, long)).not.toHaveProperty('data');
    const approved = [...asking([held]), decided('c2', 'approve'), callStarted('c2')];
    expect(batchAfter(approved, finished('c2', long)).outcomes[0]?.outcome).toEqual({
      state: 'finished',
      at: 8,
      truncated: true,
    });
    expect(batchAfter(approved, finished('c2', exact)).outcomes[0]?.outcome.result).toBe(exact);
  });

  test('a stop that ended by cancel has one too', () => {
    const cancel = { ...cancelRequested, by } as Event;
    const before = [...asking([held, free]), cancel];
    const batch = batchAfter(
      before,
      callIs('call-cancelled', 'c2'),
      callIs('call-cancelled', 'c1'),
      runEnded,
    );
    expect(batch.records).toEqual([
      {
        runId,
        toolCallId: 'c2',
        stop: 1,
        agentId: 'agent-1',
        toolName: 'refund',
        verdict: 'cancel',
        at: 9,
        by,
        reason: 'enough',
        fingerprint: fingerprintOf('c2'),
        args: { id: 'c2' },
        outcome: { state: 'cancelled', at: 9 },
      },
    ]);
  });

  test('cancel of an approved call that never started is what came of the approval', () => {
    const before = [...asking([held]), decided('c2', 'approve'), cancelRequested];
    const batch = batchAfter(before, callIs('call-cancelled', 'c2'), runEnded);
    expect(batch.records).toEqual([]);
    expect(batch.outcomes).toEqual([
      { toolCallId: 'c2', toolName: 'refund', stop: 1, outcome: { state: 'cancelled', at: 9 } },
    ]);
  });

  test('cancel at a second stop does not change what came of the first', () => {
    const before = [
      ...asking([held]),
      decided('c2', 'approve'),
      callStarted('c2'),
      suspended('c2', 2),
      cancelRequested,
    ];
    const batch = batchAfter(before, callIs('call-cancelled', 'c2'), runEnded);
    expect(batch.records).toMatchObject([{ stop: 2, verdict: 'cancel', outcome: { state: 'cancelled' } }]);
    expect(batch.outcomes.filter(({ stop }) => stop === 1)).toEqual([]);
  });

  test('the outcome in the record of an earlier decision is not that of a later one', () => {
    const approve = decided('c2', 'approve');
    const run = runOf(
      ...asking([held]),
      approve,
      callStarted('c2'),
      suspended('c2', 2),
      decided('c2', 'resume', { stop: 2 }),
      callStarted('c2', me, 2),
      finished('c2'),
    );
    expect(decisionRecord(run, approve)).not.toHaveProperty('outcome');
    expect(decisionRecord(run, run.calls.get('c2')!.decisions[1]!)).toMatchObject({
      outcome: { state: 'finished', result: 'done' },
    });
  });
});

test('the events are stored as texts, in order', () => {
  const batch = batchAfter(asking([held]), decided('c2', 'approve'), callStarted('c2'));
  expect(batch.events.map((text) => JSON.parse(text).type)).toEqual(['call-decided', 'call-started']);
});
