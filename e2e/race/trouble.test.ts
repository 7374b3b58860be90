/** A race while its PostgreSQL dies and comes back, and while connections are cut: the same zeros. */
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from './places.ts';
import { raceText } from './report.ts';
import { raceInTrouble, type Trouble } from './trouble.ts';

const seed = Number(process.env.RACE_SEED ?? Date.now() % 1_000_000);

test.each<[string, Trouble]>([
  ['connections are cut at random', { cutEvery: 150 }],
  ['the server dies and comes back', { crashes: 2 }],
])('%s: no doubles, nothing lost', async (name, trouble) => {
  const { folder, remove } = temporaryFolder();
  onTestFinished(remove);
  const result = await raceInTrouble({ folder, runs: 20, processes: 3, seed }, trouble);
  console.log(raceText(`race on postgres, ${name}, seed ${seed}`, result));
  console.log(`  connections cut ${result.cuts}, crashes of the server ${result.crashes}`);
  expect(result.problems).toEqual([]);
  expect(result.doubles).toBe(0);
  expect(result.approved + result.declined).toBe(60);
  expect(result.cuts + result.crashes).toBeGreaterThan(1);
});
