/** The checks of the feed: what it tells, and that no reader misses anything or is told twice. */
import assert from 'node:assert/strict';
import { isCountersignError } from '../core/errors.ts';
import type { FeedEvent, FeedQuery } from '../core/feed.ts';
import type { Store } from '../core/store.ts';
import { checksFrom } from './store-contract-check.ts';
import {
  create,
  end,
  same,
  sampleBatch,
  sampleCall,
  sampleHead,
  sampleRecord,
} from './store-contract-sample.ts';

/** Where the feed ends now. */
async function endOf(store: Store): Promise<string> {
  return (await store.feed.read({ limit: 1 })).cursor;
}

/** All that comes after a place, read by pages. */
async function eventsAfter(
  store: Store,
  after: string,
  query: Partial<FeedQuery> = {},
): Promise<{ readonly events: readonly FeedEvent[]; readonly cursor: string }> {
  const events: FeedEvent[] = [];
  for (let cursor = after; ; ) {
    const page = await store.feed.read({ limit: 3, ...query, after: cursor });
    assert.ok(page.isReset === undefined, 'nothing was forgotten');
    events.push(...page.events);
    ({ cursor } = page);
    if (page.isComplete) return { events, cursor };
  }
}

const wordsOf = (events: readonly FeedEvent[]): string[] =>
  events.map(({ type, runId, toolCallId }) => `${type} ${runId} ${toolCallId}`);

const withoutPlaces = (events: readonly FeedEvent[]) => events.map(({ cursor: _cursor, ...event }) => event);

/** Opens a call in a run of its own. */
async function opened(store: Store, runId: string, resourceId?: string, since = Date.now()): Promise<void> {
  const call = sampleCall(runId, 'call', { since });
  await create(store, runId, { head: sampleHead({ resourceId }), opened: [call] });
}

export const feedChecks = checksFrom({
  'the feed tells what was opened, decided and settled, in order': async ({ open }) => {
    const store = await open({ retentionMs: Number.POSITIVE_INFINITY });
    const start = await endOf(store);
    const head = sampleHead({ threadId: 'thread', resourceId: 'resource' });
    await create(store, 'run', { head, opened: [sampleCall('child', 'a~b'), sampleCall('run', 'c')] });
    const by = { id: 'ann', name: 'Ann' };
    await store.append(
      sampleBatch('run', 1, {
        head,
        records: [
          sampleRecord('run', 'a~b', { by, reason: 'no', verdict: 'decline' }),
          sampleRecord('run', 'c', { at: 2500, reason: 'x'.repeat(1001) }),
        ],
        outcomes: [
          { toolCallId: 'a~b', toolName: 'refund', stop: 1, outcome: { state: 'declined', at: 2000 } },
          { toolCallId: 'c', toolName: 'refund', stop: 1, outcome: { state: 'suspended', at: 2600 } },
        ],
        closed: [{ toolCallId: 'a~b' }],
        opened: [sampleCall('run', 'c', { stop: 2, kind: 'suspended', since: 2600, toolName: 'mail' })],
      }),
    );
    await store.remove(
      sampleBatch('run', 2, {
        head,
        records: [sampleRecord('run', 'c', { stop: 2, verdict: 'cancel', at: 3000 })],
        outcomes: [
          { toolCallId: 'c', toolName: 'refund', stop: 2, outcome: { state: 'cancelled', at: 3000 } },
        ],
      }),
      { status: 'cancelled', finishReason: 'cancelled', text: '', usage: {} },
      Date.now(),
    );
    await store.record(sampleRecord('run', 'c', { stop: -1, verdict: 'ran-twice' }));
    const run = {
      runId: 'run',
      agentId: 'agent',
      threadId: 'thread',
      resourceId: 'resource',
      toolName: 'refund',
    };
    const first = { ...run, toolCallId: 'a~b', stop: 1 };
    const second = { ...run, toolCallId: 'c', stop: 1 };
    const { events } = await eventsAfter(store, start);
    same(
      withoutPlaces(events),
      [
        { type: 'opened', ...first, at: 1000, kind: 'held' },
        { type: 'opened', ...second, at: 1000, kind: 'held' },
        { type: 'decided', ...first, at: 2000, decision: { verdict: 'decline', by, reason: 'no' } },
        { type: 'decided', ...second, at: 2500, decision: { verdict: 'approve', by } },
        { type: 'settled', ...first, at: 2000, state: 'declined' },
        { type: 'opened', ...second, stop: 2, toolName: 'mail', at: 2600, kind: 'suspended' },
        { type: 'settled', ...second, stop: 2, at: 3000, state: 'cancelled' },
      ],
      'the events',
    );
  },

  'the feed says nothing of what was not written': async ({ open }) => {
    const store = await open();
    const start = await endOf(store);
    await opened(store, 'run');
    const batch = sampleBatch('run', 1, { records: [sampleRecord('run', 'call')] });
    await store.append(batch);
    await store.append(batch);
    await store.append(sampleBatch('run', 1, { opened: [sampleCall('run', 'lost')] }));
    await store.create(sampleBatch('run', 0, { opened: [sampleCall('run', 'exists')] }));
    await store.remove(
      sampleBatch('gone', 1, { records: [sampleRecord('gone', 'call')] }),
      { status: 'finished', finishReason: 'stop', text: '', usage: {} },
      Date.now(),
    );
    same(
      wordsOf((await eventsAfter(store, start)).events),
      ['opened run call', 'decided run call'],
      'the events',
    );
  },

  'a reader goes on from the cursor of any event or page': async ({ open, second }) => {
    const store = await open();
    const other = await second(store);
    await opened(store, 'before');
    const start = await endOf(other);
    for (const runId of ['a', 'b', 'c', 'd', 'e']) await opened(store, runId);
    const { events, cursor } = await eventsAfter(other, start);
    same(
      events.map(({ runId }) => runId),
      ['a', 'b', 'c', 'd', 'e'],
      'from the end as it was',
    );
    for (const [index, event] of events.entries()) {
      const rest = await eventsAfter(store, event.cursor);
      same(rest.events, events.slice(index + 1), `after ${event.runId}`);
      same(rest.cursor, cursor, 'the end');
    }
    await opened(other, 'f');
    same(wordsOf((await eventsAfter(store, cursor)).events), ['opened f call'], 'what came later');
  },

  'agent, tool, thread and resource filter the feed, and its end is that of all': async ({ open }) => {
    const store = await open({ retentionMs: Number.POSITIVE_INFINITY });
    const start = await endOf(store);
    const heads = {
      a: { agentId: 'x', resourceId: 'r', threadId: 't' },
      b: { agentId: 'y', resourceId: 'r' },
      c: { agentId: 'x' },
    };
    for (const [runId, head] of Object.entries(heads)) {
      const call = sampleCall(runId, 'call', { toolName: runId === 'c' ? 'mail' : 'refund' });
      await create(store, runId, { head: sampleHead(head), opened: [call] });
    }
    const cases: [Partial<FeedQuery>, string[]][] = [
      [{ agentId: 'x' }, ['a', 'c']],
      [{ toolName: 'mail' }, ['c']],
      [{ threadId: 't' }, ['a']],
      [{ resourceId: 'r' }, ['a', 'b']],
      [{ resourceId: 'r', agentId: 'y' }, ['b']],
      [{ resourceId: 'none' }, []],
    ];
    const newest = await endOf(store);
    for (const [query, expected] of cases) {
      for (const limit of [1, 10]) {
        const { events, cursor } = await eventsAfter(store, start, { ...query, limit });
        const what = `${JSON.stringify(query)} by ${limit}`;
        same(
          events.map(({ runId }) => runId),
          expected,
          what,
        );
        same(cursor, newest, `the end of ${what}`);
      }
    }
  },

  'whoever writes and commits in whatever order, readers miss nothing, and all read one order': async ({
    open,
    second,
  }) => {
    const store = await open();
    const writers = [store, await second(store)];
    const readers = await Promise.all([second(store), second(store)]);
    const start = await endOf(store);
    let isDone = false;
    const read = async (reader: Store): Promise<FeedEvent[]> => {
      const events: FeedEvent[] = [];
      for (let cursor = start; ; ) {
        const isLast = isDone;
        const found = await eventsAfter(reader, cursor, { limit: 7 });
        events.push(...found.events);
        ({ cursor } = found);
        if (isLast) return events;
        await reader.feed.changed(1);
      }
    };
    const write = async (writer: Store, runId: string): Promise<void> => {
      await opened(writer, runId);
      await writer.append(sampleBatch(runId, 1, { records: [sampleRecord(runId, 'call')] }));
      const outcome = { state: 'finished', at: 3000 } as const;
      const outcomes = [{ toolCallId: 'call', toolName: 'refund', stop: 1, outcome }];
      await writer.append(sampleBatch(runId, 2, { outcomes }));
    };
    const reading = Promise.all(readers.map(read));
    const runs = Array.from({ length: 60 }, (_, index) => `run ${index}`);
    await Promise.all(runs.map((runId, index) => write(writers[index % 2] as Store, runId)));
    isDone = true;
    const [first = [], other] = await reading;
    same(other, first, 'both readers');
    const expected = runs.flatMap((runId) =>
      ['opened', 'decided', 'settled'].map((type) => `${type} ${runId} call`),
    );
    same(wordsOf(first).toSorted(), expected.toSorted(), 'each event once');
    for (const runId of runs) {
      const types = first.filter((event) => event.runId === runId).map(({ type }) => type);
      same(types, ['opened', 'decided', 'settled'], `the order of "${runId}"`);
    }
  },

  'a reader of the feed is woken by what comes': async ({ open }) => {
    const store = await open();
    const start = await endOf(store);
    const minute = 60_000;
    const told = (async () => {
      for (let cursor = start; ; ) {
        const { events, ...page } = await eventsAfter(store, cursor);
        if (events.length > 0) return wordsOf(events);
        ({ cursor } = page);
        await store.feed.changed(minute);
      }
    })();
    await opened(store, 'run');
    same(await told, ['opened run call'], 'long before its time is over');
  },

  'what was forgotten is told as a reset, and then the feed goes on': async ({ open }) => {
    let time = 10_000;
    const store = await open({ retentionMs: 1000, now: () => time });
    const start = await endOf(store);
    for (const runId of ['a', 'b', 'c']) await opened(store, runId, 'r', time);
    const { events } = await eventsAfter(store, start);
    time += 2 * 60 * 60 * 1000;
    await opened(store, 'd', 'r', time);
    await end(store, 'a', 1, time);
    for (const after of [start, events[0]?.cursor as string, events[1]?.cursor as string]) {
      const page = await store.feed.read({ after, limit: 10 });
      same([page.events, page.isReset, page.isComplete], [[], true, true], 'after what is gone');
      same(page.cursor, await endOf(store), 'it goes on from the end');
    }
    const last = await eventsAfter(store, events[2]?.cursor as string, { resourceId: 'r' });
    same(wordsOf(last.events), ['opened d call'], 'after the last that is gone nothing is missing');
    time += 2 * 60 * 60 * 1000;
    await end(store, 'b', 1, time);
    await opened(store, 'e', 'r', time);
    same(wordsOf((await eventsAfter(store, last.cursor)).events), ['opened e call'], 'when all had gone');
  },

  'a place that is none of the feed is told as a reset or refused': async ({ open }) => {
    const store = await open();
    await opened(store, 'run');
    const far = String(Number(await endOf(store)) + 1);
    same((await store.feed.read({ after: far, limit: 1 })).isReset, true, 'a place past the end');
    const wrong: Partial<FeedQuery>[] = [
      ...['', 'x', '-1', '1.5', '1'.repeat(40)].map((after) => ({ after })),
      ...[0, -1, 1.5, Number.NaN].map((limit) => ({ limit })),
    ];
    for (const query of wrong) {
      await assert.rejects(
        store.feed.read({ limit: 10, ...query }),
        (error) => isCountersignError(error, 'invalid-option'),
        JSON.stringify(query),
      );
    }
  },
});
