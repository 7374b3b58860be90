import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';
import { afterAll, describe, expect, test } from 'vitest';
import { newSchemaName, postgresUrl } from '../../test/support/postgres-schema.ts';
import type { Store } from '../core/store.ts';
import {
  create,
  createThread,
  saidIn,
  sampleBatch,
  sampleCall,
  sampleMessage,
} from '../testing/store-contract-sample.ts';
import { LibSQLStore } from './libsql.ts';
import { PostgresStore } from './postgres.ts';
import { SQLiteStore } from './sqlite.ts';

const directory = mkdtempSync(join(tmpdir(), 'countersign-migrations-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** Undoes the migrations after the second, as if a release without them had written the database. */
const backToSecond = [
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
  const path = join(directory, name);
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
