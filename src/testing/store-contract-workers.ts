/** The checks of what is told about workers, of records beside the batches, and of who is told that a run changed. */
import assert from 'node:assert/strict';
import type { HeadRow, Store } from '../core/store.ts';
import { checksFrom } from './store-contract-check.ts';
import {
  create,
  createWith,
  end,
  noStop,
  refused,
  same,
  sampleBatch,
  sampleHead,
  sampleOutcome,
  sampleRecord,
  written,
} from './store-contract-sample.ts';

/** A lease that no beat of a test outlives, and one that every beat has outlived. */
const long = 60 * 60 * 1000;
const over = 0;

function owned(...workers: string[]): Partial<HeadRow> {
  return { ...noStop, head: 'owned', workers };
}

async function abandonedIds(store: Store, lease: number, limit = 100): Promise<string[]> {
  const runs = await store.workers.abandoned(lease, limit);
  return runs.map(({ runId }) => runId).sort();
}

async function keptReasons(store: Store, runId: string): Promise<unknown[]> {
  const loaded = await store.load(runId, 0);
  assert.ok(loaded?.kind === 'ended', `"${runId}" has ended`);
  return loaded.records.map(({ toolCallId, stop, reason }) => [toolCallId, stop, reason]);
}

export const workerChecks = checksFrom({
  'a worker is dead that never beat, or not for the lease': async ({ open, second }) => {
    const store = await open();
    const other = await second(store);
    same(await store.workers.dead(['a', 'b'], long), ['a', 'b'], 'nobody beat');
    await store.workers.beat('a');
    await store.workers.beat('a');
    for (const one of [store, other]) {
      same(await one.workers.dead(['b', 'a', 'A', 'a '], long), ['b', 'A', 'a '], 'one beat');
      same(await one.workers.dead(['a'], over), ['a'], 'its lease is over');
      same(await one.workers.dead([], long), [], 'nobody is asked for');
    }
  },

  'the lease goes by the clock of the database, not by that of a process': async ({ open, second }) => {
    const store = await open();
    const other = await second(store);
    await store.workers.beat('a');
    await other.workers.beat('b');
    for (const one of [store, other]) same(await one.workers.dead(['a', 'b'], 60_000), [], 'both live');
  },

  'a worker that retired is dead, and one that beats again lives': async ({ open }) => {
    const store = await open();
    await store.workers.beat('a');
    await store.workers.beat('b');
    await store.workers.retire('a');
    await store.workers.retire('never');
    same(await store.workers.dead(['a', 'b'], long), ['a'], 'after its end');
    await store.workers.beat('a');
    same(await store.workers.dead(['a', 'b'], long), [], 'after a new beat');
  },

  'beats at once do not disturb each other': async ({ open, second }) => {
    const store = await open();
    const stores = [store, await second(store)];
    const names = ['a', 'b', 'c'];
    await Promise.all(
      [1, 2, 3, 4].flatMap(() => stores.flatMap((one) => names.map((name) => one.workers.beat(name)))),
    );
    same(await store.workers.dead(names, long), [], 'all live');
    await Promise.all(
      stores.flatMap((one) => [one.workers.beat('a'), one.workers.retire('b'), one.workers.retire('c')]),
    );
    same(await store.workers.dead(names, long), ['b', 'c'], 'two are retired');
  },

  'the runs with claims of a worker are its own': async ({ open }) => {
    const store = await open();
    const strange = 'a%_"\\🙂';
    await createWith(store, 'one', owned('a'));
    await createWith(store, 'two', owned('b', 'a'));
    await createWith(store, 'other', owned('aa', 'b'));
    await createWith(store, 'strange', owned(strange));
    await createWith(store, 'nobody', { ...noStop, head: 'runnable' });
    await createWith(store, 'ended', owned('a'));
    await end(store, 'ended', 1);
    const claimed = async (worker: string) => [...(await store.workers.claimed(worker))].sort();
    same(await claimed('a'), ['one', 'two'], 'of a');
    same(await claimed('b'), ['other', 'two'], 'of b');
    same(await claimed(strange), ['strange'], 'of one with a strange name');
    same(await claimed('c'), [], 'of nobody');
    await store.append(sampleBatch('one', 1, { head: sampleHead() }));
    same(await claimed('a'), ['two'], 'when one waits');
  },

  'runs are abandoned that are runnable or have claims of the dead, and no others': async ({ open }) => {
    const store = await open();
    await store.workers.beat('living');
    await store.workers.beat('well');
    const heads: Record<string, Partial<HeadRow>> = {
      runnable: { ...noStop, head: 'runnable' },
      'of the dead': owned('dead'),
      'of both': owned('living', 'dead'),
      'of the living': owned('living'),
      'of two living': owned('living', 'well'),
      waiting: {},
      interrupted: { ...noStop, head: 'waiting', interruptedSince: 1 },
      stalled: { ...noStop, head: 'waiting', stalledSince: 1 },
      ended: { ...noStop, head: 'runnable' },
      'of the dead, with a stop': { ...owned('dead'), suspendedSince: 1 },
    };
    for (const [runId, head] of Object.entries(heads)) await createWith(store, runId, head);
    await end(store, 'ended', 1);
    const abandoned = ['of both', 'of the dead', 'of the dead, with a stop', 'runnable'];
    same(await abandonedIds(store, long), abandoned, 'while two live');
    same(
      await abandonedIds(store, over),
      [...abandoned, 'of the living', 'of two living'].sort(),
      'when nobody lives',
    );
    await store.append(sampleBatch('runnable', 1, { head: sampleHead(owned('living')) }));
    await store.append(sampleBatch('of both', 1));
    same(await abandonedIds(store, long), abandoned.slice(1, 3), 'when they moved');
    const [first] = await store.workers.abandoned(long, 1);
    same(first?.agentId, 'agent', 'the agent');
  },

  'abandoned runs come in one order, and not more than are asked for': async ({ open }) => {
    const store = await open();
    const ids = Array.from({ length: 12 }, (_, index) => `run ${String(index).padStart(2, '0')}`);
    for (const runId of ids) await createWith(store, runId, { ...noStop, head: 'runnable' });
    same(await abandonedIds(store, long), ids, 'all');
    const some = await store.workers.abandoned(long, 5);
    same(
      some,
      ids.slice(0, 5).map((runId) => ({ runId, agentId: 'agent' })),
      'the first five',
    );
  },

  'abandoned runs are those of the agents that are asked for': async ({ open }) => {
    const store = await open();
    for (const agentId of ['mine', 'other']) {
      await createWith(store, `of ${agentId}`, { ...noStop, agentId, head: 'runnable' });
    }
    const mine = { runId: 'of mine', agentId: 'mine' };
    const other = { runId: 'of other', agentId: 'other' };
    same(await store.workers.abandoned(long, 1, ['other', 'nobody']), [other], 'one agent');
    same(await store.workers.abandoned(long, 5, []), [], 'no agent');
    same(await store.workers.abandoned(long, 5), [mine, other], 'all agents');
  },

  'a record that no batch brings is kept once, also after the removal': async ({ open }) => {
    const store = await open();
    await create(store, 'run', { records: [sampleRecord('run', 'a', { reason: 'by a batch' })] });
    const late = (stop: number, reason: string) =>
      sampleRecord('run', 'a', { stop, reason, verdict: 'ran-twice', at: 2000 - stop });
    await store.record(late(-1, 'late'));
    await store.record(late(-1, 'again'));
    await store.record(late(1, 'another of the same stop'));
    same(await store.append(sampleBatch('run', 1)), written(2), 'an append after it');
    await end(store, 'run', 2);
    await store.record(late(-2, 'later'));
    await store.record(late(-2, 'again'));
    const expected = [
      ['a', 1, 'by a batch'],
      ['a', -1, 'late'],
      ['a', -2, 'later'],
    ];
    same(await keptReasons(store, 'run'), expected, 'the records');
    same(await store.create(sampleBatch('run', 0)), refused('exists'), 'a create after it');
    await store.record(sampleRecord('never', 'call'));
    assert.equal(await store.load('never', 0), undefined, 'a record alone makes no run');
  },

  'of records of one key at once the first stays, and batches go on': async ({ open, second }) => {
    const store = await open();
    const stores = [store, await second(store)];
    for (const runId of ['one', 'two', 'three', 'four', 'five']) {
      await create(store, runId);
      const record = (reason: string) => sampleRecord(runId, 'call', { stop: -1, reason });
      const [, , answer] = await Promise.all([
        ...stores.map((one, index) => one.record(record(`${index}`))),
        store.remove(sampleBatch(runId, 1), sampleOutcome, Date.now()),
      ]);
      same(answer, written(2), 'the removal');
      const kept = await keptReasons(store, runId);
      await store.record(record('later'));
      assert.equal(kept.length, 1);
      same(await keptReasons(store, runId), kept, 'the record stays');
    }
  },

  'who waits for a change is told of it, and else let go after the time': async ({ open, second }) => {
    const store = await open();
    if (store.changed === undefined) return;
    const other = await second(store);
    await create(store, 'run');
    // What was before is not told: the first wait may come back at once.
    await store.changed('run', 10_000);
    await store.changed('run', 1);
    let version = 1;
    const told = store.changed('run', 60 * 60 * 1000);
    // A connection that was lost just now may miss one: not a second one.
    for (let isTold = false; !isTold; ) {
      same(await other.append(sampleBatch('run', version)), written(++version), 'an append elsewhere');
      isTold = await Promise.race([told.then(() => true), store.changed('run', 100).then(() => false)]);
    }
    await told;
  },
});
