/** The feed of a store in memory. Its cursors are good for this store alone: another one does not know its events. */
import type { FeedEvent, FeedPage, FeedQuery, FeedStore } from '../core/feed.ts';
import type { Batch } from '../core/store.ts';
import { checkFeedQuery, feedEventsOf, feedPageOf, isAskedFor, placeAt } from './feed.ts';
import { countWhile } from './sorted-lists.ts';
import { openWakes } from './wakes.ts';

export interface MemoryFeed {
  readonly store: FeedStore;
  /** Makes all texts first. Then `keep` adds the events. */
  prepare(batch: Batch): { keep(): void };
  /** Forgets what is older than a time, from the oldest on. */
  sweep(before: number): void;
  clear(): void;
}

interface Kept {
  readonly place: number;
  readonly event: Omit<FeedEvent, 'cursor'>;
}

/** @param assertOpen throws when the store is closed. */
export function memoryFeed(assertOpen: () => void): MemoryFeed {
  // Another store of another process begins at 1, too.
  const first = Math.floor(Math.random() * 2 ** 40);
  const wakes = openWakes();
  let newest = first;
  let events: Kept[] = [];
  const byResource = new Map<string, Kept[]>();

  function read(query: FeedQuery): FeedPage {
    checkFeedQuery(query);
    const { after, limit, resourceId } = query;
    const oldest = events[0]?.place ?? newest;
    const ends = { oldest, newest };
    if (after === undefined) return feedPageOf(query, ends, []);
    const list = resourceId === undefined ? events : (byResource.get(resourceId) ?? []);
    const place = placeAt(after);
    const found: FeedEvent[] = [];
    for (
      let index = countWhile(list, (kept) => kept.place <= place);
      index < list.length && found.length <= limit;
      index++
    ) {
      const kept = list[index] as Kept;
      if (isAskedFor(kept.event, query)) {
        found.push({ cursor: String(kept.place), ...structuredClone(kept.event) });
      }
    }
    return feedPageOf(query, ends, found);
  }

  return {
    store: {
      async read(query) {
        assertOpen();
        return read(query);
      },
      async changed(milliseconds) {
        assertOpen();
        await wakes.wait(milliseconds);
      },
    },
    prepare(batch) {
      const made = structuredClone(feedEventsOf(batch));
      return {
        keep() {
          for (const event of made) {
            newest++;
            const kept = { place: newest, event };
            events.push(kept);
            if (event.resourceId === undefined) continue;
            const ofResource = byResource.get(event.resourceId);
            if (ofResource) ofResource.push(kept);
            else byResource.set(event.resourceId, [kept]);
          }
          if (made.length > 0) wakes.wake();
        },
      };
    },
    sweep(before) {
      const kept = events.findIndex(({ event }) => event.at >= before);
      const count = kept === -1 ? Math.max(events.length - 1, 0) : kept;
      const { place = 0 } = events[count] ?? {};
      events = events.slice(count);
      for (const [resourceId, list] of byResource) {
        const left = list.filter((one) => one.place >= place);
        if (left.length > 0) byResource.set(resourceId, left);
        else byResource.delete(resourceId);
      }
    },
    clear() {
      events = [];
      byResource.clear();
      wakes.wake();
    },
  };
}
