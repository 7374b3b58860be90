import { DatabaseSync } from 'node:sqlite';
import { afterAll, describe, expect, test } from 'vitest';
import type { MessageQuery } from '../core/store.ts';
import { sqliteDialect } from './sql-dialects.ts';
import { migrate } from './sql-migrations.ts';
import { listThreads, readMessages, readTranscript } from './sql-threads.ts';
import type { Row, Work } from './sql-work.ts';

const database = new DatabaseSync(':memory:');
afterAll(() => database.close());
const migration = migrate(sqliteDialect);
for (let step = migration.next([]); !step.done; ) {
  const rows = database.prepare(step.value.sql).all(...step.value.params);
  step = migration.next(rows);
}

const thread = { thread_id: 'a', title: null, metadata: null, updated_at: 1, total: 5 };

function plansOf(work: Work<unknown>, rows: readonly Row[]): string[] {
  const plans: string[] = [];
  for (let step = work.next([]); !step.done; step = work.next(rows)) {
    const { sql, params } = step.value;
    const lines = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...params);
    plans.push(lines.map((line) => line.detail).join('\n'));
  }
  return plans;
}

describe('the plan', () => {
  test.each([false, true])('of a list of threads takes their index (at a cursor: %s)', (isLater) => {
    const first = listThreads({ resourceId: 'resource', limit: 1 });
    first.next([]);
    // Of more rows than the limit, it makes a page with a cursor.
    first.next([thread, { ...thread, thread_id: 'b' }]);
    const page = first.next([{ total: 5 }]).value as { cursor: string };
    const query = { resourceId: 'resource', limit: 1, cursor: isLater ? page.cursor : undefined };
    const plans = plansOf(listThreads(query), [thread, { ...thread, thread_id: 'b' }]);
    expect(plans).toHaveLength(2);
    for (const plan of plans) {
      expect(plan.replace('COVERING ', '')).toMatch(
        /SEARCH countersign_threads USING INDEX countersign_threads_by_resource \(resource_id=\?/,
      );
      expect(plan).not.toMatch(/SCAN countersign_|TEMP B-TREE/);
    }
    expect(plans[0]?.includes('updated_at<?')).toBe(isLater);
  });

  const key = { at: 5, runId: 'run', index: 1 };
  const queries: [Omit<MessageQuery, 'threadId'>, string][] = [
    [{}, 'thread_id=?'],
    [{ last: 20 }, 'thread_id=?'],
    [{ last: 20, to: key }, 'thread_id=? AND (at,run_id,idx)<(?,?,?)'],
    [{ from: key, to: key }, 'thread_id=? AND (at,run_id,idx)>(?,?,?) AND (at,run_id,idx)<(?,?,?)'],
  ];
  test.each(queries)('of messages %o reads the index in its order', (query, range) => {
    const [plan] = plansOf(readMessages({ threadId: 'thread', ...query }), []);
    expect(plan).toBe(`SEARCH countersign_messages USING INDEX countersign_messages_by_place (${range})`);
  });
  test.each(queries)('of a transcript %o reads the same index, and sorts nothing', (query, range) => {
    const [plan = ''] = plansOf(readTranscript({ threadId: 'thread', ...query }), []);
    const searches = plan.match(/SEARCH countersign_.*/g) ?? [];
    expect(searches).toHaveLength(4);
    for (const search of searches) {
      expect(search.replace('COVERING ', '')).toBe(
        `SEARCH countersign_messages USING INDEX countersign_messages_by_place (${range})`,
      );
    }
    expect(plan).not.toMatch(/SCAN countersign_|TEMP B-TREE/);
  });
});
