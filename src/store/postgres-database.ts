/** Owns the connections to PostgreSQL: its transactions, its migrations, and when a commit waits for the disk. */
import type { Batch, Written } from '../core/store.ts';
import type { AsyncDatabase } from './async-store.ts';
import { groupAsyncWrites } from './group-async.ts';
import { type Changes, listenForChanges } from './postgres-changes.ts';
import { numberedFeed } from './postgres-feed.ts';
import {
  listeningConnection,
  newPool,
  type PooledConnection,
  type PostgresPool,
  type PostgresResult,
  type PostgresStatement,
} from './postgres-pool.ts';
import { type PostgresQuery, type PostgresWrite, statements } from './postgres-query.ts';
import { createThreadWrite, lockThreads, removeThreadWrite, saveWrite } from './postgres-threads.ts';
import { begin, inTransaction, withConnection } from './postgres-transaction.ts';
import { appendWrite, createWrite, removeWrite } from './postgres-writes.ts';
import { refused, sweepEnded, versionAfter } from './sql.ts';
import { postgresDialect } from './sql-dialects.ts';
import { lateralLookup } from './sql-list.ts';
import { migrate } from './sql-migrations.ts';
import { threadFrom } from './sql-threads.ts';
import type { Row, Work } from './sql-work.ts';

export interface PostgresDatabase extends AsyncDatabase {
  changed(runId: string, milliseconds: number): Promise<void>;
}

export interface PostgresConnectOptions {
  readonly connectionString: string | undefined;
  readonly pool: PostgresPool | undefined;
  readonly max: number | undefined;
  readonly schemaName: string;
}

const clock = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint';

/** In place of a run: the feed. No run has this id. */
const feedKey = '';

/** Writes of one transaction at most: others wait for their locks. */
const writesAtOnce = 100;

/** A migration may build an index over many rows. */
const migrationTimeout = 60 * 60 * 1000;

const beginRelaxed = `${begin}; SET LOCAL synchronous_commit = off`;

interface GroupedWrite extends PostgresWrite {
  /** The run, or '' for what belongs to none. Writes are in this order, so that two processes never deadlock. */
  readonly key: string;
  readonly isFull: boolean;
}

/** Connects, and brings the tables to this release. */
export async function openPostgres(options: PostgresConnectOptions): Promise<PostgresDatabase> {
  const { schemaName, pool: given, connectionString = '', max } = options;
  const pool = given ?? (await newPool(connectionString, max));
  // Without a listener, a connection that is lost while nobody uses it ends the process.
  const ignore = (): void => {};
  pool.on('error', ignore);
  const disconnect = async (): Promise<void> => {
    if (given) pool.off('error', ignore);
    else await pool.end();
  };
  try {
    await migratePostgres(pool, schemaName);
  } catch (error) {
    await disconnect();
    throw error;
  }
  return connected(pool, schemaName, disconnect);
}

function connected(
  pool: PostgresPool,
  schemaName: string,
  disconnect: () => Promise<void>,
): PostgresDatabase {
  const preparedOf = statements(schemaName);
  // Reads are planned each time, for their filters and limits.
  const statementOf = (query: PostgresQuery): PostgresStatement => ({ ...preparedOf(query), name: '' });
  const channel = `countersign_${schemaName}`.slice(0, 63);
  const changes: Changes = listenForChanges({ connect: () => listeningConnection(pool), channel });

  const read = <Result>(work: Work<Result>): Promise<Result> =>
    withConnection(pool, (connection) => drive(connection, work, statementOf));

  /** Sends everything at once. Resolves with what each write's decisive statement gave. */
  async function transact(group: readonly GroupedWrite[]): Promise<(readonly Row[])[]> {
    const order = group
      .map((_, index) => index)
      .sort((a, b) => compareWrites(group[a] as GroupedWrite, group[b] as GroupedWrite) || a - b);
    const sorted = order.map((index) => group[index] as GroupedWrite);
    const threadIds = [...new Set(sorted.flatMap((write) => write.threadIds ?? []))];
    const locks = threadIds.length === 0 ? [] : [preparedOf(lockThreads(threadIds))];
    const queries = sorted.flatMap((write) => write.queries).map(preparedOf);
    const isFull = sorted.some((write) => write.isFull);
    const sent = [{ text: isFull ? begin : beginRelaxed }, ...locks, ...queries, { text: 'COMMIT' }];
    const notice = noticeOf(sorted);
    const results = await withConnection(pool, async (connection) => {
      const results = await sendAll(connection, sent, notice);
      if (results.at(-1)?.command !== 'COMMIT') throw new Error('PostgreSQL rolled the transaction back.');
      return results.slice(1 + locks.length, -1);
    });
    const answers: (readonly Row[])[] = [];
    let next = 0;
    for (const [place, write] of sorted.entries()) {
      answers[order[place] as number] = (results[next + write.decisive]?.rows ?? []) as readonly Row[];
      next += write.queries.length;
    }
    return answers;
  }

  /**
   * Comes after the commit, as the lock of a notification would make all commits of the server wait for each other's
   * sync. What is lost in between costs a reader some time.
   */
  function noticeOf(group: readonly GroupedWrite[]): PostgresStatement | undefined {
    const runIds = [...new Set(group.map(({ key }) => key))].filter((key) => key !== '');
    if (runIds.length === 0) return undefined;
    if (group.some(({ feeds }) => feeds)) runIds.push(feedKey);
    const sql = 'SELECT pg_notify(?, id) FROM unnest(?::text[]) AS id WHERE octet_length(id) < 8000';
    return statementOf({ sql, params: [channel, runIds] });
  }

  const feed = numberedFeed({ pool, channel, statementOf, read });
  const { add } = groupAsyncWrites({ transact, isOfOne: isOfStatement, limit: writesAtOnce });

  async function write(
    batch: Batch,
    written: PostgresWrite,
    full: boolean,
    why: 'exists' | 'conflict',
  ): Promise<Written> {
    const rows = await add({ ...written, key: batch.runId, isFull: full });
    return rows.length > 0 ? { ok: true, version: versionAfter(batch) } : read(refused(batch, why));
  }

  return {
    clock,
    lookup: lateralLookup,
    read,
    create: async (batch, now, full) => write(batch, createWrite(batch, now), full, 'exists'),
    append: async (batch, now, full) => write(batch, appendWrite(batch, now), full, 'conflict'),
    remove: async (batch, outcome, at, full) =>
      write(batch, removeWrite(batch, outcome, at), full, 'conflict'),
    async createThread(thread, full) {
      const [row] = await add({ ...createThreadWrite(thread), key: '', isFull: full });
      return threadFrom(row as Row);
    },
    async removeThread(threadId, full) {
      const rows = await add({ ...removeThreadWrite(threadId), key: '', isFull: full });
      return rows.length > 0;
    },
    async saveMessages(threadId, messages, at, full) {
      const rows = await add({ ...saveWrite(threadId, messages, at), key: '', isFull: full });
      return rows.length > 0;
    },
    async write(work, full) {
      await add({ queries: queriesOf(work()), decisive: 0, key: '', isFull: full });
    },
    readFeed: feed.read,
    feedChanged: (milliseconds) => changes.wait(feedKey, milliseconds),
    async sweep(before, limit) {
      await feed.number();
      return inTransaction(pool, (connection) => sweep(connection, before, limit));
    },
    changed: (runId, milliseconds) => changes.wait(runId, milliseconds),
    async close() {
      await changes.close();
      await disconnect();
    },
  };

  /** One sweep at a time: two would each forget records of runs whose end the other one keeps. */
  async function sweep(connection: PooledConnection, before: number, limit: number): Promise<number> {
    const lock = {
      sql: 'SELECT pg_try_advisory_xact_lock(hashtextextended(?, 1)) AS mine',
      params: [channel],
    };
    const { rows } = await connection.query(statementOf(lock));
    return rows[0]?.mine === true ? drive(connection, sweepEnded(before, limit), statementOf) : 0;
  }
}

/** Two processes may do it at once: the second one waits, and finds it done. */
async function migratePostgres(pool: PostgresPool, schemaName: string): Promise<void> {
  const statementOf = statements(schemaName);
  const query = (sql: string, params: PostgresQuery['params'] = []): PostgresStatement => ({
    ...statementOf({ sql, params }),
    name: '',
    query_timeout: migrationTimeout,
  });
  await inTransaction(pool, async (connection) => {
    await connection.query(
      query('SELECT pg_advisory_xact_lock(hashtextextended(?, 0))', [`countersign_${schemaName}`]),
    );
    const { rows } = await connection.query(
      query('SELECT 1 AS there FROM pg_namespace WHERE nspname = ?', [schemaName]),
    );
    if (rows.length === 0) await connection.query(query(`CREATE SCHEMA "${schemaName}"`));
    await drive(connection, migrate(postgresDialect), ({ sql, params }) => query(sql, params));
  });
}

async function drive<Result>(
  connection: PooledConnection,
  work: Work<Result>,
  statementOf: (query: PostgresQuery) => PostgresStatement,
): Promise<Result> {
  let step = work.next([]);
  while (!step.done) {
    const { rows } = await connection.query(statementOf(step.value));
    step = work.next(rows as readonly Row[]);
  }
  return step.value;
}

function queriesOf(work: Work<void>): PostgresQuery[] {
  const queries: PostgresQuery[] = [];
  for (let step = work.next([]); !step.done; step = work.next([])) queries.push(step.value);
  return queries;
}

/**
 * Where the connection can, all at once; then all answers are waited for, as one that is still to come must not meet
 * the next user of the connection.
 * @param last of which nobody needs to know whether it went well
 */
async function sendAll(
  connection: PooledConnection,
  statements: readonly PostgresStatement[],
  last: PostgresStatement | undefined,
): Promise<PostgresResult[]> {
  const results: PostgresResult[] = [];
  if (connection.pipeline === true) {
    const answers = statements.map((statement) => connection.query(statement));
    const lastAnswer = last && connection.query(last).catch(() => {});
    for (const answer of await Promise.allSettled(answers)) {
      if (answer.status === 'rejected') throw answer.reason;
      results.push(answer.value);
    }
    await lastAnswer;
  } else {
    for (const statement of statements) results.push(await connection.query(statement));
    if (last) await connection.query(last).catch(() => {});
  }
  return results;
}

function compareWrites(a: GroupedWrite, b: GroupedWrite): number {
  return compare(a.key, b.key) || compare(a.threadIds?.[0], b.threadIds?.[0]);
}

function compare(a = '', b = ''): number {
  return a < b ? -1 : Number(a > b);
}

/** An error that PostgreSQL gave for a statement, with the connection and everybody else's writes unharmed. */
function isOfStatement(error: unknown): boolean {
  return (error as { severity?: unknown } | null)?.severity === 'ERROR';
}
