/**
 * One opened store: the runs that are alive in it here, each loaded once and shared by all legs that act on it, and
 * forgotten when the last of them is done. What dead workers left is taken over whenever a run is touched.
 */
import { rowsOf } from '../conversation/run-view.ts';
import { isCountersignError, messageOf } from '../core/errors.ts';
import type { Claim, RunStarted } from '../core/event.ts';
import { type Sha256, sha256 } from '../core/json.ts';
import { type Clock, type LogPorts, loadLog, type RunLog, startLog } from '../core/log.ts';
import { existsError } from '../core/log-errors.ts';
import type { EndedRun, Store } from '../core/store.ts';
import { giveBack, openClaims, takeOver } from '../core/takeover.ts';
import { type HeartbeatOptions, openHeartbeat } from '../engine/heartbeat.ts';
import { guarded } from './guarded-store.ts';

export interface Worker {
  readonly id: string;
  readonly store: Store;
  readonly clock: Clock;
  readonly sha256: Sha256;
  /** After how many milliseconds without a heartbeat a worker counts as dead. */
  readonly lease: number;
  /** Whether nobody can have thought the worker dead since a claim was made. */
  mayBegin(claimedAt: number): boolean;
  noteBegun(runId: string, toolCallId: string, attempt: number): void;
  /** A name for a leg, unique in this worker, that is busy until `endLeg`. */
  beginLeg(): string;
  endLeg(leg: string): void;
  /** Begins a run. It is alive until `release`. */
  begin(started: RunStarted): Lease;
  /** The newest state of a run, shared with whoever acts on it here, or how it ended, or nothing. */
  acquire(runId: string): Promise<Lease | EndedRun | undefined>;
  /** Takes over what dead workers hold of the run, and gives back what no leg here performs. */
  recover(log: RunLog): Promise<void>;
  /** Counts what goes on in the background, for `stop`. */
  track(work: Promise<void>): void;
  /** Resolves when nothing goes on in the background any more. */
  idle(): Promise<void>;
  /** Says that the worker holds nothing. It may go on later. */
  retire(): Promise<void>;
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
  sleep: (milliseconds, { background } = {}) =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      if (background) timer.unref?.();
    }),
};

export function openWorker(
  storage: Store,
  clock: Clock,
  warn: (message: string) => void,
  options: HeartbeatOptions = {},
): Worker {
  const store = guarded(storage);
  const id = crypto.randomUUID().slice(0, 13);
  const alive = new Map<string, Entry>();
  const busyLegs = new Set<string>();
  /** The newest calls that `execute` was entered for, the oldest first. */
  const begun = new Set<string>();
  const background = new Set<Promise<void>>();
  let legs = 0;
  let batches = 0;

  const monotonic = (): number => performance.now();
  const heartbeat = openHeartbeat(
    {
      clock,
      monotonic,
      beat: () => store.workers.beat(id),
      afterBeat: reconcile,
      warn,
    },
    options,
  );
  const ports: LogPorts = {
    store,
    clock,
    warn,
    alive: heartbeat.alive,
    monotonic,
    rowsOf,
    newBatchId: () => `${id}.${(++batches).toString(36)}`,
  };

  /** Compares the stored claims under this worker's name with what it really performs. */
  async function reconcile(): Promise<void> {
    for (const runId of await store.workers.claimed(id)) {
      const found = await acquire(runId);
      if (found?.kind === 'lease') found.release();
    }
  }

  async function recover(log: RunLog): Promise<void> {
    if (!log.stored || openClaims(log.run).length === 0) return;
    const isIdle = (claim: Claim): boolean => claim.worker === id && !busyLegs.has(claim.leg);
    const hasBegun = (runId: string, toolCallId: string, attempt: number): boolean =>
      begun.has(beginningOf(runId, toolCallId, attempt));
    await log.commit((run) => giveBack(run, isIdle, hasBegun, clock.now()));
    const claims = openClaims(log.run).filter((claim) => claim.worker !== id);
    if (claims.length === 0) return;
    const workers = [...new Set(claims.map((claim) => claim.worker))];
    const dead = await store.workers.dead(workers, heartbeat.lease);
    const taken = new Set(claims.filter((claim) => dead.includes(claim.worker)));
    if (taken.size > 0) await log.commit((run) => takeOver(run, taken, clock.now()));
  }

  const leaseOf = (runId: string, entry: Entry, log: RunLog): Lease => {
    const letGo = heartbeat.hold();
    let released = false;
    return {
      kind: 'lease',
      log,
      release() {
        if (released) return;
        released = true;
        letGo();
        leave(runId, entry);
      },
    };
  };

  const leave = (runId: string, entry: Entry): void => {
    entry.uses--;
    if (entry.uses === 0 && alive.get(runId) === entry) alive.delete(runId);
  };

  async function acquire(runId: string): Promise<Lease | EndedRun | undefined> {
    const shared = alive.get(runId);
    const entry = shared ?? { log: loadLog(ports, runId), uses: 0 };
    alive.set(runId, entry);
    entry.uses++;
    try {
      const log = await entry.log;
      if (log && 'commit' in log && !log.run.outcome) {
        if (shared) await log.refresh();
        await recover(log);
        if (!log.run.outcome) return leaseOf(runId, entry, log);
      }
    } catch (error) {
      if (!isCountersignError(error, 'run-ended') && !isCountersignError(error, 'run-not-found')) {
        leave(runId, entry);
        throw error;
      }
    }
    leave(runId, entry);
    const found = await store.load(runId, Number.MAX_SAFE_INTEGER);
    return found?.kind === 'ended' ? found : undefined;
  }

  return {
    id,
    store,
    clock,
    sha256: fastestSha256(),
    lease: heartbeat.lease,
    mayBegin: heartbeat.mayBegin,
    noteBegun(runId, toolCallId, attempt) {
      begun.add(beginningOf(runId, toolCallId, attempt));
      if (begun.size > rememberedBeginnings) begun.delete(begun.values().next().value as string);
    },
    warn,
    beginLeg() {
      const leg = (++legs).toString(36);
      busyLegs.add(leg);
      return leg;
    },
    endLeg: (leg) => busyLegs.delete(leg),
    begin(started) {
      if (alive.has(started.runId)) throw existsError(started.runId);
      const log = startLog(ports, started);
      const entry: Entry = { log: Promise.resolve(log), uses: 1 };
      alive.set(started.runId, entry);
      return leaseOf(started.runId, entry, log);
    },
    acquire,
    recover,
    track(work) {
      background.add(work);
      void work.finally(() => background.delete(work));
    },
    async idle() {
      while (background.size > 0) await Promise.all(background);
    },
    async retire() {
      heartbeat.reset();
      // A row that stays is an old one soon, and means the same.
      await store.workers.retire(id).catch((error: unknown) => warn(`Retiring failed: ${messageOf(error)}`));
    },
  };
}

/** Beginnings that a worker remembers: far more than can be under way when a database forgets its last moments. */
const rememberedBeginnings = 10_000;

function beginningOf(runId: string, toolCallId: string, attempt: number): string {
  return `${attempt} ${toolCallId} ${runId}`;
}

/** Node's own digest answers at once, where Web Crypto takes a turn through its thread pool. */
function fastestSha256(): Sha256 {
  const crypto = globalThis.process?.getBuiltinModule?.('node:crypto');
  return crypto?.hash ? (text) => crypto.hash('sha256', text) : sha256;
}
