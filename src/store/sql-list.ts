/**
 * Owns the statements of `list`. A page is read in one statement: its runs from an index that is in the order of
 * the list already, their calls, and the texts of the events that those refer to.
 */
import type { PathStep } from '../core/below.ts';
import type { ListedRun, ListPage, ListQuery, ListStatus, OpenCall } from '../core/store.ts';

import {
  comparePositions,
  countLimit,
  type Position,
  pageOf,
  positionOfRun,
  type Stops,
  startOf,
  statusOf,
} from './listing.ts';
import { afterPosition, named, type Query, type Row, type Work } from './sql-work.ts';

type Since = 'suspended_since' | 'interrupted_since' | 'stalled_since' | 'running_since';

/** A part of the list that one index has in order: rows by one column, and what else must hold of them. */
interface Branch {
  readonly since: Since;
  readonly only: string;
}

const branchesOf: Readonly<Record<ListStatus, readonly Branch[]>> = {
  suspended: [{ since: 'suspended_since', only: '' }],
  interrupted: [{ since: 'interrupted_since', only: '' }],
  stalled: [{ since: 'stalled_since', only: '' }],
  running: [{ since: 'running_since', only: '' }],
  // A run that stopped in several ways is listed once, at its newest stop.
  all: [
    {
      since: 'suspended_since',
      only: ` AND suspended_since >= coalesce(interrupted_since, suspended_since)
        AND suspended_since >= coalesce(stalled_since, suspended_since)`,
    },
    {
      since: 'interrupted_since',
      only: ` AND (suspended_since IS NULL OR interrupted_since > suspended_since)
        AND interrupted_since >= coalesce(stalled_since, interrupted_since)`,
    },
    {
      since: 'stalled_since',
      only: ` AND (suspended_since IS NULL OR stalled_since > suspended_since)
        AND (interrupted_since IS NULL OR stalled_since > interrupted_since)`,
    },
    { since: 'running_since', only: '' },
  ],
};

/** Which calls are shown; undefined for none: what is stalled or runs has no call that made it so. */
const callsOf: Readonly<Record<ListStatus, string | undefined>> = {
  suspended: ` AND c.kind <> 'interrupted'`,
  interrupted: ` AND c.kind = 'interrupted'`,
  stalled: undefined,
  running: undefined,
  all: '',
};

/** How a row is found for each run of the page. */
export type Lookup = (join: 'JOIN' | 'LEFT JOIN', table: string, alias: string, condition: string) => string;

/** For planners that look rows up one by one, as there are few. */
const plainLookup: Lookup = (join, table, alias, condition) => `${join} ${table} ${alias} ON ${condition}`;

/** For planners that might rather read whole tables: OFFSET keeps them from it. */
export const lateralLookup: Lookup = (join, table, alias, condition) =>
  `${join} LATERAL (SELECT * FROM ${table} ${alias} WHERE ${condition} OFFSET 0) AS ${alias} ON TRUE`;

/** @throws `invalid-option` for a limit, offset or cursor that is none. */
export function* listRuns(query: ListQuery, lookup?: Lookup): Work<ListPage> {
  const start = startOf(query);
  const sign = query.order === 'oldest' ? -1 : 1;
  const runs = runsFrom(yield pageQuery(query, start, lookup), query.status).sort(
    (a, b) => sign * comparePositions(positionOfRun(a), positionOfRun(b)),
  );
  const isAll = start === undefined && !query.offset && runs.length <= query.limit;
  if (isAll) return pageOf(query, runs, runs.length);
  const [counted] = yield countQuery(query);
  return pageOf(query, runs, Number(counted?.total));
}

export function pageQuery(query: ListQuery, start: Position | undefined, lookup = plainLookup): Query {
  const wanted = query.limit + 1;
  const offset = query.offset ?? 0;
  const found = foundQuery(query, start, wanted + offset);
  const kinds = callsOf[query.status];
  const [columns, joins] = kinds === undefined ? ['', ''] : [callColumns, callJoins(kinds, lookup)];
  return {
    sql: `WITH page AS (SELECT * FROM (${found.sql}) AS found ORDER BY ${orderOf(query, 'since')} LIMIT ? OFFSET ?)
      SELECT page.since AS listed_since, h.run_id, h.agent_id, h.thread_id, h.resource_id,
        h.suspended_since, h.interrupted_since, h.stalled_since${columns}
      FROM page ${lookup('JOIN', 'countersign_heads', 'h', 'h.run_id = page.run_id')}${joins}`,
    params: [...found.params, wanted, offset],
  };
}

/** Each branch counts up to the limit of counting, so the sum may be above it. */
function countQuery(query: ListQuery): Query {
  const found = foundQuery(query, undefined, countLimit);
  return { sql: `SELECT count(*) AS total FROM (${found.sql}) AS counted`, params: found.params };
}

const callColumns = `, c.tool_call_id, c.owner_run_id, c.stop, c.kind, c.tool_name, c.path, c.since, c.request_seq, c.stop_seq,
        asked.data AS request, paused.data AS suspension`;

function callJoins(kinds: string, lookup: Lookup): string {
  const event = (alias: string, condition: string): string =>
    lookup('LEFT JOIN', 'countersign_events', alias, `${alias}.run_id = c.run_id AND ${condition}`);
  return `
        ${lookup('LEFT JOIN', 'countersign_calls', 'c', `c.run_id = page.run_id${kinds}`)}
        ${event('asked', 'asked.seq = c.request_seq')}
        ${event('paused', `paused.seq = c.stop_seq AND c.kind <> 'held'`)}`;
}

/** The first places of each branch: enough of them, whichever branch the page comes from. */
function foundQuery(query: ListQuery, start: Position | undefined, limit: number): Query {
  if (query.threadId !== undefined) return threadQuery(query, start, limit);
  const branches = branchesOf[query.status].map((branch) => branchQuery(branch, query, start, limit));
  const sql = branches.map((branch, index) =>
    branches.length === 1 ? branch.sql : `SELECT * FROM (${branch.sql}) AS part${index}`,
  );
  return { sql: sql.join(' UNION ALL '), params: branches.flatMap((branch) => branch.params) };
}

/** Since when a run is listed among all: its newest stop. */
const newestStop = `CASE
        WHEN suspended_since >= coalesce(interrupted_since, suspended_since)
          AND suspended_since >= coalesce(stalled_since, suspended_since) THEN suspended_since
        WHEN interrupted_since >= coalesce(stalled_since, interrupted_since) THEN interrupted_since
        ELSE coalesce(stalled_since, running_since) END`;

/** The open runs of one conversation are few: all are looked at, whatever they do. */
function threadQuery(query: ListQuery, start: Position | undefined, limit: number): Query {
  const conditions = [...filtersOf(query, []), ...rangeOf(query, 'since', start)];
  const [first] = branchesOf[query.status];
  const since = query.status === 'all' ? newestStop : (first as Branch).since;
  return {
    sql: `SELECT run_id, since FROM
      (SELECT run_id, agent_id, resource_id, ${since} AS since
        FROM countersign_heads WHERE thread_id = ?) AS of_thread
      WHERE since IS NOT NULL${conditions.map(({ sql }) => ` AND ${sql}`).join('')}
      ORDER BY ${orderOf(query, 'since')} LIMIT ?`,
    params: [query.threadId as string, ...conditions.flatMap(({ params }) => params), limit],
  };
}

/** Only the columns that the index has: what is passed over by an offset or counted is never looked up. */
function branchQuery(
  { since, only }: Branch,
  query: ListQuery,
  start: Position | undefined,
  limit: number,
): Query {
  const indexed = since === 'suspended_since' ? ['agent_id', 'resource_id'] : ['agent_id'];
  const conditions = [...filtersOf(query, indexed), ...rangeOf(query, since, start)];
  return {
    sql: `SELECT run_id, ${since} AS since
      FROM countersign_heads
      WHERE ${since} IS NOT NULL${only}${conditions.map(({ sql }) => ` AND ${sql}`).join('')}
      ORDER BY ${orderOf(query, since)} LIMIT ?`,
    params: [...conditions.flatMap(({ params }) => params), limit],
  };
}

/** Each the reverse of the other, so that an index has both. */
function orderOf({ order }: ListQuery, since: string): string {
  return order === 'oldest' ? `${since}, run_id DESC` : `${since} DESC, run_id`;
}

/** From when to when, and after the last of the page before. */
function rangeOf({ from, to, order }: ListQuery, since: string, start: Position | undefined): Query[] {
  const conditions: Query[] = [];
  if (from !== undefined) conditions.push({ sql: `${since} >= ?`, params: [from] });
  if (to !== undefined) conditions.push({ sql: `${since} <= ?`, params: [to] });
  if (start) conditions.push(afterPosition(start, since, 'run_id', order));
  return conditions;
}

/**
 * Filters by what the index has are compared as they are. Others are hidden from the planner, which without statistics
 * might scan all runs of an agent to find the few that are asked for.
 */
function filtersOf({ agentId, resourceId }: ListQuery, indexed: readonly string[]): Query[] {
  return Object.entries({ agent_id: agentId, resource_id: resourceId }).flatMap(([column, value]) =>
    value === undefined
      ? []
      : [{ sql: indexed.includes(column) ? `${column} = ?` : `${column} || '' = ?`, params: [value] }],
  );
}

function runsFrom(rows: readonly Row[], status: ListStatus): ListedRun[] {
  const byRun = new Map<string, Row[]>();
  for (const row of rows) {
    const known = byRun.get(row.run_id as string);
    if (known) known.push(row);
    else byRun.set(row.run_id as string, [row]);
  }
  return [...byRun].map(([runId, [row, ...more]]) => listedRun(runId, row as Row, more, status));
}

function listedRun(runId: string, row: Row, more: readonly Row[], status: ListStatus): ListedRun {
  const hasCalls = callsOf[status] !== undefined && row.tool_call_id !== null;
  return {
    runId,
    agentId: row.agent_id as string,
    ...named(row),
    status: statusOf(stopsFrom(row)),
    since: Number(row.listed_since),
    calls: hasCalls ? [row, ...more].sort(bySequence).map(listedCall) : [],
  };
}

function stopsFrom(row: Row): Stops {
  const since = (column: Since): number | undefined =>
    row[column] === null ? undefined : Number(row[column]);
  return {
    suspendedSince: since('suspended_since'),
    interruptedSince: since('interrupted_since'),
    stalledSince: since('stalled_since'),
  };
}

function bySequence(a: Row, b: Row): number {
  return Number(a.request_seq) - Number(b.request_seq);
}

function listedCall(row: Row): ListedRun['calls'][number] {
  return {
    call: {
      runId: row.owner_run_id as string,
      toolCallId: row.tool_call_id as string,
      stop: Number(row.stop),
      kind: row.kind as OpenCall['kind'],
      toolName: row.tool_name as string,
      ...(typeof row.path === 'string' ? { path: JSON.parse(row.path) as PathStep[] } : {}),
      since: Number(row.since),
      requestSeq: Number(row.request_seq),
      stopSeq: Number(row.stop_seq),
    },
    request: row.request as string,
    ...(row.suspension === null ? {} : { suspension: row.suspension as string }),
  };
}
