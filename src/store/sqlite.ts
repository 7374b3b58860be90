import { CountersignError } from '../core/errors.ts';
import type { Outcome } from '../core/event.ts';
import type { DecisionQuery, FeedStore } from '../core/feed.ts';
import type {
  Batch,
  DecisionPage,
  DecisionRecord,
  EndedRun,
  ListPage,
  ListQuery,
  OpenRun,
  Store,
  ThreadStore,
  WorkerStore,
  Written,
} from '../core/store.ts';
import { isInFeed } from './feed.ts';
import { groupWrites, type WriteGroup } from './group.ts';
import { type RetentionOptions, sweeper } from './retention.ts';
import { appendToRun, createRun, loadRun, removeRun, sweepEnded } from './sql.ts';
import { addRecord, listDecisions } from './sql-decisions.ts';
import { readFeed } from './sql-feed.ts';
import { listRuns } from './sql-list.ts';
import {
  createThread,
  getThread,
  listThreads,
  readMessages,
  readTranscript,
  removeThread,
  saveMessages,
} from './sql-threads.ts';
import type { Work } from './sql-work.ts';
import { abandonedRuns, beat, claimedRuns, deadWorkers, retire } from './sql-workers.ts';
import { openSqlite, type SqliteDatabase } from './sqlite-database.ts';
import { openWakes } from './wakes.ts';

/** The operating system's clock in milliseconds, as SQLite reads it. */
const clock = "CAST(unixepoch('subsec') * 1000 AS INTEGER)";

/** Runs that one sweep forgets: it holds up the event loop. */
const sweptAtOnce = 200;

export interface SQLiteStoreOptions extends RetentionOptions {
  /** Names the store. The default is 'sqlite'. */
  readonly id?: string | undefined;
  /** The file, which is made if it is not there, in a directory that is; or ':memory:', gone with the process. */
  readonly path: string;
  /**
   * What waits for the disk. 'standard', the default: pauses, decisions and starts of calls; after a power cut a
   * call that had finished may be interrupted, but none runs twice. 'strict': every write.
   */
  readonly durability?: 'standard' | 'strict' | undefined;
}

/**
 * Keeps runs in a SQLite file, by Node's own node:sqlite. Several processes on one machine may open the file at once.
 * On Node 22 the first store prints Node's ExperimentalWarning about SQLite, which is left to be seen:
 * `node --disable-warning=ExperimentalWarning` hides it.
 * @throws `store-failed` when the file cannot be opened or was written by a newer release, `invalid-option`, and
 * `dependency-missing` below Node 22.13.
 */
export class SQLiteStore implements Store {
  readonly id: string;
  readonly persistent: boolean;
  readonly #database: SqliteDatabase;
  readonly #writes: WriteGroup;
  readonly #now: () => number;
  readonly #isStrict: boolean;
  readonly #sweepIfDue: () => void;
  readonly #wakes = openWakes();
  #isClosed = false;

  constructor(options: SQLiteStoreOptions) {
    const { id = 'sqlite', path, durability = 'standard', now = Date.now } = options;
    if (typeof path !== 'string' || path === '') {
      throw new CountersignError('invalid-option', 'The option "path" is not valid.', {
        expected: `the path of a file, or ':memory:'`,
      });
    }
    if (durability !== 'standard' && durability !== 'strict') {
      throw new CountersignError('invalid-option', 'The option "durability" is not valid.', {
        expected: `'standard' or 'strict'`,
      });
    }
    this.#sweepIfDue = sweeper(options, (before) => this.#sweep(before));
    const database = openSqlite(path);
    this.id = id;
    this.persistent = database.persistent;
    this.#database = database;
    this.#writes = groupWrites(database.transact);
    this.#now = now;
    this.#isStrict = durability === 'strict';
    this.#sweepIfDue();
  }

  create(batch: Batch): Promise<Written> {
    return this.#write(batch, () => createRun(batch, this.#now()));
  }

  append(batch: Batch): Promise<Written> {
    return this.#write(batch, () => appendToRun(batch, this.#now()));
  }

  async remove(batch: Batch, outcome: Outcome, at: number): Promise<Written> {
    const written = await this.#write(batch, () => removeRun(batch, outcome, at));
    if (written.ok && !this.#isClosed) this.#sweepIfDue();
    return written;
  }

  async load(runId: string, after: number): Promise<OpenRun | EndedRun | undefined> {
    return this.#opened().run(loadRun(runId, after));
  }

  async list(query: ListQuery): Promise<ListPage> {
    return this.#opened().run(listRuns(query));
  }

  async record(record: DecisionRecord): Promise<void> {
    await this.#add(() => addRecord(record), false);
  }

  async decisions(query: DecisionQuery): Promise<DecisionPage> {
    return this.#opened().run(listDecisions(query));
  }

  readonly workers: WorkerStore = {
    beat: (worker) => this.#add(() => beat(worker, clock), false),
    dead: async (workers, lease) => this.#opened().run(deadWorkers(workers, lease, clock)),
    claimed: async (worker) => this.#opened().run(claimedRuns(worker)),
    abandoned: async (lease, limit, agentIds) =>
      this.#opened().run(abandonedRuns(lease, limit, agentIds, clock)),
    retire: (worker) => this.#add(() => retire(worker, clock), false),
  };

  readonly threads: ThreadStore = {
    create: (thread) => this.#add(() => createThread(thread), true),
    get: async (threadId) => this.#opened().run(getThread(threadId)),
    list: async (query) => this.#opened().run(listThreads(query)),
    remove: (threadId) => this.#add(() => removeThread(threadId), true),
    messages: async (query) => this.#opened().run(readMessages(query)),
    transcript: async (query) => this.#opened().run(readTranscript(query)),
    save: (threadId, messages, at) => this.#add(() => saveMessages(threadId, messages, at), false),
  };

  readonly feed: FeedStore = {
    read: async (query) => this.#opened().run(readFeed(query)),
    changed: async (milliseconds) => {
      this.#opened();
      await this.#wakes.wait(milliseconds);
    },
  };

  /** Commits what was given before, then closes the file. Afterwards every call is `store-closed`. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#writes.flush();
    this.#isClosed = true;
    this.#wakes.wake();
    this.#database.close();
  }

  async #write(batch: Batch, work: () => Work<Written>): Promise<Written> {
    const written = await this.#add(work, batch.durability === 'full');
    if (isInFeed(batch)) this.#wakes.wake();
    return written;
  }

  /** @param full whether a power cut must not lose it, also in 'standard'. */
  async #add<Result>(work: () => Work<Result>, full: boolean): Promise<Result> {
    const database = this.#opened();
    return this.#writes.add({ run: () => database.run(work()), full: this.#isStrict || full });
  }

  #sweep(before: number): boolean {
    try {
      const work = () => this.#database.run(sweepEnded(before, sweptAtOnce));
      return this.#database.transact(work, false) < sweptAtOnce;
    } catch {
      // What is too old can wait for the next sweep; the removal before it is committed and must not fail.
      return true;
    }
  }

  #opened(): SqliteDatabase {
    if (!this.#isClosed) return this.#database;
    throw new CountersignError('store-closed', `The store "${this.id}" is closed.`, {
      todo: 'Open a new store.',
    });
  }
}
