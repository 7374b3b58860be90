/** The checks of what is read again: the events after a version, and what remains of a run after its end. */
import assert from 'node:assert/strict';
import type { EndedRun, Store } from '../core/store.ts';
import { checksFrom, type StoreCheck } from './store-contract-check.ts';
import {
  create,
  end,
  everythingOf,
  refused,
  same,
  sampleBatch,
  sampleCall,
  sampleEnd,
  sampleHead,
  sampleOutcome,
  sampleRecord,
  sampleText,
  written,
} from './store-contract-sample.ts';

async function endedRun(store: Store, runId: string): Promise<EndedRun> {
  const loaded = await store.load(runId, 0);
  assert.ok(loaded?.kind === 'ended', `"${runId}" has ended`);
  return loaded;
}

const day = 24 * 60 * 60 * 1000;

const always = checksFrom({
  'load gives the events after a version': async ({ open }) => {
    const store = await open();
    const events = [1, 2, 3, 4].map((seq) => sampleText('run', seq));
    await create(store, 'run', { events });
    await create(store, 'other');
    for (const after of [0, 1, 3, 4]) {
      const expected = { kind: 'open', version: 4, events: events.slice(after) };
      same(await store.load('run', after), expected, `after ${after}`);
    }
  },

  'load gives nothing for a run that never was': async ({ open }) => {
    const store = await open();
    await create(store, 'run');
    assert.equal(await store.load('ru', 0), undefined);
    assert.equal(await store.load('', 0), undefined);
  },

  'load tells how a run ended': async ({ open }) => {
    const store = await open();
    const head = sampleHead({ agentId: 'support', threadId: 'thread', resourceId: 'resource' });
    await create(store, 'run', { head });
    const outcome = { ...sampleOutcome, status: 'cancelled', by: { id: 'ann' }, reason: 'Enough.' } as const;
    same(await store.remove(sampleBatch('run', 1, { head }), outcome, sampleEnd), written(2), 'answer');
    const ended = {
      kind: 'ended',
      runId: 'run',
      agentId: 'support',
      threadId: 'thread',
      resourceId: 'resource',
      at: sampleEnd,
      outcome,
      records: [],
    };
    same(await store.load('run', 0), ended, 'the ended run');
    same(await store.load('run', 2), ended, 'the ended run, after a version');
  },

  'remove keeps the decision records, in the order of their time': async ({ open }) => {
    const store = await open();
    await create(store, 'run');
    const later = sampleRecord('run', 'a', { at: 3000, verdict: 'decline', reason: 'No.', decisionId: 'd1' });
    const earlier = sampleRecord('run', 'b', { at: 2000, addressed: 'latest', data: { ok: false } });
    const last = sampleRecord('run', 'c', {
      at: 4000,
      verdict: 'cancel',
      outcome: { state: 'cancelled', at: 4000 },
    });
    await store.append(sampleBatch('run', 1, { records: [later] }));
    await store.append(sampleBatch('run', 2, { records: [earlier] }));
    await store.remove(sampleBatch('run', 3, { records: [last] }), sampleOutcome, sampleEnd);
    same((await endedRun(store, 'run')).records, [earlier, later, last], 'the records');
  },

  'the outcome of a decision is added to its record, also by the removal': async ({ open }) => {
    const store = await open();
    const outcome = (text: string) => ({ state: 'finished', at: 3000, result: { text } }) as const;
    const record = (id: string) => sampleRecord('run', id);
    await create(store, 'run', {
      records: ['now', 'next', 'end', 'none'].map(record),
      outcomes: [{ toolCallId: 'now', toolName: 'refund', stop: 1, outcome: outcome('now') }],
    });
    await store.append(
      sampleBatch('run', 1, {
        outcomes: [
          { toolCallId: 'next', toolName: 'refund', stop: 1, outcome: { state: 'suspended', at: 2500 } },
          { toolCallId: 'end', toolName: 'refund', stop: 2, outcome: outcome('of a stop without a record') },
        ],
      }),
    );
    await store.append(
      sampleBatch('run', 2, {
        outcomes: [{ toolCallId: 'next', toolName: 'refund', stop: 1, outcome: outcome('next') }],
      }),
    );
    const removal = sampleBatch('run', 3, {
      outcomes: [{ toolCallId: 'end', toolName: 'refund', stop: 1, outcome: outcome('end') }],
    });
    await store.remove(removal, sampleOutcome, sampleEnd);
    const kept = (await endedRun(store, 'run')).records.map(({ toolCallId, outcome }) => [
      toolCallId,
      outcome,
    ]);
    const expected = { now: outcome('now'), next: outcome('next'), end: outcome('end'), none: undefined };
    same(Object.fromEntries(kept), expected, 'the outcomes');
  },

  'a record that comes with its outcome keeps it': async ({ open }) => {
    const store = await open();
    const record = sampleRecord('run', 'call', {
      verdict: 'decline',
      outcome: { state: 'declined', at: 2000 },
    });
    await create(store, 'run', { records: [record] });
    await end(store, 'run', 1);
    same((await endedRun(store, 'run')).records, [record], 'the record');
  },

  'there is one record for a stop, the first, and one for each stop': async ({ open }) => {
    const store = await open();
    const first = sampleRecord('run', 'call');
    const second = sampleRecord('run', 'call', { stop: 2, at: 3000, verdict: 'resume', data: null });
    await create(store, 'run', { records: [first, second] });
    await store.append(
      sampleBatch('run', 1, { records: [sampleRecord('run', 'call', { verdict: 'decline' })] }),
    );
    await end(store, 'run', 2);
    same((await endedRun(store, 'run')).records, [first, second], 'the records');
  },

  'runs with the same call ids do not mix': async ({ open }) => {
    const store = await open();
    for (const runId of ['a', 'b']) {
      await create(store, runId, {
        opened: [sampleCall(runId, 'call')],
        records: [sampleRecord(runId, 'call', { reason: runId })],
      });
    }
    const outcome = { state: 'finished', at: 3000 } as const;
    await store.append(
      sampleBatch('a', 1, {
        closed: [{ toolCallId: 'call' }],
        outcomes: [{ toolCallId: 'call', toolName: 'refund', stop: 1, outcome }],
      }),
    );
    await end(store, 'a', 2);
    const b = await everythingOf(store, 'b');
    same((b as { listed: { calls: unknown[] }[] }).listed[0]?.calls.length, 1, 'the call of the other run');
    await end(store, 'b', 1);
    same((await endedRun(store, 'a')).records[0]?.outcome, outcome, 'the record of the first');
    assert.equal((await endedRun(store, 'b')).records[0]?.outcome, undefined);
  },

  'records and outcome are kept for the retention, and then the id is free': async ({ open }) => {
    let time = 100 * day;
    const store = await open({ retentionMs: 30 * day, now: () => time });
    const withRecord = {
      opened: [sampleCall('old', 'call')],
      records: [sampleRecord('old', 'call', { at: time })],
    };
    for (const runId of ['old', 'young', 'open', 'sweep 1', 'sweep 2'])
      await create(store, runId, withRecord);
    await end(store, 'old', 1, time);
    time += 20 * day;
    await end(store, 'young', 1, time);
    time += 9 * day;
    await end(store, 'sweep 1', 1, time);
    assert.equal((await endedRun(store, 'old')).records.length, 1, 'after 29 days it is there');
    time += 2 * day;
    await end(store, 'sweep 2', 1, time);
    assert.equal(await store.load('old', 0), undefined, 'after 31 days and a removal it is gone');
    assert.equal((await endedRun(store, 'young')).records.length, 1, 'the younger one is there');
    same(await store.append(sampleBatch('old', 1)), refused('gone'), 'an append to it');
    await create(store, 'old');
    const { runs } = await store.list({ status: 'all', limit: 10 });
    same(runs.find((run) => run.runId === 'old')?.calls, [], 'a new run of that id has no old calls');
    await end(store, 'old', 1, time);
    same((await endedRun(store, 'old')).records, [], 'a new run of that id has no old records');
    await end(store, 'open', 1, time);
    assert.equal(
      (await endedRun(store, 'open')).records.length,
      1,
      'an open run keeps its records for longer',
    );
  },
});

const reopening: StoreCheck = {
  sentence: 'a database that was closed and opened again holds everything',
  needsSecond: true,
  async run({ open, second }) {
    const store = await open();
    await create(store, 'open', {
      opened: [sampleCall('open', 'call')],
      records: [sampleRecord('open', 'earlier')],
      durability: 'full',
    });
    await create(store, 'ended', { records: [sampleRecord('ended', 'call')] });
    await end(store, 'ended', 1);
    const before = [await everythingOf(store, 'open'), await everythingOf(store, 'ended')];
    await store.close();
    const again = await second(store);
    same([await everythingOf(again, 'open'), await everythingOf(again, 'ended')], before, 'both runs');
    same(await again.append(sampleBatch('open', 1)), written(2), 'the next append');
  },
};

export const keptChecks = [...always, reopening];
