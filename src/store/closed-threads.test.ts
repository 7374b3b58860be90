import { describe, expect, test } from 'vitest';
import { newSchemaName, postgresUrl } from '../../test/support/postgres-schema.ts';
import type { Store } from '../core/store.ts';
import { sampleMessage, sampleThread } from '../testing/store-contract-sample.ts';
import { LibSQLStore } from './libsql.ts';
import { InMemoryStore } from './memory.ts';
import { PostgresStore } from './postgres.ts';
import { SQLiteStore } from './sqlite.ts';

const stores: Readonly<Record<string, () => Store | Promise<Store>>> = {
  InMemoryStore: () => new InMemoryStore(),
  SQLiteStore: () => new SQLiteStore({ path: ':memory:' }),
  LibSQLStore: () => new LibSQLStore({ url: ':memory:' }),
  PostgresStore: async () =>
    new PostgresStore({ connectionString: await postgresUrl(), schemaName: newSchemaName() }),
};

describe.each(Object.keys(stores))('a closed %s', (name) => {
  test('refuses everything that is asked of its threads', async () => {
    const store = (await stores[name]?.()) as Store;
    await store.threads.create(sampleThread('thread'));
    await store.close();
    const { threads } = store;
    const asked: Record<keyof typeof threads, () => Promise<unknown>> = {
      create: () => threads.create(sampleThread('thread')),
      get: () => threads.get('thread'),
      list: () => threads.list({ resourceId: 'resource', limit: 1 }),
      remove: () => threads.remove('thread'),
      messages: () => threads.messages({ threadId: 'thread' }),
      transcript: () => threads.transcript({ threadId: 'thread' }),
      save: () => threads.save('thread', [sampleMessage('hello', 1)], 1),
    };
    for (const [method, ask] of Object.entries(asked)) {
      await expect(ask(), method).rejects.toMatchObject({ code: 'store-closed' });
    }
  });
});
