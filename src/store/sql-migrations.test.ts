import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';
import { afterAll, describe, expect, test } from 'vitest';
import { newSchemaName, postgresUrl } from '../../test/support/postgres-schema.ts';
import type { DecisionQuery } from '../core/feed.ts';
import type { ListStatus, Store } from '../core/store.ts';
import {
  create,
  createThread,
  saidIn,
  sampleBatch,
  sampleCall,
  sampleEnd,
  sampleHead,
  sampleMessage,
  sampleOutcome,
  sampleRecord,
} from '../testing/store-contract-sample.ts';
import { LibSQLStore } from './libsql.ts';
import { PostgresStore } from './postgres.ts';
import { SQLiteStore } from './sqlite.ts';

const directory = mkdtempSync(join(tmpdir(), 'countersign-migrations-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** Undoes the migrations after the fourth, as if a release without them had written the database. */
const backToFourth = [
  'DROP INDEX countersign_heads_thread_id',
  `CREATE INDEX countersign_heads_suspended_since_thread_id
    ON countersign_heads (thread_id, suspended_since, run_id DESC)
    WHERE suspended_since IS NOT NULL AND thread_id IS NOT NULL`,
  ...['decided_at', 'agent_id', 'tool_name', 'thread_id', 'resource_id', 'by_id', 'verdict'].map(
    (column) => `DROP INDEX countersign_decisions_by_${column}`,
  ),
  ...['thread_id', 'resource_id', 'by_id', 'verdict', 'tool_name'].map(
    (column) => `ALTER TABLE countersign_decisions DROP COLUMN ${column}`,
  ),
  'DROP TABLE countersign_feed',
  'DROP TABLE IF EXISTS countersign_feed_new',
  'DELETE FROM countersign_migrations WHERE number > 4',
];

/** The same after the third. */
const backToThird = [
  ...backToFourth,
  'DROP INDEX countersign_heads_moving',
  "CREATE INDEX countersign_heads_moving ON countersign_heads (run_id) WHERE head <> 'waiting'",
  `CREATE INDEX countersign_heads_running_since ON countersign_heads (running_since, run_id DESC)
    WHERE running_since IS NOT NULL`,
  'DELETE FROM countersign_migrations WHERE number > 3',
];

/** The same after the second. */
const backToSecond = [
  ...backToThird,
  'DROP TABLE countersign_threads',
  'DROP TABLE countersign_messages',
  'ALTER TABLE countersign_calls DROP COLUMN path',
  'DELETE FROM countersign_migrations WHERE number > 2',
];

interface Place {
  open(): Promise<Store>;
  perform(statements: readonly string[]): Promise<void>;
}

function onFile(name: string, open: (path: string) => Store): Place {
  const path = join(mkdtempSync(join(directory, 'file-')), name);
  return {
    open: async () => open(path),
    async perform(statements) {
      const database = new DatabaseSync(path);
      for (const statement of statements) database.exec(statement);
      database.close();
    },
  };
}

async function onServer(): Promise<Place> {
  const [connectionString, schemaName] = [await postgresUrl(), newSchemaName()];
  return {
    open: async () => new PostgresStore({ connectionString, schemaName }),
    async perform(statements) {
      const client = new pg.Client({ connectionString });
      await client.connect();
      await client.query(`SET search_path = "${schemaName}"`);
      for (const statement of statements) await client.query(statement);
      await client.end();
    },
  };
}

const places: Readonly<Record<string, () => Promise<Place>>> = {
  SQLiteStore: async () => onFile('sqlite.db', (path) => new SQLiteStore({ path })),
  LibSQLStore: async () => onFile('libsql.db', (path) => new LibSQLStore({ url: `file:${path}` })),
  PostgresStore: onServer,
};

describe.each(Object.entries(places))(
  'a database of a release without a list of decisions in a %s',
  (_, place) => {
    test('keeps its decisions, and lists them by all that they are filtered by', async () => {
      const { open, perform } = await place();
      const old = await open();
      const head = sampleHead({ threadId: 'thread', resourceId: 'resource' });
      const odd = {
        by: { id: 'zero \u0000' },
        reason: '\u0000\u0000\\\u0000\\\u0001 \ud83d',
        toolName: 'refund "ä🙂\\u0000',
      };
      const records = [
        sampleRecord('ends', 'call', { at: 3, by: { id: 'ann "ä🙂\\' } }),
        sampleRecord('ends', 'odd', { at: 2, verdict: 'decline', ...odd }),
        sampleRecord('ends', 'long', { at: 1, by: { id: 'x'.repeat(5000) } }),
      ];
      await create(old, 'ends', { head, records });
      await old.remove(sampleBatch('ends', 1, { head }), sampleOutcome, sampleEnd);
      await create(old, 'open', { head, records: [sampleRecord('open', 'call', { at: 4 })] });
      const { by: _by, ...nobody } = sampleRecord('none', 'call', { at: 5 });
      await create(old, 'none', { records: [nobody] });
      await old.close();
      await perform(backToFourth);
      const store = await open();
      const callsOf = async (query: Partial<DecisionQuery>) =>
        (await store.decisions({ limit: 10, ...query })).decisions.map(
          (one) => `${one.runId} ${one.toolCallId}`,
        );
      const ofThread = ['open call', 'ends call', 'ends odd', 'ends long'];
      expect(await callsOf({})).toEqual(['none call', ...ofThread]);
      expect(await callsOf({ threadId: 'thread' })).toEqual(ofThread);
      expect(await callsOf({ resourceId: 'resource' })).toEqual(ofThread);
      expect(await callsOf({ by: 'ann "ä🙂\\' })).toEqual(['ends call']);
      expect(await callsOf({ by: 'ann' })).toEqual(['open call']);
      expect(await callsOf({ verdict: 'decline' })).toEqual(['ends odd']);
      expect(await callsOf({ toolName: 'refund', agentId: 'agent' })).toHaveLength(4);
      const { decisions } = await store.decisions({ limit: 10, runId: 'ends' });
      expect(decisions).toMatchObject(records.map((record) => ({ ...record, threadId: 'thread' })));
      await store.record(sampleRecord('none', 'call', { stop: -1, at: 6, verdict: 'ran-twice' }));
      expect(await callsOf({ verdict: 'ran-twice' })).toEqual(['none call']);
      await store.close();
    });
  },
);

describe.each(Object.entries(places))('a database of a release with an index more in a %s', (_, place) => {
  test('keeps its runs, and finds those that run and those that nobody moves', async () => {
    const { open, perform } = await place();
    const old = await open();
    await create(old, 'waits', { opened: [sampleCall('waits', 'call')] });
    await create(old, 'runs', { head: sampleHead({ head: 'runnable', suspendedSince: undefined }) });
    await old.close();
    await perform(backToThird);
    for (const _time of ['changed', 'as it is']) {
      const store = await open();
      const idsOf = async (status: ListStatus) =>
        (await store.list({ status, limit: 10 })).runs.map(({ runId }) => runId);
      expect(await idsOf('running')).toEqual(['runs']);
      expect(await idsOf('all')).toHaveLength(2);
      expect(await store.workers.abandoned(1000, 10)).toMatchObject([{ runId: 'runs' }]);
      await store.close();
    }
  });
});

describe.each(Object.entries(places))('a database of a release without threads in a %s', (_, place) => {
  test('keeps its runs, and gets threads and the paths of calls', async () => {
    const { open, perform } = await place();
    const old = await open();
    const call = sampleCall('run', 'call');
    await create(old, 'run', { opened: [call] });
    await old.close();
    await perform(backToSecond);
    const store = await open();
    const openCalls = async () => (await store.list({ status: 'all', limit: 10 })).runs[0]?.calls;
    expect(await openCalls()).toMatchObject([{ call }]);
    expect((await openCalls())?.[0]?.call.path).toBeUndefined();
    const path = [{ agentId: 'billing', toolCallId: 'delegate' }];
    const inner = sampleCall('child', 'delegate~inner', { path, requestSeq: 2, stopSeq: 2 });
    await store.append(sampleBatch('run', 1, { opened: [inner] }));
    expect(await openCalls()).toMatchObject([{ call }, { call: inner }]);
    await createThread(store, 'thread', [sampleMessage('hello', 1)]);
    expect(await saidIn(store, 'thread')).toEqual(['hello']);
    await store.close();
  });
});
