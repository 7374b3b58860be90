/** Where the runs of a scene live: a store of each sort, and the same runs through other handles. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { InMemoryStore, type Store } from 'countersign';
import { LibSQLStore } from 'countersign/libsql';
import { PostgresStore } from 'countersign/postgres';
import { SQLiteStore } from 'countersign/sqlite';
import { Pool } from 'pg';
import { afterAll, onTestFinished } from 'vitest';
import { newSchemaName, postgresUrl } from './postgres-schema.ts';

export interface Stage {
  readonly store: Store;
  /** The store as another process would open it. In memory there is only the one. */
  reopen(): Store;
  /** How many rows of each table hold this text; undefined where there are no tables. */
  rowsWith(text: string): Promise<Record<string, number> | undefined>;
}

export const storeNames = ['memory', 'sqlite', 'libsql', 'postgres'] as const;
export type StoreName = (typeof storeNames)[number];

/** Resolves when stages of this store can be opened: a server has to be there first. */
export async function prepareStages(store: StoreName): Promise<() => Stage> {
  if (store === 'postgres') return schemas.prepare();
  return { memory: memoryStage, sqlite: sqliteStage, libsql: libsqlStage }[store];
}

function memoryStage(): Stage {
  const store = new InMemoryStore();
  return { store, reopen: () => store, rowsWith: async () => undefined };
}

function sqliteStage(): Stage {
  const file = temporaryFile();
  return {
    store: openSqliteFile(file),
    reopen: () => openSqliteFile(file),
    rowsWith: async (text) => rowsInFile(file, text),
  };
}

function libsqlStage(): Stage {
  const file = temporaryFile();
  const open = (): Store => closedAfterTest(new LibSQLStore({ url: `file:${file}` }));
  return { store: open(), reopen: open, rowsWith: async (text) => rowsInFile(file, text) };
}

/** Schemas of the test's server, each with one scene at a time. They are emptied, as making one takes longer. */
function postgresSchemas() {
  const free: string[] = [];
  let pool: Promise<Pool> | undefined;

  function stageIn(connections: Pool, schemaName: string): Stage {
    const handles: Store[] = [];
    const open = (): Store => {
      const store = new PostgresStore({ pool: connections, schemaName });
      handles.push(store);
      return store;
    };
    onTestFinished(async () => {
      await Promise.all(handles.map((store) => store.close()));
      const names = await tablesOf(connections, schemaName);
      const emptied = names.filter((name) => !name.endsWith('_migrations'));
      await connections.query(emptied.map((name) => `DELETE FROM ${schemaName}.${name}`).join(';'));
      free.push(schemaName);
    });
    return {
      store: open(),
      reopen: open,
      rowsWith: (text) => rowsInSchema(connections, schemaName, text),
    };
  }

  return {
    async prepare(): Promise<() => Stage> {
      // Each of many stores listens for the errors of their one pool.
      pool ??= postgresUrl().then((connectionString) =>
        new Pool({ connectionString, pipeline: true, max: 8 }).setMaxListeners(0),
      );
      const connections = await pool;
      return () => stageIn(connections, free.pop() ?? newSchemaName());
    },
    end: async (): Promise<void> => (await pool)?.end(),
  };
}

const schemas = postgresSchemas();
afterAll(schemas.end);

async function tablesOf(pool: Pool, schemaName: string): Promise<string[]> {
  const { rows } = await pool.query('SELECT tablename FROM pg_tables WHERE schemaname = $1', [schemaName]);
  return rows.map(({ tablename }) => tablename as string);
}

async function rowsInSchema(pool: Pool, schemaName: string, text: string): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const name of await tablesOf(pool, schemaName)) {
    const { rows } = await pool.query(`SELECT * FROM ${schemaName}.${name}`);
    countRows(counts, name, rows, text);
  }
  return counts;
}

function rowsInFile(file: string, text: string): Record<string, number> {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    const tables = database.prepare(`SELECT name FROM sqlite_schema WHERE type = 'table'`).all();
    const counts: Record<string, number> = {};
    for (const { name } of tables) {
      countRows(counts, name as string, database.prepare(`SELECT * FROM "${name}"`).all(), text);
    }
    return counts;
  } finally {
    database.close();
  }
}

/** The rows of the run itself: what the feed has told is forgotten with the other events of its time. */
export function withoutFeed(rows: Record<string, number>): Record<string, number> {
  return Object.fromEntries(Object.entries(rows).filter(([name]) => !name.startsWith('countersign_feed')));
}

function countRows(
  counts: Record<string, number>,
  name: string,
  rows: readonly object[],
  text: string,
): void {
  const found = rows.filter((row) => JSON.stringify(row).includes(text));
  if (found.length > 0) counts[name] = found.length;
}

/** Where files live in memory, if the machine has such a place: what is tested here is not the disk. */
const quickFolder = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

/** A path for a SQLite file in a folder of its own, removed after the test. */
export function temporaryFile(): string {
  const folder = mkdtempSync(join(quickFolder, 'countersign-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'runs.db');
}

/** A handle that is closed after the test. */
export function openSqliteFile(path: string): Store {
  return closedAfterTest(new SQLiteStore({ path }));
}

function closedAfterTest(store: Store): Store {
  onTestFinished(() => store.close());
  return store;
}
