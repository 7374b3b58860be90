import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { DecisionQuery, FeedQuery } from '../core/feed.ts';
import { listDecisions } from './sql-decisions.ts';
import { sqliteDialect } from './sql-dialects.ts';
import { feedQuery } from './sql-feed.ts';
import { migrate } from './sql-migrations.ts';
import type { Query } from './sql-work.ts';

const database = new DatabaseSync(':memory:');
beforeAll(() => {
  const migration = migrate(sqliteDialect);
  for (let step = migration.next([]); !step.done; ) {
    step = migration.next(database.prepare(step.value.sql).all(...step.value.params));
  }
});
afterAll(() => database.close());

function planOf({ sql, params }: Query): string {
  const lines = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...params);
  return lines.map((line) => line.detail).join('\n');
}

function plansOf(query: DecisionQuery): string[] {
  const plans: string[] = [];
  const row = { data: '{}', outcome: null, thread_id: null, resource_id: null, total: 5 };
  // An answer of more rows than the limit makes it count.
  const work = listDecisions(query);
  for (let step = work.next([]); !step.done; step = work.next([row, row])) plans.push(planOf(step.value));
  return plans;
}

const cases: [Partial<DecisionQuery>, string][] = [
  [{}, 'decided_at'],
  [{ from: 1, to: 5 }, 'decided_at (decided_at>? AND decided_at<?)'],
  [{ agentId: 'a' }, 'agent_id (agent_id=?)'],
  [{ agentId: 'a', from: 1 }, 'agent_id (agent_id=? AND decided_at>?)'],
  [{ toolName: 'a' }, 'tool_name (tool_name=?)'],
  [{ threadId: 'a' }, 'thread_id (thread_id=?)'],
  [{ resourceId: 'a' }, 'resource_id (resource_id=?)'],
  [{ by: 'a' }, 'by_id (by_id=?)'],
  [{ verdict: 'decline' }, 'verdict (verdict=?)'],
  [{ resourceId: 'a', toolName: 'a', agentId: 'a', verdict: 'decline' }, 'resource_id (resource_id=?)'],
];

describe.each(['newest', 'oldest'] as const)('the plan of the decisions, %s first', (order) => {
  test.each(cases)('%o takes the index, and sorts no more than those of one moment', (query, index) => {
    const plans = plansOf({ limit: 1, order, ...query });
    expect(plans).toHaveLength(2);
    for (const plan of plans) {
      expect(plan).toMatch(
        /^(CO-ROUTINE counted\n)?(SEARCH|SCAN) countersign_decisions USING (COVERING )?INDEX/,
      );
      expect(plan.replace('COVERING ', '')).toContain(`countersign_decisions_by_${index}`);
      expect(plan.replace('USE TEMP B-TREE FOR LAST 3 TERMS OF ORDER BY', '')).not.toContain('TEMP B-TREE');
    }
  });
});

test.each<[Partial<FeedQuery>, string]>([
  [{}, 'INTEGER PRIMARY KEY (rowid>?)'],
  [{ agentId: 'a', toolName: 'b' }, 'INTEGER PRIMARY KEY (rowid>?)'],
  [{ resourceId: 'a' }, 'INDEX countersign_feed_by_resource (resource_id=? AND place>?)'],
])('the feed by %o is read on from a place', (query, index) => {
  const plan = planOf(feedQuery({ after: '1', limit: 10, ...query }));
  expect(plan).toContain(`SEARCH countersign_feed USING ${index}`);
  expect(plan).not.toContain('SCAN countersign_feed');
});
