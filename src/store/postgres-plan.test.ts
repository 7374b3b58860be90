import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newSchemaName, postgresUrl } from '../../test/support/postgres-schema.ts';
import type { DecisionQuery } from '../core/feed.ts';
import type { ListQuery } from '../core/store.ts';
import { PostgresStore } from './postgres.ts';
import { listDecisions } from './sql-decisions.ts';
import { feedQuery } from './sql-feed.ts';
import { lateralLookup, listRuns } from './sql-list.ts';
import { listThreads, readMessages, readTranscript } from './sql-threads.ts';
import type { Query, Work } from './sql-work.ts';
import { candidatesQuery, claimedRuns } from './sql-workers.ts';

const schemaName = newSchemaName();
let client: pg.Client;

beforeAll(async () => {
  const connectionString = await postgresUrl();
  const store = new PostgresStore({ connectionString, schemaName });
  await store.load('run', 0);
  await store.close();
  client = new pg.Client({ connectionString });
  await client.connect();
  await client.query(`SET search_path = "${schemaName}"`);
  // 20,000 runs that wait, 50 of each other kind.
  const kinds = [
    ['waiting', 20_000, 'suspended_since'],
    ['waiting', 50, 'interrupted_since'],
    ['waiting', 50, 'stalled_since'],
    ['owned', 50, 'running_since'],
  ] as const;
  for (const [head, count, since] of kinds) {
    await client.query(`INSERT INTO countersign_heads
        (run_id, agent_id, thread_id, resource_id, version, head, workers, ${since})
      SELECT '${since}' || n, 'agent' || n % 5, 'thread' || n, 'resource' || n % 1000, 1, '${head}', '["worker"]', n
      FROM generate_series(1, ${count}) AS n`);
  }
  await client.query(`INSERT INTO countersign_calls
    SELECT run_id, 'call', run_id, 1, 'held', 'refund', 1, 1, 1 FROM countersign_heads`);
  await client.query(`INSERT INTO countersign_events SELECT run_id, 1, NULL, '{}' FROM countersign_heads`);
  await client.query(`INSERT INTO countersign_threads
    SELECT 'thread' || n, 'resource' || n % 200, NULL, NULL, n, n FROM generate_series(1, 20000) AS n`);
  await client.query(`INSERT INTO countersign_messages
    SELECT 'thread' || n % 50, 'message' || n, n, 'run' || n / 3, n % 3, '{}' FROM generate_series(1, 20000) AS n`);
  await client.query(`INSERT INTO countersign_decisions
      (run_id, tool_call_id, stop, agent_id, decided_at, batch, data, thread_id, resource_id, by_id, verdict, tool_name)
    SELECT 'run' || n, 'call', 1, 'agent' || n % 5, n, '', '{}', 'thread' || n, 'resource' || n % 1000,
      'person' || n % 50, CASE WHEN n % 20 = 0 THEN 'decline' ELSE 'approve' END, 'tool' || n % 10
    FROM generate_series(1, 20000) AS n`);
  await client.query(`INSERT INTO countersign_feed
      (place, type, run_id, tool_call_id, stop, agent_id, tool_name, resource_id, at, data)
    SELECT n, 'opened', 'run' || n, 'call', 1, 'agent', 'tool', 'resource' || n % 1000, n, '{}'
    FROM generate_series(1, 20000) AS n`);
  await client.query('ANALYZE');
}, 60_000);
afterAll(() => client.end());

async function planOf({ sql, params }: Query): Promise<string> {
  let count = 0;
  const text = `EXPLAIN ${sql.replaceAll('?', () => `$${++count}`)}`;
  const { rows } = await client.query(text, [...params]);
  return rows.map((row) => row['QUERY PLAN']).join('\n');
}

async function plansOf(work: Work<unknown>): Promise<string[]> {
  const plans: string[] = [];
  // An answer of more rows than the limit makes the list count.
  const row = {
    run_id: 'a',
    listed_since: 1,
    total: 5,
    workers: '[]',
    title: null,
    metadata: null,
    data: '{}',
    outcome: null,
  };
  for (let step = work.next([]); !step.done; step = work.next([row, { ...row, run_id: 'b' }])) {
    plans.push(await planOf(step.value));
  }
  return plans;
}

const agentId = 'agent1';
const threadId = 'thread7';
const resourceId = 'resource3';
const cases: [Partial<ListQuery>, string][] = [
  [{}, 'suspended_since'],
  [{ from: 5, to: 15_000 }, 'suspended_since'],
  [{ agentId }, 'suspended_since'],
  [{ resourceId }, 'suspended_since_resource_id'],
  [{ threadId }, 'thread_id'],
  [{ agentId, resourceId }, 'suspended_since_(agent_id_)?resource_id'],
  [{ agentId, threadId, resourceId }, 'thread_id'],
  [{ status: 'all', threadId }, 'thread_id'],
  [{ status: 'interrupted', threadId }, 'thread_id'],
  [{ status: 'interrupted' }, 'interrupted_since'],
  [{ status: 'stalled', agentId }, 'stalled_since'],
  [{ status: 'running' }, 'moving'],
  [{ status: 'all' }, 'suspended_since'],
  [{ status: 'all', agentId }, 'suspended_since'],
];

describe('the plan of the list', () => {
  test.each(cases)('%o takes the index', async (query, index) => {
    const plans = await plansOf(listRuns({ status: 'suspended', limit: 1, ...query }, lateralLookup));
    expect(plans).toHaveLength(2);
    for (const plan of plans) {
      expect(plan).toMatch(new RegExp(`Index.* (using|on) countersign_heads_${index}`));
      expect(plan).not.toContain('Seq Scan');
    }
  });

  test('a page of 100 looks its calls and events up, and reads no table', async () => {
    const [plan] = await plansOf(listRuns({ status: 'suspended', limit: 100 }, lateralLookup));
    expect(plan).toMatch(/countersign_calls_pkey/);
    expect(plan).toMatch(/countersign_events_by_run/);
    expect(plan).not.toMatch(/Seq Scan|Hash/);
  });
});

test('runs that move are found without those that wait', async () => {
  const plans = [
    await planOf(candidatesQuery(['worker', 'other'])),
    await planOf(candidatesQuery([])),
    ...(await plansOf(claimedRuns('worker'))),
  ];
  for (const plan of plans) {
    expect(plan).toContain('countersign_heads_moving');
    expect(plan).not.toContain('Seq Scan');
  }
});

describe('the plan of threads', () => {
  test('a page and its total take the index of the resource, and sort nothing', async () => {
    const plans = await plansOf(listThreads({ resourceId: 'resource7', limit: 1 }));
    expect(plans).toHaveLength(2);
    for (const plan of plans) expect(plan).toMatch(/Index.* (using|on) countersign_threads_by_resource/);
    for (const plan of plans) expect(plan).not.toMatch(/Seq Scan|Sort/);
  });

  const key = { at: 15_000, runId: 'run', index: 0 };
  test.each([{}, { to: key }, { from: key }])(
    'the newest messages %o are read from the end',
    async (query) => {
      const [plan] = await plansOf(readMessages({ threadId: 'thread7', last: 20, ...query }));
      expect(plan).toMatch(/Index Scan Backward using countersign_messages_by_place/);
      expect(plan).not.toMatch(/Seq Scan|Sort/);
      const [transcript] = await plansOf(readTranscript({ threadId: 'thread7', last: 20, ...query }));
      expect(transcript).toMatch(/Index Scan Backward using countersign_messages_by_place/);
      expect(transcript).not.toMatch(/Seq Scan|Sort/);
    },
  );
});

describe('the plan of the decisions', () => {
  const filters: [Partial<DecisionQuery>, string][] = [
    [{}, 'by_decided_at'],
    [{ from: 5, to: 15_000 }, 'by_decided_at'],
    [{ agentId }, 'by_(agent_id|decided_at)'],
    [{ toolName: 'tool3' }, 'by_(tool_name|decided_at)'],
    [{ threadId }, 'by_thread_id'],
    [{ resourceId }, 'by_resource_id'],
    [{ by: 'person7' }, 'by_(by_id|decided_at)'],
    [{ verdict: 'decline' }, 'by_verdict'],
    [{ runId: 'run7' }, 'pkey'],
    [{ resourceId, toolName: 'tool3', agentId, verdict: 'approve' }, 'by_resource_id'],
  ];
  test.each(filters)('%o takes the index', async (query, index) => {
    for (const order of ['newest', 'oldest'] as const) {
      const [page = '', total = ''] = await plansOf(listDecisions({ limit: 1, order, ...query }));
      expect(page).toMatch(new RegExp(`Index.* (using|on) countersign_decisions_${index}`));
      expect(page).not.toContain('Seq Scan');
      // Where most of the first rows match, as many as are counted are found soon without an index.
      if (!/agent|tool|^[^|]*decided/.test(index)) expect(total).not.toContain('Seq Scan');
    }
  });
});

test.each([
  [{}, 'pkey'],
  [{ resourceId }, 'by_resource'],
])('the feed by %o is read on from a place', async (query, index) => {
  const plan = await planOf(feedQuery({ after: '10000', limit: 10, ...query }));
  expect(plan).toMatch(new RegExp(`Index.* (using|on) countersign_feed_${index}`));
  expect(plan).not.toContain('Seq Scan');
});
