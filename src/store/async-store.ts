/** What the stores with an asynchronous driver have in common: opening at first use, closing, sweeping. */
import { CountersignError } from '../core/errors.ts';
import type { Outcome } from '../core/event.ts';
import type { DecisionQuery, FeedPage, FeedQuery, FeedStore } from '../core/feed.ts';
import type {
  Batch,
  DecisionPage,
  DecisionRecord,
  EndedRun,
  ListPage,
  ListQuery,
  MessageRow,
  OpenRun,
  Store,
  ThreadRow,
  ThreadStore,
  WorkerStore,
  Written,
} from '../core/store.ts';
import { isInFeed } from './feed.ts';
import { type RetentionOptions, sweeper } from './retention.ts';
import { loadRun } from './sql.ts';
import { addRecord, listDecisions } from './sql-decisions.ts';
import { type Lookup, listRuns } from './sql-list.ts';
import { getThread, listThreads, readMessages, readTranscript } from './sql-threads.ts';
import type { Work } from './sql-work.ts';
import { abandonedRuns, beat, claimedRuns, deadWorkers, retire } from './sql-workers.ts';
import { openWakes } from './wakes.ts';

/** Runs that one transaction of the sweep forgets. */
const sweptAtOnce = 500;

/** A database that is open, with its tables at this release. A lost connection rejects, and the next call tries anew. */
export interface AsyncDatabase {
  /** Its clock as an SQL expression, in milliseconds. */
  readonly clock: string;
  /** How its planner is told to find the rows of a page. */
  readonly lookup?: Lookup;
  create(batch: Batch, now: number, full: boolean): Promise<Written>;
  append(batch: Batch, now: number, full: boolean): Promise<Written>;
  remove(batch: Batch, outcome: Outcome, at: number, full: boolean): Promise<Written>;
  createThread(thread: ThreadRow, full: boolean): Promise<ThreadRow>;
  removeThread(threadId: string, full: boolean): Promise<boolean>;
  saveMessages(
    threadId: string,
    messages: readonly MessageRow[],
    at: number,
    full: boolean,
  ): Promise<boolean>;
  /** Commits work whose statements give no rows. */
  write(work: () => Work<void>, full: boolean): Promise<void>;
  /** Runs work as single statements. */
  read<Result>(work: Work<Result>): Promise<Result>;
  readFeed(query: FeedQuery): Promise<FeedPage>;
  /** As `changed` of a feed. Left out where nobody tells what other processes write. */
  feedChanged?(milliseconds: number): Promise<void>;
  /** Forgets at most `limit` runs that ended before a time. Returns how many. */
  sweep(before: number, limit: number): Promise<number>;
  close(): Promise<void>;
}

export interface AsyncStoreOptions extends RetentionOptions {
  /** Names the store. */
  readonly id?: string | undefined;
  /**
   * What waits for the disk. 'standard', the default: pauses, decisions and starts of calls; after a power cut a
   * call that had finished may be interrupted, but none runs twice. 'strict': every write.
   */
  readonly durability?: 'standard' | 'strict' | undefined;
}

export abstract class AsyncStore<Database extends AsyncDatabase> implements Store {
  readonly id: string;
  abstract readonly persistent: boolean;
  readonly #open: () => Promise<Database>;
  readonly #now: () => number;
  readonly #isStrict: boolean;
  readonly #sweepIfDue: () => void;
  readonly #pending = new Set<Promise<unknown>>();
  readonly #wakes = openWakes();
  #sweep: Promise<void> | undefined;
  #database: Promise<Database> | undefined;
  #isClosed = false;

  /** @throws `invalid-option`. */
  protected constructor(
    options: AsyncStoreOptions & { readonly id: string; readonly neverRelaxed?: boolean },
    open: () => Promise<Database>,
  ) {
    const { id, durability = 'standard', neverRelaxed = false, now = Date.now } = options;
    if (durability !== 'standard' && durability !== 'strict') {
      throw new CountersignError('invalid-option', 'The option "durability" is not valid.', {
        expected: `'standard' or 'strict'`,
      });
    }
    this.id = id;
    this.#open = open;
    this.#now = now;
    this.#isStrict = neverRelaxed || durability === 'strict';
    this.#sweepIfDue = sweeper(options, (before) => {
      this.#sweep = Promise.resolve(this.#sweep).then(() => this.#sweptBefore(before));
      return true;
    });
  }

  create(batch: Batch): Promise<Written> {
    return this.#write(batch, (database) => database.create(batch, this.#now(), this.#isFull(batch)));
  }

  append(batch: Batch): Promise<Written> {
    return this.#write(batch, (database) => database.append(batch, this.#now(), this.#isFull(batch)));
  }

  async remove(batch: Batch, outcome: Outcome, at: number): Promise<Written> {
    const written = await this.#write(batch, (database) =>
      database.remove(batch, outcome, at, this.#isFull(batch)),
    );
    if (written.ok && !this.#isClosed) this.#sweepIfDue();
    await this.#sweep;
    return written;
  }

  load(runId: string, after: number): Promise<OpenRun | EndedRun | undefined> {
    return this.#use((database) => database.read(loadRun(runId, after)));
  }

  list(query: ListQuery): Promise<ListPage> {
    return this.#use((database) => database.read(listRuns(query, database.lookup)));
  }

  record(record: DecisionRecord): Promise<void> {
    return this.#use((database) => database.write(() => addRecord(record), this.#isStrict));
  }

  decisions(query: DecisionQuery): Promise<DecisionPage> {
    return this.#use((database) => database.read(listDecisions(query)));
  }

  readonly workers: WorkerStore = {
    beat: (worker) => this.#use((of) => of.write(() => beat(worker, of.clock), this.#isStrict)),
    dead: (workers, lease) => this.#use((of) => of.read(deadWorkers(workers, lease, of.clock))),
    claimed: (worker) => this.#use((of) => of.read(claimedRuns(worker))),
    abandoned: (lease, limit, agentIds) =>
      this.#use((of) => of.read(abandonedRuns(lease, limit, agentIds, of.clock))),
    retire: (worker) => this.#use((of) => of.write(() => retire(worker, of.clock), this.#isStrict)),
  };

  readonly threads: ThreadStore = {
    create: (thread) => this.#use((database) => database.createThread(thread, true)),
    get: (threadId) => this.#use((database) => database.read(getThread(threadId))),
    list: (query) => this.#use((database) => database.read(listThreads(query))),
    remove: (threadId) => this.#use((database) => database.removeThread(threadId, true)),
    messages: (query) => this.#use((database) => database.read(readMessages(query))),
    transcript: (query) => this.#use((database) => database.read(readTranscript(query))),
    save: (threadId, messages, at) =>
      this.#use((database) => database.saveMessages(threadId, messages, at, this.#isStrict)),
  };

  readonly feed: FeedStore = {
    read: (query) => this.#use((database) => database.readFeed(query)),
    changed: async (milliseconds) => {
      const database = await this.database();
      await (database.feedChanged?.(milliseconds) ?? this.#wakes.wait(milliseconds));
    },
  };

  /** Waits for what was asked before, then disconnects. Afterwards every call is `store-closed`. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#wakes.wake();
    await Promise.allSettled([...this.#pending]);
    const database = await this.#database?.catch(() => undefined);
    await database?.close();
  }

  /** Opens the database if it is not open yet. What fails is tried again by the next call. */
  protected async database(): Promise<Database> {
    if (this.#isClosed) {
      throw new CountersignError('store-closed', `The store "${this.id}" is closed.`, {
        todo: 'Open a new store.',
      });
    }
    if (this.#database) return this.#database;
    const opening = this.#open();
    this.#database = opening;
    opening.then(
      () => this.#sweepIfDue(),
      () => {
        this.#database = undefined;
      },
    );
    return opening;
  }

  /** Work that `close` waits for. */
  async #use<Result>(work: (database: Database) => Promise<Result>): Promise<Result> {
    const result = this.database().then(work);
    this.#pending.add(result);
    try {
      return await result;
    } finally {
      this.#pending.delete(result);
    }
  }

  async #write(batch: Batch, work: (database: Database) => Promise<Written>): Promise<Written> {
    const written = await this.#use(work);
    if (isInFeed(batch)) this.#wakes.wake();
    return written;
  }

  #isFull(batch: Batch): boolean {
    return this.#isStrict || batch.durability === 'full';
  }

  /** What is too old can wait for the next sweep; the removal before it is committed and must not fail. */
  async #sweptBefore(before: number): Promise<void> {
    if (before === Number.NEGATIVE_INFINITY) return;
    const sweep = (): Promise<number> => this.#use((database) => database.sweep(before, sweptAtOnce));
    try {
      while ((await sweep()) === sweptAtOnce);
    } catch {}
  }
}
