/** The checks of single writes: what is stored, what is refused, and what a repeated write finds. */
import assert from 'node:assert/strict';
import type { Batch } from '../core/store.ts';
import { checksFrom } from './store-contract-check.ts';
import {
  create,
  end,
  everythingOf,
  listedIds,
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

export const writeChecks = checksFrom({
  'create stores the texts of the events, in order': async ({ open }) => {
    const store = await open();
    const events = Array.from({ length: 20 }, (_, index) => sampleText('run', index + 1));
    same(await store.create(sampleBatch('run', 0, { events })), written(20), 'answer');
    same(await store.load('run', 0), { kind: 'open', version: 20, events }, 'the run');
  },

  'create answers "exists" when the id is there and open': async ({ open }) => {
    const store = await open();
    await create(store, 'run', { opened: [sampleCall('run', 'call')] });
    const before = await everythingOf(store, 'run');
    same(await store.create(sampleBatch('run', 0)), refused('exists'), 'answer');
    same(await everythingOf(store, 'run'), before, 'the run that was there');
  },

  'create answers "exists" when the id is there and ended': async ({ open }) => {
    const store = await open();
    await create(store, 'run');
    await end(store, 'run', 1);
    const before = await everythingOf(store, 'run');
    same(await store.create(sampleBatch('run', 0)), refused('exists'), 'answer');
    same(await everythingOf(store, 'run'), before, 'the ended run');
  },

  'append adds to what is stored': async ({ open }) => {
    const store = await open();
    const { events } = await create(store, 'run');
    const more = [sampleText('run', 2), sampleText('run', 3)];
    same(await store.append(sampleBatch('run', 1, { events: more })), written(3), 'answer');
    same(await store.load('run', 0), { kind: 'open', version: 3, events: [...events, ...more] }, 'the run');
  },

  'append answers "conflict" when the version is another, and writes nothing': async ({ open }) => {
    const store = await open();
    await create(store, 'run', { opened: [sampleCall('run', 'call')] });
    await store.append(sampleBatch('run', 1));
    const before = await everythingOf(store, 'run');
    for (const version of [0, 1, 3]) {
      const batch = sampleBatch('run', version, {
        head: sampleHead({ suspendedSince: 9000 }),
        opened: [sampleCall('run', 'other')],
        closed: [{ toolCallId: 'call' }],
        records: [sampleRecord('run', 'call')],
      });
      same(await store.append(batch), refused('conflict'), `append at version ${version}`);
    }
    same(await everythingOf(store, 'run'), before, 'the run');
    await end(store, 'run', 2);
    const ended = await store.load('run', 0);
    assert.ok(ended?.kind === 'ended' && ended.records.length === 0, 'no record of a refused write');
  },

  'append and remove answer "gone" when the run never was': async ({ open }) => {
    const store = await open();
    same(await store.append(sampleBatch('run', 0)), refused('gone'), 'append at 0');
    same(await store.append(sampleBatch('run', 3)), refused('gone'), 'append at 3');
    same(await store.remove(sampleBatch('run', 0), sampleOutcome, sampleEnd), refused('gone'), 'remove');
    assert.equal(await store.load('run', 0), undefined);
    same(await listedIds(store), [], 'the list');
  },

  'append and remove answer "gone" when the run ended, and never make it anew': async ({ open }) => {
    const store = await open();
    await create(store, 'run', { opened: [sampleCall('run', 'call')] });
    await end(store, 'run', 1);
    const before = await everythingOf(store, 'run');
    for (const version of [0, 1, 2]) {
      same(await store.append(sampleBatch('run', version)), refused('gone'), `append at ${version}`);
      const removal = sampleBatch('run', version);
      same(
        await store.remove(removal, sampleOutcome, sampleEnd + 1),
        refused('gone'),
        `remove at ${version}`,
      );
    }
    same(await everythingOf(store, 'run'), before, 'the ended run');
    same(await listedIds(store), [], 'the list');
  },

  'remove answers "conflict" when the version is another, and removes nothing': async ({ open }) => {
    const store = await open();
    await create(store, 'run', { opened: [sampleCall('run', 'call')] });
    const before = await everythingOf(store, 'run');
    for (const version of [0, 2]) {
      const removal = sampleBatch('run', version);
      same(
        await store.remove(removal, sampleOutcome, sampleEnd),
        refused('conflict'),
        `remove at ${version}`,
      );
    }
    same(await everythingOf(store, 'run'), before, 'the run');
  },

  'a create whose answer was lost is recognised': async ({ open }) => {
    const store = await open();
    const batch = await create(store, 'run');
    same(await store.create(batch), written(1), 'at once');
    await store.append(sampleBatch('run', 1));
    const before = await everythingOf(store, 'run');
    same(await store.create(batch), written(1), 'after another write');
    same(await everythingOf(store, 'run'), before, 'the run');
  },

  'an append whose answer was lost is recognised': async ({ open }) => {
    const store = await open();
    await create(store, 'run');
    const batch = sampleBatch('run', 1, { events: [sampleText('run', 2), sampleText('run', 3)] });
    await store.append(batch);
    same(await store.append(batch), written(3), 'at once');
    await store.append(sampleBatch('run', 3));
    const before = await everythingOf(store, 'run');
    same(await store.append(batch), written(3), 'after another write');
    same(await everythingOf(store, 'run'), before, 'the run');
  },

  'a decision whose answer was lost is recognised, also when the run has ended since': async ({ open }) => {
    const store = await open();
    await create(store, 'run');
    const batch = sampleBatch('run', 1, { records: [sampleRecord('run', 'call')] });
    await store.append(batch);
    await end(store, 'run', 2);
    same(await store.append(batch), written(2), 'answer');
    same(await store.append(sampleBatch('run', 1)), refused('gone'), 'an append of another');
  },

  'a removal whose answer was lost is recognised': async ({ open }) => {
    const store = await open();
    await create(store, 'run');
    const batch = await end(store, 'run', 1);
    const before = await everythingOf(store, 'run');
    same(await store.remove(batch, sampleOutcome, sampleEnd + 1), written(2), 'answer');
    same(await everythingOf(store, 'run'), before, 'the ended run');
  },

  'the id of a batch counts for its own run only': async ({ open }) => {
    const store = await open();
    const { id } = await create(store, 'one', { records: [sampleRecord('one', 'call')] });
    await create(store, 'other');
    await end(store, 'one', 1);
    same(await store.append(sampleBatch('other', 5, { id })), refused('conflict'), 'append');
    same(await store.create(sampleBatch('other', 0, { id })), refused('exists'), 'create');
    same(await store.append(sampleBatch('never', 1, { id })), refused('gone'), 'append to an unknown run');
  },

  'a batch that cannot be written whole is not written in part': async ({ open }) => {
    const store = await open();
    await create(store, 'run', { opened: [sampleCall('run', 'call')] });
    const before = await everythingOf(store, 'run');
    const args = {
      toJSON(): never {
        throw new Error('not JSON');
      },
    };
    const broken = {
      opened: [sampleCall('run', 'other')],
      closed: [{ toolCallId: 'call' }],
      records: [sampleRecord('run', 'call', { args: args as never })],
    };
    await assert.rejects(store.append(sampleBatch('run', 1, broken)), 'append');
    await assert.rejects(store.remove(sampleBatch('run', 1, broken), sampleOutcome, sampleEnd), 'remove');
    await assert.rejects(store.create(sampleBatch('new', 0, broken)), 'create');
    same(await everythingOf(store, 'run'), before, 'the run');
    assert.equal(await store.load('new', 0), undefined);
    same(await listedIds(store), ['run'], 'the list');
    same(await store.append(sampleBatch('run', 1)), written(2), 'the next write');
  },

  'what is given is neither changed nor kept': async ({ open }) => {
    const store = await open();
    const batch = sampleBatch('run', 0, {
      opened: [sampleCall('run', 'call')],
      records: [sampleRecord('run', 'call', { args: { list: [1] } })],
    });
    const text = JSON.stringify(batch);
    await store.create(deepFreeze(batch));
    assert.equal(JSON.stringify(batch), text, 'the batch');
    const second = JSON.parse(JSON.stringify(sampleBatch('other', 0, { opened: batch.opened }))) as Batch;
    await store.create(second);
    const before = await everythingOf(store, 'other');
    (second.events as string[]).push('changed');
    (second.opened[0] as { toolName: string }).toolName = 'changed';
    (second.head as { agentId: string }).agentId = 'changed';
    same(await everythingOf(store, 'other'), before, 'the run, after its batch was changed');
    const { runs } = await store.list({ status: 'all', limit: 10, cursor: undefined });
    for (const run of runs) (run.calls[0]?.call as { toolName: string }).toolName = 'changed';
    same(await everythingOf(store, 'other'), before, 'the run, after its list was changed');
  },

  'texts come back to the letter': async ({ open }) => {
    const store = await open();
    const strange = {
      nul: 'a\u0000b',
      surrogates: ['\ud800', 'x\udfff'],
      emoji: '👩‍👩‍👧 ✔︎',
      lines: '\r\n\t\u2028"\\\'?;--',
      large: 'ä'.repeat(500_000),
    };
    const events = [
      JSON.stringify(strange),
      '{"__proto__":{"polluted":true},"constructor":1}',
      '  {"a" : 1.0 , "a":2e3}\n',
      `"${'x'.repeat(1_000_000)}"`,
    ];
    const args = JSON.parse('{"__proto__":{"polluted":true},"nul":"\\u0000","lone":"\\ud800","large":1e21}');
    await create(store, 'run', {
      events,
      opened: [sampleCall('run', 'call', { kind: 'suspended', requestSeq: 1, stopSeq: 2 })],
      records: [sampleRecord('run', 'call', { args, reason: '\u0000 ✔︎ \'"' })],
    });
    const loaded = await store.load('run', 0);
    assert.ok(loaded?.kind === 'open');
    for (const [index, text] of events.entries()) {
      assert.ok(loaded.events[index] === text, `event ${index + 1} is another text`);
    }
    const listed = (await store.list({ status: 'suspended', limit: 1 })).runs[0]?.calls[0];
    assert.ok(listed?.request === events[0] && listed?.suspension === events[1], 'the texts of the list');
    const outcome = { ...sampleOutcome, text: `\u0000 ✔︎ ${strange.large}` };
    await store.remove(sampleBatch('run', 4), outcome, sampleEnd);
    const ended = await store.load('run', 0);
    assert.ok(ended?.kind === 'ended');
    assert.ok(ended.outcome.text === outcome.text, 'the text of the outcome');
    same(ended.records[0]?.args, args, 'the arguments of the record');
    assert.equal(ended.records[0]?.reason, '\u0000 ✔︎ \'"');
  },

  'ids that look alike are different': async ({ open }) => {
    const store = await open();
    const ids = ['run', 'Run', 'run ', ' run', 'r%', 'r_', 'rün', 'ru\u0308n', "'; --", '"', '🙂', '1', '01'];
    for (const id of ids) await create(store, id, { events: [sampleText(id, 1)] });
    for (const id of ids) {
      same(await store.load(id, 0), { kind: 'open', version: 1, events: [sampleText(id, 1)] }, `"${id}"`);
    }
    await end(store, 'run', 1);
    same((await listedIds(store)).sort(), ids.filter((id) => id !== 'run').sort(), 'the others');
  },

  'close resolves, also the second time': async ({ open }) => {
    const store = await open();
    await create(store, 'run');
    await store.close();
    await store.close();
  },
});

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  for (const item of Object.values(value)) deepFreeze(item);
  return Object.freeze(value);
}
