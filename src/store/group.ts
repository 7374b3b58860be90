/**
 * Owns the group commit: writes that arrive in one turn of the event loop share one transaction, and so one sync of
 * the disk. The first of them does not wait for the others.
 */
import { clearImmediate, setImmediate } from 'node:timers';

export interface Write<Result> {
  /** Does the write in the transaction that is open. Called again when the transaction failed. */
  run(): Result;
  /** Whether a power cut must not lose it. */
  readonly full: boolean;
}

export interface WriteGroup {
  /** Resolves when the write is committed, rejects when it could not be. */
  add<Result>(write: Write<Result>): Promise<Result>;
  /** Commits what waits, at once. */
  flush(): void;
}

interface Waiting {
  readonly write: Write<unknown>;
  readonly resolve: (result: never) => void;
  readonly reject: (error: unknown) => void;
}

/** @param transact runs all of the work in one transaction, and throws when nothing of it was committed. */
export function groupWrites(transact: <Result>(work: () => Result, full: boolean) => Result): WriteGroup {
  let waiting: Waiting[] = [];
  let turn: NodeJS.Immediate | undefined;

  function commit(group: readonly Waiting[]): void {
    const full = group.some(({ write }) => write.full);
    let results: unknown[];
    try {
      results = transact(() => group.map(({ write }) => write.run()), full);
    } catch (error) {
      // One that fails must not fail the others.
      if (group.length === 1) group[0]?.reject(error);
      else for (const one of group) commit([one]);
      return;
    }
    for (const [index, { resolve }] of group.entries()) resolve(results[index] as never);
  }

  function flush(): void {
    if (turn) clearImmediate(turn);
    const group = waiting;
    waiting = [];
    // After a group there may be more in the next turn; after an empty one the next write need not wait.
    turn = group.length > 0 ? setImmediate(flush) : undefined;
    if (group.length > 0) commit(group);
  }

  return {
    add: (write) =>
      new Promise((resolve, reject) => {
        waiting.push({ write, resolve, reject });
        if (turn === undefined) flush();
      }),
    flush,
  };
}
