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
import { memoryFeed } from './memory-feed.ts';
import { copyOf, createRunIndex, type StoredRun } from './memory-index.ts';
import { memoryRecords } from './memory-records.ts';
import { memoryThreads } from './memory-threads.ts';
import { memoryWorkers } from './memory-workers.ts';
import { ownerOf } from './owner.ts';
import { type RetentionOptions, sweeper } from './retention.ts';

export interface InMemoryStoreOptions extends RetentionOptions {
  /** Names the store. The default is 'memory'. */
  readonly id?: string | undefined;
}

interface StoredEnd extends Omit<EndedRun, 'kind' | 'outcome' | 'records'> {
  readonly batch: string;
  readonly outcome: string;
}

/** Keeps runs in memory: they are gone with the process. It does what SQLiteStore does, to the letter. */
export class InMemoryStore implements Store {
  readonly id: string;
  readonly persistent = false;
  readonly #runs = new Map<string, StoredRun>();
  readonly #ended = new Map<string, StoredEnd>();
  readonly #records = memoryRecords();
  readonly #feed = memoryFeed(() => this.#assertOpen());
  readonly #index = createRunIndex();
  readonly #threads = memoryThreads(() => this.#assertOpen());
  readonly workers: WorkerStore;
  readonly threads: ThreadStore = this.#threads.store;
  readonly feed: FeedStore = this.#feed.store;
  readonly #now: () => number;
  readonly #sweepIfDue: () => void;
  #isClosed = false;

  constructor(options: InMemoryStoreOptions = {}) {
    this.id = options.id ?? 'memory';
    this.#now = options.now ?? Date.now;
    this.workers = memoryWorkers(this.#now, () => this.#runs.values());
    this.#sweepIfDue = sweeper(options, (before) => this.#sweep(before));
  }

  async create(batch: Batch): Promise<Written> {
    this.#assertOpen();
    const { runId, head } = batch;
    if (this.#runs.has(runId) || this.#ended.has(runId)) return this.#refused(batch, 'exists');
    const run = {
      runId,
      agentId: head.agentId,
      ...ownerOf(head),
      events: [],
      batches: new Set<string>(),
      calls: new Map(),
      places: {},
      head,
    };
    return this.#write(batch, () => {
      this.#runs.set(runId, run);
      this.#grow(run, batch);
    });
  }

  async append(batch: Batch): Promise<Written> {
    this.#assertOpen();
    const run = this.#runs.get(batch.runId);
    if (run?.events.length !== batch.expectedVersion) return this.#refused(batch, 'conflict');
    return this.#write(batch, () => this.#grow(run, batch));
  }

  async remove(batch: Batch, outcome: Outcome, at: number): Promise<Written> {
    this.#assertOpen();
    const { runId } = batch;
    const run = this.#runs.get(runId);
    if (run?.events.length !== batch.expectedVersion) return this.#refused(batch, 'conflict');
    const { agentId, threadId, resourceId } = batch.head;
    const end = {
      runId,
      agentId,
      threadId,
      resourceId,
      at,
      batch: batch.id,
      outcome: JSON.stringify(outcome),
    };
    const written = this.#write(batch, () => {
      this.#index.remove(run);
      this.#runs.delete(runId);
      this.#ended.set(runId, end);
      this.#threads.keep(batch.messages ?? [], at);
    });
    this.#sweepIfDue();
    return written;
  }

  async load(runId: string, after: number): Promise<OpenRun | EndedRun | undefined> {
    this.#assertOpen();
    const run = this.#runs.get(runId);
    if (run) return { kind: 'open', version: run.events.length, events: run.events.slice(after) };
    const end = this.#ended.get(runId);
    if (end === undefined) return undefined;
    return {
      kind: 'ended',
      runId,
      agentId: end.agentId,
      ...ownerOf(end),
      at: end.at,
      outcome: JSON.parse(end.outcome) as Outcome,
      records: this.#records.of(runId),
    };
  }

  async list(query: ListQuery): Promise<ListPage> {
    this.#assertOpen();
    return this.#index.page(query);
  }

  async record(record: DecisionRecord): Promise<void> {
    this.#assertOpen();
    const { runId } = record;
    const owner = this.#runs.get(runId)?.head ?? this.#ended.get(runId) ?? {};
    this.#records.prepare({ id: '', runId, records: [record], outcomes: [] }, owner).keep();
  }

  async decisions(query: DecisionQuery): Promise<DecisionPage> {
    this.#assertOpen();
    return this.#records.page(query);
  }

  /** Forgets everything. Afterwards every call is `store-closed`. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const kept of [this.#runs, this.#ended, this.#records, this.#feed, this.#threads]) kept.clear();
  }

  /** Makes all texts first: what cannot be written must not be written in part. */
  #write(batch: Batch, change: () => void): Written {
    const prepared = [this.#records.prepare(batch, batch.head), this.#feed.prepare(batch)];
    change();
    for (const made of prepared) made.keep();
    return { ok: true, version: versionAfter(batch) };
  }

  #grow(run: StoredRun, { id, events, head, opened, closed }: Batch): void {
    for (const text of events) run.events.push(text);
    run.batches.add(id);
    for (const { toolCallId } of closed) run.calls.delete(toolCallId);
    for (const call of opened) run.calls.set(call.toolCallId, copyOf(call));
    run.head = { ...head, workers: [...head.workers] };
    this.#index.move(run, head, this.#now());
  }

  /** Why nothing was written: lost, or written before and only the answer was lost. */
  #refused(batch: Batch, why: 'exists' | 'conflict'): Written {
    const run = this.#runs.get(batch.runId);
    const isMine =
      run?.batches.has(batch.id) ||
      this.#ended.get(batch.runId)?.batch === batch.id ||
      this.#records.hasBatch(batch.runId, batch.id);
    if (isMine) return { ok: true, version: versionAfter(batch) };
    return { ok: false, why: why === 'exists' || run ? why : 'gone' };
  }

  #sweep(before: number): boolean {
    for (const { runId, at } of this.#ended.values()) {
      if (at >= before) continue;
      this.#ended.delete(runId);
      this.#records.forget(runId);
    }
    this.#feed.sweep(before);
    return true;
  }

  #assertOpen(): void {
    if (!this.#isClosed) return;
    throw new CountersignError('store-closed', `The store "${this.id}" is closed.`, {
      todo: 'Open a new store.',
    });
  }
}

function versionAfter(batch: Batch): number {
  return batch.expectedVersion + batch.events.length;
}
