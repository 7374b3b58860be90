/** Lists in memory that stay sorted, so that a page of one costs the same however long it is. */
import type { ListQuery } from '../core/store.ts';
import { comparePositions, type Position } from './listing.ts';

export interface SortedLists<Entry extends Position> {
  /** The entries of a list, oldest first: the newest come last, where adding is cheapest. */
  of(list: string): readonly Entry[];
  add(list: string, entry: Entry): void;
  drop(list: string, position: Position): void;
  clear(): void;
}

export function sortedLists<Entry extends Position>(): SortedLists<Entry> {
  const lists = new Map<string, Entry[]>();
  return {
    of: (name) => lists.get(name) ?? [],
    add(name, entry) {
      const list = lists.get(name);
      if (list) list.splice(countAfter(list, entry), 0, entry);
      else lists.set(name, [entry]);
    },
    drop(name, position) {
      const list = lists.get(name) ?? [];
      list.splice(countAfter(list, position), 1);
      if (list.length === 0) lists.delete(name);
    },
    clear: () => lists.clear(),
  };
}

/** How many of a list, from its beginning, come after a position in the order of the pages. */
export function countAfter(list: readonly Position[], position: Position): number {
  return countWhile(list, (entry) => comparePositions(entry, position) > 0);
}

/** How many entries, from the beginning, something holds of that holds of none after the first of which it does not. */
export function countWhile<Entry>(list: readonly Entry[], holds: (entry: Entry) => boolean): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (holds(list[middle] as Entry)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * The first so many entries of a page, of which something holds.
 * @param list oldest first
 * @param start the position that the page begins after
 */
export function entriesOf<Entry extends Position>(
  list: readonly Entry[],
  {
    from = Number.NEGATIVE_INFINITY,
    to = Number.POSITIVE_INFINITY,
    order,
  }: Pick<ListQuery, 'from' | 'to' | 'order'>,
  start: Position | undefined,
  count: number,
  holds: (entry: Entry) => boolean,
): Entry[] {
  const [step, end] = order === 'oldest' ? [1, list.length] : [-1, -1];
  let index: number;
  if (step === 1) {
    const passed = start ? countWhile(list, (entry) => comparePositions(entry, start) >= 0) : 0;
    index = Math.max(
      passed,
      countWhile(list, ({ since }) => since < from),
    );
  } else {
    const left = start ? countAfter(list, start) : list.length;
    index =
      Math.min(
        left,
        countWhile(list, ({ since }) => since <= to),
      ) - 1;
  }
  const found: Entry[] = [];
  for (; index !== end && found.length < count; index += step) {
    const entry = list[index] as Entry;
    if (entry.since < from || entry.since > to) break;
    if (holds(entry)) found.push(entry);
  }
  return found;
}
