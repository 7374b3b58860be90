import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest';
import { type StoreContract, storeContract } from '../testing/store-contract.ts';
import { create, end, sampleBatch, sampleRecord } from '../testing/store-contract-sample.ts';
import { SQLiteStore } from './sqlite.ts';

const directory = mkdtempSync(join(tmpdir(), 'countersign-sqlite-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));
afterEach(() => vi.restoreAllMocks());

let files = 0;
const newPath = (): string => join(directory, `${files++}.db`);

function onFiles(durability: 'standard' | 'strict'): Pick<StoreContract, 'open' | 'openAgain'> {
  const paths = new Map<unknown, string>();
  const opened = (path: string, options: object): SQLiteStore => {
    const store = new SQLiteStore({ path, durability, ...options });
    paths.set(store, path);
    return store;
  };
  return {
    open: (options) => opened(newPath(), options),
    openAgain: (store) => opened(paths.get(store) as string, {}),
  };
}

storeContract({ name: 'SQLiteStore on a file', ...onFiles('standard') }, { describe, test });
storeContract({ name: 'SQLiteStore, strict', ...onFiles('strict') }, { describe, test });
storeContract(
  { name: 'SQLiteStore in memory', open: (options) => new SQLiteStore({ path: ':memory:', ...options }) },
  { describe, test },
);

describe('opening', () => {
  test('a file is persistent, memory is not', async () => {
    const file = new SQLiteStore({ path: newPath() });
    const memory = new SQLiteStore({ path: ':memory:', id: 'mine' });
    expect([file.id, file.persistent, memory.id, memory.persistent]).toEqual(['sqlite', true, 'mine', false]);
    await file.close();
    await memory.close();
  });

  test('a file that cannot be opened says what is expected', () => {
    const open = () => new SQLiteStore({ path: join(directory, 'missing', 'runs.db') });
    expect(open).toThrow(expect.objectContaining({ code: 'store-failed' }));
    expect(open).toThrow(/in a directory that exists/);
  });

  test('a file that is no database is refused', () => {
    expect(() => new SQLiteStore({ path: fileURLToPath(import.meta.url) })).toThrow(/is not a database/);
  });

  test.each([
    [{ path: '' }, /"path"/],
    [{ path: undefined as never }, /"path"/],
    [{ path: ':memory:', durability: 'none' as never }, /"durability"/],
    [{ path: ':memory:', retentionMs: Number.NaN }, /"retentionMs"/],
    [{ path: ':memory:', retentionMs: -1 }, /"retentionMs"/],
  ])('%o is refused', (options, message) => {
    const open = () => new SQLiteStore(options);
    expect(open).toThrow(expect.objectContaining({ code: 'invalid-option' }));
    expect(open).toThrow(message);
  });

  test('a database of a newer release is refused and left as it is', async () => {
    const path = newPath();
    await new SQLiteStore({ path }).close();
    const database = new DatabaseSync(path);
    database.exec('INSERT INTO countersign_migrations (number) VALUES (99)');
    const open = () => new SQLiteStore({ path });
    expect(open).toThrow(expect.objectContaining({ code: 'store-failed' }));
    expect(open).toThrow(/newer release of countersign.*version 99.*Update countersign/);
    expect(database.prepare('SELECT max(number) AS newest FROM countersign_migrations').get()).toEqual({
      newest: 99,
    });
    database.close();
  });

  test('without node:sqlite it says which Node to use', () => {
    vi.spyOn(process, 'getBuiltinModule').mockReturnValue(undefined as never);
    const open = () => new SQLiteStore({ path: ':memory:' });
    expect(open).toThrow(expect.objectContaining({ code: 'dependency-missing' }));
    expect(open).toThrow(/Node 22\.13 or newer/);
  });
});

describe('closing', () => {
  test('commits what was given before, and later calls are refused', async () => {
    const path = newPath();
    const store = new SQLiteStore({ path });
    const writes = ['a', 'b', 'c'].map((runId) => store.create(sampleBatch(runId, 0)));
    await store.close();
    expect(await Promise.all(writes)).toEqual(Array(3).fill({ ok: true, version: 1 }));
    const closed = expect.objectContaining({ code: 'store-closed' });
    await expect(store.create(sampleBatch('d', 0))).rejects.toEqual(closed);
    await expect(store.load('a', 0)).rejects.toEqual(closed);
    await expect(store.list({ status: 'all', limit: 1 })).rejects.toEqual(closed);
    expect(existsSync(`${path}-wal`)).toBe(false);
    const again = new SQLiteStore({ path });
    expect((await again.list({ status: 'all', limit: 10 })).total).toBe(3);
    await again.close();
  });
});

test('writes go on when timers are faked', async () => {
  vi.useFakeTimers();
  const store = new SQLiteStore({ path: newPath() });
  const writes = ['a', 'b', 'c'].map((runId) => store.create(sampleBatch(runId, 0)));
  expect(await Promise.all(writes)).toHaveLength(3);
  await store.close();
  vi.useRealTimers();
});

describe('durability', () => {
  async function levelsOf(durability: 'standard' | 'strict'): Promise<string[]> {
    const store = new SQLiteStore({ path: newPath(), durability });
    const exec = vi.spyOn(DatabaseSync.prototype, 'exec');
    for (const [index, level] of (['full', 'relaxed', 'relaxed', 'full', 'relaxed'] as const).entries()) {
      const batch = sampleBatch('run', index, { durability: level });
      await (index === 0 ? store.create(batch) : store.append(batch));
    }
    await store.close();
    return exec.mock.calls.map(([sql]) => sql);
  }

  test('a commit waits for the disk if its batch says so', async () => {
    const [normal, full] = ['PRAGMA synchronous = NORMAL', 'PRAGMA synchronous = FULL'];
    // Opening leaves it at NORMAL, by the sweep.
    expect(await levelsOf('standard')).toEqual([full, normal, full, normal]);
  });

  test('strict: every commit does', async () => {
    expect((await levelsOf('strict')).filter((sql) => sql.includes('NORMAL'))).toEqual([]);
  });
});

describe('retention', () => {
  test('records that expired while the file was closed are gone when it is opened', async () => {
    const path = newPath();
    const store = new SQLiteStore({ path });
    await create(store, 'run', { records: [sampleRecord('run', 'call')] });
    await end(store, 'run', 1);
    await store.close();
    const in31Days = () => Date.now() + 31 * 24 * 60 * 60 * 1000;
    const kept = new SQLiteStore({ path, now: in31Days, retentionMs: Number.POSITIVE_INFINITY });
    expect(await kept.load('run', 0)).toMatchObject({ kind: 'ended', records: [{}] });
    await kept.close();
    const again = new SQLiteStore({ path, now: in31Days });
    expect(await again.load('run', 0)).toBeUndefined();
    await again.close();
    const database = new DatabaseSync(path);
    expect(database.prepare('SELECT * FROM countersign_decisions').all()).toEqual([]);
    database.close();
  });

  test('many are forgotten in several sweeps', async () => {
    let time = Date.now();
    const store = new SQLiteStore({ path: newPath(), retentionMs: 1000, now: () => time });
    for (let index = 0; index < 450; index++) {
      await create(store, `run ${index}`);
      await end(store, `run ${index}`, 1, time);
    }
    time += 2 * 60 * 60 * 1000;
    const endedAfter = async (runId: string): Promise<boolean[]> => {
      await create(store, runId);
      await end(store, runId, 1, time);
      const loaded = await Promise.all(
        ['run 0', 'run 199', 'run 399', 'run 449'].map((id) => store.load(id, 0)),
      );
      return loaded.map((run) => run !== undefined);
    };
    expect((await endedAfter('first')).filter(Boolean).length).toBeGreaterThan(0);
    await endedAfter('second');
    expect(await endedAfter('third')).toEqual([false, false, false, false]);
    await store.close();
  });
});
