/** The checks of the pages of the list: their order, how they follow each other, and the total. */
import assert from 'node:assert/strict';
import { isCountersignError } from '../core/errors.ts';
import type { ListQuery, Store } from '../core/store.ts';
import { checksFrom } from './store-contract-check.ts';
import {
  createWith,
  end,
  listedIds,
  noStop,
  same,
  sampleBatch,
  sampleHead,
} from './store-contract-sample.ts';

/** Reads all pages by cursor. */
async function pagesOf(store: Store, query: Omit<ListQuery, 'cursor'>): Promise<string[][]> {
  const pages: string[][] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await store.list({ ...query, cursor });
    pages.push(page.runs.map((run) => run.runId));
    if (page.cursor === undefined) return pages;
    assert.ok(pages.length < 100, 'the last page has no cursor');
    cursor = page.cursor;
  }
}

export const pageChecks = checksFrom({
  'the newest stop comes first, then the lower id, by its bytes': async ({ open }) => {
    const store = await open();
    const runs = { '🙂': 2, b: 2, d: 1, a: 2, c: 3, ｚ: 2 };
    for (const [runId, suspendedSince] of Object.entries(runs))
      await createWith(store, runId, { suspendedSince });
    for (const status of ['suspended', 'all'] as const) {
      same(await listedIds(store, { status }), ['c', 'a', 'b', 'ｚ', '🙂', 'd'], status);
    }
    await store.append(sampleBatch('d', 1, { head: sampleHead({ suspendedSince: 4 }) }));
    same(
      await listedIds(store, { status: 'suspended' }),
      ['d', 'c', 'a', 'b', 'ｚ', '🙂'],
      'after a new stop',
    );
  },

  'a run keeps its place while it runs': async ({ open }) => {
    let time = 1000;
    const store = await open({ now: () => time });
    const running = { head: sampleHead(noStop) };
    await createWith(store, 'first', noStop);
    time = 2000;
    await createWith(store, 'second', noStop);
    time = 3000;
    await store.append(sampleBatch('first', 1, running));
    same(await listedIds(store, { status: 'running' }), ['second', 'first'], 'after an append');
    await store.append(sampleBatch('first', 2));
    time = 4000;
    await store.append(sampleBatch('first', 3, running));
    same(await listedIds(store, { status: 'running' }), ['first', 'second'], 'when it runs again');
  },

  'from and to are included, and count in the total': async ({ open }) => {
    const store = await open();
    for (const since of [1, 2, 3, 4, 5]) await createWith(store, `run ${since}`, { suspendedSince: since });
    for (const status of ['suspended', 'all'] as const) {
      same(
        await listedIds(store, { status, from: 2, to: 4 }),
        ['run 4', 'run 3', 'run 2'],
        `${status}, both`,
      );
      same(await listedIds(store, { status, from: 5 }), ['run 5'], `${status}, from`);
      same(await listedIds(store, { status, to: 1 }), ['run 1'], `${status}, to`);
      same(await listedIds(store, { status, from: 6 }), [], `${status}, none`);
      const page = await store.list({ status, from: 2, to: 4, limit: 1 });
      assert.equal(page.total, 3, `total of ${status}`);
      same(
        await pagesOf(store, { status, from: 2, to: 4, limit: 2 }),
        [['run 4', 'run 3'], ['run 2']],
        'pages',
      );
    }
  },

  'pages go by offset and by cursor, and meet all runs once': async ({ open }) => {
    const store = await open();
    const ids = Array.from({ length: 11 }, (_, index) => `run ${String(index).padStart(2, '0')}`);
    for (const [index, runId] of ids.entries()) {
      const since = -Math.floor(index / 5);
      const stop = index % 2 === 0 ? { suspendedSince: since } : { ...noStop, interruptedSince: since };
      await createWith(store, runId, stop);
    }
    const pages = [ids.slice(0, 4), ids.slice(4, 8), ids.slice(8)];
    same(await pagesOf(store, { status: 'all', limit: 4 }), pages, 'by cursor');
    for (const [index, page] of pages.entries()) {
      const query = { status: 'all', limit: 4, offset: index * 4 } as const;
      same(await listedIds(store, query), page, `by offset, page ${index}`);
    }
    same(await listedIds(store, { offset: 11 }), [], 'past the end');
    same((await store.list({ status: 'all', limit: 4, offset: 11 })).total, 11, 'the total past the end');
    const { cursor } = await store.list({ status: 'all', limit: 4 });
    same(await listedIds(store, { limit: 4, cursor, offset: 4 }), ids.slice(8), 'by cursor and offset');
    same((await store.list({ status: 'all', limit: 4, cursor })).total, 11, 'the total of a later page');
    same((await store.list({ status: 'all', limit: 11 })).cursor, undefined, 'no cursor when all are shown');
    const even = ids.filter((_, index) => index % 2 === 0);
    const suspended = await pagesOf(store, { status: 'suspended', limit: 2 });
    same(suspended, [even.slice(0, 2), even.slice(2, 4), even.slice(4)], 'one status by cursor');
  },

  'the oldest stop comes first where that is asked for, in exactly the other order': async ({ open }) => {
    const store = await open();
    for (const [index, runId] of ['c', 'a', 'b', '🙂', 'ｚ', 'd'].entries()) {
      const since = Math.floor(index / 3);
      const stop = index % 2 === 0 ? { suspendedSince: since } : { ...noStop, interruptedSince: since };
      await createWith(store, runId, { resourceId: 'r', ...stop });
    }
    const queries: Omit<ListQuery, 'limit'>[] = [
      { status: 'all' },
      { status: 'suspended' },
      { status: 'all', resourceId: 'r' },
      { status: 'all', from: 1 },
      { status: 'all', to: 0 },
    ];
    for (const query of queries) {
      const newest = await listedIds(store, query);
      const oldest = newest.toReversed();
      const what = JSON.stringify(query);
      same(await listedIds(store, { ...query, order: 'oldest' }), oldest, what);
      for (const limit of [1, 2, 4]) {
        const pages = await pagesOf(store, { ...query, order: 'oldest', limit });
        same(pages.flat(), oldest, `${what} by ${limit}`);
      }
      const rest = await listedIds(store, { ...query, order: 'oldest', offset: 1 });
      same(rest, oldest.slice(1), `${what} by offset`);
    }
  },

  'a cursor stays where it is when runs come and go': async ({ open }) => {
    const store = await open();
    for (const since of [1, 2, 3, 4]) await createWith(store, `run ${since}`, { suspendedSince: since });
    const { cursor } = await store.list({ status: 'suspended', limit: 2 });
    await createWith(store, 'newest', { suspendedSince: 9 });
    await end(store, 'run 3', 1);
    same(
      await listedIds(store, { status: 'suspended', limit: 2, cursor }),
      ['run 2', 'run 1'],
      'the next page',
    );
  },

  'the total is exact up to 1,000, and then says that there are more': async ({ open }) => {
    const store = await open();
    const ids = Array.from({ length: 1000 }, (_, index) => `run ${index}`);
    await Promise.all(ids.map((runId) => createWith(store, runId, { resourceId: 'r' })));
    const page = async (limit: number) => {
      const {
        total,
        totalIsAtLeast = false,
        runs,
      } = await store.list({ status: 'suspended', resourceId: 'r', limit });
      return [total, totalIsAtLeast, runs.length];
    };
    same(await page(10), [1000, false, 10], 'at 1,000');
    same(await page(2000), [1000, false, 1000], 'at 1,000, on one page');
    await createWith(store, 'one more', { resourceId: 'r' });
    same(await page(10), [1000, true, 10], 'at 1,001');
    same(await page(2000), [1000, true, 1001], 'at 1,001, on one page');
    same((await store.list({ status: 'all', limit: 1 })).totalIsAtLeast, true, 'of all');
  },

  'a limit, offset or cursor that is none is refused as an invalid option': async ({ open }) => {
    const store = await open();
    const wrong: Partial<ListQuery>[] = [
      ...['', '!', 'abc', 'WzFd', '[1,"run"]'].map((cursor) => ({ cursor })),
      ...[0, -1, 1.5, Number.NaN].map((limit) => ({ limit })),
      ...[-1, 0.5].map((offset) => ({ offset })),
    ];
    for (const query of wrong) {
      await assert.rejects(
        store.list({ status: 'all', limit: 10, ...query }),
        (error) => isCountersignError(error, 'invalid-option'),
        JSON.stringify(query),
      );
    }
  },
});
