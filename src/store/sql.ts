/**
 * Owns the statements about runs that SQL stores share. The driver wraps a write in one transaction that excludes other
 * writers; where several write at once, see postgres-writes.ts.
 */
import type { Outcome } from '../core/event.ts';
import type { Batch, EndedRun, HeadRow, OpenCall, OpenRun, Written } from '../core/store.ts';
import { recordFrom, recordQueries } from './sql-decisions.ts';
import { feedQueries, sweepFeed } from './sql-feed.ts';
import { keepMessages } from './sql-threads.ts';
import { each, inserts, insertTexts, named, type Query, type Value, type Work } from './sql-work.ts';

const heads = {
  insert: `INSERT INTO countersign_heads
      (run_id, agent_id, thread_id, resource_id, version, head, workers,
       suspended_since, interrupted_since, stalled_since, running_since)
    SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?
    WHERE NOT EXISTS (SELECT 1 FROM countersign_outcomes WHERE run_id = ?) ON CONFLICT DO NOTHING`,
  update: (runningSince: string) => `UPDATE countersign_heads
    SET version = ?, head = ?, workers = ?,
      suspended_since = ?, interrupted_since = ?, stalled_since = ?, running_since = ${runningSince}
    WHERE run_id = ? AND version = ?`,
  remove: 'DELETE FROM countersign_heads WHERE run_id = ? AND version = ?',
};
const updateRunning = heads.update('coalesce(running_since, ?)');
const updateStopped = heads.update('?');
/** SQLite writes the indexes of what is set, whether it changes or not: most steps of a run change none of it. */
const updateVersion = `UPDATE countersign_heads SET version = ?, workers = ?
    WHERE run_id = ? AND version = ? AND head = ? AND suspended_since IS ? AND interrupted_since IS ?
      AND stalled_since IS ? AND (running_since IS NULL) = ?`;

const whatIsStored = `SELECT
    (SELECT count(*) FROM countersign_heads WHERE run_id = ?) AS open,
    (SELECT count(*) FROM countersign_events WHERE run_id = ? AND batch = ?)
      + (SELECT count(*) FROM countersign_decisions WHERE run_id = ? AND batch = ?)
      + (SELECT count(*) FROM countersign_outcomes WHERE run_id = ? AND batch = ?) AS mine`;

const insertEvents = insertTexts('countersign_events', ['run_id', 'seq', 'batch', 'data']);

const insertCalls = insertTexts(
  'countersign_calls',
  [
    'run_id',
    'tool_call_id',
    'owner_run_id',
    'stop',
    'kind',
    'tool_name',
    'path',
    'since',
    'request_seq',
    'stop_seq',
  ],
  `ON CONFLICT (run_id, tool_call_id) DO UPDATE SET owner_run_id = excluded.owner_run_id, stop = excluded.stop,
    kind = excluded.kind, tool_name = excluded.tool_name, path = excluded.path, since = excluded.since,
    request_seq = excluded.request_seq, stop_seq = excluded.stop_seq`,
);

const insertOutcome = `INSERT INTO countersign_outcomes
    (run_id, agent_id, thread_id, resource_id, ended_at, batch, data)
  VALUES (?, ?, ?, ?, ?, ?, ?)`;

/** Whether a statement wrote anything. */
function* changes(query: Query): Work<boolean> {
  const [row] = yield { ...query, counts: true };
  return Number(row?.changed) > 0;
}

/** @param now milliseconds since 1970: since when the run runs, if nothing of it waits. */
export function* createRun(batch: Batch, now: number): Work<Written> {
  const { runId, head } = batch;
  const created = yield* changes({
    sql: heads.insert,
    params: [
      runId,
      head.agentId,
      head.threadId ?? null,
      head.resourceId ?? null,
      versionAfter(batch),
      head.head,
      JSON.stringify(head.workers),
      ...stopsOf(head),
      isRunning(head) ? now : null,
      runId,
    ],
  });
  if (!created) return yield* refused(batch, 'exists');
  yield* each(queriesOf(batch));
  return { ok: true, version: versionAfter(batch) };
}

/** @param now as in `createRun`. */
export function* appendToRun(batch: Batch, now: number): Work<Written> {
  if (!((yield* moveHead(batch)) || (yield* changeHead(batch, now))))
    return yield* refused(batch, 'conflict');
  yield* each(queriesOf(batch));
  return { ok: true, version: versionAfter(batch) };
}

/** Moves a head on that stays as it is, as it does most of the time where no call begins or ends to wait. */
function* moveHead({ runId, head, opened, closed, ...batch }: Batch): Work<boolean> {
  if (opened.length > 0 || closed.length > 0) return false;
  return yield* changes({
    sql: updateVersion,
    params: [
      versionAfter(batch),
      JSON.stringify(head.workers),
      runId,
      batch.expectedVersion,
      head.head,
      ...stopsOf(head),
      isRunning(head) ? 0 : 1,
    ],
  });
}

function* changeHead({ runId, head, ...batch }: Batch, now: number): Work<boolean> {
  const running = isRunning(head);
  return yield* changes({
    sql: running ? updateRunning : updateStopped,
    params: [
      versionAfter(batch),
      head.head,
      JSON.stringify(head.workers),
      ...stopsOf(head),
      running ? now : null,
      runId,
      batch.expectedVersion,
    ],
  });
}

/** @param at milliseconds since 1970: when the run ended. */
export function* removeRun(batch: Batch, outcome: Outcome, at: number): Work<Written> {
  const { runId, head } = batch;
  const removed = yield* changes({ sql: heads.remove, params: [runId, batch.expectedVersion] });
  if (!removed) return yield* refused(batch, 'conflict');
  yield { sql: 'DELETE FROM countersign_events WHERE run_id = ?', params: [runId] };
  yield { sql: 'DELETE FROM countersign_calls WHERE run_id = ?', params: [runId] };
  yield* each([...recordQueries(batch), ...feedQueries(batch)]);
  yield* keepMessages(batch.messages ?? [], at);
  yield {
    sql: insertOutcome,
    params: [
      runId,
      head.agentId,
      head.threadId ?? null,
      head.resourceId ?? null,
      at,
      batch.id,
      JSON.stringify(outcome),
    ],
  };
  return { ok: true, version: versionAfter(batch) };
}

/** Why nothing was written: lost, or written before and only the answer was lost. */
export function* refused({ id, runId, ...batch }: Batch, why: 'exists' | 'conflict'): Work<Written> {
  const [found] = yield { sql: whatIsStored, params: [runId, runId, id, runId, id, runId, id] };
  if (Number(found?.mine) > 0) return { ok: true, version: versionAfter(batch) };
  return { ok: false, why: why === 'exists' || Number(found?.open) > 0 ? why : 'gone' };
}

export function versionAfter(batch: Pick<Batch, 'expectedVersion' | 'events'>): number {
  return batch.expectedVersion + batch.events.length;
}

export function stopsOf(head: HeadRow): Value[] {
  return [head.suspendedSince ?? null, head.interruptedSince ?? null, head.stalledSince ?? null];
}

export function isRunning(head: HeadRow): boolean {
  return stopsOf(head).every((since) => since === null);
}

/** What a write adds, once the head is taken. */
function queriesOf(batch: Batch): Query[] {
  return [...eventQueries(batch), ...indexQueries(batch), ...recordQueries(batch), ...feedQueries(batch)];
}

/** Only the first event of a batch carries its id: that tells whether the batch is stored, and takes less room. */
function eventQueries({ id, runId, expectedVersion, events }: Batch): Query[] {
  const row = (text: string, index: number): Value[] => [
    runId,
    expectedVersion + index + 1,
    index === 0 ? id : null,
    text,
  ];
  return inserts(insertEvents, events.map(row));
}

function indexQueries({ runId, opened, closed }: Batch): Query[] {
  const row = (call: OpenCall): Value[] => [
    runId,
    call.toolCallId,
    call.runId,
    call.stop,
    call.kind,
    call.toolName,
    pathText(call),
    call.since,
    call.requestSeq,
    call.stopSeq,
  ];
  return [
    ...closed.map(({ toolCallId }) => ({
      sql: 'DELETE FROM countersign_calls WHERE run_id = ? AND tool_call_id = ?',
      params: [runId, toolCallId],
    })),
    ...inserts(insertCalls, opened.map(row)),
  ];
}

export function pathText({ path }: OpenCall): string | null {
  return path === undefined ? null : JSON.stringify(path);
}

/** @param after the version up to which the events are known. */
export function* loadRun(runId: string, after: number): Work<OpenRun | EndedRun | undefined> {
  // One statement, so that version and events belong together.
  const open = yield {
    sql: `SELECT h.version, e.data FROM countersign_heads h
      LEFT JOIN countersign_events e ON e.run_id = h.run_id AND e.seq > ?
      WHERE h.run_id = ? ORDER BY e.seq`,
    params: [after, runId],
  };
  const [first] = open;
  if (first) {
    const events = first.data === null ? [] : open.map((row) => row.data as string);
    return { kind: 'open', version: Number(first.version), events };
  }
  const [ended] = yield { sql: 'SELECT * FROM countersign_outcomes WHERE run_id = ?', params: [runId] };
  if (ended === undefined) return undefined;
  const records = yield {
    sql: `SELECT data, outcome FROM countersign_decisions WHERE run_id = ?
      ORDER BY decided_at, tool_call_id, stop`,
    params: [runId],
  };
  return {
    kind: 'ended',
    runId,
    agentId: ended.agent_id as string,
    ...named(ended),
    at: Number(ended.ended_at),
    outcome: JSON.parse(ended.data as string) as Outcome,
    records: records.map(recordFrom),
  };
}

/**
 * Forgets runs that ended before a time (milliseconds since 1970), with their decisions; those of open runs stay,
 * however old. So too the events of the feed before that time. At most `limit` of each. Returns how many, of that of
 * which there were more.
 */
export function* sweepEnded(before: number, limit: number): Work<number> {
  const expired =
    'SELECT run_id FROM countersign_outcomes WHERE ended_at < ? ORDER BY ended_at, run_id LIMIT ?';
  yield { sql: `DELETE FROM countersign_decisions WHERE run_id IN (${expired})`, params: [before, limit] };
  const swept = yield {
    sql: `DELETE FROM countersign_outcomes WHERE run_id IN (${expired}) RETURNING run_id`,
    params: [before, limit],
  };
  return Math.max(swept.length, yield* sweepFeed(before, limit));
}
