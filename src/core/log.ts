/**
 * Owns the only write of a run: `commit`. It folds what is proposed onto the newest state, lets the claims of the
 * one who commits ride along, stores it when the run is stored, and only then tells the listeners. Commits of one
 * run queue behind each other; of two processes one wins and the other's proposal is made again (DESIGN §2).
 */
import { batchOf } from './batch.ts';
import { CountersignError, isCountersignError } from './errors.ts';
import { type Event, eventFrom, type Holder, type RunStarted } from './event.ts';
import type { ResponseDelta } from './model.ts';
import { riders, waitingCalls } from './next.ts';
import { fold } from './run.ts';
import type { Run } from './state.ts';
import type { Batch, EndedRun, Store, Written } from './store.ts';

export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  sleep(milliseconds: number): Promise<void>;
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
  /** Events that are now true (and stored, if the run is), with the state after them. */
  onEvents(events: readonly Event[], run: Run): void;
  onPassing(passing: Passing): void;
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
  pass(passing: Passing): void;
  fail(error: unknown): void;
}

export interface LogPorts {
  readonly store: Store;
  readonly clock: Clock;
  /** Makes a batch id that no other worker makes. */
  newBatchId(): string;
  warn(message: string): void;
}

/** The log of a run that begins. Nothing is stored before it must be. */
export function startLog(ports: LogPorts, started: RunStarted): RunLog {
  return openLog(ports, fold([started]) as Run, [started]);
}

/** The log of a stored run. Undefined when there is none, the outcome when it has ended. */
export async function loadLog(ports: LogPorts, runId: string): Promise<RunLog | EndedRun | undefined> {
  const found = await fromStore(ports.store.load(runId, 0), runId);
  if (found?.kind !== 'open') return found;
  return openLog(ports, fold(found.events.map(eventFrom)) as Run, undefined);
}

/** What a store answers. @throws `store-failed` for whatever it throws of its own. */
export async function fromStore<T>(read: Promise<T>, runId?: string): Promise<T> {
  try {
    return await read;
  } catch (cause) {
    throw isCountersignError(cause) ? cause : storeFailed(runId, cause);
  }
}

function storeFailed(runId: string | undefined, cause: unknown): CountersignError {
  return new CountersignError('store-failed', 'The store did not answer.', {
    runId,
    todo: 'Try again; nothing was decided unless it is listed as decided.',
    cause,
  });
}

function openLog(ports: LogPorts, first: Run, firstEvents: Event[] | undefined): RunLog {
  const { store, clock } = ports;
  const runId = first.started.runId;
  const listeners = new Set<Listener>();
  let run = first;
  /** What happened before the first store; undefined once the run is stored. */
  let unstored = firstEvents;
  let queue: Promise<unknown> = Promise.resolve();
  let doubtful = false;

  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const turn = queue.then(work);
    queue = turn.catch(() => {});
    return turn;
  };

  const publish = (events: readonly Event[]): void => {
    for (const listener of [...listeners]) listener.onEvents(events, run);
  };

  async function reload(): Promise<void> {
    const found = await fromStore(store.load(runId, run.length), runId);
    doubtful = false;
    if (found?.kind === 'open') {
      if (found.events.length === 0) return;
      const events = found.events.map(eventFrom);
      run = fold(events, run) as Run;
      publish(events);
      return;
    }
    if (found) for (const listener of [...listeners]) listener.onGone(found);
    throw endedError(runId, found);
  }

  async function commitNow(propose: Propose, options: CommitOptions): Promise<readonly Event[]> {
    if (doubtful) await reload();
    /** Conflicts with nothing new to read: a store that is wrong must not keep us here for ever. */
    let fruitless = 0;
    for (;;) {
      const proposed = propose(run);
      let after = fold(proposed, run) as Run;
      const riding = options.me ? riders(after, options.me, clock.now()) : [];
      after = fold(riding, after) as Run;
      const events = [...proposed, ...riding];
      if (events.length === 0) return events;
      if (unstored && (after.outcome || waitingCalls(after).length === 0)) {
        unstored.push(...events);
      } else {
        const written = await write(after, events, options);
        if (!written.ok) {
          if (written.why === 'exists') throw existsError(runId);
          const known = run.length;
          await reload();
          if (run.length === known && ++fruitless >= 10) throw storeFailed(runId, undefined);
          continue;
        }
        unstored = undefined;
      }
      run = after;
      publish(events);
      return events;
    }
  }

  /** Tries one batch until the store answers: its id tells whether an answer that was lost had been a yes. */
  async function write(after: Run, events: readonly Event[], options: CommitOptions): Promise<Written> {
    const batch = batchOf(ports.newBatchId(), unstored ? undefined : run, after, [
      ...(unstored ?? []),
      ...events,
    ]);
    for (let attempt = 1; ; attempt++) {
      try {
        return await writeOnce(batch, after);
      } catch (cause) {
        if (isCountersignError(cause) && cause.code !== 'store-failed') throw cause;
        if (attempt >= 3 && !options.persist) {
          doubtful = unstored === undefined;
          throw storeFailed(runId, cause);
        }
        if (attempt === 3)
          ports.warn(`Run ${runId}: the store does not answer; a result is kept and tried again.`);
        await clock.sleep(Math.min(20 * 2 ** attempt, 5000));
      }
    }
  }

  function writeOnce(batch: Batch, after: Run): Promise<Written> {
    if (unstored) return store.create(batch);
    return after.outcome ? store.remove(batch, after.outcome, clock.now()) : store.append(batch);
  }

  return {
    runId,
    get run() {
      return run;
    },
    get stored() {
      return unstored === undefined;
    },
    commit: (propose, options = {}) => inTurn(() => commitNow(propose, options)),
    refresh: () => inTurn(async () => (unstored || run.outcome ? undefined : reload())),
    listen(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    pass(passing) {
      for (const listener of [...listeners]) listener.onPassing(passing);
    },
    fail(error) {
      for (const listener of [...listeners]) listener.onBroken(error);
    },
  };
}

/** The error of someone who comes too late, or asks for what never was. */
export function endedError(runId: string, ended: EndedRun | undefined): CountersignError {
  if (ended === undefined) {
    return new CountersignError('run-not-found', `There is no run "${runId}".`, {
      runId,
      expected: 'the runId of a run that waits (stream.runId, or one that listSuspendedRuns gives)',
      todo: 'A run that never paused, or whose record has expired, leaves nothing to decide.',
    });
  }
  return new CountersignError('run-ended', `The run "${runId}" has ended (${ended.outcome.status}).`, {
    runId,
    outcome: ended.outcome,
    todo: 'Nothing of it waits any more. Its decisions are in the record.',
  });
}

function existsError(runId: string): CountersignError {
  return new CountersignError('run-exists', `A run "${runId}" exists already.`, {
    runId,
    expected: 'a new runId, or none',
    todo: 'Leave runId out, and one is made.',
  });
}
