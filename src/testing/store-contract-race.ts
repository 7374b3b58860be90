/** The checks of writes that happen at once, on two handles where the store has them. */
import assert from 'node:assert/strict';
import type { Store, Written } from '../core/store.ts';
import { checksFrom } from './store-contract-check.ts';
import {
  create,
  end,
  listedIds,
  refused,
  same,
  sampleBatch,
  sampleCall,
  sampleEnd,
  sampleOutcome,
  sampleRecord,
  sampleText,
  written,
} from './store-contract-sample.ts';

const rounds = Array.from({ length: 20 }, (_, round) => `run ${round}`);

/** Which of several writes won. Fails unless it is one, and the others were told why. */
function winnerOf(answers: readonly Written[], why: 'exists' | 'conflict' | 'gone'): number {
  const winners = answers.flatMap((answer, index) => (answer.ok ? [index] : []));
  assert.equal(winners.length, 1, `one of ${answers.length} writes wins, and here ${winners.length} did`);
  for (const answer of answers) if (!answer.ok) same(answer, refused(why), 'the answer of a loser');
  return winners[0] as number;
}

async function eventsOf(store: Store, runId: string): Promise<readonly string[]> {
  const loaded = await store.load(runId, 0);
  assert.ok(loaded?.kind === 'open', `"${runId}" is open`);
  assert.equal(loaded.events.length, loaded.version, 'the version is the number of events');
  return loaded.events;
}

export const raceChecks = checksFrom({
  'of two creates of one id one wins, and they never merge': async ({ open, second }) => {
    const store = await open();
    const stores = [store, await second(store)];
    for (const runId of rounds) {
      const batches = stores.map((_, index) =>
        sampleBatch(runId, 0, {
          events: [`"${index}"`, `"${index} too"`],
          opened: [sampleCall(runId, `call of ${index}`)],
        }),
      );
      const answers = await Promise.all(
        batches.map((batch, index) => (stores[index] as Store).create(batch)),
      );
      const winner = winnerOf(answers, 'exists');
      same(await eventsOf(store, runId), batches[winner]?.events, 'the events are the winner’s');
      const { runs } = await store.list({ status: 'all', limit: 1, agentId: 'agent' });
      assert.ok(runs.length === 1);
    }
    const { runs } = await store.list({ status: 'all', limit: 100 });
    assert.ok(runs.every((run) => run.calls.length === 1));
  },

  'of appends at one version one wins, with its records and its index': async ({ open, second }) => {
    const store = await open();
    const stores = [store, await second(store), store];
    for (const runId of rounds) {
      await create(store, runId, { opened: [sampleCall(runId, 'call')] });
      const batches = stores.map((_, index) =>
        sampleBatch(runId, 1, {
          events: [`"${index}"`],
          opened: [sampleCall(runId, `opened by ${index}`)],
          closed: [{ toolCallId: 'call' }],
          records: [sampleRecord(runId, 'call', { reason: `by ${index}` })],
        }),
      );
      const answers = await Promise.all(
        batches.map((batch, index) => (stores[index] as Store).append(batch)),
      );
      const winner = winnerOf(answers, 'conflict');
      same((await eventsOf(store, runId))[1], `"${winner}"`, 'the event is the winner’s');
      const [run] = (await store.list({ status: 'suspended', limit: 1 })).runs;
      same(
        run?.calls.map(({ call }) => call.toolCallId),
        [`opened by ${winner}`],
        'so is the index',
      );
      await end(store, runId, 2);
      const ended = await store.load(runId, 0);
      assert.ok(ended?.kind === 'ended');
      same(
        ended.records.map((record) => record.reason),
        [`by ${winner}`],
        'so is the record',
      );
    }
  },

  'of an append and a removal at one version one wins': async ({ open, second }) => {
    const store = await open();
    const other = await second(store);
    for (const [round, runId] of rounds.entries()) {
      await create(store, runId);
      const append = () => store.append(sampleBatch(runId, 1));
      const remove = () => other.remove(sampleBatch(runId, 1), sampleOutcome, sampleEnd);
      const [first, last] = round % 2 === 0 ? [append, remove] : [remove, append];
      const answers = await Promise.all([first(), last()]);
      const loaded = await other.load(runId, 0);
      const isRemoved = loaded?.kind === 'ended';
      winnerOf(answers, isRemoved ? 'gone' : 'conflict');
      same((await listedIds(store)).includes(runId), !isRemoved, 'listed as long as it is open');
      if (!isRemoved) await end(store, runId, 2);
    }
  },

  'of two removals one wins': async ({ open, second }) => {
    const store = await open();
    const stores = [store, await second(store)];
    for (const runId of rounds) {
      await create(store, runId);
      const answers = await Promise.all(
        stores.map((one, index) =>
          one.remove(sampleBatch(runId, 1), { ...sampleOutcome, text: `${index}` }, sampleEnd),
        ),
      );
      const winner = winnerOf(answers, 'gone');
      const ended = await store.load(runId, 0);
      assert.ok(ended?.kind === 'ended');
      assert.equal(ended.outcome.text, `${winner}`, 'the outcome is the winner’s');
    }
  },

  'every append that was told to have won is stored, once': async ({ open, second }) => {
    const store = await open();
    const stores = [store, await second(store)];
    await create(store, 'run');
    const mine = (writer: number, turn: number): string => `"${writer}.${turn}"`;
    const write = async (one: Store, writer: number): Promise<void> => {
      for (let turn = 0; turn < 10; ) {
        const { length } = await eventsOf(one, 'run');
        const answer = await one.append(sampleBatch('run', length, { events: [mine(writer, turn)] }));
        if (answer.ok) turn++;
        else same(answer, refused('conflict'), 'the answer of a loser');
      }
    };
    await Promise.all(Array.from({ length: 6 }, (_, writer) => write(stores[writer % 2] as Store, writer)));
    const expected = Array.from({ length: 60 }, (_, index) => mine(Math.floor(index / 10), index % 10));
    same((await eventsOf(store, 'run')).slice(1).sort(), expected.sort(), 'the events');
  },

  'writes at once of different runs do not touch each other': async ({ open }) => {
    const store = await open();
    const args = {
      toJSON(): never {
        throw new Error('not JSON');
      },
    };
    await create(store, 'lost');
    const answers = await Promise.allSettled(
      rounds.flatMap((runId) => [
        store.create(sampleBatch(runId, 0, { durability: runId.endsWith('3') ? 'full' : 'relaxed' })),
        store.append(sampleBatch('lost', 7)),
        store.create(
          sampleBatch(`broken ${runId}`, 0, {
            records: [sampleRecord(runId, 'call', { args: args as never })],
          }),
        ),
      ]),
    );
    for (let index = 0; index < answers.length; index += 3) {
      const [created, lost, broken] = answers.slice(index, index + 3);
      same(created, { status: 'fulfilled', value: written(1) }, 'a create');
      same(lost, { status: 'fulfilled', value: refused('conflict') }, 'a lost append');
      assert.equal(broken?.status, 'rejected', 'a batch that is not JSON');
    }
    same((await listedIds(store)).sort(), [...rounds, 'lost'].sort(), 'the runs');
  },

  'what one handle has written, the other reads at once': async ({ open, second }) => {
    const store = await open();
    const other = await second(store);
    await create(store, 'run', { opened: [sampleCall('run', 'call')] });
    same(await eventsOf(other, 'run'), [sampleText('run', 1)], 'after create');
    await other.append(sampleBatch('run', 1));
    same(await eventsOf(store, 'run'), [sampleText('run', 1), sampleText('run', 2)], 'after append');
    same(await listedIds(other, { status: 'suspended' }), ['run'], 'the list');
    await end(other, 'run', 2);
    same((await store.load('run', 0))?.kind, 'ended', 'after removal');
    same(await listedIds(store), [], 'the list after removal');
  },
});
