import type { Store } from '../core/store.ts';

/**
 * A store that passes everything on to another one, but what is given here: for tests that look at writes, lose
 * answers or let a database fail.
 * @example storeAround(store, { append: async (batch) => { seen.push(batch); return store.append(batch); } })
 */
export function storeAround(store: Store, over: Partial<Store>): Store {
  const changed = store.changed?.bind(store);
  return {
    id: store.id,
    persistent: store.persistent,
    create: (batch) => store.create(batch),
    append: (batch) => store.append(batch),
    remove: (batch, outcome, at) => store.remove(batch, outcome, at),
    load: (runId, after) => store.load(runId, after),
    list: (query) => store.list(query),
    record: (record) => store.record(record),
    workers: store.workers,
    decisions: (query) => store.decisions(query),
    threads: store.threads,
    feed: store.feed,
    ...(changed ? { changed } : {}),
    close: () => store.close(),
    ...over,
  };
}
