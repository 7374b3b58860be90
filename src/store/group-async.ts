/**
 * Owns the group commit of asynchronous drivers: writes that arrive while a transaction is under way share the next
 * one, and so one sync of the disk and one round trip. A write that comes alone does not wait.
 */
export interface AsyncWriteGroup<Write, Result> {
  /** Resolves when the write is committed, rejects when it could not be, or when that is not known. */
  add(write: Write): Promise<Result>;
}

export interface AsyncGroupOptions<Write, Result> {
  /** Commits all of the writes in one transaction and answers each. Rejects when none may be taken as committed. */
  readonly transact: (group: readonly Write[]) => Promise<readonly Result[]>;
  /** Whether the failure is one of a single write, and the others may be tried without it. */
  readonly isOfOne: (error: unknown) => boolean;
  /** Writes of one transaction at most. */
  readonly limit: number;
}

interface Waiting<Write, Result> {
  readonly write: Write;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

export function groupAsyncWrites<Write, Result>({
  transact,
  isOfOne,
  limit,
}: AsyncGroupOptions<Write, Result>): AsyncWriteGroup<Write, Result> {
  const waiting: Waiting<Write, Result>[] = [];
  let isCommitting = false;

  async function commit(group: readonly Waiting<Write, Result>[]): Promise<void> {
    try {
      const results = await transact(group.map(({ write }) => write));
      for (const [index, { resolve }] of group.entries()) resolve(results[index] as Result);
    } catch (error) {
      if (group.length > 1 && isOfOne(error)) for (const one of group) await commit([one]);
      else for (const { reject } of group) reject(error);
    }
  }

  async function commitAll(): Promise<void> {
    isCommitting = true;
    while (waiting.length > 0) await commit(waiting.splice(0, limit));
    isCommitting = false;
  }

  return {
    add: (write) =>
      new Promise((resolve, reject) => {
        waiting.push({ write, resolve, reject });
        if (!isCommitting) void commitAll();
      }),
  };
}
