/**
 * Owns the statements of the feed that SQL stores share. Where there is one writer at a time an event gets its number
 * when it is inserted; elsewhere see postgres-feed.ts.
 */
import type { FeedEvent, FeedPage, FeedQuery } from '../core/feed.ts';
import type { Batch } from '../core/store.ts';
import { checkFeedQuery, detailsOf, feedEventsOf, feedPageOf, type NewFeedEvent, placeAt } from './feed.ts';
import { inserts, insertTexts, named, type Query, type Row, type Value, type Work } from './sql-work.ts';

export const feedColumns = [
  'type',
  'run_id',
  'tool_call_id',
  'stop',
  'agent_id',
  'tool_name',
  'thread_id',
  'resource_id',
  'at',
  'data',
] as const;

const insertFeed = insertTexts('countersign_feed', feedColumns);

/** In the order of `feedColumns`. */
export function feedRow(event: NewFeedEvent): Value[] {
  return [
    event.type,
    event.runId,
    event.toolCallId,
    event.stop,
    event.agentId,
    event.toolName,
    event.threadId ?? null,
    event.resourceId ?? null,
    event.at,
    detailsOf(event),
  ];
}

/** The transaction of the batch is the only writer: a number that is the next one is seen by nobody before its end. */
export function feedQueries(batch: Batch): Query[] {
  return inserts(insertFeed, feedEventsOf(batch).map(feedRow));
}

/** @throws `invalid-option` for a limit or a place that is none. */
export function* readFeed(query: FeedQuery): Work<FeedPage> {
  checkFeedQuery(query);
  const rows = yield feedQuery(query);
  const [first] = rows;
  const ends = { oldest: Number(first?.oldest ?? 0), newest: Number(first?.newest ?? 0) };
  const events = rows.filter((row) => row.place !== null).map(eventFrom);
  return feedPageOf(query, ends, events);
}

/**
 * One statement, so that the ends are those of the events. A conversation's owner is found by an index; the other
 * filters are looked at event by event, as a reader passes over each only once.
 */
export function feedQuery({ after, limit, agentId, toolName, threadId, resourceId }: FeedQuery): Query {
  const filters = Object.entries({
    agent_id: agentId,
    tool_name: toolName,
    thread_id: threadId,
    resource_id: resourceId,
  }).filter(([, value]) => value !== undefined) as [string, string][];
  const conditions = filters.map(([column]) => ` AND ${column} = ?`).join('');
  const ends = `SELECT (SELECT min(place) FROM countersign_feed) AS oldest,
      (SELECT max(place) FROM countersign_feed) AS newest`;
  if (after === undefined) return { sql: `${ends}, NULL AS place`, params: [] };
  return {
    sql: `SELECT ends.oldest, ends.newest, e.* FROM (${ends}) AS ends LEFT JOIN (
      SELECT place, ${feedColumns.join(', ')} FROM countersign_feed
      WHERE place > ?${conditions} ORDER BY place LIMIT ?) AS e ON 1 = 1 ORDER BY e.place`,
    params: [placeAt(after), ...filters.map(([, value]) => value), limit + 1],
  };
}

function eventFrom(row: Row): FeedEvent {
  return {
    cursor: String(row.place),
    type: row.type as FeedEvent['type'],
    runId: row.run_id as string,
    agentId: row.agent_id as string,
    ...named(row),
    toolCallId: row.tool_call_id as string,
    stop: Number(row.stop),
    toolName: row.tool_name as string,
    at: Number(row.at),
    ...(JSON.parse(row.data as string) as Pick<FeedEvent, 'kind' | 'decision' | 'state'>),
  };
}

/**
 * Forgets at most `limit` events from the oldest on, up to the first that is not older than a time. Never the newest
 * of all: the next number comes after it. Returns how many.
 */
export function* sweepFeed(before: number, limit: number): Work<number> {
  const rows = yield {
    sql: 'SELECT place, at FROM countersign_feed ORDER BY place LIMIT ?',
    params: [limit + 1],
  };
  const kept = rows.findIndex(({ at }) => Number(at) >= before);
  const count = kept === -1 ? Math.max(rows.length - 1, 0) : kept;
  if (count > 0) {
    yield {
      sql: 'DELETE FROM countersign_feed WHERE place < ?',
      params: [Number(rows[count]?.place)],
    };
  }
  return count;
}
