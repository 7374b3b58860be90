import { expect, test } from 'vitest';
import { CountersignError } from '../core/errors.ts';
import type { ThreadStore } from '../core/store.ts';
import { InMemoryStore } from '../store/memory.ts';
import { storeAround } from '../testing/store-around.ts';
import { sampleMessage, sampleThread } from '../testing/store-contract-sample.ts';
import { guarded } from './guarded-store.ts';

function asked(threads: ThreadStore): Record<keyof ThreadStore, () => Promise<unknown>> {
  return {
    create: () => threads.create(sampleThread('thread')),
    save: () => threads.save('thread', [sampleMessage('hello', 1)], 2000),
    get: () => threads.get('thread'),
    list: () => threads.list({ resourceId: 'resource', limit: 1 }),
    messages: () => threads.messages({ threadId: 'thread', last: 1 }),
    transcript: () => threads.transcript({ threadId: 'thread', last: 1 }),
    remove: () => threads.remove('thread'),
  };
}

test('threads are passed on', async () => {
  const direct = asked(new InMemoryStore().threads);
  for (const [method, ask] of Object.entries(asked(guarded(new InMemoryStore()).threads))) {
    expect(await ask(), method).toEqual(await direct[method as keyof ThreadStore]());
  }
});

test('what a driver throws at threads is store-failed, and typed errors pass', async () => {
  const failing = (error: Error): ThreadStore => {
    const fail = () => Promise.reject(error);
    return {
      create: fail,
      get: fail,
      list: fail,
      remove: fail,
      messages: fail,
      transcript: fail,
      save: fail,
    };
  };
  const own = new CountersignError('store-closed', 'It is closed.');
  for (const [error, code] of [
    [new Error('disk full'), 'store-failed'],
    [own, 'store-closed'],
  ] as const) {
    const { threads } = guarded(storeAround(new InMemoryStore(), { threads: failing(error) }));
    for (const [method, ask] of Object.entries(asked(threads))) {
      await expect(ask(), method).rejects.toMatchObject({ code });
    }
  }
});
