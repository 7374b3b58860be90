/**
 * Owns the tables. A migration that was released is never changed: a new one is added, and must keep what older
 * releases wrote readable.
 */
import { CountersignError } from '../core/errors.ts';
import { longestIndexed, ownerFilled } from './sql-decisions.ts';
import type { Dialect } from './sql-dialects.ts';
import type { Work } from './sql-work.ts';

/**
 * Brings the tables to this release. Safe when two processes do it at once, if the transaction around it excludes
 * other writers.
 * @throws `store-failed` when a newer release has written the tables.
 */
export function* migrate(dialect: Dialect): Work<void> {
  yield {
    sql: 'CREATE TABLE IF NOT EXISTS countersign_migrations (number BIGINT NOT NULL PRIMARY KEY)',
    params: [],
  };
  const [row] = yield {
    sql: 'SELECT coalesce(max(number), 0) AS newest FROM countersign_migrations',
    params: [],
  };
  const newest = Number(row?.newest);
  const migrations = [first(dialect), second(dialect), third(dialect), fourth, fifth(dialect), sixth];
  if (newest > migrations.length) {
    throw new CountersignError(
      'store-failed',
      `A newer release of countersign wrote this database (its tables have version ${newest}).`,
      {
        expected: `version ${migrations.length} or lower`,
        todo: 'Update countersign here, or open another database. Nothing was changed.',
      },
    );
  }
  for (const [index, statements] of migrations.entries()) {
    if (index < newest) continue;
    for (const sql of statements) yield { sql, params: [] };
    yield { sql: 'INSERT INTO countersign_migrations (number) VALUES (?)', params: [index + 1] };
  }
}

/**
 * `run_id` is always the id of the root run, which is the log. Events lie in a plain table: their texts are large.
 * Runs that are suspended are many and have an index for each filter; those in the other states are few.
 */
function first({ id, clustered }: Dialect): string[] {
  return [
    `CREATE TABLE countersign_heads (
      run_id ${id} NOT NULL PRIMARY KEY,
      agent_id ${id} NOT NULL,
      thread_id ${id},
      resource_id ${id},
      version BIGINT NOT NULL,
      head TEXT NOT NULL,
      workers TEXT NOT NULL,
      suspended_since BIGINT,
      interrupted_since BIGINT,
      stalled_since BIGINT,
      running_since BIGINT
    )${clustered}`,
    ...[
      ['suspended_since'],
      ['suspended_since', 'agent_id'],
      ['suspended_since', 'agent_id', 'resource_id'],
      ['suspended_since', 'resource_id'],
      ['suspended_since', 'thread_id'],
      ['interrupted_since'],
      ['interrupted_since', 'agent_id'],
      ['stalled_since'],
      ['stalled_since', 'agent_id'],
      ['running_since'],
    ].map(([since = '', ...filters]) => headIndex(since, filters)),
    `CREATE TABLE countersign_events (
      run_id ${id} NOT NULL,
      seq BIGINT NOT NULL,
      batch TEXT,
      data TEXT NOT NULL
    )`,
    'CREATE UNIQUE INDEX countersign_events_by_run ON countersign_events (run_id, seq)',
    `CREATE TABLE countersign_calls (
      run_id ${id} NOT NULL,
      tool_call_id ${id} NOT NULL,
      owner_run_id ${id} NOT NULL,
      stop BIGINT NOT NULL,
      kind TEXT NOT NULL,
      tool_name TEXT NOT NULL,
      since BIGINT NOT NULL,
      request_seq BIGINT NOT NULL,
      stop_seq BIGINT NOT NULL,
      PRIMARY KEY (run_id, tool_call_id)
    )${clustered}`,
    `CREATE TABLE countersign_decisions (
      run_id ${id} NOT NULL,
      tool_call_id ${id} NOT NULL,
      stop BIGINT NOT NULL,
      agent_id ${id} NOT NULL,
      decision_id ${id},
      decided_at BIGINT NOT NULL,
      batch TEXT NOT NULL,
      outcome TEXT,
      data TEXT NOT NULL,
      PRIMARY KEY (run_id, tool_call_id, stop)
    )`,
    `CREATE TABLE countersign_outcomes (
      run_id ${id} NOT NULL PRIMARY KEY,
      agent_id ${id} NOT NULL,
      thread_id ${id},
      resource_id ${id},
      ended_at BIGINT NOT NULL,
      batch TEXT NOT NULL,
      data TEXT NOT NULL
    )`,
    'CREATE INDEX countersign_outcomes_by_end ON countersign_outcomes (ended_at, run_id)',
  ];
}

/** Who moves a run that does not wait: few rows, whatever the number of runs that wait. */
function second({ id, clustered }: Dialect): string[] {
  return [
    `CREATE TABLE countersign_workers (
      worker_id ${id} NOT NULL PRIMARY KEY,
      beat_at BIGINT NOT NULL
    )${clustered}`,
    "CREATE INDEX countersign_heads_moving ON countersign_heads (run_id) WHERE head <> 'waiting'",
  ];
}

/**
 * Conversations, and which delegations lead to a call. `title` and `metadata` are JSON, which can hold every text.
 * Messages lie in a plain table, like events. The newest of a thread are read from the end of one index.
 */
function third({ id, clustered }: Dialect): string[] {
  return [
    `CREATE TABLE countersign_threads (
      thread_id ${id} NOT NULL PRIMARY KEY,
      resource_id ${id} NOT NULL,
      title TEXT,
      metadata TEXT,
      created_at BIGINT NOT NULL,
      updated_at BIGINT NOT NULL
    )${clustered}`,
    `CREATE INDEX countersign_threads_by_resource
      ON countersign_threads (resource_id, updated_at DESC, thread_id)`,
    `CREATE TABLE countersign_messages (
      thread_id ${id} NOT NULL,
      message_id ${id} NOT NULL,
      at BIGINT NOT NULL,
      run_id ${id} NOT NULL,
      idx BIGINT NOT NULL,
      data TEXT NOT NULL,
      PRIMARY KEY (thread_id, message_id)
    )`,
    `CREATE INDEX countersign_messages_by_place
      ON countersign_messages (thread_id, at, run_id, idx, message_id)`,
    'ALTER TABLE countersign_calls ADD COLUMN path TEXT',
  ];
}

/** One index of the runs that do not wait, where there were two: each step of a run would write both. */
const fourth = [
  'DROP INDEX countersign_heads_running_since',
  'DROP INDEX countersign_heads_moving',
  `CREATE INDEX countersign_heads_moving ON countersign_heads (running_since, run_id DESC)
    WHERE running_since IS NOT NULL OR head <> 'waiting'`,
];

/**
 * What decisions are listed by, and the feed. Columns beside `data` are for filters alone; what is null in most rows is
 * in no index of them. Decisions of one moment are few: their order is not in the indexes, which keeps them thin.
 */
function fifth(dialect: Dialect): string[] {
  const { id, place, identity, text } = dialect;
  const of = (path: string): string =>
    `CASE WHEN length(${text(path)}) <= ${longestIndexed} THEN ${text(path)} END`;
  const event = `type TEXT NOT NULL,
      run_id ${id} NOT NULL,
      tool_call_id ${id} NOT NULL,
      stop BIGINT NOT NULL,
      agent_id ${id} NOT NULL,
      tool_name ${id} NOT NULL,
      thread_id ${id},
      resource_id ${id},
      at BIGINT NOT NULL,
      data TEXT NOT NULL`;
  return [
    ...['thread_id', 'resource_id', 'by_id', 'verdict', 'tool_name'].map(
      (column) => `ALTER TABLE countersign_decisions ADD COLUMN ${column} ${id}`,
    ),
    ownerFilled(''),
    `UPDATE countersign_decisions SET
      by_id = ${of('by.id')}, verdict = ${of('verdict')}, tool_name = ${of('toolName')}`,
    ...decisionIndexes.map(([column, condition]) => {
      const columns = column === 'decided_at' ? column : `${column}, decided_at`;
      return `CREATE INDEX countersign_decisions_by_${column} ON countersign_decisions (${columns})${condition}`;
    }),
    `CREATE TABLE countersign_feed (
      place ${place} NOT NULL PRIMARY KEY,
      ${event}
    )`,
    `CREATE INDEX countersign_feed_by_resource ON countersign_feed (resource_id, place)
      WHERE resource_id IS NOT NULL`,
    ...(identity === undefined
      ? []
      : [
          `CREATE TABLE countersign_feed_new (
      seq ${identity} PRIMARY KEY,
      ${event}
    )`,
        ]),
  ];
}

const decisionIndexes = [
  ['decided_at', ''],
  ['agent_id', ''],
  ['tool_name', ' WHERE tool_name IS NOT NULL'],
  ['thread_id', ' WHERE thread_id IS NOT NULL'],
  ['resource_id', ' WHERE resource_id IS NOT NULL'],
  ['by_id', ' WHERE by_id IS NOT NULL'],
  ['verdict', ` WHERE verdict <> 'approve'`],
] as const;

/** The runs of a thread in one index that a run enters once, where each of its stops entered one and left it. */
const sixth = [
  'DROP INDEX countersign_heads_suspended_since_thread_id',
  'CREATE INDEX countersign_heads_thread_id ON countersign_heads (thread_id) WHERE thread_id IS NOT NULL',
];

function headIndex(since: string, filters: readonly string[]): string {
  const name = ['countersign_heads', since, ...filters].join('_');
  // Read backwards: the newest stop comes last, where adding is cheapest and leaves the pages full.
  const columns = [...filters, since, 'run_id DESC'].join(', ');
  const present = [since, ...filters.filter((filter) => filter !== 'agent_id')];
  return `CREATE INDEX ${name} ON countersign_heads (${columns})
      WHERE ${present.map((column) => `${column} IS NOT NULL`).join(' AND ')}`;
}
