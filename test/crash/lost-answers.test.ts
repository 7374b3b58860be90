/** Each write of each scenario is made, and its answer is lost: it is recognised, and nothing is doubled. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Store } from '../../src/core/store.ts';
import { SQLiteStore } from '../../src/store/sqlite.ts';
import { evidenceOf, problemsOf } from './check.ts';
import type { Scenario } from './desk.ts';
import { openProcess, openShared, type Shared } from './memory-world.ts';
import { play } from './person.ts';
import { scenarios } from './scenarios.ts';

interface Losing {
  readonly store: Store;
  /** The writes that were made. */
  readonly names: readonly string[];
  readonly lost: string | undefined;
}

/** Makes every write; the answers to the n-th and those that follow it, `count` in all, are lost. */
function losesAnswers(store: Store, nth: number, count: number): Losing {
  const names: string[] = [];
  let lost: string | undefined;
  const losing = <T extends object>(target: T): T =>
    new Proxy(target, {
      get(object, key) {
        const value: unknown = Reflect.get(object, key);
        if (key === 'workers' || key === 'threads') return losing(value as object);
        if (typeof value !== 'function') return value;
        if (!['create', 'append', 'remove', 'record', 'beat', 'retire', 'save'].includes(String(key))) {
          return value.bind(object);
        }
        return async (...given: unknown[]) => {
          const position = names.push(String(key));
          const answer: unknown = await Reflect.apply(value, object, given);
          if (position < nth || position >= nth + count) return answer;
          lost ??= String(key);
          throw new Error('The connection was closed before the answer came.');
        };
      },
    });
  return {
    store: losing(store),
    names,
    get lost() {
      return lost;
    },
  };
}

async function playLosing(scenario: Scenario, shared: Shared, nth: number, runId: string) {
  let losing: Losing | undefined;
  const { agent, store, atRest } = openProcess(shared, undefined, (inner) => {
    losing = losesAnswers(inner, nth, 1);
    return losing.store;
  });
  const thrown = await play(scenario, agent, runId, shared.journal).then(
    () => undefined,
    (error: Error) => error,
  );
  await atRest();
  const evidence = await evidenceOf(store, scenario, runId, shared.journal.read(runId));
  const failures = thrown ? [`the person was told: ${thrown.message}`] : [];
  return { problems: [...failures, ...problemsOf(evidence)], losing: losing as Losing };
}

const stores: Readonly<Record<string, () => Store | undefined>> = {
  memory: () => undefined,
  SQLite: () => {
    const folder = mkdtempSync(join(tmpdir(), 'countersign-lost-'));
    const store = new SQLiteStore({ path: join(folder, 'runs.db') });
    onTestFinished(async () => {
      await store.close();
      rmSync(folder, { recursive: true });
    });
    return store;
  },
};

/** What goes wrong when the answer to one write of these names is lost, over all of them. */
async function failuresOf(scenario: Scenario, names: readonly string[], inner: Store | undefined) {
  const shared = openShared(inner ? () => inner : undefined);
  const { losing } = await playLosing(scenario, shared, 0, 'none');
  const failures: string[] = [];
  let count = 0;
  for (const [index, name] of losing.names.entries()) {
    if (!names.includes(name)) continue;
    count++;
    const { problems, losing: lossy } = await playLosing(scenario, shared, index + 1, `run-${index}`);
    const what = `the answer to write ${index + 1} (${lossy.lost}) was lost`;
    failures.push(...problems.map((problem) => `${what}: ${problem}`));
  }
  return { failures, count };
}

describe.each(Object.keys(stores))('in %s', (name) => {
  test.each(scenarios)('to any write of a run: $name', async (scenario) => {
    const { failures, count } = await failuresOf(scenario, ['create', 'append', 'remove'], stores[name]?.());
    expect(count).toBeGreaterThan(1);
    expect(failures).toEqual([]);
  });

  test.each(scenarios)('to a heartbeat: $name', async (scenario) => {
    const { failures } = await failuresOf(scenario, ['beat'], stores[name]?.());
    expect(failures).toEqual([]);
  });
});
