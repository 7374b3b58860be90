/**
 * Follows the feed of the store once for all who listen here. Whoever has read everything waits for the next page of
 * it; who has not, because they read slowly, is left to read from the store: nothing is kept for them here.
 */
import type { FeedPage, FeedQuery, FeedStore } from '../core/feed.ts';
import { isAskedFor } from '../store/feed.ts';

export type FeedFilter = Omit<FeedQuery, 'after' | 'limit'>;

export interface FeedTail {
  /**
   * The pages that come after a place, or from now on: the first at once, the others when there is something in them.
   * Ends with the signal, with the server, and when the store fails.
   * @throws (from the first read) `invalid-option` for a place that is none.
   */
  pages(filter: FeedFilter, after: string | undefined, signal: AbortSignal): AsyncGenerator<FeedPage, void>;
  close(): void;
}

/** Events that one listener holds at most. */
const pageSize = 100;

/** How soon what another process wrote is seen where the database tells nobody, in milliseconds. */
const lookEvery = 500;

/** What the feed moved on by. */
interface Move {
  readonly from: string | undefined;
  readonly page: FeedPage;
}

/** @param warn told when the store fails. */
export function feedTail(feed: FeedStore, warn: (error: unknown) => void): FeedTail {
  /** Those who are not gone, whether they wait or still read. */
  const listeners = new Set<AbortSignal>();
  const waiting = new Set<(move: Move | undefined) => void>();
  let cursor: string | undefined;
  let moves = 0;
  let isFollowing = false;
  let isClosed = false;

  function tell(move: Move | undefined): void {
    for (const told of [...waiting]) told(move);
  }

  async function follow(): Promise<void> {
    isFollowing = true;
    try {
      while (listeners.size > 0 && !isClosed) {
        const page = await feed.read({ after: cursor, limit: pageSize });
        if (page.cursor === cursor) await feed.changed(lookEvery);
        else {
          moves++;
          const from = cursor;
          ({ cursor } = page);
          tell({ from, page });
        }
      }
    } catch (error) {
      warn(error);
      tell(undefined);
    } finally {
      // Whoever comes next begins where the feed is then.
      cursor = undefined;
      isFollowing = false;
    }
  }

  function moved(signal: AbortSignal): Promise<Move | undefined> {
    if (signal.aborted || isClosed) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      const told = (move: Move | undefined): void => {
        waiting.delete(told);
        signal.removeEventListener('abort', leave);
        resolve(move);
      };
      const leave = (): void => told(undefined);
      signal.addEventListener('abort', leave);
      waiting.add(told);
      if (!isFollowing) void follow();
    });
  }

  return {
    async *pages(filter, after, signal) {
      const leave = (): void => void listeners.delete(signal);
      listeners.add(signal);
      // Who is gone while a page is unread does not come back to the end of this.
      signal.addEventListener('abort', leave);
      try {
        let place = after;
        for (let isFirst = true; !signal.aborted && !isClosed; ) {
          let known = moves;
          let page = await feed.read({ ...filter, after: place, limit: pageSize });
          for (;;) {
            place = page.cursor;
            if (isFirst || page.events.length > 0 || page.isReset) yield page;
            isFirst = false;
            if (!page.isComplete || moves !== known) break;
            const move = await moved(signal);
            if (move === undefined) return;
            if (move.from !== place || move.page.isReset) break;
            known = moves;
            page = { ...move.page, events: move.page.events.filter((event) => isAskedFor(event, filter)) };
          }
        }
      } finally {
        signal.removeEventListener('abort', leave);
        leave();
      }
    },
    close() {
      isClosed = true;
      tell(undefined);
    },
  };
}
