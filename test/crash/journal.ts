/** What is known from outside of the runs: what was asked, what was told, and what happened in the world. */

/** What a person was told, asked and did; what tools did; what the model read. Beside `runId`, all facts. */
export type Fact =
  /** A side effect, for good. */
  | { readonly type: 'effect'; readonly toolCallId: string; readonly toolName: string; readonly key: string }
  /** The person was told that the call waits. */
  | { readonly type: 'announced'; readonly toolCallId: string; readonly stop: number; readonly kind: string }
  | { readonly type: 'asked'; readonly toolCallId: string; readonly stop: number; readonly verdict: string }
  /** The person was told that the decision is stored. */
  | {
      readonly type: 'acknowledged';
      readonly toolCallId: string;
      readonly stop: number;
      readonly verdict: string;
    }
  /** What the model read as the result of a call, as JSON. */
  | { readonly type: 'told'; readonly toolCallId: string; readonly output: string }
  /** A prompt that providers refuse, or anything else that must not be. */
  | { readonly type: 'wrong'; readonly what: string }
  | { readonly type: 'cancel-asked' | 'cancel-acknowledged' }
  | { readonly type: 'warned'; readonly what: string };

export type Entry = Fact & { readonly runId: string };

export interface Journal {
  /** Kept at once: the process may die in the next moment. */
  note(entry: Entry): void;
  read(runId: string): readonly Entry[];
}

/** A journal that outlives what the test calls a process. */
export function memoryJournal(): Journal {
  const entries: Entry[] = [];
  return {
    note: (entry) => entries.push(entry),
    read: (runId) => entries.filter((entry) => entry.runId === runId),
  };
}

/** The entries of one type. */
export function factsOf<Type extends Fact['type']>(
  entries: readonly Entry[],
  type: Type,
): Extract<Entry, { type: Type }>[] {
  return entries.filter((entry): entry is Extract<Entry, { type: Type }> => entry.type === type);
}
