/** Many processes, one store, kill -9: nothing runs twice, nothing acknowledged is lost, nobody is forgotten. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { postgresUrl } from '../../test/support/postgres-schema.ts';
import { type Database, databases, temporaryFolder } from './places.ts';
import { type RaceOptions, type RaceResult, race } from './race.ts';
import { raceText } from './report.ts';

/** Another race in each run of the tests; the report of one that fails names its seed. */
const seed = Number(process.env.RACE_SEED ?? Date.now() % 1_000_000);

async function raceOn(
  create: Database['create'],
  options: Omit<RaceOptions, 'place' | 'folder' | 'seed'>,
): Promise<RaceResult> {
  const { folder, remove } = temporaryFolder();
  onTestFinished(remove);
  return race({ ...options, place: await create(folder, postgresUrl), folder, seed });
}

describe.each(databases)('on $name', ({ name, create }) => {
  test('four processes decide every call of 60 runs, some are killed: no doubles, nothing lost', async () => {
    const result = await raceOn(create, {
      runs: 60,
      processes: 4,
      fronts: 1,
      killEvery: 120,
      killsAtMost: 10,
    });
    console.log(raceText(`race on ${name}, seed ${seed}`, result));
    expect(result.problems).toEqual([]);
    expect(result.doubles).toBe(0);
    expect(result.kills).toBeGreaterThan(0);
    expect(result.approved + result.declined).toBe(180);
    expect(result.accepted).toBeGreaterThan(0);
    expect(result.alreadyDecided).toBeGreaterThan(0);
  });

  test('without the claim, doubles and lies appear, and are reported', async () => {
    const result = await raceOn(create, { runs: 30, processes: 3, withoutClaims: true });
    console.log(raceText(`race without claims on ${name}, seed ${seed}`, result, 3));
    expect(result.doubles).toBeGreaterThan(0);
    expect(result.problems.join('\n')).toMatch(/DOUBLE/);
    expect(result.problems.join('\n')).toMatch(/winners/);
  });
});
