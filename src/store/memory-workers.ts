/** The workers of a store in memory: several registries may share it. */
import type { HeadRow, WorkerStore } from '../core/store.ts';

/** What of an open run tells who moves it. */
export interface MovingRun {
  readonly runId: string;
  readonly agentId: string;
  readonly head: HeadRow;
}

export function memoryWorkers(now: () => number, runs: () => Iterable<MovingRun>): WorkerStore {
  const beats = new Map<string, number>();
  const isDead = (worker: string, lease: number): boolean =>
    (beats.get(worker) ?? -Infinity) <= now() - lease;
  return {
    async beat(worker) {
      beats.set(worker, now());
    },
    async dead(workers, lease) {
      return workers.filter((worker) => isDead(worker, lease));
    },
    async claimed(worker) {
      return [...runs()].filter(({ head }) => head.workers.includes(worker)).map(({ runId }) => runId);
    },
    async abandoned(lease, limit, agentIds) {
      return [...runs()]
        .filter(({ agentId }) => agentIds === undefined || agentIds.includes(agentId))
        .filter(
          ({ head }) => head.head === 'runnable' || head.workers.some((worker) => isDead(worker, lease)),
        )
        .slice(0, limit)
        .map(({ runId, agentId }) => ({ runId, agentId }));
    },
    async retire(worker) {
      beats.delete(worker);
    },
  };
}
