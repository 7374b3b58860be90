/** Lists in memory that stay sorted, so that a page of one costs the same however long it is. */
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
