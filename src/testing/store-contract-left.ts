/** The checks of what a run leaves in its thread: messages that its removal keeps, in the same transaction. */
import assert from 'node:assert/strict';
import { checksFrom } from './store-contract-check.ts';
import {
  create,
  createThread,
  end,
  refused,
  removal,
  saidIn,
  same,
  sampleEnd,
  sampleMessage,
  sampleOutcome,
  sampleThread,
  updatedAt,
  written,
} from './store-contract-sample.ts';

export const leftChecks = checksFrom({
  'a removal keeps its messages as save would': async ({ open }) => {
    const store = await open();
    await createThread(store, 'thread', [sampleMessage('first', 1), sampleMessage('second', 2)]);
    await createThread(store, 'other');
    await createThread(store, 'untouched');
    await create(store, 'run');
    const messages = [
      sampleMessage('first', 9, { data: '"changed"' }),
      sampleMessage('third', 3),
      sampleMessage('third', 1, { data: '"third, again"' }),
      sampleMessage('first', 1, { threadId: 'other' }),
    ];
    same(await store.remove(removal('run', messages), sampleOutcome, 5000), written(2), 'the answer');
    same(await saidIn(store, 'thread'), ['changed', 'second', 'third, again'], 'the thread');
    same(await saidIn(store, 'other'), ['first'], 'the other thread');
    same([await updatedAt(store, 'thread'), await updatedAt(store, 'other')], [5000, 5000], 'their time');
    same(await updatedAt(store, 'untouched'), 1000, 'the time of a thread in which nothing was said');
    await create(store, 'earlier');
    await store.remove(removal('earlier', [sampleMessage('fourth', 4)]), sampleOutcome, 4000);
    same(await updatedAt(store, 'thread'), 5000, 'it never goes back');
    await create(store, 'silent');
    await end(store, 'silent', 1);
    same(
      await saidIn(store, 'thread'),
      ['changed', 'second', 'third, again', 'fourth'],
      'a run without messages',
    );
  },

  'a removal drops messages of a thread that is not there, and removes the run': async ({ open }) => {
    const store = await open();
    for (const threadId of ['removed', 'there']) await createThread(store, threadId);
    await store.threads.remove('removed');
    await create(store, 'run');
    const messages = ['never', 'removed', 'there'].map((threadId) => sampleMessage('late', 1, { threadId }));
    same(await store.remove(removal('run', messages), sampleOutcome, sampleEnd), written(2), 'the answer');
    same((await store.load('run', 0))?.kind, 'ended', 'the run');
    same(await saidIn(store, 'there'), ['late'], 'the thread that is there');
    for (const threadId of ['never', 'removed']) {
      same(await saidIn(store, threadId), [], `the messages of "${threadId}"`);
      same(await store.threads.create(sampleThread(threadId)), sampleThread(threadId), 'a new thread');
      same(await saidIn(store, threadId), [], `the messages of a new "${threadId}"`);
    }
  },

  'a removal that is refused says nothing in a thread': async ({ open }) => {
    const store = await open();
    await createThread(store, 'thread', [sampleMessage('hello', 1)]);
    for (const runId of ['open', 'ended']) await create(store, runId);
    await end(store, 'ended', 1);
    const messages = [sampleMessage('hello', 1, { data: '"changed"' }), sampleMessage('late', 2)];
    const remove = (runId: string, expectedVersion: number) =>
      store.remove(removal(runId, messages, { expectedVersion }), sampleOutcome, sampleEnd);
    same(await remove('open', 3), refused('conflict'), 'at another version');
    same(await remove('never', 1), refused('gone'), 'of a run that never was');
    same(await remove('ended', 1), refused('gone'), 'of a run that ended');
    same(await saidIn(store, 'thread'), ['hello'], 'the messages');
    same(await updatedAt(store, 'thread'), 1000, 'the time of the thread');
  },

  'a removal that is repeated says nothing twice': async ({ open }) => {
    const store = await open();
    await createThread(store, 'thread');
    await create(store, 'run');
    const batch = removal('run', [sampleMessage('hello', 1)]);
    for (const _ of [1, 2])
      same(await store.remove(batch, sampleOutcome, sampleEnd), written(2), 'the answer');
    same(await saidIn(store, 'thread'), ['hello'], 'the messages');
    await store.threads.save('thread', [sampleMessage('hello', 1, { data: '"changed"' })], 2000);
    same(await store.remove(batch, sampleOutcome, sampleEnd + 1), written(2), 'the answer, later');
    same(await saidIn(store, 'thread'), ['changed'], 'what was said since stays');
    same(await updatedAt(store, 'thread'), sampleEnd, 'the time of the thread');
    await store.threads.remove('thread');
    await createThread(store, 'thread');
    same(await store.remove(batch, sampleOutcome, sampleEnd + 1), written(2), 'the answer, after a removal');
    same(await saidIn(store, 'thread'), [], 'a new thread of that id');
  },

  'messages and the end of their run are kept together or not at all': async ({ open }) => {
    const store = await open();
    await createThread(store, 'thread');
    await create(store, 'run');
    const broken = {
      toJSON(): never {
        throw new Error('not JSON');
      },
    };
    const outcome = { ...sampleOutcome, text: broken as never };
    const batch = removal('run', [sampleMessage('late', 2)]);
    await assert.rejects(store.remove(batch, outcome, 2000), 'an outcome that cannot be stored');
    same(await saidIn(store, 'thread'), [], 'the messages');
    same(await updatedAt(store, 'thread'), 1000, 'the time of the thread');
    same((await store.load('run', 0))?.kind, 'open', 'the run');
  },
});
