import { expect, test } from 'vitest';
import type { FeedStore } from '../core/feed.ts';
import { InMemoryStore } from '../store/memory.ts';
import { feedTail } from './feed-tail.ts';

test('who was told that the feed is broken does not keep it read when all others are gone', async () => {
  const { feed: stored } = new InMemoryStore();
  const looks: PromiseWithResolvers<void>[] = [];
  let looked = Promise.withResolvers<void>();
  const feed: FeedStore = {
    read: (query) => stored.read(query),
    changed() {
      const look = Promise.withResolvers<void>();
      looks.push(look);
      looked.resolve();
      looked = Promise.withResolvers();
      return look.promise;
    },
  };
  const warnings: unknown[] = [];
  const tail = feedTail(feed, (error) => warnings.push(error));
  const follow = async (signal: AbortSignal) => {
    const pages = tail.pages({}, undefined, signal);
    await pages.next();
    const isLooking = looked.promise;
    const end = pages.next();
    await isLooking;
    return end;
  };
  const lost = new Error('lost');
  const first = follow(new AbortController().signal);
  await looked.promise;
  looks[0]?.reject(lost);
  expect(await first).toEqual({ done: true, value: undefined });
  expect(warnings).toEqual([lost]);

  const leaving = new AbortController();
  const second = follow(leaving.signal);
  await looked.promise;
  leaving.abort();
  expect(await second).toEqual({ done: true, value: undefined });
  looks[1]?.resolve();
  await new Promise(setImmediate); // Everything here is promises: they have come to rest.
  expect(looks).toHaveLength(2);
});
