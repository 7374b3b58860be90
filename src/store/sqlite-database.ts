/** Owns the connection to a SQLite file: how it is opened, its transactions, and when a commit waits for the disk. */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { CountersignError, messageOf } from '../core/errors.ts';
import { sqliteDialect } from './sql-dialects.ts';
import { migrate } from './sql-migrations.ts';
import type { Row, Work } from './sql-work.ts';

/** Pages kept in memory, in KB: with SQLite's own 2 MB, a page of 100,000 runs is read from the file each time. */
const cacheSize = 16_000;

/** How long a statement waits for another process that writes, in milliseconds. */
const busyTimeout = 10_000;

export interface SqliteDatabase {
  /** False for a database in memory. */
  readonly persistent: boolean;
  /** Runs work in the transaction that is open, or as single statements. */
  run<Result>(work: Work<Result>): Result;
  /** Runs work in one transaction. With `full`, its commit survives a power cut. */
  transact<Result>(work: () => Result, full: boolean): Result;
  close(): void;
}

/**
 * Opens the database and brings its tables to this release.
 * @throws `dependency-missing` without node:sqlite, `store-failed` when the file cannot be opened or is too new.
 */
export function openSqlite(path: string): SqliteDatabase {
  const { DatabaseSync } = nodeSqlite();
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path);
    database.exec(`PRAGMA busy_timeout = ${busyTimeout}; PRAGMA cache_size = -${cacheSize}`);
    enterWal(database);
    return prepared(database);
  } catch (cause) {
    database?.close();
    if (cause instanceof CountersignError) throw cause;
    throw new CountersignError('store-failed', `SQLite could not open "${path}": ${messageOf(cause)}.`, {
      expected:
        'the path of a SQLite database, or of a new file in a directory that exists and may be written',
      cause,
    });
  }
}

function nodeSqlite(): typeof import('node:sqlite') {
  const found = process.getBuiltinModule?.('node:sqlite');
  if (found) return found;
  throw new CountersignError('dependency-missing', 'This version of Node has no node:sqlite.', {
    expected: `Node 22.13 or newer, and this is ${process.version}`,
    todo: 'Update Node, or use another store.',
  });
}

/**
 * Of two processes that open a new file at once both change the journal mode, and there SQLite does not wait for one
 * that is about to write.
 */
function enterWal(database: DatabaseSync): void {
  const pause = new Int32Array(new SharedArrayBuffer(4));
  for (const start = performance.now(); ; Atomics.wait(pause, 0, 0, 2)) {
    try {
      database.exec('PRAGMA journal_mode = WAL');
      return;
    } catch (error) {
      const isBusy = ((error as { errcode?: number }).errcode ?? 0) % 256 === 5;
      if (!isBusy || performance.now() - start > busyTimeout) throw error;
    }
  }
}

function prepared(database: DatabaseSync): SqliteDatabase {
  const [main] = database.prepare('PRAGMA database_list').all();
  const statements = new Map<string, StatementSync>();
  let isFull: boolean | undefined;

  function kept(sql: string): StatementSync {
    let statement = statements.get(sql);
    if (statement === undefined) {
      statement = database.prepare(sql);
      statements.set(sql, statement);
    }
    return statement;
  }

  function syncFully(full: boolean): void {
    if (full === isFull) return;
    database.exec(`PRAGMA synchronous = ${full ? 'FULL' : 'NORMAL'}`);
    isFull = full;
  }

  function transact<Result>(work: () => Result, full: boolean): Result {
    syncFully(full);
    kept('BEGIN IMMEDIATE').run();
    try {
      const result = work();
      kept('COMMIT').run();
      return result;
    } catch (error) {
      rollBack();
      throw error;
    }
  }

  /** SQLite itself has rolled back after some errors, and then there is nothing to do. */
  function rollBack(): void {
    try {
      kept('ROLLBACK').run();
    } catch {}
  }

  transact(() => drive(migrate(sqliteDialect), (sql) => database.prepare(sql)), true);

  return {
    persistent: main?.file !== '',
    run: (work) => drive(work, kept),
    transact,
    close() {
      statements.clear();
      database.close();
    },
  };
}

function drive<Result>(work: Work<Result>, statementOf: (sql: string) => StatementSync): Result {
  let step = work.next([]);
  while (!step.done) {
    const { sql, params, counts } = step.value;
    const statement = statementOf(sql);
    step = work.next(
      counts ? [{ changed: statement.run(...params).changes }] : (statement.all(...params) as readonly Row[]),
    );
  }
  return step.value;
}
