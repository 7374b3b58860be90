/** Many chats, several servers, one killed in the middle: no call runs twice, no decision is lost, nobody is forgotten. */
import { expect, onTestFinished, test } from 'vitest';
import { postgresUrl } from '../../test/support/postgres-schema.ts';
import { databases, temporaryFolder } from '../race/places.ts';
import { load } from './load.ts';
import { loadText } from './report.ts';

/** Twenty seconds where nothing else runs; it must not fail where much does. */
const timeout = 180_000;
const seed = Number(process.env.LOAD_SEED ?? Date.now() % 1_000_000);

test.each([
  ['postgres', 200, 3],
  ['sqlite', 60, 2],
] as const)(
  'on %s %i chats wait, %i servers are asked, and one dies',
  async (name, chats, servers) => {
    const { folder, remove } = temporaryFolder();
    onTestFinished(remove);
    const database = databases.find((one) => one.name === name);
    if (database === undefined) throw new Error(`There is no database ${name}.`);
    const place = await database.create(folder, postgresUrl);
    const result = await load({ place, folder, chats, servers, seed });
    console.log(loadText(`load on ${name}, seed ${seed}`, result));
    expect(result.problems).toEqual([]);
    expect(result.doubles).toBe(0);
    expect(result.kills).toBe(1);
    expect(result.waiting).toBe(chats / 10);
    expect(result.resolved).toBeGreaterThan(0);
    expect(result.interruptedWithRow).toBeGreaterThan(0);
    expect(result.interruptedWithoutRow).toBeGreaterThan(0);
    expect(result.declined).toBeGreaterThan(0);
    expect(result.alreadyDecided).toBeGreaterThan(0);
    expect(result.unanswered).toBeGreaterThan(0);
  },
  timeout,
);
