/**
 * Owns what a leg has said: every reader gets it from the start, at its own speed, as long as the leg is referenced,
 * up to a limit. A reader never slows the run.
 */
import { CountersignError } from '../core/errors.ts';

export interface ReplayBuffer<T> {
  push(item: T): void;
  end(): void;
  /** A stream of all items from the first; errors with `stream-overflow` when it falls behind the limit. */
  read<R>(select: (item: T) => R | undefined, failure?: () => unknown): ReadableStream<R> & AsyncIterable<R>;
}

/** @param limit how much is kept, in characters (16 Mi by default, about 16 MB). */
export function replayBuffer<T>(limit = 16 * 1024 * 1024): ReplayBuffer<T> {
  let items: T[] = [];
  let sizes: number[] = [];
  /** How many items were dropped from the front. */
  let dropped = 0;
  let size = 0;
  let ended = false;
  let waiting: (() => void)[] = [];

  const wake = (): void => {
    const woken = waiting;
    waiting = [];
    for (const resume of woken) resume();
  };

  const trim = (): void => {
    let count = 0;
    while (size > limit && count < items.length - 1) {
      size -= sizes[count] as number;
      count++;
    }
    items = items.slice(count);
    sizes = sizes.slice(count);
    dropped += count;
  };

  return {
    push(item) {
      const itemSize = approximateSize(item);
      items.push(item);
      sizes.push(itemSize);
      size += itemSize;
      if (size > limit) trim();
      wake();
    },
    end() {
      ended = true;
      wake();
    },
    read(select, failure) {
      let position = 0;
      return new ReadableStream(
        {
          async pull(controller) {
            for (;;) {
              if (position < dropped) {
                controller.error(overflow());
                return;
              }
              while (position - dropped < items.length) {
                const selected = select(items[position - dropped] as T);
                position++;
                if (selected !== undefined) {
                  controller.enqueue(selected);
                  return;
                }
              }
              if (ended) {
                const error = failure?.();
                if (error === undefined) controller.close();
                else controller.error(error);
                return;
              }
              await new Promise<void>((resume) => waiting.push(resume));
            }
          },
        },
        { highWaterMark: 0 },
      );
    },
  };
}

function overflow(): CountersignError {
  return new CountersignError('stream-overflow', 'This reader is further behind than the stream is kept.', {
    todo: 'The run itself is not affected: its promises (text, steps, finishReason) have everything.',
  });
}

/** The number of characters in a value's strings, and a little for all else. */
function approximateSize(value: unknown): number {
  if (typeof value === 'string') return value.length + 2;
  if (typeof value !== 'object' || value === null) return 8;
  let size = 16;
  for (const [key, item] of Object.entries(value)) size += key.length + approximateSize(item);
  return size;
}
