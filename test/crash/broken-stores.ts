/** Stores that do not keep what the port promises, each in one way: the checkers must notice. */
import { childIdOf } from '../../src/core/below.ts';
import type { Event } from '../../src/core/event.ts';
import { eventFrom } from '../../src/core/event.ts';
import type { Batch, Store, Written } from '../../src/core/store.ts';
import { InMemoryStore } from '../../src/store/memory.ts';

/** A store with some methods replaced. */
function replaced(store: Store, methods: Partial<Store>): Store {
  return new Proxy(store, {
    get(target, key) {
      if (key in methods) return Reflect.get(methods, key);
      const value: unknown = Reflect.get(target, key);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** Writes whatever version was expected: of two decisions on one stop, both are acknowledged. */
export function ignoresVersion(store: Store): Store {
  const write = async (batch: Batch, perform: (batch: Batch) => Promise<Written>): Promise<Written> => {
    const found = await store.load(batch.runId, Number.MAX_SAFE_INTEGER);
    if (found?.kind !== 'open') return perform(batch);
    await perform({ ...batch, expectedVersion: found.version });
    return { ok: true, version: batch.expectedVersion + batch.events.length };
  };
  return replaced(store, {
    append: (batch) => write(batch, (forced) => store.append(forced)),
    remove: (batch, outcome, at) => write(batch, (forced) => store.remove(forced, outcome, at)),
  });
}

/** Whether an event is what came of a claimed call; of a delegation it is the begin of the run below. */
function settles(event: Event, { runId, toolCallId }: { runId: string; toolCallId: string }): boolean {
  if (event.type === 'run-started') return event.runId === childIdOf(runId, toolCallId);
  return 'toolCallId' in event && event.runId === runId && event.toolCallId === toolCallId;
}

/**
 * Stores the claims of calls only with their outcome, so that whoever looks in between finds the call unclaimed.
 * For one process: each needs its own.
 */
export function dropsClaims(store: Store): Store {
  const held = new Map<string, { text: string; event: Event }[]>();
  const dropped = (runId: string): number => held.get(runId)?.length ?? 0;

  async function write(batch: Batch, perform: (batch: Batch) => Promise<Written>): Promise<Written> {
    const before = dropped(batch.runId);
    const waiting = [...(held.get(batch.runId) ?? [])];
    const events: string[] = [];
    for (const text of batch.events) {
      const event = eventFrom(text);
      if (event.type === 'call-started') {
        waiting.push({ text, event });
        continue;
      }
      const index = waiting.findIndex(({ event: claim }) => 'toolCallId' in claim && settles(event, claim));
      if (index >= 0 && event.type !== 'call-requested' && event.type !== 'call-decided') {
        events.push(...waiting.splice(index, 1).map((claim) => claim.text));
      }
      events.push(text);
    }
    held.set(batch.runId, waiting);
    const version = batch.expectedVersion + batch.events.length;
    if (events.length === 0) return { ok: true, version };
    const head = waiting.length > 0 ? { ...batch.head, head: 'runnable' as const, workers: [] } : batch.head;
    const answer = await perform({ ...batch, head, events, expectedVersion: batch.expectedVersion - before });
    return answer.ok ? { ok: true, version } : answer;
  }

  return replaced(store, {
    create: (batch) => write(batch, (forced) => store.create(forced)),
    append: (batch) => write(batch, (forced) => store.append(forced)),
    remove: (batch, outcome, at) => write(batch, (forced) => store.remove(forced, outcome, at)),
    load: (runId, after) =>
      store.load(runId, after === Number.MAX_SAFE_INTEGER ? after : Math.max(0, after - dropped(runId))),
  });
}

/** Acknowledges a write before it is made: the last one is lost with the process. For one process. */
export function losesLastWrite(store: Store): Store {
  let kept: (() => Promise<unknown>) | undefined;
  const flush = async (): Promise<void> => {
    const write = kept;
    kept = undefined;
    await write?.();
  };
  const write = async (batch: Batch, perform: () => Promise<Written>): Promise<Written> => {
    await flush();
    kept = perform;
    return { ok: true, version: batch.expectedVersion + batch.events.length };
  };
  const reading =
    <Given extends unknown[], T>(read: (...given: Given) => Promise<T>) =>
    async (...given: Given): Promise<T> => {
      await flush();
      return read(...given);
    };
  return replaced(store, {
    create: (batch) => write(batch, () => store.create(batch)),
    append: (batch) => write(batch, () => store.append(batch)),
    remove: (batch, outcome, at) => write(batch, () => store.remove(batch, outcome, at)),
    load: reading((runId: string, after: number) => store.load(runId, after)),
    list: reading((query: Parameters<Store['list']>[0]) => store.list(query)),
  });
}

/** Makes a run that was removed anew when somebody comes late to it. */
export function recreates(store: Store): Store {
  const ghosts = new InMemoryStore();
  const late = async (batch: Batch): Promise<Written> => {
    const answer = await store.append(batch);
    if (answer.ok || answer.why !== 'gone') return answer;
    await ghosts.create({ ...batch, expectedVersion: 0 });
    return { ok: true, version: batch.expectedVersion + batch.events.length };
  };
  return replaced(store, {
    append: late,
    remove: async (batch, outcome, at) => {
      const answer = await store.remove(batch, outcome, at);
      return answer.ok || answer.why !== 'gone' ? answer : late(batch);
    },
    load: async (runId, after) => (await ghosts.load(runId, after)) ?? store.load(runId, after),
    list: async (query) => {
      const [real, ghost] = [await store.list(query), await ghosts.list(query)];
      return { ...real, runs: [...real.runs, ...ghost.runs], total: real.total + ghost.total };
    },
  });
}
