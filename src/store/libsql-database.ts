/**
 * Owns the connections of LibSQL: its transactions, how they wait for each other, and when a commit waits for the
 * disk. A local file has two clients, as the durability is a setting of the connection that writes.
 */
import { setTimeout } from 'node:timers/promises';
import { CountersignError, messageOf } from '../core/errors.ts';
import type { AsyncDatabase } from './async-store.ts';
import { groupAsyncWrites } from './group-async.ts';
import { appendToRun, createRun, removeRun, sweepEnded } from './sql.ts';
import { sqliteDialect } from './sql-dialects.ts';
import { readFeed } from './sql-feed.ts';
import { migrate } from './sql-migrations.ts';
import { createThread, removeThread, saveMessages } from './sql-threads.ts';
import type { Row, Work } from './sql-work.ts';

/** What the store needs of `@libsql/client`, by its shape. */
interface LibsqlExecutor {
  execute(statement: { sql: string; args: (string | number | null)[] }): Promise<{
    readonly rows: unknown;
    readonly rowsAffected: number;
  }>;
}

interface LibsqlTransaction extends LibsqlExecutor {
  commit(): Promise<void>;
  close(): void;
}

interface LibsqlClient extends LibsqlExecutor {
  transaction(mode: 'write'): Promise<LibsqlTransaction>;
  close(): void;
}

/** @param concurrency how many connections it has at most. */
type NewClient = (concurrency: number | undefined) => LibsqlClient;

export interface LibsqlConnectOptions {
  readonly url: string;
  readonly authToken: string | undefined;
}

/** The database's clock in milliseconds. */
const clock = "CAST(unixepoch('subsec') * 1000 AS INTEGER)";

/** Writes of one transaction at most. */
const writesAtOnce = 100;

/** How long a write waits for others, in milliseconds. */
const busyTimeout = 10_000;

interface GroupedWrite {
  readonly work: () => Work<unknown>;
  readonly isFull: boolean;
}

export function isInMemory(url: string): boolean {
  return url === ':memory:' || /^file:(?:\/\/)?:memory:/.test(url);
}

/**
 * Opens the database and brings its tables to this release.
 * @throws `dependency-missing` without @libsql/client, `store-failed` when the file cannot be opened or is too new.
 */
export async function openLibsql(options: LibsqlConnectOptions): Promise<AsyncDatabase> {
  const newClient = await loadLibsql(options);
  const { url } = options;
  const isFile = url.startsWith('file:') && !isInMemory(url);
  const isLocal = isFile || isInMemory(url);
  let database: Database | undefined;
  try {
    database = connected(newClient, isFile, isLocal);
    await database.prepare();
    return database;
  } catch (cause) {
    await database?.close();
    if (cause instanceof CountersignError || !isLocal) throw cause;
    throw new CountersignError('store-failed', `LibSQL could not open "${url}": ${messageOf(cause)}.`, {
      expected: 'the path of a database, or of a new file in a directory that exists and may be written',
      cause,
    });
  }
}

async function loadLibsql({ url, authToken }: LibsqlConnectOptions): Promise<NewClient> {
  let loaded: typeof import('@libsql/client');
  try {
    loaded = await import('@libsql/client');
  } catch (cause) {
    throw new CountersignError('dependency-missing', 'LibSQLStore needs the package @libsql/client.', {
      todo: 'Run: npm install @libsql/client',
      cause,
    });
  }
  return (concurrency) =>
    loaded.createClient({
      url,
      ...(authToken === undefined ? {} : { authToken }),
      ...(concurrency === undefined ? {} : { concurrency }),
      intMode: 'number',
    });
}

interface Database extends AsyncDatabase {
  /** Sets up the file and its tables. */
  prepare(): Promise<void>;
}

function connected(newClient: NewClient, isFile: boolean, isLocal: boolean): Database {
  let writer = newClient(isLocal ? 1 : undefined);
  const reader = isFile ? newClient(undefined) : writer;
  const inTurn = turns();
  let isSyncedFully: boolean | undefined;

  async function syncFully(full: boolean): Promise<void> {
    if (!isLocal || full === isSyncedFully) return;
    await run(writer, `PRAGMA synchronous = ${full ? 'FULL' : 'NORMAL'}`);
    isSyncedFully = full;
  }

  /**
   * What failed on a file is not done with its connection: a BEGIN that was busy stays a statement in progress, with
   * which nothing can be committed.
   */
  function renew(): void {
    if (!isFile) return;
    writer.close();
    writer = newClient(1);
    isSyncedFully = undefined;
  }

  /**
   * SQLite's own waiting would hold up the event loop, and with it the one who is waited for, if that is in this
   * process.
   */
  async function whenFree<Result>(work: () => Promise<Result>): Promise<Result> {
    for (const start = performance.now(); ; ) {
      try {
        return await work();
      } catch (error) {
        renew();
        if (!isBusy(error) || performance.now() - start > busyTimeout) throw error;
      }
      await setTimeout(1 + Math.random() * 4);
    }
  }

  async function begin(full: boolean): Promise<LibsqlTransaction> {
    await syncFully(full);
    return writer.transaction('write');
  }

  const transact = <Result>(
    work: (transaction: LibsqlTransaction) => Promise<Result>,
    full: boolean,
  ): Promise<Result> =>
    inTurn(async () => {
      const transaction = await whenFree(() => begin(full));
      try {
        const result = await work(transaction);
        await transaction.commit();
        return result;
      } catch (error) {
        transaction.close();
        renew();
        throw error;
      }
    });

  const { add } = groupAsyncWrites<GroupedWrite, unknown>({
    transact: (group) =>
      transact(
        async (transaction) => {
          const results: unknown[] = [];
          for (const { work } of group) results.push(await drive(transaction, work()));
          return results;
        },
        group.some(({ isFull }) => isFull),
      ),
    isOfOne: (error) => !isConnectionError(error),
    limit: writesAtOnce,
  });
  const write = <Result>(work: () => Work<Result>, isFull: boolean): Promise<Result> =>
    add({ work, isFull }) as Promise<Result>;

  /** A database in memory has one connection, which a transaction holds. */
  const read = <Result>(work: Work<Result>): Promise<Result> =>
    isLocal && !isFile ? inTurn(() => drive(reader, work)) : drive(reader, work);

  return {
    clock,
    read,
    create: (batch, now, full) => write(() => createRun(batch, now), full),
    append: (batch, now, full) => write(() => appendToRun(batch, now), full),
    remove: (batch, outcome, at, full) => write(() => removeRun(batch, outcome, at), full),
    createThread: (thread, full) => write(() => createThread(thread), full),
    removeThread: (threadId, full) => write(() => removeThread(threadId), full),
    saveMessages: (threadId, messages, at, full) => write(() => saveMessages(threadId, messages, at), full),
    write: (work, full) => write(work, full),
    readFeed: (query) => read(readFeed(query)),
    sweep: (before, limit) => transact((transaction) => drive(transaction, sweepEnded(before, limit)), false),
    async prepare() {
      if (isFile) await whenFree(() => run(writer, 'PRAGMA journal_mode = WAL'));
      await transact((transaction) => drive(transaction, migrate(sqliteDialect)), true);
    },
    async close() {
      await inTurn(async () => {});
      writer.close();
      if (reader !== writer) reader.close();
    },
  };
}

/** One after the other. */
function turns(): <Result>(work: () => Promise<Result>) => Promise<Result> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const turn = last.then(work);
    last = turn.catch(() => {});
    return turn;
  };
}

function isBusy(error: unknown): boolean {
  const { code = '' } = (error ?? {}) as { code?: string };
  return code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED');
}

/** An error that is no answer of the database: nobody knows what became of the statement. */
function isConnectionError(error: unknown): boolean {
  const { code = '' } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' && code !== '' && !code.startsWith('SQLITE_');
}

function run(client: LibsqlClient, sql: string): Promise<unknown> {
  return client.execute({ sql, args: [] });
}

async function drive<Result>(on: LibsqlExecutor, work: Work<Result>): Promise<Result> {
  let step = work.next([]);
  while (!step.done) {
    const { sql, params, counts } = step.value;
    const { rows, rowsAffected } = await on.execute({ sql, args: [...params] });
    step = work.next(counts ? [{ changed: rowsAffected }] : (rows as readonly Row[]));
  }
  return step.value;
}
