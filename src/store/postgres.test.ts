import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, expectTypeOf, test, vi } from 'vitest';
import { startPostgres } from '../../test/support/postgres.ts';
import { newSchemaName, postgresUrl } from '../../test/support/postgres-schema.ts';
import { type StoreContract, storeContract } from '../testing/store-contract.ts';
import { create, end, sampleBatch, sampleOutcome, sampleRecord } from '../testing/store-contract-sample.ts';
import { type PostgresPool, PostgresStore } from './postgres.ts';

let connectionString = '';
let admin: pg.Pool;
beforeAll(async () => {
  connectionString = await postgresUrl();
  admin = new pg.Pool({ connectionString, max: 2 });
}, 60_000);
afterAll(() => admin.end());
afterEach(() => {
  vi.doUnmock('pg');
});

function inSchemas(options: object, pool?: () => PostgresPool): Pick<StoreContract, 'open' | 'openAgain'> {
  const schemas = new Map<unknown, string>();
  const opened = (schemaName: string, more: object): PostgresStore => {
    const where = pool ? { pool: pool() } : { connectionString, max: 4 };
    const store = new PostgresStore({ ...where, schemaName, ...options, ...more });
    schemas.set(store, schemaName);
    return store;
  };
  return {
    open: (more) => opened(newSchemaName(), more),
    openAgain: (store) => opened(schemas.get(store) as string, {}),
  };
}

storeContract({ name: 'PostgresStore', ...inSchemas({}) }, { describe, test });

describe('on a pool of the user, which waits for each answer,', () => {
  const pools = new Map<string, pg.Pool>();
  afterAll(() => Promise.all([...pools.values()].map((pool) => pool.end())));
  const pool = (): pg.Pool => {
    // Each of many stores listens for its errors.
    const known = pools.get('one') ?? new pg.Pool({ connectionString, max: 3 }).setMaxListeners(0);
    pools.set('one', known);
    return known;
  };
  storeContract(
    { name: 'PostgresStore, strict', ...inSchemas({ durability: 'strict' }, pool) },
    { describe, test },
  );
});

describe('opening', () => {
  test('it connects when it is used, and says what it is', async () => {
    const store = new PostgresStore({ connectionString: 'postgres://127.0.0.1:1/none', id: 'mine' });
    expect([store.id, store.persistent]).toEqual(['mine', true]);
    await expect(store.load('run', 0)).rejects.toThrow(/ECONNREFUSED/);
    await store.close();
    await new PostgresStore({ connectionString: 'postgres://127.0.0.1:1/none' }).close();
  });

  test.each([
    [{}, /either "connectionString" or "pool"/],
    [{ connectionString: 'postgres://x', pool: {} as PostgresPool }, /either/],
    [{ connectionString: 'postgres://x', schemaName: 'a"b' }, /"schemaName"/],
    [{ connectionString: 'postgres://x', schemaName: 'x'.repeat(64) }, /"schemaName"/],
    [{ connectionString: 'postgres://x', durability: 'none' as never }, /"durability"/],
    [{ connectionString: 'postgres://x', retentionMs: -1 }, /"retentionMs"/],
  ])('%o is refused', (options, message) => {
    const open = () => new PostgresStore(options);
    expect(open).toThrow(expect.objectContaining({ code: 'invalid-option' }));
    expect(open).toThrow(message);
  });

  test('many stores that open one new schema at once make it once', async () => {
    const schemaName = newSchemaName();
    const stores = Array.from(
      { length: 5 },
      () => new PostgresStore({ connectionString, schemaName, max: 1 }),
    );
    const answers = await Promise.all(stores.map((store) => store.create(sampleBatch('run', 0))));
    expect(answers.filter(({ ok }) => ok)).toHaveLength(1);
    await Promise.all(stores.map((store) => store.close()));
    const { rows } = await admin.query(
      `SELECT number FROM "${schemaName}".countersign_migrations ORDER BY 1`,
    );
    expect(rows.map(({ number }) => Number(number))).toEqual(rows.map((_, index) => index + 1));
  });

  test('tables of a newer release are refused and left as they are', async () => {
    const schemaName = newSchemaName();
    const store = new PostgresStore({ connectionString, schemaName });
    await create(store, 'run');
    await admin.query(`INSERT INTO "${schemaName}".countersign_migrations VALUES (99)`);
    const again = new PostgresStore({ connectionString, schemaName });
    const newer = again.load('run', 0);
    await expect(newer).rejects.toMatchObject({ code: 'store-failed' });
    await expect(newer).rejects.toThrow(/newer release of countersign.*version 99.*Update countersign/);
    await admin.query(`DELETE FROM "${schemaName}".countersign_migrations WHERE number = 99`);
    expect(await again.load('run', 0)).toMatchObject({ kind: 'open' });
    await Promise.all([store.close(), again.close()]);
  });

  test('without pg it says what to install', async () => {
    vi.doMock('pg', () => {
      throw new Error('Cannot find package');
    });
    const store = new PostgresStore({ connectionString });
    const missing = store.load('run', 0);
    await expect(missing).rejects.toMatchObject({ code: 'dependency-missing' });
    await expect(missing).rejects.toThrow(/npm install pg/);
  });

  test('a pool of the user may be any of pg, and stays open', async () => {
    expectTypeOf<pg.Pool>().toExtend<PostgresPool>();
    const schemaName = newSchemaName();
    const store = new PostgresStore({ pool: admin, schemaName });
    await create(store, 'run');
    await store.close();
    await expect(store.load('run', 0)).rejects.toThrow(/is closed/);
    expect((await admin.query(`SELECT run_id FROM "${schemaName}".countersign_heads`)).rows).toHaveLength(1);
    expect(admin.listenerCount('error')).toBe(0);
  });
});

describe('a write', () => {
  /** A pool that logs what is sent, and may cut the connection. */
  function spied(cut: (text: string) => 'before' | 'after' | undefined = () => undefined) {
    const pool = new pg.Pool({ connectionString, max: 2, pipeline: true });
    const sent: string[] = [];
    const connect = async () => {
      const client = await pool.connect();
      const stream = (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream;
      const query = async (statement: { text: string; values?: unknown[] }) => {
        sent.push(statement.text);
        const when = cut(statement.text);
        if (when === 'before') stream.destroy();
        const answer = await client.query(statement);
        if (when !== 'after') return answer;
        stream.destroy();
        throw new Error('Connection terminated unexpectedly');
      };
      return {
        query,
        pipeline: true,
        on: client.on.bind(client),
        off: client.off.bind(client),
        release: client.release.bind(client),
      };
    };
    const spy = { connect, on: pool.on.bind(pool), off: pool.off.bind(pool), end: () => pool.end() };
    return { pool: spy as PostgresPool, sent };
  }

  test.each([
    ['standard', 'full'],
    ['standard', 'relaxed'],
    ['strict', 'relaxed'],
  ] as const)('in a store that is %s, one that is %s, is committed in full', async (durability, level) => {
    const { pool, sent } = spied();
    const options = { durability, retentionMs: Number.POSITIVE_INFINITY };
    const store = new PostgresStore({ pool, schemaName: newSchemaName(), ...options });
    await create(store, 'run');
    sent.length = 0;
    await store.append(sampleBatch('run', 1, { durability: level }));
    expect(sent.map((text) => text.trim().split(/[\s(]/)[0])).toEqual(['BEGIN', 'WITH', 'COMMIT', 'SELECT']);
    expect(sent.join()).not.toContain('synchronous_commit');
    await store.close();
    await pool.end();
  });

  test('that is no text for PostgreSQL does not fail those it came with', async () => {
    const store = new PostgresStore({ connectionString, schemaName: newSchemaName() });
    const ids = ['a', 'b', 'nul\u0000', 'c', 'd'];
    const answers = await Promise.allSettled(ids.map((runId) => store.create(sampleBatch(runId, 0))));
    expect(answers.map(({ status }) => status === 'fulfilled')).toEqual([true, true, false, true, true]);
    await store.close();
  });

  test('groups of two processes that meet in other orders never lock each other out', async () => {
    const schemaName = newSchemaName();
    const stores = [1, 2].map(() => new PostgresStore({ connectionString, schemaName, max: 2 }));
    const ids = Array.from({ length: 30 }, (_, index) => `run ${index}`);
    await Promise.all(ids.map((runId) => (stores[0] as PostgresStore).create(sampleBatch(runId, 0))));
    for (let version = 1; version <= 5; version++) {
      const answers = await Promise.all(
        stores.flatMap((store, turn) =>
          (turn === 0 ? ids : ids.toReversed()).map((runId) => store.append(sampleBatch(runId, version))),
        ),
      );
      expect(answers.filter(({ ok }) => ok)).toHaveLength(ids.length);
    }
    await Promise.all(stores.map((store) => store.close()));
  });

  const outcome = sampleOutcome;
  const moments = [
    ['before BEGIN', /^BEGIN/, 'before', 0],
    ['before what it writes', /^WITH|^INSERT/, 'before', 0],
    ['after what it writes', /^WITH/, 'after', 0],
    ['before COMMIT', /^COMMIT/, 'before', 0],
    ['before the answer to COMMIT', /^COMMIT/, 'after', 0],
  ] as const;

  test.each(moments)(
    'whose connection is lost %s is rejected, and its repetition is stored once',
    async (_, text, when) => {
      let isArmed = false;
      const { pool } = spied((sent) => {
        if (!isArmed || !text.test(sent.trim())) return undefined;
        isArmed = false;
        return when;
      });
      const schemaName = newSchemaName();
      const store = new PostgresStore({ pool, schemaName });
      await store.load('run', 0);
      const writes = [
        [sampleBatch('run', 0, { records: [sampleRecord('run', 'a')] }), 'create'],
        [sampleBatch('run', 1, { records: [sampleRecord('run', 'b')] }), 'append'],
        [sampleBatch('run', 2), 'remove'],
      ] as const;
      for (const [batch, kind] of writes) {
        const write = () =>
          kind === 'remove' ? store.remove(batch, outcome, Date.now()) : store[kind](batch);
        isArmed = true;
        await expect(write(), kind).rejects.toThrow();
        expect(isArmed).toBe(false);
        expect(await write(), kind).toEqual({ ok: true, version: batch.expectedVersion + 1 });
        expect(await write(), `${kind}, again`).toEqual({ ok: true, version: batch.expectedVersion + 1 });
        if (kind === 'remove') continue;
        const loaded = await store.load('run', 0);
        expect(loaded).toMatchObject({ kind: 'open', version: batch.expectedVersion + 1 });
      }
      expect(await store.load('run', 0)).toMatchObject({ kind: 'ended', records: [{}, {}] });
      await store.close();
      await pool.end();
    },
  );
});

test('a repetition that comes while the first one still commits is recognised', async () => {
  const schemaName = newSchemaName();
  const store = new PostgresStore({ connectionString, schemaName });
  await create(store, 'run');
  const batch = sampleBatch('run', 1);
  // The first one, as the server still has it when its client is gone.
  const first = await admin.connect();
  await first.query('BEGIN');
  await first.query(`UPDATE "${schemaName}".countersign_heads SET version = 2 WHERE run_id = 'run'`);
  await first.query(`INSERT INTO "${schemaName}".countersign_events VALUES ('run', 2, $1, 'event')`, [
    batch.id,
  ]);
  const repeated = store.append(batch);
  const waits = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%${schemaName}%'`;
  while ((await admin.query(waits)).rows.length === 0);
  await first.query('COMMIT');
  first.release();
  expect(await repeated).toEqual({ ok: true, version: 2 });
  await store.close();
});

test('a server that is gone rejects, and when it is back everything goes on', async () => {
  const server = await startPostgres();
  try {
    const stores = [1, 2].map(() => new PostgresStore({ connectionString: server.url, max: 2 }));
    const [store, other] = stores as [PostgresStore, PostgresStore];
    // PostgreSQL itself may lose what is relaxed, when it crashes.
    await create(store, 'run', { durability: 'full' });
    await other.changed('run', 10_000);
    const batch = sampleBatch('run', 1);
    for (const how of ['crash', 'stop'] as const) {
      await server.halt(how);
      await expect(store.append(batch)).rejects.toThrow();
      await expect(other.load('run', 0)).rejects.toThrow();
      await other.changed('run', 5);
      await server.resume();
    }
    expect(await store.append(batch)).toEqual({ ok: true, version: 2 });
    expect(await other.load('run', 0)).toMatchObject({ version: 2 });
    await Promise.all(stores.map((one) => one.close()));
  } finally {
    await server.remove();
  }
}, 60_000);

test('two sweeps at once forget an ended run with its records', async () => {
  const schemaName = newSchemaName();
  const time = Date.now();
  const store = new PostgresStore({ connectionString, schemaName, retentionMs: Number.POSITIVE_INFINITY });
  await Promise.all(
    Array.from({ length: 20 }, async (_, index) => {
      await create(store, `run ${index}`, { records: [sampleRecord(`run ${index}`, 'call')] });
      await end(store, `run ${index}`, 1, time - 2000);
    }),
  );
  const sweepers = [1, 2, 3].map(
    () => new PostgresStore({ connectionString, schemaName, retentionMs: 1000, now: () => time }),
  );
  await Promise.all(
    sweepers.map(async (sweeper, index) => {
      await create(sweeper, `new ${index}`);
      await end(sweeper, `new ${index}`, 1, time);
      await sweeper.close();
    }),
  );
  await store.close();
  const { rows } = await admin.query(`SELECT
    (SELECT count(*) FROM "${schemaName}".countersign_decisions) AS decisions,
    (SELECT count(*) FROM "${schemaName}".countersign_outcomes) AS outcomes`);
  expect(rows).toEqual([{ decisions: '0', outcomes: '3' }]);
});
