/**
 * Owns the order in which the open runs of a store in memory are listed: arrays that stay sorted, one for each status
 * and each value that a list can be filtered by, so that a page costs the same however many runs wait.
 */

import type { HeadRow, ListedRun, ListPage, ListQuery, ListStatus, OpenCall } from '../core/store.ts';
import { countLimit, type Position, pageOf, startOf, statusOf } from './listing.ts';
import { ownerOf } from './owner.ts';
import { entriesOf, sortedLists } from './sorted-lists.ts';

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
  head: HeadRow;
  places: Places;
}

export interface RunIndex {
  /** Lists a run by its new head. @param now since when it runs, if nothing of it waits. */
  move(run: StoredRun, head: HeadRow, now: number): void;
  remove(run: StoredRun): void;
  /** @throws `invalid-option` for a limit, offset or cursor that is none. */
  page(query: ListQuery): ListPage;
}

interface Entry extends Position {
  readonly run: StoredRun;
}

type Named = Pick<ListQuery, 'agentId' | 'threadId' | 'resourceId'>;

const statuses: readonly ListStatus[] = ['suspended', 'interrupted', 'stalled', 'running', 'all'];

export function createRunIndex(): RunIndex {
  const lists = sortedLists<Entry>();

  function change(run: StoredRun, places: Places): void {
    const { runId } = run;
    for (const status of statuses) {
      const [old, since] = [run.places[status], places[status]];
      if (old === since) continue;
      for (const filter of ['', ...filtersOf(run)]) {
        if (old !== undefined) lists.drop(`${status} ${filter}`, { since: old, id: runId });
        if (since !== undefined) lists.add(`${status} ${filter}`, { since, id: runId, run });
      }
    }
    run.places = places;
  }

  function page(query: ListQuery): ListPage {
    const start = startOf(query);
    // The last filter leaves fewest runs; the others are looked at one by one.
    const list = lists.of(`${query.status} ${filtersOf(query).at(-1) ?? ''}`);
    const matching = (after: Position | undefined, count: number): Entry[] =>
      entriesOf(list, query, after, count, ({ run }) => isAskedFor(run, query));
    const offset = query.offset ?? 0;
    const runs = matching(start, offset + query.limit + 1).slice(offset);
    return pageOf(
      query,
      runs.map(({ run }) => listedRun(run, query.status)),
      matching(undefined, countLimit).length,
    );
  }

  return {
    move: (run, head, now) => change(run, placesOf(head, run.places.running ?? now)),
    remove: (run) => change(run, {}),
    page,
  };
}

function filtersOf({ agentId, resourceId, threadId }: Named): string[] {
  return [
    ...(agentId === undefined ? [] : [`agent ${agentId}`]),
    ...(resourceId === undefined ? [] : [`resource ${resourceId}`]),
    ...(threadId === undefined ? [] : [`thread ${threadId}`]),
  ];
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

function isAskedFor(run: Named, { agentId, threadId, resourceId }: Named): boolean {
  return (
    (agentId === undefined || run.agentId === agentId) &&
    (threadId === undefined || run.threadId === threadId) &&
    (resourceId === undefined || run.resourceId === resourceId)
  );
}

function listedRun({ runId, agentId, ...run }: StoredRun, status: ListStatus): ListedRun {
  const calls = [...run.calls.values()].filter((call) => isShown(call, status));
  return {
    runId,
    agentId,
    ...ownerOf(run),
    status: statusOf({
      suspendedSince: run.places.suspended,
      interruptedSince: run.places.interrupted,
      stalledSince: run.places.stalled,
    }),
    since: run.places[status] as number,
    calls: calls
      .sort((a, b) => a.requestSeq - b.requestSeq)
      .map((call) => ({
        call: copyOf(call),
        request: run.events[call.requestSeq - 1] as string,
        ...(call.kind !== 'held' ? { suspension: run.events[call.stopSeq - 1] as string } : {}),
      })),
  };
}

/** It shares nothing with the one it was made of. */
export function copyOf({ path, ...call }: OpenCall): OpenCall {
  return path === undefined ? call : { ...call, path: path.map((step) => ({ ...step })) };
}

function isShown(call: OpenCall, status: ListStatus): boolean {
  if (status === 'all') return true;
  return status === (call.kind === 'interrupted' ? 'interrupted' : 'suspended');
}
