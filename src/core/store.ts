/**
 * The port to where paused runs live. Every adapter runs the contract suite of `countersign/testing`; each sentence
 * here that says must is a test there.
 */
import type { PathStep } from './below.ts';
import type { Answering, CallError, Decision, Door, MessageKey, Outcome, Person, Verdict } from './event.ts';
import type { DecisionQuery, FeedStore, ListOrder } from './feed.ts';
import type { Json, JsonObject } from './json.ts';
import type { Head } from './next.ts';

export type { MessageKey } from './event.ts';

/** A call that a person can move, as the index keeps it. Arguments stay in the events: `requestSeq` points there. */
export interface OpenCall {
  /** The run that asked for the call: the root, or one below it. */
  readonly runId: string;
  /** Unique under the root: `<delegation call>~<inner call>` for a call of a run below. */
  readonly toolCallId: string;
  /** The delegations that lead to it, the root's first. Absent for a call of the root itself. */
  readonly path?: readonly PathStep[] | undefined;
  readonly stop: number;
  readonly kind: 'held' | 'suspended' | 'interrupted';
  readonly toolName: string;
  readonly since: number;
  readonly requestSeq: number;
  readonly stopSeq: number;
}

/** The one row of a stored run. */
export interface HeadRow {
  readonly agentId: string;
  readonly threadId?: string | undefined;
  readonly resourceId?: string | undefined;
  readonly head: Head;
  /** The workers that the open claims name. */
  readonly workers: readonly string[];
  /** When the newest stop of a held or suspended call began; absent when there is none. Likewise the others. */
  readonly suspendedSince?: number | undefined;
  readonly interruptedSince?: number | undefined;
  readonly stalledSince?: number | undefined;
}

export interface RecordedOutcome {
  readonly state: 'finished' | 'failed' | 'declined' | 'cancelled' | 'suspended' | 'interrupted';
  readonly at: number;
  /** Left out above 16 KB, with `truncated`. */
  readonly result?: Json;
  readonly error?: CallError;
  readonly truncated?: true;
}

/** What is kept of a decision after its run is gone. One for each (run, call, stop). */
export interface DecisionRecord {
  /** The root run. */
  readonly runId: string;
  /** As in `OpenCall`. */
  readonly toolCallId: string;
  readonly path?: readonly PathStep[];
  readonly stop: number;
  readonly agentId: string;
  readonly toolName: string;
  /** 'ran-twice' is a late result of a call that was settled without it; its `stop` is minus the attempt. */
  readonly verdict: Verdict | 'cancel' | 'ran-twice';
  readonly at: number;
  readonly by?: Person;
  readonly via?: Door;
  readonly approver?: 'owner' | 'reviewer';
  readonly reason?: string;
  readonly decisionId?: string;
  readonly addressed?: 'latest';
  readonly answering?: Answering;
  readonly fingerprint: string;
  /** Left out above 16 KB. */
  readonly args?: Json;
  readonly data?: Json;
  /** How an interrupted call was resolved. */
  readonly resolution?: Decision['resolution'];
  readonly outcome?: RecordedOutcome;
}

export interface Batch {
  /** Unique. A write whose id is already stored for this run has succeeded before. */
  readonly id: string;
  readonly runId: string;
  readonly expectedVersion: number;
  /** The texts of the events, in order. */
  readonly events: readonly string[];
  readonly head: HeadRow;
  readonly opened: readonly OpenCall[];
  /** Calls that left the index. */
  readonly closed: readonly { readonly toolCallId: string }[];
  readonly records: readonly DecisionRecord[];
  readonly outcomes: readonly {
    readonly toolCallId: string;
    readonly toolName: string;
    readonly stop: number;
    readonly outcome: RecordedOutcome;
  }[];
  /** Whether a power cut must not lose it. */
  readonly durability: 'full' | 'relaxed';
  /** `remove`: what the run leaves in its thread, kept in the same transaction as `ThreadStore.save` would. */
  readonly messages?: readonly MessageRow[] | undefined;
}

export type Written =
  | { readonly ok: true; readonly version: number }
  | { readonly ok: false; readonly why: 'exists' | 'conflict' | 'gone' };

export interface OpenRun {
  readonly kind: 'open';
  readonly version: number;
  /** The texts of the events after the version that was asked for. */
  readonly events: readonly string[];
}

export interface EndedRun {
  readonly kind: 'ended';
  readonly runId: string;
  readonly agentId: string;
  readonly threadId?: string | undefined;
  readonly resourceId?: string | undefined;
  readonly at: number;
  readonly outcome: Outcome;
  readonly records: readonly DecisionRecord[];
}

export type ListStatus = 'suspended' | 'interrupted' | 'stalled' | 'running' | 'all';

export interface ListQuery {
  readonly agentId?: string | undefined;
  readonly threadId?: string | undefined;
  readonly resourceId?: string | undefined;
  readonly status: ListStatus;
  /** Left out: 'newest'. */
  readonly order?: ListOrder | undefined;
  /** Milliseconds since 1970, both included, on the newest stop. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  readonly limit: number;
  readonly offset?: number | undefined;
  readonly cursor?: string | undefined;
}

export interface ListedRun {
  readonly runId: string;
  readonly agentId: string;
  readonly threadId?: string | undefined;
  readonly resourceId?: string | undefined;
  readonly status: Exclude<ListStatus, 'all'>;
  readonly since: number;
  /** The calls that the status asks for, in the order of the model, with the texts of the events they refer to. */
  readonly calls: readonly {
    readonly call: OpenCall;
    readonly request: string;
    /** The event that opened the stop of a suspended or interrupted call. */
    readonly suspension?: string | undefined;
  }[];
}

export interface Page {
  /** Exact up to 1,000. */
  readonly total: number;
  readonly totalIsAtLeast?: true;
  readonly cursor?: string;
}

export interface ListPage extends Page {
  /** Newest stop first, unless the other order was asked for. */
  readonly runs: readonly ListedRun[];
}

/** A decision with the conversation of its run. */
export interface ListedDecision extends DecisionRecord {
  readonly threadId?: string;
  readonly resourceId?: string;
}

export interface DecisionPage extends Page {
  /** Newest first, unless the other order was asked for; then by run, call and stop. */
  readonly decisions: readonly ListedDecision[];
}

/**
 * A store of runs. Every write is one transaction: all of the batch or nothing. It must never write when the
 * version is not the expected one, never make an ended or removed run anew, and never change what it is given.
 * It rejects only when the database fails; lost races are values.
 */
export interface Store {
  readonly id: string;
  /** False when the runs are gone with the process. */
  readonly persistent: boolean;
  /** The first write of a run. 'exists' when the id is there, open or ended. */
  create(batch: Batch): Promise<Written>;
  /** A later write. 'conflict' when the version is another, 'gone' when the run ended or never was. */
  append(batch: Batch): Promise<Written>;
  /** The last write: removes events and index, keeps the decision records and one outcome row. */
  remove(batch: Batch, outcome: Outcome, at: number): Promise<Written>;
  /** The run's events after a version (0: all), or how it ended, or nothing. */
  load(runId: string, after: number): Promise<OpenRun | EndedRun | undefined>;
  /** Open runs by status. Must cost the same however many runs wait. */
  list(query: ListQuery): Promise<ListPage>;
  /** Keeps a record beside those that batches bring. Once: a record of the same key is left as it is. */
  record(record: DecisionRecord): Promise<void>;
  /** The records of all decisions that are kept. Must cost the same however many there are, by each one filter. */
  decisions(query: DecisionQuery): Promise<DecisionPage>;
  readonly workers: WorkerStore;
  readonly threads: ThreadStore;
  readonly feed: FeedStore;
  /**
   * Resolves when the run may have changed, or after so many milliseconds. Left out where the database cannot tell:
   * then readers look again from time to time.
   */
  changed?(runId: string, milliseconds: number): Promise<void>;
  close(): Promise<void>;
}

/** Which workers live, by the clock of the database: the clocks of their machines may differ. */
export interface WorkerStore {
  /** Says that the worker lives. Resolves when that is stored. */
  beat(worker: string): Promise<void>;
  /** Those of the workers that have not beaten for `lease` milliseconds, or never. */
  dead(workers: readonly string[], lease: number): Promise<readonly string[]>;
  /** The open runs with claims of this worker. */
  claimed(worker: string): Promise<readonly string[]>;
  /**
   * Open runs that nobody moves: runnable, or with claims of dead workers. At most `limit`, of these agents only: runs
   * that nobody here can move must not hide those that somebody can.
   */
  abandoned(lease: number, limit: number, agentIds?: readonly string[]): Promise<readonly AbandonedRun[]>;
  /** The worker holds nothing any more and will not beat again. */
  retire(worker: string): Promise<void>;
}

export interface AbandonedRun {
  readonly runId: string;
  readonly agentId: string;
}

/** A conversation. It belongs to its resource. */
export interface ThreadRow {
  readonly threadId: string;
  readonly resourceId: string;
  readonly title?: string | undefined;
  readonly metadata?: JsonObject | undefined;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** When something was last said in it. */
  readonly updatedAt: number;
}

export interface MessageRow extends MessageKey {
  readonly threadId: string;
  /** Unique in its thread. */
  readonly messageId: string;
  /** The AI SDK's `UIMessage`, as JSON text. */
  readonly data: string;
}

export interface MessageQuery {
  readonly threadId: string;
  /** Both included. Left out, there is no bound. */
  readonly from?: MessageKey | undefined;
  readonly to?: MessageKey | undefined;
  /** Of these, the newest so many. Left out, all. */
  readonly last?: number | undefined;
}

/** What messages say. `from` and `to` are the keys of the first and the last; absent where there is none. */
export interface Transcript extends Pick<MessageQuery, 'from' | 'to'> {
  /** A JSON array of their `data`, the newest first. */
  readonly texts: string;
}

export interface ThreadPage extends Page {
  /** Those last spoken in first. */
  readonly threads: readonly ThreadRow[];
}

/** The conversations of a store, beside its runs. Each method is one transaction. */
export interface ThreadStore {
  /** Keeps the thread unless its id is taken, and returns what is kept under that id, whosever it is. */
  create(thread: ThreadRow): Promise<ThreadRow>;
  get(threadId: string): Promise<ThreadRow | undefined>;
  /** The threads of a resource; its cost must not grow with those of others. */
  list(
    query: Pick<ListQuery, 'limit' | 'offset' | 'cursor'> & { readonly resourceId: string },
  ): Promise<ThreadPage>;
  /** Removes the thread with its messages. False when there is none. */
  remove(threadId: string): Promise<boolean>;
  /** Messages in the order of their keys. */
  messages(query: MessageQuery): Promise<readonly MessageRow[]>;
  /** What `messages` would give, in one text: far cheaper to read than rows. */
  transcript(query: MessageQuery): Promise<Transcript>;
  /**
   * Keeps messages, and moves the thread's `updatedAt` on to `at`, never back. One whose id is in the thread replaces
   * what that one says and keeps its place, so that doing it twice is doing it once. Those of a thread that is not
   * there are dropped: it was deleted. False then.
   */
  save(threadId: string, messages: readonly MessageRow[], at: number): Promise<boolean>;
}
