import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newSchemaName, postgresUrl } from '../../test/support/postgres-schema.ts';
import {
  create,
  createThread,
  removal,
  saidIn,
  sampleEnd,
  sampleMessage,
  sampleOutcome,
} from '../testing/store-contract-sample.ts';
import { type PostgresPool, PostgresStore } from './postgres.ts';

let connectionString = '';
let admin: pg.Pool;
beforeAll(async () => {
  connectionString = await postgresUrl();
  admin = new pg.Pool({ connectionString, max: 2 });
}, 60_000);
afterAll(() => admin.end());

describe('another process is in the middle of a transaction', () => {
  /** @param meanwhile what waits for the transaction, @param statements what the other process has done in it. */
  async function during<Result>(
    schemaName: string,
    statements: readonly string[],
    meanwhile: () => Promise<Result>,
  ): Promise<Result> {
    const other = await admin.connect();
    await other.query('BEGIN');
    await other.query(`SET LOCAL search_path = "${schemaName}"`);
    for (const statement of statements) await other.query(statement);
    const result = meanwhile();
    const waits = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%${schemaName}%'`;
    while ((await admin.query(waits)).rows.length === 0);
    await other.query('COMMIT');
    other.release();
    return result;
  }

  const removed = [
    `DELETE FROM countersign_threads WHERE thread_id = 'thread'`,
    `DELETE FROM countersign_messages WHERE thread_id = 'thread'`,
  ];
  const said = [
    `UPDATE countersign_threads SET updated_at = 2000 WHERE thread_id = 'thread'`,
    `INSERT INTO countersign_messages VALUES ('thread', 'other', 1, 'run', 0, '"other"')`,
  ];

  async function opened(): Promise<{ store: PostgresStore; schemaName: string }> {
    const schemaName = newSchemaName();
    const store = new PostgresStore({ connectionString, schemaName });
    await createThread(store, 'thread', [sampleMessage('first', 0)]);
    await create(store, 'run');
    return { store, schemaName };
  }

  test('that removes the thread: a message waits for it and is dropped', async () => {
    const { store, schemaName } = await opened();
    const late = [sampleMessage('late', 2)];
    expect(await during(schemaName, removed, () => store.threads.save('thread', late, 3000))).toBe(false);
    expect(await saidIn(store, 'thread')).toEqual([]);
    await store.close();
  });

  test('that removes the thread: what a run leaves in it waits and is dropped, and the run ends', async () => {
    const { store, schemaName } = await opened();
    const batch = removal('run', [sampleMessage('late', 2)]);
    const remove = () => store.remove(batch, sampleOutcome, sampleEnd);
    expect(await during(schemaName, removed, remove)).toEqual({ ok: true, version: 2 });
    expect(await saidIn(store, 'thread')).toEqual([]);
    await store.close();
  });

  test('that speaks in the thread: its removal waits for it and takes the message along', async () => {
    const { store, schemaName } = await opened();
    expect(await during(schemaName, said, () => store.threads.remove('thread'))).toBe(true);
    expect(await saidIn(store, 'thread')).toEqual([]);
    await store.close();
  });

  test('that speaks in the thread: who speaks in it, too, waits, and the time goes on from there', async () => {
    const { store, schemaName } = await opened();
    const late = [sampleMessage('late', 2)];
    expect(await during(schemaName, said, () => store.threads.save('thread', late, 1500))).toBe(true);
    expect(await saidIn(store, 'thread')).toEqual(['first', 'other', 'late']);
    expect(await store.threads.get('thread')).toMatchObject({ updatedAt: 2000 });
    await store.close();
  });
});

test('runs that speak in the same threads in another order never wait for each other in a circle', async () => {
  const schemaName = newSchemaName();
  const deadlocks: unknown[] = [];
  const pools: pg.Pool[] = [];
  /** A pool that notes deadlocks. */
  const noting = (): PostgresPool => {
    const pool = new pg.Pool({ connectionString, max: 2 });
    pools.push(pool);
    const connect = async () => {
      const client = await pool.connect();
      const query = (statement: pg.QueryConfig) =>
        client.query(statement).catch((error) => {
          if (error.code === '40P01') deadlocks.push(error);
          throw error;
        });
      const [on, off] = [client.on.bind(client), client.off.bind(client)];
      return { query, on, off, release: client.release.bind(client) };
    };
    const [on, off] = [pool.on.bind(pool), pool.off.bind(pool)];
    return { connect, on, off, end: () => pool.end() } as unknown as PostgresPool;
  };
  const stores = [1, 2].map(() => new PostgresStore({ pool: noting(), schemaName }));
  const [store, other] = stores as [PostgresStore, PostgresStore];
  for (const threadId of ['x', 'y']) await createThread(store, threadId);
  for (let round = 0; round < 20; round++) {
    const ids = ['a', 'b', 'c', 'd'].map((name) => `${name} ${round}`);
    await Promise.all(ids.map((runId) => create(store, runId)));
    const threads = ['x', 'y', 'y', 'x'];
    await Promise.all([
      // The first write of each does not wait; the others share a transaction.
      ...stores.map((one) => one.threads.save('none', [], 0)),
      ...ids.map((runId, index) => {
        const message = sampleMessage(runId, round, { threadId: threads[index] as string });
        return (index < 2 ? store : other).remove(removal(runId, [message]), sampleOutcome, sampleEnd);
      }),
    ]);
  }
  expect(deadlocks).toEqual([]);
  expect(await saidIn(store, 'x')).toHaveLength(40);
  await Promise.all(stores.map((one) => one.close()));
  await Promise.all(pools.map((pool) => pool.end()));
});
