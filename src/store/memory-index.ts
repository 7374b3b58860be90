/** Owns the order in which the open runs of a store in memory are listed: arrays that stay sorted, one for a status. */
import type { HeadRow, ListedRun, ListPage, ListQuery, ListStatus, OpenCall } from '../core/store.ts';
import { comparePositions, countLimit, type Position, pageOf, startOf, statusOf } from './listing.ts';

/** Where a run is listed, and since when. */
type Places = Partial<Record<ListStatus, number>>;

/** An open run. It shares nothing that can change with callers. */
export interface StoredRun {
  readonly runId: string;
  readonly agentId: string;
  readonly threadId?: string;
  readonly resourceId?: string;
  readonly events: string[];
  readonly batches: Set<string>;
  readonly calls: Map<string, OpenCall>;
  places: Places;
}

export interface RunIndex {
  /** Lists a run by its new head. @param now since when it runs, if nothing of it waits. */
  move(run: StoredRun, head: HeadRow, now: number): void;
  remove(run: StoredRun): void;
  /** @throws `invalid-option` for a limit, offset or cursor that is none. */
  page(query: ListQuery, runOf: (runId: string) => StoredRun): ListPage;
}

const statuses: readonly ListStatus[] = ['suspended', 'interrupted', 'stalled', 'running', 'all'];

export function createRunIndex(): RunIndex {
  const listed: Readonly<Record<ListStatus, Position[]>> = {
    suspended: [],
    interrupted: [],
    stalled: [],
    running: [],
    all: [],
  };

  function change(run: StoredRun, places: Places): void {
    const { runId } = run;
    for (const status of statuses) {
      const [old, since] = [run.places[status], places[status]];
      if (old === since) continue;
      if (old !== undefined) removeFrom(listed[status], { since: old, runId });
      if (since !== undefined) insertInto(listed[status], { since, runId });
    }
    run.places = places;
  }

  function page(query: ListQuery, runOf: (runId: string) => StoredRun): ListPage {
    const start = startOf(query);
    const positions = listed[query.status];
    const newest = query.to === undefined ? 0 : countBefore(positions, { since: query.to, runId: '' });
    const matching = (first: number, count: number): StoredRun[] => {
      const found: StoredRun[] = [];
      for (let index = first; index < positions.length && found.length < count; index++) {
        const { since, runId } = positions[index] as Position;
        if (query.from !== undefined && since < query.from) break;
        const run = runOf(runId);
        if (isAskedFor(run, query)) found.push(run);
      }
      return found;
    };
    const first = start ? Math.max(newest, countUpTo(positions, start)) : newest;
    const offset = query.offset ?? 0;
    const runs = matching(first, offset + query.limit + 1).slice(offset);
    return pageOf(
      query,
      runs.map((run) => listedRun(run, query.status)),
      matching(newest, countLimit).length,
    );
  }

  return {
    move: (run, head, now) => change(run, placesOf(head, run.places.running ?? now)),
    remove: (run) => change(run, {}),
    page,
  };
}

function placesOf(head: HeadRow, runningSince: number): Places {
  const { suspendedSince, interruptedSince, stalledSince } = head;
  const stops = [suspendedSince, interruptedSince, stalledSince].filter((since) => since !== undefined);
  if (stops.length === 0) return { running: runningSince, all: runningSince };
  return {
    ...(suspendedSince === undefined ? {} : { suspended: suspendedSince }),
    ...(interruptedSince === undefined ? {} : { interrupted: interruptedSince }),
    ...(stalledSince === undefined ? {} : { stalled: stalledSince }),
    all: Math.max(...stops),
  };
}

function isAskedFor(run: StoredRun, { agentId, threadId, resourceId }: ListQuery): boolean {
  return (
    (agentId === undefined || run.agentId === agentId) &&
    (threadId === undefined || run.threadId === threadId) &&
    (resourceId === undefined || run.resourceId === resourceId)
  );
}

function listedRun(
  { runId, agentId, threadId, resourceId, ...run }: StoredRun,
  status: ListStatus,
): ListedRun {
  const calls = [...run.calls.values()].filter((call) => isShown(call, status));
  return {
    runId,
    agentId,
    ...(threadId === undefined ? {} : { threadId }),
    ...(resourceId === undefined ? {} : { resourceId }),
    status: statusOf({
      suspendedSince: run.places.suspended,
      interruptedSince: run.places.interrupted,
      stalledSince: run.places.stalled,
    }),
    since: run.places[status] as number,
    calls: calls
      .sort((a, b) => a.requestSeq - b.requestSeq)
      .map((call) => ({
        call: { ...call },
        request: run.events[call.requestSeq - 1] as string,
        ...(call.kind === 'suspended' ? { suspension: run.events[call.stopSeq - 1] as string } : {}),
      })),
  };
}

function isShown(call: OpenCall, status: ListStatus): boolean {
  if (status === 'all') return true;
  return status === (call.kind === 'interrupted' ? 'interrupted' : 'suspended');
}

function insertInto(positions: Position[], position: Position): void {
  positions.splice(countBefore(positions, position), 0, position);
}

function removeFrom(positions: Position[], position: Position): void {
  positions.splice(countBefore(positions, position), 1);
}

function countBefore(positions: readonly Position[], position: Position): number {
  return countWhile(positions, (other) => comparePositions(other, position) < 0);
}

function countUpTo(positions: readonly Position[], position: Position): number {
  return countWhile(positions, (other) => comparePositions(other, position) <= 0);
}

/** How many at the beginning are so, if those that are not come after all that are. */
function countWhile(positions: readonly Position[], isSo: (position: Position) => boolean): number {
  let low = 0;
  let high = positions.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isSo(positions[middle] as Position)) low = middle + 1;
    else high = middle;
  }
  return low;
}
