/** The checks of the record of decisions: which are listed, in which order. */
import assert from 'node:assert/strict';
import { isCountersignError } from '../core/errors.ts';
import type { DecisionQuery } from '../core/feed.ts';
import type { DecisionRecord, HeadRow, Store } from '../core/store.ts';
import { checksFrom } from './store-contract-check.ts';
import {
  create,
  end,
  same,
  sampleBatch,
  sampleEnd,
  sampleHead,
  sampleOutcome,
  sampleRecord,
} from './store-contract-sample.ts';

type Query = Partial<DecisionQuery>;

/** Which calls the listed decisions are about, in order. */
async function callsOf(store: Store, query: Query = {}): Promise<string[]> {
  const { decisions } = await store.decisions({ limit: 100, ...query });
  return decisions.map(({ toolCallId }) => toolCallId);
}

/** A run with decisions on calls of these names. */
async function decided(
  store: Store,
  runId: string,
  calls: Readonly<Record<string, Partial<DecisionRecord>>>,
  head: Partial<HeadRow> = {},
): Promise<void> {
  const { agentId } = sampleHead(head);
  const records = Object.entries(calls).map(([toolCallId, change]) =>
    sampleRecord(runId, toolCallId, { agentId, ...change }),
  );
  await create(store, runId, { head: sampleHead(head), records });
}

/** Reads all pages by cursor. */
async function pagesOf(store: Store, query: Omit<DecisionQuery, 'cursor'>): Promise<string[][]> {
  const pages: string[][] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await store.decisions({ ...query, cursor });
    pages.push(page.decisions.map(({ runId, toolCallId, stop }) => `${runId} ${toolCallId} ${stop}`));
    if (page.cursor === undefined) return pages;
    assert.ok(pages.length < 100, 'the last page has no cursor');
    cursor = page.cursor;
  }
}

export const decisionChecks = checksFrom({
  'decisions of open and of ended runs are listed whole, with their conversation': async ({ open }) => {
    const store = await open();
    const record = sampleRecord('run', 'call', {
      by: { id: 'ann\u0000"ä🙂', name: 'Ann' },
      via: 'http',
      approver: 'reviewer',
      reason: 'fine',
      decisionId: 'mine',
      data: { seats: 2 },
    });
    const head = sampleHead({ threadId: 'thread', resourceId: 'resource' });
    await create(store, 'run', { head, records: [record] });
    const listed = { ...record, threadId: 'thread', resourceId: 'resource' };
    const all = async () => store.decisions({ limit: 10 });
    same(await all(), { decisions: [listed], total: 1 }, 'while it is open');
    const outcome = { state: 'finished', at: 3000, result: 'done' } as const;
    const outcomes = [{ toolCallId: 'call', toolName: 'refund', stop: 1, outcome }];
    await store.append(sampleBatch('run', 1, { head, outcomes }));
    await end(store, 'run', 2);
    same(await all(), { decisions: [{ ...listed, outcome }], total: 1 }, 'with its outcome, after the end');
  },

  'a record that no batch brings is listed with the conversation of its run': async ({ open }) => {
    const store = await open();
    for (const runId of ['open', 'ended']) {
      await create(store, runId, {
        head: sampleHead({ threadId: `thread of ${runId}`, resourceId: 'resource' }),
      });
    }
    const head = sampleHead({ threadId: 'thread of ended', resourceId: 'resource' });
    await store.remove(sampleBatch('ended', 1, { head }), sampleOutcome, sampleEnd);
    for (const runId of ['open', 'ended']) {
      const late = sampleRecord(runId, 'late', { verdict: 'ran-twice', stop: -1 });
      await store.record(late);
      const expected = [{ ...late, threadId: `thread of ${runId}`, resourceId: 'resource' }];
      same((await store.decisions({ runId, limit: 10 })).decisions, expected, runId);
      same(await callsOf(store, { threadId: `thread of ${runId}` }), ['late'], 'by its thread');
    }
  },

  'decisions are found by what is asked for, each and together': async ({ open }) => {
    const store = await open();
    const [x, y] = [{ id: 'x' }, { id: 'y' }];
    await decided(
      store,
      'a',
      { 'a 1': { by: x, toolName: 'mail' }, 'a 2': { by: y, verdict: 'decline', at: 1000 } },
      { threadId: 't', resourceId: 'r' },
    );
    await decided(store, 'b', { 'b 1': { by: x, verdict: 'decline', at: 3000 } }, { agentId: 'other' });
    await decided(store, 'c', { 'c 1': { at: 4000 } }, { resourceId: 'r' });
    const { by: _by, ...nobody } = sampleRecord('d', 'd 1', { verdict: 'cancel', at: 5000 });
    await create(store, 'd', { records: [nobody] });
    const cases: [Query, string[]][] = [
      [{}, ['d 1', 'c 1', 'b 1', 'a 1', 'a 2']],
      [{ runId: 'a' }, ['a 1', 'a 2']],
      [{ agentId: 'other' }, ['b 1']],
      [{ toolName: 'mail' }, ['a 1']],
      [{ threadId: 't' }, ['a 1', 'a 2']],
      [{ resourceId: 'r' }, ['c 1', 'a 1', 'a 2']],
      [{ by: 'x' }, ['b 1', 'a 1']],
      [{ verdict: 'approve' }, ['c 1', 'a 1']],
      [{ verdict: 'decline' }, ['b 1', 'a 2']],
      [{ verdict: 'cancel' }, ['d 1']],
      [{ from: 2000, to: 4000 }, ['c 1', 'b 1', 'a 1']],
      [{ resourceId: 'r', toolName: 'refund' }, ['c 1', 'a 2']],
      [{ by: 'x', verdict: 'decline' }, ['b 1']],
      [{ by: 'x', agentId: 'agent', to: 2000 }, ['a 1']],
      [{ runId: 'a', threadId: 't', resourceId: 'r', by: 'y', verdict: 'decline', from: 1000 }, ['a 2']],
      [{ threadId: 'none' }, []],
      [{ by: 'x', verdict: 'cancel' }, []],
    ];
    for (const [query, expected] of cases) {
      const what = JSON.stringify(query);
      same(await callsOf(store, query), expected, what);
      same(await callsOf(store, { ...query, order: 'oldest' }), expected.toReversed(), `oldest of ${what}`);
      same((await store.decisions({ ...query, limit: 1 })).total, expected.length, `total of ${what}`);
    }
  },

  'the newest decision comes first, then by run, call and stop; pages meet all once, in both orders': async ({
    open,
  }) => {
    const store = await open();
    const expected: string[] = [];
    for (const runId of ['r', 'r 2', 'ｚ', '🙂']) {
      const records = ['a', 'a b'].flatMap((toolCallId) =>
        [-1, 2, 10].map((stop) => sampleRecord(runId, toolCallId, { stop })),
      );
      await create(store, runId, { records });
      expected.push(...records.map(({ toolCallId, stop }) => `${runId} ${toolCallId} ${stop}`));
    }
    await decided(store, 'new', { call: { at: 9000 } });
    expected.unshift('new call 1');
    for (const [order, all] of [
      ['newest', expected],
      ['oldest', expected.toReversed()],
    ] as const) {
      for (const limit of [1, 4, 100]) {
        const pages = await pagesOf(store, { order, limit });
        same(pages.flat(), all, `${order}, by ${limit}`);
        same(pages.length, Math.ceil(all.length / limit), `pages of ${limit}`);
      }
    }
  },

  'the total of decisions is exact up to 1,000, and then says that there are more': async ({ open }) => {
    const store = await open();
    const calls = (from: number, count: number) =>
      Array.from({ length: count }, (_, index) => sampleRecord('run', `call ${from + index}`));
    await create(store, 'run', { records: calls(0, 1000) });
    const page = async (limit: number) => {
      const { total, totalIsAtLeast = false, decisions } = await store.decisions({ agentId: 'agent', limit });
      return [total, totalIsAtLeast, decisions.length];
    };
    same(await page(10), [1000, false, 10], 'at 1,000');
    await store.append(sampleBatch('run', 1, { records: calls(1000, 1) }));
    same(await page(10), [1000, true, 10], 'at 1,001');
    same(await page(2000), [1000, true, 1001], 'at 1,001, on one page');
  },

  'a name that no index can hold is kept with its decision': async ({ open }) => {
    const store = await open();
    const long = 'long '.repeat(1000);
    const record = sampleRecord('run', 'call', { by: { id: long }, toolName: long });
    await create(store, 'run', { records: [record] });
    same((await store.decisions({ limit: 10 })).decisions, [record], 'the list');
  },

  'decisions are forgotten with their run': async ({ open }) => {
    let time = 1000;
    const store = await open({ retentionMs: 1000, now: () => time });
    for (const runId of ['old', 'open', 'new']) {
      await decided(store, runId, { [runId]: { at: 1000 } }, { resourceId: 'r' });
    }
    await end(store, 'old', 1, 1000);
    time += 2 * 60 * 60 * 1000;
    await end(store, 'new', 1, time);
    same(await callsOf(store), ['new', 'open'], 'all');
    same(await callsOf(store, { resourceId: 'r' }), ['new', 'open'], 'of the resource');
  },

  'a limit or cursor of decisions that is none is refused as an invalid option': async ({ open }) => {
    const store = await open();
    await create(store, 'run', { records: ['a', 'b'].map((call) => sampleRecord('run', call)) });
    await create(store, 'run 2');
    const { cursor: ofRuns } = await store.list({ status: 'all', limit: 1 });
    const wrong: Query[] = [
      ...['', '!', 'WzFd', '[1,"run"]', ofRuns].map((cursor) => ({ cursor })),
      ...[0, -1, 1.5, Number.NaN].map((limit) => ({ limit })),
    ];
    for (const query of wrong) {
      await assert.rejects(
        store.decisions({ limit: 10, ...query }),
        (error) => isCountersignError(error, 'invalid-option'),
        JSON.stringify(query),
      );
    }
  },
});
