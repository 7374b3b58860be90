/** A store whose failures are all `store-failed`, whatever its driver throws. */
import { CountersignError, isCountersignError } from '../core/errors.ts';
import type { FeedStore } from '../core/feed.ts';
import type { Store, ThreadStore, WorkerStore } from '../core/store.ts';

/** @throws (from each method) `store-failed` with the driver's error as cause; typed errors pass. */
export function guarded(store: Store): Store {
  const { workers, threads, feed } = store;
  const guardedWorkers: WorkerStore = {
    beat: (worker) => typed(() => workers.beat(worker)),
    dead: (of, lease) => typed(() => workers.dead(of, lease)),
    claimed: (worker) => typed(() => workers.claimed(worker)),
    abandoned: (lease, limit, agentIds) => typed(() => workers.abandoned(lease, limit, agentIds)),
    retire: (worker) => typed(() => workers.retire(worker)),
  };
  const guardedThreads: ThreadStore = {
    create: (thread) => typed(() => threads.create(thread)),
    get: (threadId) => typed(() => threads.get(threadId)),
    list: (query) => typed(() => threads.list(query)),
    remove: (threadId) => typed(() => threads.remove(threadId)),
    messages: (query) => typed(() => threads.messages(query)),
    transcript: (query) => typed(() => threads.transcript(query)),
    save: (threadId, messages, at) => typed(() => threads.save(threadId, messages, at)),
  };
  const guardedFeed: FeedStore = {
    read: (query) => typed(() => feed.read(query)),
    changed: (milliseconds) => typed(() => feed.changed(milliseconds)),
  };
  return {
    id: store.id,
    persistent: store.persistent,
    create: (batch) => typed(() => store.create(batch)),
    append: (batch) => typed(() => store.append(batch)),
    remove: (batch, outcome, at) => typed(() => store.remove(batch, outcome, at)),
    load: (runId, after) => typed(() => store.load(runId, after)),
    list: (query) => typed(() => store.list(query)),
    record: (record) => typed(() => store.record(record)),
    decisions: (query) => typed(() => store.decisions(query)),
    workers: guardedWorkers,
    threads: guardedThreads,
    feed: guardedFeed,
    ...(store.changed
      ? { changed: (runId, milliseconds) => typed(async () => store.changed?.(runId, milliseconds)) }
      : {}),
    close: () => typed(() => store.close()),
  };
}

async function typed<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (isCountersignError(cause)) throw cause;
    throw new CountersignError('store-failed', 'The store did not answer.', {
      todo: 'Try again; nothing was decided unless it is listed as decided.',
      cause,
    });
  }
}
