/**
 * Owns how events of the feed get their numbers on PostgreSQL. A number that a write takes is seen only after its
 * commit, when a reader may be past it already (docs/decisions/0014). So a write adds its events without one, and
 * whoever reads gives numbers to those that are committed, one reader at a time.
 */
import type { FeedPage, FeedQuery } from '../core/feed.ts';
import type { Batch } from '../core/store.ts';
import { feedEventsOf } from './feed.ts';
import type { PostgresPool, PostgresStatement } from './postgres-pool.ts';
import type { Part, PostgresQuery } from './postgres-query.ts';
import { begin, inTransaction, withConnection } from './postgres-transaction.ts';
import { feedColumns, feedRow, readFeed } from './sql-feed.ts';
import type { Value, Work } from './sql-work.ts';

/** Events that one transaction numbers. */
const numberedAtOnce = 1000;

const columns = feedColumns.join(', ');

/** What a write adds, below the part `head`. */
export function feedParts(batch: Batch): Part[] {
  const rows = feedEventsOf(batch).map(feedRow);
  if (rows.length === 0) return [];
  const types = feedColumns.map((column) =>
    column === 'stop' || column === 'at' ? '?::bigint[]' : '?::text[]',
  );
  const sql = `INSERT INTO countersign_feed_new (${columns})
      SELECT f.* FROM head, unnest(${types.join(', ')}) AS f`;
  const params = feedColumns.map((_, index) => rows.map((row) => row[index] as Value));
  return [{ name: 'feed', sql, params }];
}

/**
 * Moves events in the order in which their writes took their places, which for the events of one run is the order in
 * which they happened. Its snapshot must be younger than the lock.
 */
const numberEvents: PostgresQuery = {
  sql: `WITH moved AS (DELETE FROM countersign_feed_new
      WHERE seq IN (SELECT seq FROM countersign_feed_new ORDER BY seq LIMIT ?) RETURNING *)
    INSERT INTO countersign_feed (place, ${columns})
      SELECT coalesce((SELECT max(place) FROM countersign_feed), 0) + row_number() OVER (ORDER BY seq), ${columns}
      FROM moved RETURNING place`,
  params: [numberedAtOnce],
};

const unnumberedEvents: PostgresQuery = {
  sql: 'SELECT 1 AS one FROM countersign_feed_new LIMIT 1',
  params: [],
};

export interface NumberedFeed {
  /** Gives numbers to everything that is committed. */
  number(): Promise<void>;
  read(query: FeedQuery): Promise<FeedPage>;
}

/** @param channel names the lock under which numbers are given. */
export function numberedFeed({
  pool,
  channel,
  statementOf,
  read,
}: {
  readonly pool: PostgresPool;
  readonly channel: string;
  readonly statementOf: (query: PostgresQuery) => PostgresStatement;
  readonly read: <Result>(work: Work<Result>) => Promise<Result>;
}): NumberedFeed {
  const number = sharedRuns(async () => {
    for (let count = numberedAtOnce; count === numberedAtOnce; ) {
      count = await inTransaction(
        pool,
        async (connection) => {
          const lock = { sql: 'SELECT pg_advisory_xact_lock(hashtextextended(?, 2))', params: [channel] };
          await connection.query(statementOf(lock));
          return (await connection.query(statementOf(numberEvents))).rows.length;
        },
        begin,
      );
    }
  });

  async function readNumbered(query: FeedQuery): Promise<FeedPage> {
    const unnumbered = await withConnection(pool, (connection) =>
      connection.query(statementOf(unnumberedEvents)),
    );
    if (unnumbered.rows.length > 0) await number();
    return read(readFeed(query));
  }

  return { number, read: readNumbered };
}

/**
 * Runs work that many ask for at once: each is given a run that begins after it asked, and those that ask while one
 * goes on share the next.
 */
export function sharedRuns(work: () => Promise<void>): () => Promise<void> {
  let last: Promise<void> = Promise.resolve();
  let next: Promise<void> | undefined;
  return () => {
    next ??= last = last
      .catch(() => {})
      .then(() => {
        next = undefined;
        return work();
      });
    return next;
  };
}
