import { expect, test } from 'vitest';
import { InMemoryStore } from '../store/memory.ts';
import { type CrashPoint, crashStore } from './crash-store.ts';
import {
  create,
  removal,
  saidIn,
  sampleEnd,
  sampleMessage,
  sampleOutcome,
  sampleThread,
} from './store-contract-sample.ts';

/** Resolves when everything that could be answered is. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Speaks in a thread in every way until it dies. Tells what was answered, and what is there for others. */
async function left(at: CrashPoint) {
  const shared = new InMemoryStore();
  await create(shared, 'run');
  const store = crashStore(shared, { at });
  const answered: string[] = [];
  const speak = async (): Promise<void> => {
    await store.threads.create(sampleThread('thread'));
    answered.push('create');
    await store.threads.save('thread', [sampleMessage('hello', 1)], 2000);
    answered.push('save');
    await store.remove(removal('run', [sampleMessage('well', 2)]), sampleOutcome, sampleEnd);
    answered.push('run');
    await store.threads.messages({ threadId: 'thread' });
    await store.threads.remove('thread');
    answered.push('remove');
  };
  void speak();
  await settled();
  const thread = await shared.threads.get('thread');
  return [store.isDead, answered.join(' '), thread && (await saidIn(shared, 'thread')), store.writes.length];
}

test.each([
  [{ of: 'createThread', nth: 1, when: 'before' }, [true, '', undefined, 1]],
  [{ of: 'createThread', nth: 1, when: 'after' }, [true, '', [], 1]],
  [{ of: 'saveMessages', nth: 1, when: 'before' }, [true, 'create', [], 2]],
  [{ of: 'saveMessages', nth: 1, when: 'after' }, [true, 'create', ['hello'], 2]],
  [{ nth: 3, when: 'before' }, [true, 'create save', ['hello'], 3]],
  [{ nth: 3, when: 'after' }, [true, 'create save', ['hello', 'well'], 3]],
  [{ of: 'removeThread', nth: 1, when: 'before' }, [true, 'create save run', ['hello', 'well'], 4]],
  [{ of: 'removeThread', nth: 1, when: 'after' }, [true, 'create save run', undefined, 4]],
  [{ nth: 5, when: 'before' }, [false, 'create save run remove', undefined, 4]],
] as const)('a process that dies at %o', async (at, expected) => {
  expect(await left(at)).toEqual(expected);
});
