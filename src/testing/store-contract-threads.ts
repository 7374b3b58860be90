/** The checks of threads: which are kept, for whom they are listed, and what goes with them. */
import assert from 'node:assert/strict';
import { isCountersignError } from '../core/errors.ts';
import type { Store, ThreadRow, ThreadStore } from '../core/store.ts';
import { checksFrom, type StoreCheck } from './store-contract-check.ts';
import { createThread, saidIn, same, sampleMessage, sampleThread } from './store-contract-sample.ts';

type ThreadQuery = Parameters<ThreadStore['list']>[0];

async function pageOf(store: Store, query: Partial<ThreadQuery> = {}): Promise<string[]> {
  const { threads } = await store.threads.list({ resourceId: 'resource', limit: 100, ...query });
  return threads.map(({ threadId }) => threadId);
}

/** Reads all pages by cursor. */
async function pagesOf(store: Store, limit: number): Promise<string[][]> {
  const pages: string[][] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await store.threads.list({ resourceId: 'resource', limit, cursor });
    pages.push(page.threads.map(({ threadId }) => threadId));
    if (page.cursor === undefined) return pages;
    assert.ok(pages.length < 100, 'the last page has no cursor');
    cursor = page.cursor;
  }
}

/** Threads that were last spoken in at the given times. */
async function createAt(store: Store, threads: Readonly<Record<string, number>>): Promise<void> {
  for (const [threadId, updatedAt] of Object.entries(threads)) {
    await store.threads.create(sampleThread(threadId, { updatedAt }));
  }
}

const always = checksFrom({
  'a thread comes back as it was made, with its title and metadata or without': async ({ open }) => {
    const store = await open();
    const metadata = { nested: { list: [1, 'two', null, true] }, nul: '\u0000', lone: '\ud800', large: 1e21 };
    const whole = { title: 'Refunds – "\u0000" ✔︎ \ud800', metadata, createdAt: 1500, updatedAt: 2500 };
    const threads: ThreadRow[] = [
      sampleThread('whole', whole),
      sampleThread('bare'),
      sampleThread('empty', { title: '', metadata: {} }),
    ];
    for (const thread of threads) same(await store.threads.create(thread), thread, 'the answer of create');
    for (const thread of threads) same(await store.threads.get(thread.threadId), thread, 'get');
    const listed = await store.threads.list({ resourceId: 'resource', limit: 10 });
    same(listed, { threads: [threads[0], threads[1], threads[2]], total: 3 }, 'the list');
  },

  'there is no thread that nobody made': async ({ open }) => {
    const store = await open();
    await createThread(store, 'thread');
    for (const threadId of ['threa', 'Thread', '']) {
      assert.equal(await store.threads.get(threadId), undefined, threadId);
      same(await saidIn(store, threadId), [], `the messages of "${threadId}"`);
    }
  },

  'create of an id that is taken gives what is kept, whosever it is, and changes nothing': async ({
    open,
  }) => {
    const store = await open();
    const first = sampleThread('thread', { resourceId: 'ann', title: 'Ann’s', metadata: { of: 'ann' } });
    await store.threads.create(first);
    await store.threads.save('thread', [sampleMessage('hello', 1)], 1500);
    const kept = { ...first, updatedAt: 1500 };
    for (const resourceId of ['ann', 'ben']) {
      const other = sampleThread('thread', {
        resourceId,
        title: 'Another',
        createdAt: 7000,
        updatedAt: 7000,
      });
      same(await store.threads.create(other), kept, `the answer to ${resourceId}`);
    }
    same(await store.threads.get('thread'), kept, 'the thread');
    same(await saidIn(store, 'thread'), ['hello'], 'its messages');
    same(await pageOf(store, { resourceId: 'ben' }), [], 'the list of the other');
  },

  'of creates of one thread at once one wins, and all are told of it': async ({ open, second }) => {
    const store = await open();
    const stores = [store, await second(store), store];
    for (const threadId of Array.from({ length: 20 }, (_, round) => `thread ${round}`)) {
      const answers = await Promise.all(
        stores.map((one, index) =>
          one.threads.create(sampleThread(threadId, { resourceId: `${index}`, title: `${index}` })),
        ),
      );
      const kept = await store.threads.get(threadId);
      assert.ok(kept?.title === kept?.resourceId, 'they never merge');
      for (const answer of answers) same(answer, kept, 'the answer');
    }
  },

  'thread ids and resource ids that look alike are different': async ({ open }) => {
    const store = await open();
    const ids = ['a', 'A', 'a ', ' a', 'a%', 'a_', 'a~b', 'ä', 'a\u0308', "'; --", '"', '🙂', '1', '01', ''];
    for (const id of ids) {
      await store.threads.create(sampleThread(id, { resourceId: id }));
      await store.threads.save(
        id,
        [sampleMessage('hello', 1, { threadId: id, data: JSON.stringify(id) })],
        1,
      );
    }
    for (const id of ids) {
      same(await store.threads.get(id), sampleThread(id, { resourceId: id }), `"${id}"`);
      same(await pageOf(store, { resourceId: id }), [id], `the list of "${id}"`);
      same(await saidIn(store, id), [id], `the messages of "${id}"`);
    }
    await store.threads.remove('a');
    for (const id of ids) same(await saidIn(store, id), id === 'a' ? [] : [id], `"${id}", after a removal`);
  },

  'a list of threads shows those last spoken in first, then the lower id, by its bytes': async ({ open }) => {
    const store = await open();
    await createAt(store, { '🙂': 2, b: 2, d: 1, a: 2, c: 3, ｚ: 2 });
    same(await pageOf(store), ['c', 'a', 'b', 'ｚ', '🙂', 'd'], 'as they were made');
    await store.threads.save('d', [], 4);
    same(await pageOf(store), ['d', 'c', 'a', 'b', 'ｚ', '🙂'], 'after something was said');
    await store.threads.save('b', [], 1);
    same(await pageOf(store), ['d', 'c', 'a', 'b', 'ｚ', '🙂'], 'after something that was said before');
  },

  'a list of threads never shows those of others': async ({ open }) => {
    const store = await open();
    for (const resourceId of ['ann', 'ben', 'Ann', 'ann ']) {
      for (const number of [1, 2, 3]) {
        await store.threads.create(
          sampleThread(`${resourceId}/${number}`, { resourceId, updatedAt: -number }),
        );
      }
    }
    const first = await store.threads.list({ resourceId: 'ann', limit: 2 });
    same(first.total, 3, 'the total');
    same(await pageOf(store, { resourceId: 'ann' }), ['ann/1', 'ann/2', 'ann/3'], 'all of one');
    same(await pageOf(store, { resourceId: 'ann', cursor: first.cursor }), ['ann/3'], 'the next page');
    same(await pageOf(store, { resourceId: 'ben', cursor: first.cursor }), ['ben/2', 'ben/3'], 'at a cursor');
    for (const resourceId of ['nobody', '', 'an', 'a%'])
      same(await pageOf(store, { resourceId }), [], resourceId);
  },

  'pages of threads go by offset and by cursor, and meet all once': async ({ open }) => {
    const store = await open();
    const ids = Array.from({ length: 11 }, (_, index) => `thread ${String(index).padStart(2, '0')}`);
    await createAt(store, Object.fromEntries(ids.map((id, index) => [id, -Math.floor(index / 5)])));
    const pages = [ids.slice(0, 4), ids.slice(4, 8), ids.slice(8)];
    same(await pagesOf(store, 4), pages, 'by cursor');
    for (const [index, page] of pages.entries()) {
      same(await pageOf(store, { limit: 4, offset: index * 4 }), page, `by offset, page ${index}`);
    }
    const query = { resourceId: 'resource', limit: 4 };
    same(await pageOf(store, { offset: 11 }), [], 'past the end');
    same((await store.threads.list({ ...query, offset: 11 })).total, 11, 'the total past the end');
    const { cursor } = await store.threads.list(query);
    same(await pageOf(store, { limit: 4, cursor, offset: 4 }), ids.slice(8), 'by cursor and offset');
    same((await store.threads.list({ ...query, cursor })).total, 11, 'the total of a later page');
    same(
      (await store.threads.list({ ...query, limit: 11 })).cursor,
      undefined,
      'no cursor when all are shown',
    );
  },

  'a cursor of threads stays where it is when threads come, go and are spoken in': async ({ open }) => {
    const store = await open();
    await createAt(store, { 'thread 1': 1, 'thread 2': 2, 'thread 3': 3, 'thread 4': 4, 'thread 5': 5 });
    const { cursor } = await store.threads.list({ resourceId: 'resource', limit: 2 });
    await createAt(store, { newest: 9 });
    await store.threads.remove('thread 4');
    await store.threads.save('thread 5', [], 8);
    await store.threads.save('thread 2', [], 7);
    same(await pageOf(store, { cursor }), ['thread 3', 'thread 1'], 'the next page');
  },

  'the total of threads is exact up to 1,000, and then says that there are more': async ({ open }) => {
    const store = await open();
    const ids = Array.from({ length: 1000 }, (_, index) => `thread ${index}`);
    await Promise.all(ids.map((id) => store.threads.create(sampleThread(id))));
    const page = async (limit: number) => {
      const {
        total,
        totalIsAtLeast = false,
        threads,
      } = await store.threads.list({ resourceId: 'resource', limit });
      return [total, totalIsAtLeast, threads.length];
    };
    same(await page(10), [1000, false, 10], 'at 1,000');
    same(await page(2000), [1000, false, 1000], 'at 1,000, on one page');
    await store.threads.create(sampleThread('one more'));
    same(await page(10), [1000, true, 10], 'at 1,001');
    same(await page(2000), [1000, true, 1001], 'at 1,001, on one page');
  },

  'a limit, offset or cursor of threads that is none is refused as an invalid option': async ({ open }) => {
    const store = await open();
    await createThread(store, 'thread');
    const wrong: Partial<ThreadQuery>[] = [
      ...['', '!', 'abc', 'WzFd', '[1,"thread"]'].map((cursor) => ({ cursor })),
      ...[0, -1, 1.5, Number.NaN].map((limit) => ({ limit })),
      ...[-1, 0.5].map((offset) => ({ offset })),
    ];
    for (const query of wrong) {
      await assert.rejects(
        store.threads.list({ resourceId: 'resource', limit: 10, ...query }),
        (error) => isCountersignError(error, 'invalid-option'),
        JSON.stringify(query),
      );
    }
  },

  'a thread is removed with its messages, and only with its own': async ({ open }) => {
    const store = await open();
    for (const threadId of ['thread', 'other'])
      await createThread(store, threadId, [sampleMessage('hello', 1)]);
    same(await store.threads.remove('thread'), true, 'the answer');
    assert.equal(await store.threads.get('thread'), undefined);
    same(await saidIn(store, 'thread'), [], 'its messages');
    same(await pageOf(store), ['other'], 'the list');
    same(await saidIn(store, 'other'), ['hello'], 'the messages of the other');
    await createThread(store, 'thread');
    same(await saidIn(store, 'thread'), [], 'a new thread of that id has no old messages');
  },

  'remove says false when there is no thread': async ({ open }) => {
    const store = await open();
    await createThread(store, 'thread');
    same(await store.threads.remove('other'), false, 'one that never was');
    same(await store.threads.remove('thread'), true, 'one that is there');
    same(await store.threads.remove('thread'), false, 'one that was removed');
  },

  'of a thread that is given nothing is kept or changed': async ({ open }) => {
    const store = await open();
    const given = sampleThread('thread', { title: 'Before', metadata: { list: [1] } });
    const text = JSON.stringify(given);
    const answer = await store.threads.create(Object.freeze(given));
    const listed = (await store.threads.list({ resourceId: 'resource', limit: 1 })).threads[0];
    for (const row of [given, answer, listed, await store.threads.get('thread')]) {
      (row?.metadata?.list as number[] | undefined)?.push(2);
    }
    same(await store.threads.get('thread'), JSON.parse(text), 'the thread');
  },
});

const reopening: StoreCheck = {
  sentence: 'a database that was closed and opened again holds its threads and their messages',
  needsSecond: true,
  async run({ open, second }) {
    const store = await open();
    await store.threads.create(sampleThread('thread', { title: 'Refunds', metadata: { of: 'ann' } }));
    await store.threads.save('thread', [sampleMessage('hello', 1), sampleMessage('well', 2)], 2000);
    await createThread(store, 'removed', [sampleMessage('hello', 1)]);
    await store.threads.remove('removed');
    const everything = async (of: Store): Promise<unknown> => ({
      listed: await of.threads.list({ resourceId: 'resource', limit: 10 }),
      messages: await of.threads.messages({ threadId: 'thread' }),
      removed: await of.threads.messages({ threadId: 'removed' }),
    });
    const before = await everything(store);
    await store.close();
    same(await everything(await second(store)), before, 'everything');
  },
};

export const threadChecks = [...always, reopening];
