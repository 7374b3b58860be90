import pg from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { newSchemaName, postgresUrl } from '../../test/support/postgres-schema.ts';
import { create, sampleCall } from '../testing/store-contract-sample.ts';
import { PostgresStore } from './postgres.ts';
import { sharedRuns } from './postgres-feed.ts';

test('an event that is written first and committed last comes last, and is not missed', async () => {
  const [connectionString, schemaName] = [await postgresUrl(), newSchemaName()];
  const store = new PostgresStore({ connectionString, schemaName });
  const client = new pg.Client({ connectionString });
  await client.connect();
  onTestFinished(async () => {
    await client.end();
    await store.close();
  });
  const { cursor: start } = await store.feed.read({ limit: 1 });
  await client.query('BEGIN');
  await client.query(`INSERT INTO "${schemaName}".countersign_feed_new
    (type, run_id, tool_call_id, stop, agent_id, tool_name, at, data)
    VALUES ('opened', 'slow', 'call', 1, 'agent', 'refund', 1, '{}')`);
  await create(store, 'fast', { opened: [sampleCall('fast', 'call')] });
  const first = await store.feed.read({ after: start, limit: 10 });
  expect(first.events.map(({ runId }) => runId)).toEqual(['fast']);
  await client.query('COMMIT');
  const next = await store.feed.read({ after: first.cursor, limit: 10 });
  expect(next.events.map(({ runId }) => runId)).toEqual(['slow']);
  const { rows } = await client.query(`SELECT place FROM "${schemaName}".countersign_feed ORDER BY place`);
  expect(rows).toEqual([{ place: '1' }, { place: '2' }]);
});

describe('work that many ask for', () => {
  test('is shared by those that wait, and begins after each of them asked', async () => {
    const goOn: (() => void)[] = [];
    let begun = 0;
    const run = sharedRuns(() => {
      begun++;
      return new Promise((resolve) => goOn.push(resolve));
    });
    const first = run();
    await Promise.resolve().then(() => {});
    const [second, third] = [run(), run()];
    expect(begun).toBe(1);
    expect(second).toBe(third);
    goOn[0]?.();
    await first;
    await Promise.resolve().then(() => {});
    expect(begun).toBe(2);
    goOn[1]?.();
    await third;
    expect(begun).toBe(2);
  });

  test('that fails fails those alone that shared it', async () => {
    let begun = 0;
    const run = sharedRuns(async () => {
      begun++;
      if (begun === 1) throw new Error('lost');
    });
    await expect(run()).rejects.toThrow('lost');
    await run();
    expect(begun).toBe(2);
  });
});
