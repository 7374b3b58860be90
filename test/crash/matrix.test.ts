/** Every scenario dies at every point, in memory. With processes and `kill -9`: e2e/crash. */
import { afterAll, describe, expect, test } from 'vitest';
import { crash, pointsOf } from './memory-world.ts';
import { scenarios } from './scenarios.ts';

const counts: Record<string, number> = {};
let seconds = 0;

describe.each(scenarios)('$name', (scenario) => {
  test('survives a crash at every point', async () => {
    const points = await pointsOf(scenario);
    counts[scenario.name] = points.length;
    const failures: string[] = [];
    for (const at of points) {
      const { problems } = await crash(scenario, at);
      failures.push(...problems.map((problem) => `${JSON.stringify(at)}: ${problem}`));
    }
    expect(points.length).toBeGreaterThan(4);
    expect(failures).toEqual([]);
  });
});

/** Writes of a recovery, after which there is none in these scenarios. */
const recoveryWrites = 8;

/** All pairs of all scenarios take half a minute. */
const crashedTwice = ['one held call', 'three calls mixed', 'suspend and resume', 'idempotent'];

describe.each(scenarios.filter(({ name }) => crashedTwice.some((start) => name.startsWith(start))))(
  '$name',
  (scenario) => {
    test('survives a second crash in its recovery', async () => {
      const failures: string[] = [];
      for (const at of await pointsOf(scenario)) {
        for (let nth = 1; nth <= recoveryWrites; nth++) {
          for (const when of ['before', 'after'] as const) {
            seconds++;
            const { problems } = await crash(scenario, at, { again: { nth, when } });
            failures.push(
              ...problems.map((what) => `${JSON.stringify(at)}, then ${when} write ${nth}: ${what}`),
            );
          }
        }
      }
      expect(failures).toEqual([]);
    }, 60_000);
  },
);

afterAll(() => {
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
  console.log(
    `crash matrix in memory: ${total} points in ${Object.keys(counts).length} scenarios, ${seconds} pairs of crashes`,
  );
});
