/**
 * Owns the only write of a run: `commit`. It folds what is proposed onto the newest state, lets the claims of the
 * one who commits ride along, stores it when the run is stored, and only then tells the listeners. Commits of one
 * run queue behind each other; of two processes one wins and the other's proposal is made again.
 */
import { batchOf } from './batch.ts';
import { type Change, changesOf, changesWithRiders } from './changes.ts';
import { type CountersignError, isCountersignError, messageOf } from './errors.ts';
import { type Claim, type Event, eventFrom, type Holder, type Outcome, type RunStarted } from './event.ts';
import { endedError, existsError, storeFailed } from './log-errors.ts';
import type { ResponseDelta } from './model.ts';
import { isClaim, waitingCalls } from './next.ts';
import { fold } from './run.ts';
import type { Run } from './state.ts';
import type { Batch, DecisionRecord, EndedRun, MessageRow, Store, ThreadStore, Written } from './store.ts';

export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** `background`: the sleep does not keep the process from ending. */
  sleep(milliseconds: number, options?: { readonly background?: boolean }): Promise<void>;
}

/** What a tool says while it runs, and the deltas of a model: passed on to readers, never stored. */
export type Passing =
  | ResponseDelta
  | {
      readonly type: 'tool-output';
      readonly payload: { readonly toolCallId: string; readonly output: unknown };
    }
  | { readonly type: `data-${string}`; readonly data: unknown; readonly id?: string };

export interface Listener {
  /** At least one change, of whole batches: the last state is one in which the run really was. */
  onChanges(changes: readonly Change[]): void;
  /** @param from the run that says it: this one, or one below it. */
  onPassing(passing: Passing, from: string): void;
  /** The run ended elsewhere and its events are gone. */
  onGone(ended: EndedRun): void;
  /** The run cannot go on here: the store failed. */
  onBroken(error: unknown): void;
}

export interface CommitOptions {
  /** Who claims what the commit makes possible, or ends the run. Left out, nothing rides along. */
  readonly me?: Holder | undefined;
  /** Retry as long as the process lives: for results, which must not be lost. */
  readonly persist?: boolean | undefined;
}

type WriteOptions = CommitOptions & Pick<Batch, 'messages'>;

/** Makes the events to append from the newest state. Asked again after a lost race. It may throw to refuse. */
export type Propose = (run: Run) => readonly Event[];

export interface RunLog {
  readonly runId: string;
  readonly run: Run;
  readonly stored: boolean;
  /** Appends what `propose` makes, and returns it with what rode along. */
  commit(propose: Propose, options?: CommitOptions): Promise<readonly Event[]>;
  /** Reads what other processes appended. */
  refresh(): Promise<void>;
  listen(listener: Listener): () => void;
  /** @param from the run that says it, if it is not this one. */
  pass(passing: Passing, from?: string): void;
  /** When the write of a claim of ours was begun, by `monotonic`. */
  claimedAt(claim: Claim): number;
  /** Where the run leaves its messages; undefined: in the store of the run. */
  elsewhere: ThreadStore | undefined;
  /** Keeps a record beside the log, as long as the process lives. */
  record(record: DecisionRecord): Promise<void>;
  fail(error: unknown): void;
}

export interface LogPorts {
  readonly store: Store;
  readonly clock: Clock;
  /** What an ended run leaves in its thread. */
  rowsOf(run: Run): readonly MessageRow[];
  /** Makes a batch id that no other worker makes. */
  newBatchId(): string;
  /** Resolves when the worker is known to live, at least for as long as a claim takes to be seen. */
  alive(): Promise<void> | undefined;
  /** Milliseconds of a clock that nobody sets. */
  monotonic(): number;
  warn(message: string): void;
}

/** The log of a run that begins. Nothing is stored before it must be. */
export function startLog(ports: LogPorts, started: RunStarted): RunLog {
  return openLog(ports, fold([started]) as Run, [started]);
}

/** The log of a stored run. Undefined when there is none, the outcome when it has ended. */
export async function loadLog(ports: LogPorts, runId: string): Promise<RunLog | EndedRun | undefined> {
  const found = await ports.store.load(runId, 0);
  if (found?.kind !== 'open') return found;
  return openLog(ports, fold(found.events.map(eventFrom)) as Run, undefined);
}

function openLog(ports: LogPorts, first: Run, firstEvents: Event[] | undefined): RunLog {
  const { store, clock } = ports;
  const runId = first.started.runId;
  const listeners = new Set<Listener>();
  const claimed = new WeakMap<Claim, number>();
  let run = first;
  /** What happened before the first store; undefined once the run is stored. */
  let unstored = firstEvents;
  let queue: Promise<unknown> = Promise.resolve();
  let doubtful = false;
  /** It ended elsewhere: what is known here of its claims and calls is only what was last read. */
  let gone: CountersignError | undefined;

  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const turn = queue.then(work);
    queue = turn.catch(() => {});
    return turn;
  };

  const publish = (changes: readonly Change[]): void => {
    for (const listener of [...listeners]) {
      try {
        listener.onChanges(changes);
      } catch (thrown) {
        ports.warn(`Run ${runId}: a reader failed: ${messageOf(thrown)}`);
      }
    }
  };

  async function reload(): Promise<void> {
    const found = await store.load(runId, run.length);
    doubtful = false;
    if (found?.kind === 'open') {
      if (found.events.length === 0) return;
      const changes = changesOf(found.events.map(eventFrom), run);
      run = changes.at(-1)?.run ?? run;
      publish(changes);
      return;
    }
    if (found) for (const listener of [...listeners]) listener.onGone(found);
    run = { ...run, outcome: found?.outcome ?? forgotten };
    gone = endedError(runId, found);
    throw gone;
  }

  async function commitNow(propose: Propose, options: CommitOptions): Promise<readonly Event[]> {
    const reloaded = (): Promise<void> => retried(reload, options.persist === true);
    if (doubtful) await reloaded();
    /** Conflicts with nothing new to read: a store that is wrong must not keep us here for ever. */
    let fruitless = 0;
    for (;;) {
      if (gone && propose(run).length > 0) throw gone;
      const { me } = options;
      const proposed = propose(run);
      const changes = me ? changesWithRiders(proposed, run, me, clock.now()) : changesOf(proposed, run);
      const events = changes.map((change) => change.event);
      const after = changes.at(-1)?.run;
      if (after === undefined) return events;
      const messages = after.outcome && (await left(after, after.outcome));
      if (unstored && (after.outcome || !mustStore(after))) {
        unstored.push(...events);
      } else {
        const written = await write(after, events, { ...options, messages });
        if (!written.ok) {
          if (written.why === 'exists') throw existsError(runId);
          const known = run.length;
          await reloaded();
          if (run.length === known && ++fruitless >= 10) throw storeFailed(runId, undefined);
          continue;
        }
        unstored = undefined;
      }
      run = after;
      publish(changes);
      return events;
    }
  }

  /** Writes one batch. Its id tells whether an answer that was lost had been a yes. */
  async function write(after: Run, events: readonly Event[], options: WriteOptions): Promise<Written> {
    const all = [...(unstored ?? []), ...events];
    const made = batchOf(ports.newBatchId(), unstored ? undefined : run, after, all);
    const batch = options.messages ? { ...made, messages: options.messages } : made;
    const claims = all.filter(isClaim);
    let asked: number | undefined;
    const attempt = async (): Promise<Written> => {
      if (claims.length > 0) await ports.alive();
      asked ??= ports.monotonic();
      for (const { claim } of claims) claimed.set(claim, asked);
      if (unstored) return store.create(batch);
      return after.outcome ? store.remove(batch, after.outcome, clock.now()) : store.append(batch);
    };
    try {
      return await retried(attempt, options.persist === true);
    } catch (error) {
      doubtful = unstored === undefined;
      throw error;
    }
  }

  /** What the end leaves in the thread: returned for the removal to bring, or saved where that cannot. */
  async function left(after: Run, { status }: Outcome): Promise<Batch['messages']> {
    const rows = ports.rowsOf(after);
    const threads = log.elsewhere ?? (unstored && store.threads);
    if (!threads || !rows[0]) return rows;
    const { threadId } = rows[0];
    // The answer is a result, and like one not lost as long as the process lives.
    await retried(() => threads.save(threadId, rows, clock.now()), status !== 'failed');
    return undefined;
  }

  /** Three times, or with `persist` as long as the process lives. */
  async function retried<T>(work: () => Promise<T>, persist: boolean): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await work();
      } catch (cause) {
        if (isCountersignError(cause) && cause.code !== 'store-failed') throw cause;
        if (attempt >= 3 && !persist) throw storeFailed(runId, cause);
        if (attempt === 3) ports.warn(`Run ${runId}: the store does not answer; a result is tried again.`);
        await clock.sleep(Math.min(20 * 2 ** attempt, 5000));
      }
    }
  }

  const log: RunLog = {
    runId,
    get run() {
      return run;
    },
    get stored() {
      return unstored === undefined;
    },
    elsewhere: undefined,
    commit: (propose, options = {}) => inTurn(() => commitNow(propose, options)),
    refresh: () => inTurn(async () => (unstored || run.outcome ? undefined : retried(reload, false))),
    listen(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    claimedAt: (claim) => claimed.get(claim) ?? Number.NEGATIVE_INFINITY,
    record: (record) => retried(() => store.record(record), true),
    pass(passing, from = runId) {
      for (const listener of listeners) listener.onPassing(passing, from);
    },
    fail(error) {
      for (const listener of [...listeners]) listener.onBroken(error);
    },
  };
  return log;
}

/** The outcome of a run of which the store knows nothing any more. */
const forgotten: Outcome = { status: 'failed', finishReason: 'error', text: '', usage: {} };

/** A run is stored from its first pause on, or from its first event where it is durable. */
function mustStore(run: Run): boolean {
  return run.started.options.durable === true || waitingCalls(run).length > 0;
}
