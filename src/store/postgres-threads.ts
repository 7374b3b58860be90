/**
 * Owns the writes of threads on PostgreSQL. What is stored is what sql-threads.ts stores. Before anything else, a
 * transaction locks the rows of all threads it touches, in one order: so no two wait for each other, and once a removal
 * is committed no message of the thread comes after it.
 */
import type { MessageRow, ThreadRow } from '../core/store.ts';
import { joined, type Part, type PostgresQuery, type PostgresWrite } from './postgres-query.ts';
import {
  createThreadQuery,
  messageColumns,
  messageRow,
  onSameMessage,
  removeThreadQueries,
  touchedThread,
} from './sql-threads.ts';
import type { Value } from './sql-work.ts';

/** The locks that a transaction begins with. */
export function lockThreads(threadIds: readonly string[]): PostgresQuery {
  return {
    sql: `SELECT thread_id FROM countersign_threads WHERE thread_id = ANY (?::text[])
      ORDER BY thread_id FOR UPDATE`,
    params: [threadIds],
  };
}

export function createThreadWrite(thread: ThreadRow): PostgresWrite {
  return { queries: [createThreadQuery(thread)], decisive: 0, threadIds: [thread.threadId] };
}

export function removeThreadWrite(threadId: string): PostgresWrite {
  return { queries: removeThreadQueries(threadId), decisive: 0, threadIds: [threadId] };
}

export function saveWrite(threadId: string, messages: readonly MessageRow[], at: number): PostgresWrite {
  const ofThread = messages.map((message) => ({ ...message, threadId }));
  const parts = [touchedPart([threadId], at, undefined), ...saidParts(ofThread)];
  return { queries: [joined(parts, 'thread_id')], decisive: 0, threadIds: [threadId] };
}

/** What a removal says in its threads, @param head the part that has a row when it won. */
export function messageParts(messages: readonly MessageRow[], at: number, head: string): Part[] {
  const threadIds = [...new Set(messages.map(({ threadId }) => threadId))];
  return threadIds.length === 0 ? [] : [touchedPart(threadIds, at, head), ...saidParts(messages)];
}

function touchedPart(threadIds: readonly string[], at: number, head: string | undefined): Part {
  return {
    name: 'thread',
    sql: `${touchedThread}${head === undefined ? '' : ` FROM ${head}`}
      WHERE thread_id = ANY (?::text[]) RETURNING thread_id`,
    params: [at, at, threadIds],
  };
}

function saidParts(messages: readonly MessageRow[]): Part[] {
  if (messages.length === 0) return [];
  const rows = onceEach(messages).map(messageRow);
  const sql = `INSERT INTO countersign_messages (${messageColumns.join(', ')})
      SELECT m.* FROM thread JOIN unnest(?::text[], ?::text[], ?::bigint[], ?::text[], ?::bigint[], ?::text[])
        AS m (${messageColumns.join(', ')}) ON m.thread_id = thread.thread_id
      ${onSameMessage}`;
  const params = messageColumns.map((_, column) => rows.map((row) => row[column] as Value));
  return [{ name: 'said', sql, params }];
}

/** One statement cannot write a row twice. Of those with one id the first has the place, and the last has the word. */
function onceEach(messages: readonly MessageRow[]): MessageRow[] {
  const byId = new Map<string, MessageRow>();
  for (const message of messages) {
    const id = JSON.stringify([message.threadId, message.messageId]);
    byId.set(id, { ...message, ...byId.get(id), data: message.data });
  }
  return [...byId.values()];
}
