import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createClient } from '@libsql/client';
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest';
import type { ListQuery } from '../core/store.ts';
import { type StoreContract, storeContract } from '../testing/store-contract.ts';
import { create, sampleBatch } from '../testing/store-contract-sample.ts';
import { LibSQLStore } from './libsql.ts';
import { listRuns } from './sql-list.ts';
import { listThreads, readMessages } from './sql-threads.ts';
import type { Work } from './sql-work.ts';
import { abandonedRuns, claimedRuns } from './sql-workers.ts';

const directory = mkdtempSync(join(tmpdir(), 'countersign-libsql-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));
afterEach(() => {
  vi.doUnmock('@libsql/client');
});

let files = 0;
const newUrl = (): string => `file:${join(directory, `${files++}.db`)}`;

function onFiles(durability: 'standard' | 'strict'): Pick<StoreContract, 'open' | 'openAgain'> {
  const urls = new Map<unknown, string>();
  const opened = (url: string, options: object): LibSQLStore => {
    const store = new LibSQLStore({ url, durability, ...options });
    urls.set(store, url);
    return store;
  };
  return {
    open: (options) => opened(newUrl(), options),
    openAgain: (store) => opened(urls.get(store) as string, {}),
  };
}

storeContract({ name: 'LibSQLStore on a file', ...onFiles('standard') }, { describe, test });
storeContract({ name: 'LibSQLStore, strict', ...onFiles('strict') }, { describe, test });
storeContract(
  { name: 'LibSQLStore in memory', open: (options) => new LibSQLStore({ url: ':memory:', ...options }) },
  { describe, test },
);

describe('opening', () => {
  test('it opens when it is used, and says what it is', async () => {
    const stores = [newUrl(), ':memory:', 'file::memory:', 'libsql://127.0.0.1:1?tls=0'].map(
      (url) => new LibSQLStore({ url }),
    );
    expect(stores.map(({ persistent }) => persistent)).toEqual([true, false, false, true]);
    expect(stores[0]?.id).toBe('libsql');
    await expect(stores[3]?.load('run', 0)).rejects.toThrow();
    await Promise.all(stores.map((store) => store.close()));
  });

  test.each([
    [{ url: '' }, /"url"/],
    [{ url: 'runs.db' }, /"url"/],
    [{ url: undefined as never }, /"url"/],
    [{ url: ':memory:', durability: 'none' as never }, /"durability"/],
    [{ url: ':memory:', retentionMs: Number.NaN }, /"retentionMs"/],
  ])('%o is refused', (options, message) => {
    const open = () => new LibSQLStore(options);
    expect(open).toThrow(expect.objectContaining({ code: 'invalid-option' }));
    expect(open).toThrow(message);
  });

  test.each([
    ['cannot be opened', `file:${join(directory, 'missing', 'runs.db')}`],
    ['is no database', `file:${fileURLToPath(import.meta.url)}`],
  ])('a file that %s says what is expected', async (_, url) => {
    const store = new LibSQLStore({ url });
    const failed = store.load('run', 0);
    await expect(failed).rejects.toMatchObject({ code: 'store-failed' });
    await expect(failed).rejects.toThrow(/in a directory that exists/);
    await store.close();
  });

  test('many stores that open one new file at once make it once', async () => {
    const url = newUrl();
    const stores = Array.from({ length: 4 }, () => new LibSQLStore({ url }));
    const answers = await Promise.all(stores.map((store) => store.create(sampleBatch('run', 0))));
    expect(answers.filter(({ ok }) => ok)).toHaveLength(1);
    await Promise.all(stores.map((store) => store.close()));
  });

  test('a database of a newer release is refused and left as it is', async () => {
    const url = newUrl();
    const first = new LibSQLStore({ url });
    await create(first, 'run');
    await first.close();
    const client = createClient({ url });
    await client.execute('INSERT INTO countersign_migrations (number) VALUES (99)');
    const store = new LibSQLStore({ url });
    await expect(store.load('run', 0)).rejects.toThrow(
      /newer release of countersign.*version 99.*Update countersign/,
    );
    await client.execute('DELETE FROM countersign_migrations WHERE number = 99');
    expect(await store.load('run', 0)).toMatchObject({ kind: 'open' });
    client.close();
    await store.close();
  });

  test('without @libsql/client it says what to install', async () => {
    vi.doMock('@libsql/client', () => {
      throw new Error('Cannot find package');
    });
    const missing = new LibSQLStore({ url: ':memory:' }).load('run', 0);
    await expect(missing).rejects.toMatchObject({ code: 'dependency-missing' });
    await expect(missing).rejects.toThrow(/npm install @libsql\/client/);
  });
});

test('closing commits what was given before', async () => {
  const url = newUrl();
  const store = new LibSQLStore({ url });
  const writes = ['a', 'b', 'c'].map((runId) => store.create(sampleBatch(runId, 0)));
  await store.close();
  expect(await Promise.all(writes)).toEqual(Array(3).fill({ ok: true, version: 1 }));
  await expect(store.load('a', 0)).rejects.toThrow(/is closed/);
  const again = new LibSQLStore({ url });
  expect((await again.list({ status: 'all', limit: 10 })).total).toBe(3);
  await again.close();
});

test('a write that is no text does not fail those it came with', async () => {
  const store = new LibSQLStore({ url: newUrl() });
  const wrong = Number.NaN;
  const answers = await Promise.allSettled(
    [1, 2, wrong, 4].map((stop, index) =>
      store.create(sampleBatch(`run ${index}`, 0, { head: headAt(stop) })),
    ),
  );
  expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
  await store.close();
});

function headAt(suspendedSince: number) {
  return { agentId: 'agent', head: 'waiting', workers: [], suspendedSince } as const;
}

describe('the plan', () => {
  async function plansOf(work: Work<unknown>): Promise<string[]> {
    const url = newUrl();
    const store = new LibSQLStore({ url });
    await create(store, 'run');
    await store.close();
    const client = createClient({ url });
    const plans: string[] = [];
    const row = {
      ...{ run_id: 'a', listed_since: 1, total: 5, head: 'runnable', workers: '[]', worker_id: 'w' },
      ...{ title: null, metadata: null },
    };
    for (let step = work.next([]); !step.done; step = work.next([row, { ...row, run_id: 'b' }])) {
      const { sql, params } = step.value;
      const { rows } = await client.execute({ sql: `EXPLAIN QUERY PLAN ${sql}`, args: [...params] });
      plans.push(rows.map(({ detail }) => detail).join('\n'));
    }
    client.close();
    return plans;
  }

  const queries: Partial<ListQuery>[] = [
    {},
    { agentId: 'a' },
    { threadId: 't' },
    { status: 'all', resourceId: 'r' },
  ];
  test.each(queries)('of the list of %o takes an index', async (query) => {
    for (const plan of await plansOf(listRuns({ status: 'suspended', limit: 1, ...query }))) {
      expect(plan).toMatch(
        /SEARCH countersign_heads USING (COVERING )?INDEX countersign_heads_(suspended_since|thread_id)/,
      );
      expect(plan).not.toMatch(/SCAN (countersign_|(c|asked|paused)\b)/);
    }
  });

  test('of threads and of their messages takes their index', async () => {
    const [page, total] = await plansOf(listThreads({ resourceId: 'r', limit: 1 }));
    for (const plan of [page, total])
      expect(plan).toMatch(/INDEX countersign_threads_by_resource \(resource_id=/);
    const [messages] = await plansOf(readMessages({ threadId: 't', last: 5 }));
    expect(messages).toMatch(/INDEX countersign_messages_by_place \(thread_id=/);
    for (const plan of [page, messages]) expect(plan).not.toMatch(/SCAN countersign_|TEMP B-TREE/);
  });

  test('of the runs that move takes their index', async () => {
    const moving = [
      ...(await plansOf(abandonedRuns(1000, 10, undefined, '0'))).slice(1),
      ...(await plansOf(claimedRuns('a'))),
    ];
    expect(moving).toHaveLength(2);
    for (const plan of moving) expect(plan).toMatch(/countersign_heads USING INDEX countersign_heads_moving/);
  });
});
