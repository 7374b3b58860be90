/** The databases that a race can run on. A new one is one more line in `openers` and one in `databases`. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Client } from 'pg';
import type { Store } from '../../src/index.ts';
import { LibSQLStore } from '../../src/store/libsql.ts';
import { PostgresStore } from '../../src/store/postgres.ts';
import { SQLiteStore } from '../../src/store/sqlite.ts';

const openers = {
  sqlite: ({ at }: Place): Store => new SQLiteStore({ path: at }),
  libsql: ({ at }: Place): Store => new LibSQLStore({ url: at }),
  postgres: ({ at, schemaName }: Place): Store =>
    new PostgresStore({ connectionString: at, schemaName, max: 4 }),
};

/** Where a store is, as one process tells another. */
export interface Place {
  readonly kind: keyof typeof openers;
  /** A path, a URL or a connection string. */
  readonly at: string;
  readonly schemaName?: string;
}

export function openPlace(place: Place): Store {
  return openers[place.kind](place);
}

export interface Database {
  readonly name: Place['kind'];
  /** A new, empty place: in the folder, or on the server that `postgres` gives the URL of. */
  create(folder: string, postgres: () => Promise<string>): Promise<Place>;
}

export const databases: readonly Database[] = [
  { name: 'sqlite', create: async (folder) => ({ kind: 'sqlite', at: join(folder, 'runs.db') }) },
  { name: 'libsql', create: async (folder) => ({ kind: 'libsql', at: `file:${join(folder, 'runs.db')}` }) },
  { name: 'postgres', create: async (_folder, url) => postgresPlace(await url()) },
];

/** A schema of its own on a server. */
export function postgresPlace(url: string): Place {
  return { kind: 'postgres', at: url, schemaName: `race_${crypto.randomUUID().replaceAll('-', '')}` };
}

/** How many rows a table of the store has, past the store. */
export async function countRows({ kind, at, schemaName }: Place, table: string): Promise<number> {
  if (kind !== 'postgres') {
    const database = new DatabaseSync(at.replace(/^file:/, ''));
    const row = database.prepare(`SELECT count(*) AS count FROM ${table}`).get();
    database.close();
    return Number(row?.count);
  }
  const client = new Client({ connectionString: at });
  await client.connect();
  const { rows } = await client.query(`SELECT count(*) AS count FROM ${schemaName}.${table}`);
  await client.end();
  return Number(rows[0]?.count);
}

/** A folder, and how to be rid of it. */
export function temporaryFolder(): { folder: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-race-'));
  return {
    folder,
    remove: () => {
      if (existsSync(folder)) rmSync(folder, { recursive: true, force: true });
    },
  };
}
