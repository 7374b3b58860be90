/** A store whose process dies at a chosen write: from then on it never answers. */
import type { FeedStore } from '../core/feed.ts';
import type { Store, ThreadStore, WorkerStore } from '../core/store.ts';

/**
 * The writes of a store, by the name of the method. `beat` and `retire` are those of `store.workers`; `createThread`,
 * `removeThread` and `saveMessages` are `create`, `remove` and `save` of `store.threads`.
 */
export type StoreWrite =
  | 'create'
  | 'append'
  | 'remove'
  | 'record'
  | 'beat'
  | 'retire'
  | 'createThread'
  | 'removeThread'
  | 'saveMessages';

/** Where the process dies. */
export interface CrashPoint {
  /** At which write, counted from 1. */
  readonly nth: number;
  /** Count only writes of this name. Left out: all writes. */
  readonly of?: StoreWrite | undefined;
  /** `'before'`: nothing of the write happens. `'after'`: it is stored, and nobody is told. */
  readonly when: 'before' | 'after';
}

export interface CrashStoreOptions {
  /** Left out, it dies only by `die()`. */
  readonly at?: CrashPoint | undefined;
  /** Called once, when it dies: in a process of its own, `() => process.kill(process.pid, 'SIGKILL')`. */
  readonly onDeath?: (() => void) | undefined;
}

/** What `crashStore` returns: the store, as the process sees it that is going to die. */
export interface CrashStore extends Store {
  /** The writes that were begun, in order. Their count after a run without a crash is the number of points. */
  readonly writes: readonly StoreWrite[];
  readonly isDead: boolean;
  /** Dies now: for a tool or a model that dies in its work. */
  die(): void;
}

/**
 * Wraps the store of a process that is to die. What other handles read is what the dead process left.
 * @example crashStore(shared, { at: { nth: 3, when: 'after' } })
 */
export function crashStore(store: Store, options: CrashStoreOptions = {}): CrashStore {
  const { at, onDeath } = options;
  const writes: StoreWrite[] = [];
  let isDead = false;

  function die(): void {
    if (isDead) return;
    isDead = true;
    onDeath?.();
  }

  async function read<T>(perform: () => Promise<T>): Promise<T> {
    if (isDead) return never();
    const answer = await perform();
    return isDead ? never() : answer;
  }

  async function write<T>(name: StoreWrite, perform: () => Promise<T>): Promise<T> {
    if (isDead) return never();
    writes.push(name);
    const isPoint = at !== undefined && isAt(at, name, writes);
    if (isPoint && at.when === 'before') die();
    return read(async () => {
      const answer = await perform();
      if (isPoint) die();
      return answer;
    });
  }

  const workers: WorkerStore = {
    beat: (worker) => write('beat', () => store.workers.beat(worker)),
    retire: (worker) => write('retire', () => store.workers.retire(worker)),
    dead: (names, lease) => read(() => store.workers.dead(names, lease)),
    claimed: (worker) => read(() => store.workers.claimed(worker)),
    abandoned: (lease, limit, agentIds) => read(() => store.workers.abandoned(lease, limit, agentIds)),
  };

  const threads: ThreadStore = {
    create: (thread) => write('createThread', () => store.threads.create(thread)),
    remove: (threadId) => write('removeThread', () => store.threads.remove(threadId)),
    save: (threadId, messages, time) =>
      write('saveMessages', () => store.threads.save(threadId, messages, time)),
    get: (threadId) => read(() => store.threads.get(threadId)),
    list: (query) => read(() => store.threads.list(query)),
    messages: (query) => read(() => store.threads.messages(query)),
    transcript: (query) => read(() => store.threads.transcript(query)),
  };

  const feed: FeedStore = {
    read: (query) => read(() => store.feed.read(query)),
    changed: (time) => read(() => store.feed.changed(time)),
  };

  return {
    id: store.id,
    persistent: store.persistent,
    workers,
    threads,
    feed,
    writes,
    get isDead() {
      return isDead;
    },
    die,
    create: (batch) => write('create', () => store.create(batch)),
    append: (batch) => write('append', () => store.append(batch)),
    remove: (batch, outcome, time) => write('remove', () => store.remove(batch, outcome, time)),
    record: (record) => write('record', () => store.record(record)),
    load: (runId, after) => read(() => store.load(runId, after)),
    list: (query) => read(() => store.list(query)),
    decisions: (query) => read(() => store.decisions(query)),
    ...(store.changed
      ? { changed: (runId: string, time: number) => read(async () => store.changed?.(runId, time)) }
      : {}),
    close: () => store.close(),
  };
}

function isAt({ nth, of }: CrashPoint, name: StoreWrite, writes: readonly StoreWrite[]): boolean {
  if (of === undefined) return writes.length === nth;
  return name === of && writes.filter((written) => written === of).length === nth;
}

function never<T>(): Promise<T> {
  return new Promise(() => {});
}
