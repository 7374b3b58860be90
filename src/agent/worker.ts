/**
 * One opened store: the runs that are alive in it here, each loaded once and shared by all legs that act on it, and
 * forgotten when the last of them is done.
 */

import { CountersignError, isCountersignError } from '../core/errors.ts';
import type { Event, RunStarted } from '../core/event.ts';
import { type Sha256, sha256 } from '../core/json.ts';
import { type Clock, fromStore, type LogPorts, loadLog, type RunLog, startLog } from '../core/log.ts';
import { lastStep, openCalls, type Run } from '../core/state.ts';
import type { EndedRun, Store } from '../core/store.ts';

export interface Worker {
  readonly id: string;
  readonly store: Store;
  readonly clock: Clock;
  readonly sha256: Sha256;
  /** A name for a leg, unique in this worker. */
  nextLeg(): string;
  /** Begins a run. It is alive until `release`. */
  begin(started: RunStarted): Lease;
  /** The newest state of a run, shared with whoever acts on it here, or how it ended, or nothing. */
  acquire(runId: string): Promise<Lease | EndedRun | undefined>;
  warn(message: string): void;
}

export interface Lease {
  readonly kind: 'lease';
  readonly log: RunLog;
  release(): void;
}

interface Entry {
  readonly log: Promise<RunLog | EndedRun | undefined>;
  uses: number;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds)),
};

export function openWorker(store: Store, clock: Clock, warn: (message: string) => void): Worker {
  const id = crypto.randomUUID().slice(0, 13);
  const alive = new Map<string, Entry>();
  let legs = 0;
  let batches = 0;
  const ports: LogPorts = { store, clock, warn, newBatchId: () => `${id}.${(++batches).toString(36)}` };

  const leaseOf = (runId: string, entry: Entry, log: RunLog): Lease => {
    let released = false;
    return {
      kind: 'lease',
      log,
      release() {
        if (released) return;
        released = true;
        leave(runId, entry);
      },
    };
  };

  const leave = (runId: string, entry: Entry): void => {
    entry.uses--;
    if (entry.uses === 0 && alive.get(runId) === entry) alive.delete(runId);
  };

  const load = async (runId: string): Promise<RunLog | EndedRun | undefined> => {
    const found = await loadLog(ports, runId);
    if (found && 'commit' in found) await found.commit((run) => givenBack(run, id, clock.now()));
    return found;
  };

  return {
    id,
    store,
    clock,
    sha256: fastestSha256(),
    warn,
    nextLeg: () => (++legs).toString(36),
    begin(started) {
      if (alive.has(started.runId)) {
        throw new CountersignError('run-exists', `A run "${started.runId}" exists already.`, {
          runId: started.runId,
          todo: 'Leave runId out, and one is made.',
        });
      }
      const log = startLog(ports, started);
      const entry: Entry = { log: Promise.resolve(log), uses: 1 };
      alive.set(started.runId, entry);
      return leaseOf(started.runId, entry, log);
    },
    async acquire(runId) {
      const shared = alive.get(runId);
      const entry = shared ?? { log: load(runId), uses: 0 };
      alive.set(runId, entry);
      entry.uses++;
      try {
        const log = await entry.log;
        if (log && 'commit' in log && !log.run.outcome) {
          if (shared) await log.refresh();
          if (!log.run.outcome) return leaseOf(runId, entry, log);
        }
      } catch (error) {
        if (!isCountersignError(error, 'run-ended') && !isCountersignError(error, 'run-not-found')) {
          leave(runId, entry);
          throw error;
        }
      }
      leave(runId, entry);
      const found = await fromStore(store.load(runId, Number.MAX_SAFE_INTEGER), runId);
      return found?.kind === 'ended' ? found : undefined;
    },
  };
}

/** Node's own digest answers at once, where Web Crypto takes a turn through its thread pool. */
function fastestSha256(): Sha256 {
  const crypto = globalThis.process?.getBuiltinModule?.('node:crypto');
  return crypto?.hash ? (text) => crypto.hash('sha256', text) : sha256;
}

/** Claims under this worker's name that nothing here performs: their answer was lost, so they never began. */
function givenBack(run: Run, worker: string, at: number): Event[] {
  const { runId } = run.started;
  const step = lastStep(run);
  if (step?.claim?.worker === worker) return [{ type: 'step-released', runId, at, step: step.index }];
  return openCalls(run)
    .filter((call) => call.claim?.worker === worker)
    .map((call) => ({ type: 'call-released', runId, at, toolCallId: call.toolCallId }));
}
