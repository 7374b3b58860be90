/**
 * Owns the statements about threads that SQL stores share. A thread's row comes first in every write that touches its
 * messages: so whoever writes into a thread and whoever removes it exclude each other.
 */
import type {
  MessageKey,
  MessageQuery,
  MessageRow,
  ThreadPage,
  ThreadRow,
  ThreadStore,
  Transcript,
} from '../core/store.ts';
import { countLimit, type Position, startOf, threadPageOf } from './listing.ts';
import {
  afterPosition,
  each,
  inserts,
  insertTexts,
  type Query,
  type Row,
  type Value,
  type Work,
} from './sql-work.ts';

type ThreadQuery = Parameters<ThreadStore['list']>[0];

const threadColumns = 'thread_id, resource_id, title, metadata, created_at, updated_at';

/** The update changes nothing: it makes the row that is there, whosever it is, the answer. */
const createdThread = `INSERT INTO countersign_threads (${threadColumns}) VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT (thread_id) DO UPDATE SET thread_id = excluded.thread_id RETURNING *`;

/** Moves the time on, never back. */
export const touchedThread = `UPDATE countersign_threads SET updated_at = CASE WHEN updated_at < ? THEN ? ELSE updated_at END`;

export const messageColumns = ['thread_id', 'message_id', 'at', 'run_id', 'idx', 'data'] as const;

/** What is said again keeps its place. */
export const onSameMessage = 'ON CONFLICT (thread_id, message_id) DO UPDATE SET data = excluded.data';

const insertMessages = insertTexts('countersign_messages', messageColumns, onSameMessage);

export function createThreadQuery(thread: ThreadRow): Query {
  const { threadId, resourceId, title, metadata, createdAt, updatedAt } = thread;
  return {
    sql: createdThread,
    params: [threadId, resourceId, jsonOf(title), jsonOf(metadata), createdAt, updatedAt],
  };
}

export function* createThread(thread: ThreadRow): Work<ThreadRow> {
  const [row] = yield createThreadQuery(thread);
  return threadFrom(row as Row);
}

export function* getThread(threadId: string): Work<ThreadRow | undefined> {
  const [row] = yield {
    sql: `SELECT ${threadColumns} FROM countersign_threads WHERE thread_id = ?`,
    params: [threadId],
  };
  return row && threadFrom(row);
}

/** The thread before its messages: a message that somebody else keeps at that time waits, and finds no thread. */
export function removeThreadQueries(threadId: string): [thread: Query, messages: Query] {
  return [
    { sql: 'DELETE FROM countersign_threads WHERE thread_id = ? RETURNING thread_id', params: [threadId] },
    { sql: 'DELETE FROM countersign_messages WHERE thread_id = ?', params: [threadId] },
  ];
}

export function* removeThread(threadId: string): Work<boolean> {
  const [thread, messages] = removeThreadQueries(threadId);
  const removed = yield thread;
  yield messages;
  return removed.length > 0;
}

export function* saveMessages(threadId: string, messages: readonly MessageRow[], at: number): Work<boolean> {
  const touched = yield {
    sql: `${touchedThread} WHERE thread_id = ? RETURNING thread_id`,
    params: [at, at, threadId],
  };
  if (touched.length === 0) return false;
  const rows = messages.map((message) => messageRow({ ...message, threadId }));
  yield* each(inserts(insertMessages, rows));
  return true;
}

/** Messages of any threads, each as `saveMessages` keeps it. */
export function* keepMessages(messages: readonly MessageRow[], at: number): Work<void> {
  const byThread = Map.groupBy(messages, ({ threadId }) => threadId);
  for (const [threadId, ofThread] of byThread) yield* saveMessages(threadId, ofThread, at);
}

export function messageRow({ threadId, messageId, at, runId, index, data }: MessageRow): Value[] {
  return [threadId, messageId, at, runId, index, data];
}

/** @throws `invalid-option` for a limit, offset or cursor that is none. */
export function* listThreads(query: ThreadQuery): Work<ThreadPage> {
  const start = startOf(query);
  const threads = (yield pageQuery(query, start)).map(threadFrom);
  const isAll = start === undefined && !query.offset && threads.length <= query.limit;
  if (isAll) return threadPageOf(query, threads, threads.length);
  const [counted] = yield {
    sql: `SELECT count(*) AS total FROM
      (SELECT 1 FROM countersign_threads WHERE resource_id = ? LIMIT ?) AS counted`,
    params: [query.resourceId, countLimit],
  };
  return threadPageOf(query, threads, Number(counted?.total));
}

function pageQuery({ resourceId, limit, offset = 0 }: ThreadQuery, start: Position | undefined): Query {
  const after = start && afterPosition(start, 'updated_at', 'thread_id');
  return {
    sql: `SELECT ${threadColumns} FROM countersign_threads
      WHERE resource_id = ?${after ? ` AND ${after.sql}` : ''}
      ORDER BY updated_at DESC, thread_id LIMIT ? OFFSET ?`,
    params: [resourceId, ...(after?.params ?? []), limit + 1, offset],
  };
}

export function* readMessages(query: MessageQuery): Work<MessageRow[]> {
  const { threadId, last } = query;
  const direction = last === undefined ? 'ASC' : 'DESC';
  const rows = yield messagesQuery('message_id, at, run_id, idx, data', query, direction, last);
  const messages = rows.map((row) => messageFrom(threadId, row));
  return last === undefined ? messages : messages.reverse();
}

/** The database joins the texts: most of the time that many rows take goes into handing them over. */
export function* readTranscript(query: MessageQuery): Work<Transcript> {
  const { last } = query;
  const key = 'at, run_id, idx';
  const said = messagesQuery('data', query, 'DESC', last);
  const newest = messagesQuery(key, query, 'DESC', 1);
  const oldest = messagesQuery(key, query, 'ASC', 1);
  // There may be fewer than are asked for.
  const counted = last === undefined ? oldest : messagesQuery(key, query, 'DESC', 1, last - 1);
  const [row] = yield {
    sql: `SELECT said.texts, newest.at, newest.run_id, newest.idx, coalesce(counted.at, oldest.at) AS from_at,
        coalesce(counted.run_id, oldest.run_id) AS from_run_id, coalesce(counted.idx, oldest.idx) AS from_idx
      FROM (SELECT '[' || string_agg(data, ',') || ']' AS texts FROM (${said.sql}) AS found) AS said
        LEFT JOIN (${newest.sql}) AS newest ON TRUE
        LEFT JOIN (${counted.sql}) AS counted ON TRUE
        LEFT JOIN (${oldest.sql}) AS oldest ON TRUE`,
    params: [said, newest, counted, oldest].flatMap(({ params }) => params),
  };
  if (row === undefined || row.texts === null) return { texts: '[]' };
  const { from_at: at, from_run_id: run_id, from_idx: idx } = row;
  return { texts: row.texts as string, from: keyFrom({ at, run_id, idx }), to: keyFrom(row) };
}

function messagesQuery(
  columns: string,
  { threadId, from, to }: MessageQuery,
  direction: 'ASC' | 'DESC',
  limit?: number,
  offset?: number,
): Query {
  const bounds = [...boundOf('>=', from), ...boundOf('<=', to)];
  const order = ['at', 'run_id', 'idx', 'message_id'].map((column) => `${column} ${direction}`).join(', ');
  return {
    sql: `SELECT ${columns} FROM countersign_messages
      WHERE thread_id = ?${bounds.map(({ sql }) => ` AND ${sql}`).join('')}
      ORDER BY ${order}${limit === undefined ? '' : ' LIMIT ?'}${offset === undefined ? '' : ' OFFSET ?'}`,
    params: [threadId, ...bounds.flatMap(({ params }) => params), ...[limit, offset].filter(isGiven)],
  };
}

function isGiven(value: number | undefined): value is number {
  return value !== undefined;
}

function boundOf(comparison: '>=' | '<=', key: MessageKey | undefined): Query[] {
  if (key === undefined) return [];
  return [{ sql: `(at, run_id, idx) ${comparison} (?, ?, ?)`, params: [key.at, key.runId, key.index] }];
}

function jsonOf(value: unknown): string | null {
  return value === undefined ? null : JSON.stringify(value);
}

export function threadFrom(row: Row): ThreadRow {
  return {
    threadId: row.thread_id as string,
    resourceId: row.resource_id as string,
    ...(row.title === null ? {} : { title: JSON.parse(row.title as string) as string }),
    ...(row.metadata === null ? {} : { metadata: JSON.parse(row.metadata as string) }),
    createdAt: Number(row.created_at),
    updatedAt: Number(row.updated_at),
  };
}

function messageFrom(threadId: string, row: Row): MessageRow {
  return {
    threadId,
    messageId: row.message_id as string,
    ...keyFrom(row),
    data: row.data as string,
  };
}

function keyFrom({ at, run_id, idx }: Row): MessageKey {
  return { at: Number(at), runId: run_id as string, index: Number(idx) };
}
