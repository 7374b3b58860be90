import { DatabaseSync } from 'node:sqlite';
import { afterAll, describe, expect, test } from 'vitest';
import type { ListPage, ListQuery } from '../core/store.ts';
import { sqliteDialect } from './sql-dialects.ts';
import { listRuns } from './sql-list.ts';
import { migrate } from './sql-migrations.ts';

test('rows may come in any order', () => {
  const row = (run_id: string, request_seq: number) => ({
    run_id,
    agent_id: 'agent',
    thread_id: null,
    resource_id: null,
    suspended_since: 1,
    interrupted_since: null,
    stalled_since: null,
    listed_since: '1',
    tool_call_id: `call ${request_seq}`,
    request_seq: `${request_seq}`,
    suspension: null,
  });
  const work = listRuns({ status: 'suspended', limit: 10 });
  work.next([]);
  const { value } = work.next([row('b', 10), row('a', 1), row('b', 9)]);
  const runs = (value as ListPage).runs.map((run) => [
    run.runId,
    ...run.calls.map(({ call }) => call.toolCallId),
  ]);
  expect(runs).toEqual([
    ['a', 'call 1'],
    ['b', 'call 9', 'call 10'],
  ]);
});

describe('the plan of the list', () => {
  const database = new DatabaseSync(':memory:');
  afterAll(() => database.close());
  const migration = migrate(sqliteDialect);
  for (let step = migration.next([]); !step.done; ) {
    const rows = database.prepare(step.value.sql).all(...step.value.params);
    step = migration.next(rows);
  }

  function plansOf(query: ListQuery): string[] {
    const plans: string[] = [];
    const work = listRuns(query);
    // An answer of more rows than the limit makes it count.
    const row = { run_id: 'a', listed_since: 1, total: 5 };
    for (let step = work.next([]); !step.done; ) {
      const { sql, params } = step.value;
      const lines = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...params);
      plans.push(lines.map((line) => line.detail).join('\n'));
      step = work.next([row, { ...row, run_id: 'b' }]);
    }
    return plans;
  }

  const agentId = 'agent';
  const threadId = 'thread';
  const resourceId = 'resource';
  const cases: [Partial<ListQuery>, string][] = [
    [{}, 'suspended_since (suspended_since>?)'],
    [{ agentId }, 'suspended_since_agent_id (agent_id=? AND suspended_since>?)'],
    [{ resourceId }, 'suspended_since_resource_id (resource_id=? AND suspended_since>?)'],
    [
      { agentId, resourceId },
      'suspended_since_agent_id_resource_id (agent_id=? AND resource_id=? AND suspended_since>?)',
    ],
    [
      { status: 'interrupted', agentId, resourceId },
      'interrupted_since_agent_id (agent_id=? AND interrupted_since>?)',
    ],
    [{ status: 'stalled' }, 'stalled_since (stalled_since>?)'],
    [{ status: 'running', agentId }, 'moving (running_since>?)'],
  ];

  test.each(cases)('%o takes the index', (query, index) => {
    const plans = plansOf({ status: 'suspended', limit: 1, ...query });
    expect(plans).toHaveLength(2);
    for (const plan of plans) {
      expect(plan.replace('COVERING ', '')).toContain(
        `SEARCH countersign_heads USING INDEX countersign_heads_${index}`,
      );
      expect(plan).not.toMatch(/SCAN (countersign_|(c|asked|paused)\b)|TEMP B-TREE/);
    }
  });

  test.each<Partial<ListQuery>>([
    { threadId },
    { agentId, threadId, resourceId },
    { status: 'interrupted', threadId },
    { status: 'running', threadId },
    { status: 'all', threadId, agentId },
  ])('%o takes the index of the thread', (query) => {
    for (const plan of plansOf({ status: 'suspended', limit: 1, ...query })) {
      expect(plan.match(/SEARCH countersign_heads USING.*/g)).toEqual([
        'SEARCH countersign_heads USING INDEX countersign_heads_thread_id (thread_id=?)',
      ]);
      expect(plan).not.toMatch(/SCAN (countersign_|(c|asked|paused)\b)/);
    }
  });

  test.each([{}, { agentId }, { resourceId }])('all of %o takes an index for each status', (query) => {
    for (const plan of plansOf({ status: 'all', limit: 1, ...query })) {
      expect(plan.match(/SEARCH countersign_heads USING/g)).toHaveLength(4);
      expect(plan).not.toMatch(/SCAN (countersign_|(c|asked|paused)\b)/);
    }
  });
});
