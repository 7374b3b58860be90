/** A registry in a process of its own, which kills itself at its point. */
import type { Agent } from '../../src/agent/agent.ts';
import { Countersign } from '../../src/agent/countersign.ts';
import type { Store } from '../../src/core/store.ts';
import type { HeartbeatOptions } from '../../src/engine/heartbeat.ts';
import { type CrashPoint, crashStore, type StoreWrite } from '../../src/testing/crash-store.ts';
import { openDesk, type Phase } from '../../test/crash/desk.ts';
import type { FileJournal } from './file-journal.ts';

/** Where a process is killed: at the n-th write of a name, or when it reaches a phase for the n-th time. */
export type KillPoint = CrashPoint | { readonly phase: number };

/** Short, so that the tests need not wait. */
export const heartbeat: HeartbeatOptions = { every: 50, lease: 400 };

export interface ProcessWorld {
  readonly agent: Agent;
  readonly countersign: Countersign;
  readonly store: Store;
  readonly writes: readonly StoreWrite[];
  readonly phases: readonly Phase[];
  atRest(): Promise<void>;
}

export function openProcessWorld(shared: Store, journal: FileJournal, at?: KillPoint): ProcessWorld {
  const phases: Phase[] = [];
  const work = new Set<Promise<void>>();
  const kill = (): void => {
    process.kill(process.pid, 'SIGKILL');
  };
  const store = crashStore(shared, { at: at && 'nth' in at ? at : undefined, onDeath: kill });
  const reach = (phase: Phase): void => {
    if (phases.push(phase) === (at && 'phase' in at ? at.phase : 0)) kill();
  };
  const agent = openDesk({
    journal,
    reach: async (phase) => reach(phase),
    async effect(effect) {
      reach('before effect');
      journal.effect(effect, () => reach('in effect'));
      await new Promise((resolve) => setImmediate(resolve));
      reach('after effect');
    },
  });
  const countersign = new Countersign({
    agents: { agent },
    storage: store,
    heartbeat,
    warn: () => {},
    waitUntil: (drive) => {
      work.add(drive);
      void drive.finally(() => work.delete(drive));
    },
  });
  return {
    agent,
    countersign,
    store,
    writes: store.writes,
    phases,
    async atRest() {
      while (work.size > 0) await Promise.all(work);
    },
  };
}
