import { describe, expect, test } from 'vitest';
import type { Batch, Store } from '../core/store.ts';
import { InMemoryStore } from '../store/memory.ts';
import { type StoreContract, storeChecks, storeContract } from './store-contract.ts';
import { brokenSentences, worse } from './test-support/worse-store.ts';

const anew = (batch: Batch): Batch => ({ ...batch, id: crypto.randomUUID() });

async function atNewest(store: Store, batch: Batch): Promise<Batch> {
  const loaded = await store.load(batch.runId, 0);
  return loaded?.kind === 'open' ? { ...batch, expectedVersion: loaded.version } : batch;
}

describe('the contract reports a store that', () => {
  test('is as it should be: nothing', async () => {
    expect(await brokenSentences({ open: worse(() => ({})) })).toEqual([]);
  });

  const cases: Record<string, [(store: Store) => Partial<Store>, string[]]> = {
    'ignores the version in append': [
      (store) => ({ append: async (batch) => store.append(await atNewest(store, batch)) }),
      [
        'append answers "conflict" when the version is another, and writes nothing',
        'an append whose answer was lost is recognised',
      ],
    ],
    'looks at the version before it writes, and not with it': [
      (store) => ({
        async append(batch) {
          const seen = await store.load(batch.runId, 0);
          if (seen?.kind !== 'open' || seen.version !== batch.expectedVersion) return store.append(batch);
          for (;;) {
            const answer = await store.append(await atNewest(store, batch));
            if (answer.ok || answer.why === 'gone') return answer;
          }
        },
      }),
      ['of appends at one version one wins, with its records and its index'],
    ],
    'ignores the version in remove': [
      (store) => ({
        remove: async (batch, outcome, at) => store.remove(await atNewest(store, batch), outcome, at),
      }),
      [
        'remove answers "conflict" when the version is another, and removes nothing',
        'of an append and a removal at one version one wins',
      ],
    ],
    'makes a removed run anew': [
      (store) => {
        const revived = new InMemoryStore();
        return {
          async append(batch) {
            const answer = await store.append(batch);
            return answer.ok || answer.why !== 'gone' ? answer : revived.create(batch);
          },
          load: async (runId, after) => (await revived.load(runId, after)) ?? store.load(runId, after),
        };
      },
      [
        'append and remove answer "gone" when the run never was',
        'append and remove answer "gone" when the run ended, and never make it anew',
        'of an append and a removal at one version one wins',
      ],
    ],
    'takes an id again after the end': [
      (store) => {
        const revived = new InMemoryStore();
        return {
          async create(batch) {
            const answer = await store.create(batch);
            return answer.ok ? answer : revived.create(batch);
          },
        };
      },
      [
        'create answers "exists" when the id is there and open',
        'create answers "exists" when the id is there and ended',
        'of two creates of one id one wins, and they never merge',
      ],
    ],
    'does not keep the ids of batches': [
      (store) => ({
        create: (batch) => store.create(anew(batch)),
        append: (batch) => store.append(anew(batch)),
        remove: (batch, outcome, at) => store.remove(anew(batch), outcome, at),
      }),
      [
        'a create whose answer was lost is recognised',
        'an append whose answer was lost is recognised',
        'a decision whose answer was lost is recognised, also when the run has ended since',
        'a removal whose answer was lost is recognised',
      ],
    ],
    'writes a part of a broken batch': [
      (store) => ({
        append: async (batch) => {
          const answer = await store.append({ ...batch, records: [] });
          JSON.stringify(batch.records);
          return answer;
        },
      }),
      ['a batch that cannot be written whole is not written in part'],
    ],
    'loses the records of the removal': [
      (store) => ({
        remove: (batch, outcome, at) => store.remove({ ...batch, records: [], outcomes: [] }, outcome, at),
      }),
      [
        'remove keeps the decision records, in the order of their time',
        'the outcome of a decision is added to its record, also by the removal',
      ],
    ],
    'cuts texts at NUL': [
      (store) => ({
        create: (batch) =>
          store.create({ ...batch, events: batch.events.map((text) => text.split('\\u0000')[0] ?? '') }),
      }),
      ['texts come back to the letter'],
    ],
    'leaves calls in the index': [
      (store) => ({ append: (batch) => store.append({ ...batch, closed: [] }) }),
      ['a call that is closed leaves the list, and its neighbours stay'],
    ],
    'lists the oldest first': [
      (store) => ({
        async list(query) {
          const page = await store.list(query);
          return { ...page, runs: page.runs.toReversed() };
        },
      }),
      [
        'the newest stop comes first, then the lower id, by its bytes',
        'pages go by offset and by cursor, and meet all runs once',
      ],
    ],
    'ignores a filter': [
      (store) => ({ list: ({ resourceId: _, ...query }) => store.list(query) }),
      ['agent, thread and resource filter, each and together'],
    ],
    'counts only the page': [
      (store) => ({
        async list(query) {
          const page = await store.list(query);
          return { ...page, total: page.runs.length };
        },
      }),
      ['the total is exact up to 1,000, and then says that there are more'],
    ],
    'starts again at a wrong cursor': [
      (store) => ({
        list: (query) => store.list(query).catch(() => store.list({ status: 'all', limit: 10 })),
      }),
      ['a limit, offset or cursor that is none is refused as an invalid option'],
    ],
    'takes a second record of one key': [
      (store) => ({ record: (record) => store.record({ ...record, stop: record.stop - Math.random() }) }),
      ['a record that no batch brings is kept once, also after the removal'],
    ],
    'loses late records': [
      () => ({ record: async () => {} }),
      [
        'a record that no batch brings is kept once, also after the removal',
        'of records of one key at once the first stays, and batches go on',
      ],
    ],
    'never finds anybody dead': [
      (store) => ({ workers: { ...store.workers, dead: async () => [] } }),
      [
        'a worker is dead that never beat, or not for the lease',
        'a worker that retired is dead, and one that beats again lives',
      ],
    ],
    'finds everybody dead': [
      (store) => ({ workers: { ...store.workers, dead: async (workers) => workers } }),
      ['the lease goes by the clock of the database, not by that of a process'],
    ],
    'gives up the runs of the living': [
      (store) => ({
        workers: { ...store.workers, abandoned: (_, limit) => store.workers.abandoned(0, limit) },
      }),
      ['runs are abandoned that are runnable or have claims of the dead, and no others'],
    ],
    'tells of more abandoned runs than were asked for': [
      (store) => ({
        workers: { ...store.workers, abandoned: (lease) => store.workers.abandoned(lease, 1000) },
      }),
      ['abandoned runs come in one order, and not more than are asked for'],
    ],
    'takes the claims of others for its own': [
      (store) => ({
        workers: {
          ...store.workers,
          claimed: async () =>
            (await store.list({ status: 'running', limit: 100 })).runs.map((run) => run.runId),
        },
      }),
      ['the runs with claims of a worker are its own'],
    ],
    'forgets records with the run': [
      (store) => ({
        async load(runId, after) {
          const loaded = await store.load(runId, after);
          return loaded?.kind === 'ended' ? { ...loaded, records: [] } : loaded;
        },
      }),
      ['records and outcome are kept for the retention, and then the id is free'],
    ],
  };

  test.each(Object.entries(cases))('%s', async (_, [change, sentences]) => {
    expect(await brokenSentences({ open: worse(change) })).toEqual(expect.arrayContaining(sentences));
  });
});

describe('a contract', () => {
  const open = () => new InMemoryStore();
  function defined(contract: Partial<StoreContract>): string[] {
    const names: string[] = [];
    const define = Object.assign((name: string) => names.push(name), {
      skip: (name: string) => names.push(`skipped: ${name}`),
    });
    storeContract({ name: 'X', open, ...contract }, { describe: (_, run) => run(), test: define });
    return names;
  }

  test('has a test for each sentence, and each sentence once', () => {
    expect(defined({ openAgain: open })).toEqual(storeChecks.map(({ sentence }) => sentence));
    expect(new Set(storeChecks.map(({ sentence }) => sentence)).size).toBe(storeChecks.length);
  });

  test('names what it skips and why', () => {
    const names = defined({ skip: { 'close resolves, also the second time': 'it throws' } });
    expect(names).toContain('skipped: close resolves, also the second time (it throws)');
    expect(names).toContain(
      'skipped: a database that was closed and opened again holds everything (the store has one handle)',
    );
  });

  test('refuses to skip what is no sentence', () => {
    expect(() => defined({ skip: { 'no such thing': 'a typo' } })).toThrow(/"no such thing"/);
  });
});
