/** The statements about workers, shared by all SQL stores. Time is the database's own. */
import type { AbandonedRun } from '../core/store.ts';
import { compareTexts } from './listing.ts';
import type { Query, Row, Work } from './sql-work.ts';

/** Rows of workers that are dead for longer than this are of no use: a worker without a row is dead, too. */
const forgottenAfter = 24 * 60 * 60 * 1000;

/** Candidates of one sweep: more are looked at in the next. */
const lookedAtAtMost = 10_000;

/** As their index has them: for another order, SQLite would read all runs. */
const inOrder = 'ORDER BY running_since, run_id DESC';

const moving = `SELECT run_id, agent_id, head, workers FROM countersign_heads WHERE head <> 'waiting'`;

/** @param now the database's clock as an SQL expression, in milliseconds. */
export function* beat(worker: string, now: string): Work<void> {
  yield {
    sql: `INSERT INTO countersign_workers (worker_id, beat_at) VALUES (?, ${now})
      ON CONFLICT (worker_id) DO UPDATE SET beat_at = excluded.beat_at`,
    params: [worker],
  };
}

export function* retire(worker: string, now: string): Work<void> {
  yield {
    sql: `DELETE FROM countersign_workers WHERE worker_id = ? OR beat_at < ${now} - ${forgottenAfter}`,
    params: [worker],
  };
}

export function* deadWorkers(workers: readonly string[], lease: number, now: string): Work<string[]> {
  const living = yield* livingWorkers(lease, now);
  return workers.filter((worker) => !living.has(worker));
}

export function* claimedRuns(worker: string): Work<string[]> {
  const rows = yield {
    sql: `${moving} AND replace(workers, ?, '') <> workers ${inOrder}`,
    params: [JSON.stringify(worker)],
  };
  return rows.filter((row) => claimantsOf(row).includes(worker)).map((row) => row.run_id as string);
}

export function* abandonedRuns(
  lease: number,
  limit: number,
  agentIds: readonly string[] | undefined,
  now: string,
): Work<AbandonedRun[]> {
  const living = yield* livingWorkers(lease, now);
  const rows = yield candidatesQuery([...living], agentIds);
  return rows
    .filter((row) => row.head === 'runnable' || claimantsOf(row).some((worker) => !living.has(worker)))
    .map((row) => ({ runId: row.run_id as string, agentId: row.agent_id as string }))
    .sort((a, b) => compareTexts(a.runId, b.runId))
    .slice(0, limit);
}

/** Most runs that move have one worker, which lives: the database passes these over. */
export function candidatesQuery(living: readonly string[], agentIds?: readonly string[]): Query {
  const alone = living.map((worker) => JSON.stringify([worker]));
  const owned = alone.length === 0 ? '' : ` AND workers NOT IN (${marks(alone)})`;
  const ours = agentIds === undefined ? '' : ` AND agent_id IN (${marks(agentIds)})`;
  return {
    sql: `${moving}${owned}${ours} ${inOrder} LIMIT ${lookedAtAtMost}`,
    params: [...alone, ...(agentIds ?? [])],
  };
}

function marks(values: readonly string[]): string {
  return values.length === 0 ? 'NULL' : values.map(() => '?').join(', ');
}

function* livingWorkers(lease: number, now: string): Work<Set<string>> {
  const rows = yield {
    sql: `SELECT worker_id FROM countersign_workers WHERE beat_at > ${now} - ?`,
    params: [lease],
  };
  return new Set(rows.map((row) => row.worker_id as string));
}

function claimantsOf(row: Row): string[] {
  return JSON.parse(row.workers as string) as string[];
}
