/** Owns the statements about decision records that SQL stores share. */
import type { DecisionQuery } from '../core/feed.ts';
import type {
  Batch,
  DecisionPage,
  DecisionRecord,
  HeadRow,
  ListedDecision,
  RecordedOutcome,
} from '../core/store.ts';
import { countLimit, decisionIdParts, decisionPageOf, startOf } from './listing.ts';
import {
  each,
  inserts,
  insertTexts,
  named,
  type Query,
  type Row,
  type Value,
  type Work,
} from './sql-work.ts';

export const decisionColumns = [
  'run_id',
  'tool_call_id',
  'stop',
  'agent_id',
  'decision_id',
  'decided_at',
  'batch',
  'outcome',
  'data',
  'thread_id',
  'resource_id',
  'by_id',
  'verdict',
  'tool_name',
] as const;

const insertDecisions = insertTexts('countersign_decisions', decisionColumns, 'ON CONFLICT DO NOTHING');

/** The conversation of the run, open or ended, of records that are written without it. */
export function ownerFilled(condition: string): string {
  const of = (column: string): string => `${column} = coalesce(
      (SELECT h.${column} FROM countersign_heads h WHERE h.run_id = d.run_id),
      (SELECT o.${column} FROM countersign_outcomes o WHERE o.run_id = d.run_id))`;
  return `UPDATE countersign_decisions AS d SET ${of('thread_id')}, ${of('resource_id')} ${condition}`;
}

const fillOwner = ownerFilled('WHERE d.run_id = ? AND d.tool_call_id = ? AND d.stop = ?');

/** In the order of `decisionColumns`. */
export function decisionRow(
  runId: string,
  batch: string,
  { outcome, ...record }: DecisionRecord,
  head?: HeadRow,
): Value[] {
  return [
    runId,
    record.toolCallId,
    record.stop,
    record.agentId,
    record.decisionId ?? null,
    record.at,
    batch,
    outcome === undefined ? null : JSON.stringify(outcome),
    JSON.stringify(record),
    head?.threadId ?? null,
    head?.resourceId ?? null,
    indexable(record.by?.id),
    record.verdict,
    indexable(record.toolName),
  ];
}

/** What an index can hold everywhere. A name that it cannot is kept all the same, and is not found by it. */
export const longestIndexed = 500;

function indexable(name: string | undefined): string | null {
  return name === undefined || name.length > longestIndexed || name.includes('\0') ? null : name;
}

export function recordQueries({ id, runId, head, records, outcomes }: Batch): Query[] {
  return [
    ...inserts(
      insertDecisions,
      records.map((record) => decisionRow(runId, id, record, head)),
    ),
    ...outcomes.map(({ toolCallId, stop, outcome }) => ({
      sql: 'UPDATE countersign_decisions SET outcome = ? WHERE run_id = ? AND tool_call_id = ? AND stop = ?',
      params: [JSON.stringify(outcome), runId, toolCallId, stop],
    })),
  ];
}

/** A record that no batch brings. Once. */
export function* addRecord(record: DecisionRecord): Work<void> {
  const { runId, toolCallId, stop } = record;
  yield* each(inserts(insertDecisions, [decisionRow(runId, '', record)]));
  yield { sql: fillOwner, params: [runId, toolCallId, stop] };
}

export function recordFrom({ data, outcome }: Row): DecisionRecord {
  const record = JSON.parse(data as string) as DecisionRecord;
  return outcome === null ? record : { ...record, outcome: JSON.parse(outcome as string) as RecordedOutcome };
}

/** @throws `invalid-option` for a limit or cursor that is none. */
export function* listDecisions(query: DecisionQuery): Work<DecisionPage> {
  const start = startOf(query);
  const decisions = (yield pageQuery(query)).map(listedFrom);
  if (start === undefined && decisions.length <= query.limit) {
    return decisionPageOf(query, decisions, decisions.length);
  }
  const { sql, params } = conditionsOf(query);
  const [counted] = yield {
    sql: `SELECT count(*) AS total FROM
      (SELECT 1 AS one FROM countersign_decisions WHERE ${sql} LIMIT ?) AS counted`,
    params: [...params, countLimit],
  };
  return decisionPageOf(query, decisions, Number(counted?.total));
}

function pageQuery(query: DecisionQuery): Query {
  const isOldest = query.order === 'oldest';
  const { sql, params } = conditionsOf(query);
  const after = afterQuery(query, isOldest);
  const [time, rest] = isOldest ? ['', ' DESC'] : [' DESC', ''];
  return {
    sql: `SELECT thread_id, resource_id, data, outcome FROM countersign_decisions
      WHERE ${sql}${after.sql}
      ORDER BY decided_at${time}, run_id${rest}, tool_call_id${rest}, stop${rest} LIMIT ?`,
    params: [...params, ...after.params, query.limit + 1],
  };
}

function afterQuery(query: DecisionQuery, isOldest: boolean): Query {
  const start = startOf(query);
  if (start === undefined) return { sql: '', params: [] };
  const { runId, toolCallId, stop } = decisionIdParts(start.id);
  const [before, after] = isOldest ? ['>', '<'] : ['<', '>'];
  return {
    sql: ` AND decided_at ${before}= ? AND (decided_at ${before} ?
        OR (run_id, tool_call_id, stop) ${after} (?, ?, ?))`,
    params: [start.since, start.since, runId, toolCallId, stop],
  };
}

/**
 * As in the list of runs: the filter that leaves fewest is compared as it is, so that its index is taken, and the
 * others are hidden from the planner.
 */
function conditionsOf({ from, to, verdict, ...query }: DecisionQuery): Query {
  const named: readonly (readonly [string, string | undefined])[] = [
    ['run_id', query.runId],
    ['thread_id', query.threadId],
    ['by_id', query.by],
    ['resource_id', query.resourceId],
    ['tool_name', query.toolName],
    ['agent_id', query.agentId],
  ];
  const filters = named.filter((filter): filter is readonly [string, string] => filter[1] !== undefined);
  const conditions = filters.map(([column, value], index) => ({
    sql: index === 0 ? `${column} = ?` : `${column} || '' = ?`,
    params: [value],
  }));
  if (verdict !== undefined) {
    // Approvals are most of the record; the index of the others is taken where nothing else leaves fewer.
    const isIndexed = verdict !== 'approve' && filters.length === 0;
    const sql = isIndexed ? `verdict = ? AND verdict <> 'approve'` : `verdict || '' = ?`;
    conditions.push({ sql, params: [verdict] });
  }
  const times: readonly (readonly [string, number | undefined])[] = [
    ['decided_at >= ?', from],
    ['decided_at <= ?', to],
  ];
  const range = times.flatMap(([sql, time]) => (time === undefined ? [] : [{ sql, params: [time] }]));
  const all: Query[] = [...conditions, ...range];
  return {
    sql: all.length === 0 ? '1 = 1' : all.map(({ sql }) => sql).join(' AND '),
    params: all.flatMap(({ params }) => params),
  };
}

function listedFrom(row: Row): ListedDecision {
  return { ...recordFrom(row), ...named(row) };
}
