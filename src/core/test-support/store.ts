/** A store whose next writes can be held, lost or refused. */

import { InMemoryStore } from '../../store/memory.ts';
import { storeAround } from '../../testing/store-around.ts';
import type { Batch, Store, Written } from '../store.ts';

type Write = 'create' | 'append' | 'remove';

/**
 * What happens to one write: it fails before it is done, or is done and its answer is lost, or something else comes
 * first.
 */
export type Fault = 'fails' | 'answer-lost' | (() => Promise<void>);

export interface TestStore extends Store {
  /** Each write that was tried, in order. */
  readonly writes: { readonly kind: Write; readonly batch: Batch }[];
  /** Faults of the next writes, in order; `undefined` for none. */
  readonly faults: (Fault | undefined)[];
  /** Errors of the next loads. */
  readonly loadFaults: Error[];
}

export function testStore(inner: Store = memoryStore()): TestStore {
  const writes: TestStore['writes'] = [];
  const faults: TestStore['faults'] = [];
  const loadFaults: Error[] = [];
  const write = async (kind: Write, batch: Batch, done: () => Promise<Written>): Promise<Written> => {
    writes.push({ kind, batch });
    const fault = faults.shift();
    if (fault === 'fails') throw new Error('disk full');
    if (typeof fault === 'function') await fault();
    const written = await done();
    if (fault === 'answer-lost') throw new Error('connection reset');
    return written;
  };
  return Object.assign(
    storeAround(inner, {
      id: 'test',
      persistent: true,

      create: (batch) => write('create', batch, () => inner.create(batch)),
      append: (batch) => write('append', batch, () => inner.append(batch)),
      remove: (batch, outcome, at) => write('remove', batch, () => inner.remove(batch, outcome, at)),
      async load(runId, after) {
        const fault = loadFaults.shift();
        if (fault) throw fault;
        return inner.load(runId, after);
      },
    }),
    { writes, faults, loadFaults },
  );
}

/** A store in whose time no record expires. */
export const memoryStore = (): Store => new InMemoryStore({ now: () => 1000 });
