/** Stores for tests around a real one: one that tells what it is asked, and one with the claim taken out. */
import type { Batch, DecisionRecord, EndedRun, Store, Written } from '../../src/index.ts';

/** Tells the name of the worker that uses the store, as soon as it says that it lives. */
export function tellingWorker(store: Store, tell: (worker: string) => void): Store {
  const names = new Set<string>();
  return overlaid(store, {
    workers: overlaid(store.workers, {
      beat(worker) {
        if (!names.has(worker)) tell(worker);
        names.add(worker);
        return store.workers.beat(worker);
      },
    }),
  });
}

/** What a process without claims believes of a run: what it read once, and all that it wrote itself. */
interface Belief {
  readonly events: string[];
  readonly records: DecisionRecord[];
  /** It was told no by the store, and goes on all the same. */
  isWrong: boolean;
  end?: EndedRun;
}

/**
 * Says yes to every write, whoever came first, and never sees what others wrote since a run was read: the claim is no
 * claim any more. Where it is wrong about a run it writes nothing of it, so that what is stored stays readable.
 */
export function withoutClaims(store: Store): Store {
  const beliefs = new Map<string, Belief>();
  const write = async (batch: Batch, attempt: () => Promise<Written>): Promise<Written> => {
    const belief = beliefs.get(batch.runId);
    if (belief === undefined) return attempt();
    if (!belief.isWrong) belief.isWrong = !(await attempt()).ok;
    belief.events.push(...batch.events);
    belief.records.push(...batch.records);
    return { ok: true, version: belief.events.length };
  };
  return overlaid(store, {
    async load(runId, after) {
      const known = beliefs.get(runId);
      if (known?.end) return known.end;
      if (known) return { kind: 'open', version: known.events.length, events: known.events.slice(after) };
      const found = await store.load(runId, 0);
      if (found?.kind !== 'open') return found;
      beliefs.set(runId, { events: [...found.events], records: [], isWrong: false });
      return { ...found, events: found.events.slice(after) };
    },
    append: (batch) => write(batch, () => store.append(batch)),
    async remove(batch, outcome, at) {
      const written = await write(batch, () => store.remove(batch, outcome, at));
      const belief = beliefs.get(batch.runId);
      const { runId, head } = batch;
      if (belief) {
        belief.end = { kind: 'ended', runId, agentId: head.agentId, at, outcome, records: belief.records };
      }
      return written;
    },
  });
}

/** The object with some of its members replaced. Methods of the object itself keep their `this`. */
function overlaid<T extends object>(object: T, members: Partial<T>): T {
  return new Proxy(object, {
    get(target, key) {
      if (Object.hasOwn(members, key)) return Reflect.get(members, key) as unknown;
      const value: unknown = Reflect.get(target, key);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
