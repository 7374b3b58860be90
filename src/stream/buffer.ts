/**
 * Owns what a leg has said: every reader gets it from the start, at its own speed, as long as the leg is referenced,
 * up to a limit. A reader never slows the run.
 */
import { CountersignError } from '../core/errors.ts';

/** A web stream that is read with a reader or with `for await`. */
export type Readable<T> = ReadableStream<T> & AsyncIterable<T>;

export interface ReplayBuffer<T> {
  push(item: T): void;
  end(): void;
  /** A stream of all items from the first; errors with `stream-overflow` when it falls behind the limit. */
  read<R>(select: (item: T) => R | undefined, failure?: () => unknown): Readable<R>;
}

/**
 * @param sizeOf about how many characters an item holds.
 * @param limit how much is kept, in characters (16 Mi by default, about 16 MB).
 */
export function replayBuffer<T>(sizeOf: (item: T) => number, limit = 16 * 1024 * 1024): ReplayBuffer<T> {
  let items: (T | undefined)[] = [];
  let sizes: number[] = [];
  /** How many items were dropped from the front. */
  let dropped = 0;
  /** How many of these have no slot any more: slots go in bulk, as each time all later ones move. */
  let freed = 0;
  let size = 0;
  let ended = false;
  let waiting: (() => void)[] = [];

  const wake = (): void => {
    const woken = waiting;
    waiting = [];
    for (const resume of woken) resume();
  };

  const trim = (): void => {
    for (let slot = dropped - freed; size > limit && slot < items.length - 1; slot++) {
      size -= sizes[slot] as number;
      items[slot] = undefined;
      dropped++;
    }
    if (dropped - freed < items.length / 2) return;
    items = items.slice(dropped - freed);
    sizes = sizes.slice(dropped - freed);
    freed = dropped;
  };

  return {
    push(item) {
      const itemSize = sizeOf(item);
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
    read<R>(select: (item: T) => R | undefined, failure?: () => unknown) {
      return readable((): Reader<R> => {
        let position = 0;
        let isOver = false;
        const end = (): IteratorReturnResult<undefined> => {
          isOver = true;
          return { done: true, value: undefined };
        };
        /** The next item, or the end; undefined while neither is there. */
        const take = (): IteratorResult<R, undefined> | undefined => {
          while (!isOver) {
            if (position < dropped) throw overflow();
            const item = items[position - freed];
            if (item !== undefined) {
              position++;
              const value = select(item);
              if (value !== undefined) return { done: false, value };
            } else if (ended) {
              const error = failure?.();
              if (error !== undefined) throw error;
              end();
            } else return undefined;
          }
          return end();
        };
        return {
          // A generator would take three turns of the microtask queue for each item.
          next: () =>
            new Promise((resolve, reject) => {
              const attempt = (): void => {
                try {
                  const taken = take();
                  if (taken) resolve(taken);
                  else waiting.push(attempt);
                } catch (error) {
                  end();
                  reject(error);
                }
              };
              attempt();
            }),
          return: async () => end(),
          async throw(error) {
            end();
            throw error;
          },
          [Symbol.asyncIterator]() {
            return this;
          },
        };
      });
    },
  };
}

/** Reads the items from the first on. */
interface Reader<R> extends AsyncIterableIterator<R, undefined> {
  return(): Promise<IteratorReturnResult<undefined>>;
}

/** A web stream over a reader; `for await` has a reader of its own, which costs a tenth. */
function readable<R>(open: () => Reader<R>): Readable<R> {
  let source: Reader<R> | undefined;
  const stream = new ReadableStream<R>(
    {
      async pull(controller) {
        source ??= open();
        const { done, value } = await source.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      async cancel() {
        await source?.return();
      },
    },
    { highWaterMark: 0 },
  );
  return Object.assign(stream, { [Symbol.asyncIterator]: open }) as Readable<R>;
}

function overflow(): CountersignError {
  return new CountersignError('stream-overflow', 'This reader is further behind than the stream is kept.', {
    todo: 'The run itself is not affected: its promises (text, steps, finishReason) have everything.',
  });
}
