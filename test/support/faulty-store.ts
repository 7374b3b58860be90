/** A store that fails when a test says so: before the write, or after it, when only the answer is lost. */

import type { Store } from 'countersign';
import { storeAround } from 'countersign/testing';

export type Operation =
  | 'create'
  | 'append'
  | 'remove'
  | 'load'
  | 'list'
  | 'createThread'
  | 'getThread'
  | 'listThreads'
  | 'removeThread'
  | 'readMessages'
  | 'saveMessages';

export interface Faults {
  /** Asked before each operation: 'before' fails it, 'after' does it and loses the answer. */
  next(operation: Operation): 'before' | 'after' | undefined;
}

export function faultyStore(store: Store, faults: Faults): Store {
  const perform = async <Result>(operation: Operation, work: () => Promise<Result>): Promise<Result> => {
    const fault = faults.next(operation);
    if (fault === 'before') throw new Error(`disk full at ${operation}`);
    const result = await work();
    if (fault === 'after') throw new Error(`connection lost after ${operation}`);
    return result;
  };
  const { threads } = store;
  return storeAround(store, {
    create: (batch) => perform('create', () => store.create(batch)),
    append: (batch) => perform('append', () => store.append(batch)),
    remove: (batch, outcome, at) => perform('remove', () => store.remove(batch, outcome, at)),
    load: (runId, after) => perform('load', () => store.load(runId, after)),
    list: (query) => perform('list', () => store.list(query)),
    threads: {
      create: (thread) => perform('createThread', () => threads.create(thread)),
      get: (threadId) => perform('getThread', () => threads.get(threadId)),
      list: (query) => perform('listThreads', () => threads.list(query)),
      remove: (threadId) => perform('removeThread', () => threads.remove(threadId)),
      messages: (query) => perform('readMessages', () => threads.messages(query)),
      transcript: (query) => perform('readMessages', () => threads.transcript(query)),
      save: (threadId, messages, at) => perform('saveMessages', () => threads.save(threadId, messages, at)),
    },
  });
}

/** Faults that a test switches: the next `count` operations of these kinds fail. */
export function switchedFaults(): Faults & {
  fail(kinds: readonly Operation[], count: number, when?: 'before' | 'after'): void;
} {
  let failing: { kinds: readonly Operation[]; left: number; when: 'before' | 'after' } | undefined;
  return {
    fail(kinds, count, when = 'before') {
      failing = { kinds, left: count, when };
    },
    next(operation) {
      if (!failing?.kinds.includes(operation) || failing.left === 0) return undefined;
      failing.left--;
      return failing.when;
    },
  };
}

/** A clock that does not wait: a store that fails is tried again at once. */
export const hurriedClock = { now: () => Date.now(), sleep: async () => {} };
