import type { Store } from '../core/store.ts';

/** What a store is opened with for one test. */
export interface ContractStoreOptions {
  /** How long records of ended runs are kept, in milliseconds. */
  readonly retentionMs?: number;
  /** The store's clock, in milliseconds since 1970. */
  readonly now?: () => number;
}

export interface CheckContext {
  /** Opens an empty store. */
  open(options?: ContractStoreOptions): Promise<Store>;
  /** Another handle on the same data; the same one, for a store that has no second. */
  second(store: Store): Promise<Store>;
}

/** One sentence of the contract. */
export interface StoreCheck {
  readonly sentence: string;
  /** Only for stores whose data two handles can share. */
  readonly needsSecond?: true;
  /** Rejects when the sentence does not hold. */
  readonly run: (context: CheckContext) => Promise<void>;
}

export type Checks = Readonly<Record<string, (context: CheckContext) => Promise<void>>>;

export function checksFrom(checks: Checks): StoreCheck[] {
  return Object.entries(checks).map(([sentence, run]) => ({ sentence, run }));
}
