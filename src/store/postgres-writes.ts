/**
 * Owns the writes of runs on PostgreSQL. Each is a few statements that are sent at once and need no answer in
 * between: so a process that freezes never holds the lock of a run, and a write costs one round trip. The head's row
 * decides who wins, in one statement with everything that depends on it. What is stored is what sql.ts stores.
 */
import type { Outcome } from '../core/event.ts';
import type { Batch, OpenCall } from '../core/store.ts';
import { isInFeed } from './feed.ts';
import { feedParts } from './postgres-feed.ts';
import { joined, type Part, type PostgresQuery, type PostgresWrite } from './postgres-query.ts';
import { messageParts } from './postgres-threads.ts';
import { isRunning, pathText, stopsOf, versionAfter } from './sql.ts';
import { decisionColumns, decisionRow } from './sql-decisions.ts';
import type { Value } from './sql-work.ts';

/** A version that no run has: the id is taken, and nothing else is known yet. */
const reserved = -1;

/**
 * Takes the id, then writes as an append does. Whether the run has ended is only looked up with the id taken:
 * before, an end that another writer is about to commit would be missed.
 */
export function createWrite(batch: Batch, now: number): PostgresWrite {
  const { runId, head } = batch;
  const params = [runId, head.agentId, head.threadId ?? null, head.resourceId ?? null, reserved];
  const reserve = {
    sql: `INSERT INTO countersign_heads (run_id, agent_id, thread_id, resource_id, version, head, workers)
      VALUES (?, ?, ?, ?, ?, 'waiting', '[]') ON CONFLICT DO NOTHING`,
    params,
  };
  const giveBack = {
    sql: 'DELETE FROM countersign_heads WHERE run_id = ? AND version = ?',
    params: [runId, reserved],
  };
  const ended = 'AND NOT EXISTS (SELECT 1 FROM countersign_outcomes o WHERE o.run_id = h.run_id)';
  const queries = [reserve, growQuery(batch, reserved, now, ended), giveBack];
  return { queries, decisive: 1, feeds: isInFeed(batch) };
}

export function appendWrite(batch: Batch, now: number): PostgresWrite {
  const query = growQuery(batch, batch.expectedVersion, now, '');
  return { queries: [query], decisive: 0, feeds: isInFeed(batch) };
}

export function removeWrite(batch: Batch, outcome: Outcome, at: number): PostgresWrite {
  const { id, runId, head, expectedVersion, messages = [] } = batch;
  const removed = {
    name: 'head',
    sql: 'DELETE FROM countersign_heads WHERE run_id = ? AND version = ? RETURNING run_id',
    params: [runId, expectedVersion],
  };
  const events = {
    name: 'events',
    sql: 'DELETE FROM countersign_events e USING head WHERE e.run_id = head.run_id',
    params: [],
  };
  const calls = {
    name: 'calls',
    sql: 'DELETE FROM countersign_calls c USING head WHERE c.run_id = head.run_id',
    params: [],
  };
  const end = {
    name: 'ended',
    sql: `INSERT INTO countersign_outcomes (run_id, agent_id, thread_id, resource_id, ended_at, batch, data)
      SELECT run_id, ?::text, ?::text, ?::text, ?::bigint, ?::text, ?::text FROM head`,
    params: [head.agentId, head.threadId ?? null, head.resourceId ?? null, at, id, JSON.stringify(outcome)],
  };
  const said = messageParts(messages, at, 'head');
  return {
    queries: [
      joined([removed, events, calls, ...recordParts(batch), ...feedParts(batch), ...said, end], 'run_id'),
    ],
    decisive: 0,
    feeds: isInFeed(batch),
    threadIds: messages.map(({ threadId }) => threadId),
  };
}

function growQuery(batch: Batch, version: number, now: number, unless: string): PostgresQuery {
  const { runId, head } = batch;
  const running = isRunning(head);
  const grown = {
    name: 'head',
    sql: `UPDATE countersign_heads h SET version = ?, head = ?, workers = ?,
        suspended_since = ?, interrupted_since = ?, stalled_since = ?,
        running_since = ${running ? 'coalesce(h.running_since, ?)' : '?'}
      WHERE h.run_id = ? AND h.version = ? ${unless} RETURNING h.run_id`,
    params: [
      versionAfter(batch),
      head.head,
      JSON.stringify(head.workers),
      ...stopsOf(head),
      running ? now : null,
      runId,
      version,
    ],
  };
  const parts = [eventParts, indexParts, recordParts, feedParts].flatMap((partsOf) => partsOf(batch));
  return joined([grown, ...parts], 'run_id');
}

function eventParts({ id, expectedVersion, events }: Batch): Part[] {
  if (events.length === 0) return [];
  const sql = `INSERT INTO countersign_events (run_id, seq, batch, data)
      SELECT head.run_id, ?::bigint + e.place, CASE WHEN e.place = 1 THEN ?::text END, e.data
      FROM head, unnest(?::text[]) WITH ORDINALITY AS e (data, place)`;
  return [{ name: 'events', sql, params: [expectedVersion, id, events] }];
}

function indexParts({ opened, closed }: Batch): Part[] {
  const calls = new Map(opened.map((call) => [call.toolCallId, call]));
  const gone = closed.map(({ toolCallId }) => toolCallId).filter((id) => !calls.has(id));
  return [
    ...(gone.length === 0 ? [] : [closedPart(gone)]),
    ...(calls.size === 0 ? [] : [openedPart([...calls.values()])]),
  ];
}

function closedPart(toolCallIds: readonly string[]): Part {
  const sql = `DELETE FROM countersign_calls c USING head
      WHERE c.run_id = head.run_id AND c.tool_call_id = ANY (?::text[])`;
  return { name: 'closed', sql, params: [toolCallIds] };
}

function openedPart(calls: readonly OpenCall[]): Part {
  const sql = `INSERT INTO countersign_calls
        (run_id, tool_call_id, owner_run_id, stop, kind, tool_name, since, request_seq, stop_seq, path)
      SELECT head.run_id, c.* FROM head, unnest(?::text[], ?::text[], ?::bigint[], ?::text[], ?::text[],
        ?::bigint[], ?::bigint[], ?::bigint[], ?::text[]) AS c
      ON CONFLICT (run_id, tool_call_id) DO UPDATE SET owner_run_id = excluded.owner_run_id,
        stop = excluded.stop, kind = excluded.kind, tool_name = excluded.tool_name, since = excluded.since,
        request_seq = excluded.request_seq, stop_seq = excluded.stop_seq, path = excluded.path`;
  const columns = [
    'toolCallId',
    'runId',
    'stop',
    'kind',
    'toolName',
    'since',
    'requestSeq',
    'stopSeq',
  ] as const;
  const params = [...columns.map((column) => calls.map((call) => call[column])), calls.map(pathText)];
  return { name: 'opened', sql, params };
}

function recordParts({ id, runId, head, records, outcomes }: Batch): Part[] {
  const texts = outcomes.map(({ toolCallId, stop, outcome }) => ({
    toolCallId,
    stop,
    text: JSON.stringify(outcome),
  }));
  const outcomeIn = (row: readonly Value[]): Value =>
    texts.findLast(({ toolCallId, stop }) => toolCallId === row[1] && stop === row[2])?.text ??
    (row[7] as Value);
  const rows = records
    .map((record) => decisionRow(runId, id, record, head))
    // The outcomes of this batch cannot reach a row that the same statement inserts.
    .map((row) => row.with(7, outcomeIn(row)));
  return [
    ...(rows.length === 0 ? [] : [decisionsPart(rows)]),
    ...(texts.length === 0 ? [] : [outcomesPart(texts)]),
  ];
}

function decisionsPart(rows: readonly (readonly Value[])[]): Part {
  const types = decisionColumns.map((column) =>
    column === 'stop' || column === 'decided_at' ? '?::bigint[]' : '?::text[]',
  );
  const sql = `INSERT INTO countersign_decisions (${decisionColumns.join(', ')})
      SELECT d.* FROM head, unnest(${types.join(', ')}) AS d
      ON CONFLICT DO NOTHING`;
  const params = decisionColumns.map((_, column) => rows.map((row) => row[column] as Value));
  return { name: 'decided', sql, params };
}

function outcomesPart(
  outcomes: readonly { readonly toolCallId: string; readonly stop: number; readonly text: string }[],
): Part {
  const sql = `UPDATE countersign_decisions d SET outcome = o.outcome
      FROM head, unnest(?::text[], ?::bigint[], ?::text[]) AS o (tool_call_id, stop, outcome)
      WHERE d.run_id = head.run_id AND d.tool_call_id = o.tool_call_id AND d.stop = o.stop`;
  const params = [
    outcomes.map(({ toolCallId }) => toolCallId),
    outcomes.map(({ stop }) => stop),
    outcomes.map(({ text }) => text),
  ];
  return { name: 'outcomes', sql, params };
}
