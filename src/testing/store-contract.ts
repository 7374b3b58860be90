/**
 * The contract suite of the port `Store`: one test for each sentence. Everyone who writes an adapter runs it.
 */
import type { Store } from '../core/store.ts';
import type { CheckContext, ContractStoreOptions, StoreCheck } from './store-contract-check.ts';
import { decisionChecks } from './store-contract-decisions.ts';
import { feedChecks } from './store-contract-feed.ts';
import { keptChecks } from './store-contract-kept.ts';
import { leftChecks } from './store-contract-left.ts';
import { listChecks } from './store-contract-list.ts';
import { messageChecks } from './store-contract-messages.ts';
import { pageChecks } from './store-contract-page.ts';
import { raceChecks } from './store-contract-race.ts';
import { threadChecks } from './store-contract-threads.ts';
import { workerChecks } from './store-contract-workers.ts';
import { writeChecks } from './store-contract-write.ts';

export interface StoreContract {
  /** Names the store in the reports. */
  readonly name: string;
  /** Opens a store on a new, empty database, for one test. The test closes it. */
  readonly open: (options: ContractStoreOptions) => Store | Promise<Store>;
  /**
   * Opens the database of a store again, as another process would, also after that store was closed. Left out by a
   * store whose data one handle alone can reach.
   */
  readonly openAgain?: ((store: Store) => Store | Promise<Store>) | undefined;
  /** Sentences that do not hold for this store, each with the reason. */
  readonly skip?: Readonly<Record<string, string>> | undefined;
}

/** The functions of vitest, jest or `node:test`. */
export interface TestFunctions {
  readonly describe: (name: string, define: () => void) => unknown;
  readonly test: {
    (name: string, run: () => Promise<void>): unknown;
    readonly skip: (name: string, run: () => Promise<void>) => unknown;
  };
}

/** The sentences of the contract, each with its check. */
export const storeChecks: readonly StoreCheck[] = [
  ...writeChecks,
  ...raceChecks,
  ...listChecks,
  ...pageChecks,
  ...keptChecks,
  ...decisionChecks,
  ...feedChecks,
  ...workerChecks,
  ...threadChecks,
  ...messageChecks,
  ...leftChecks,
];

/**
 * Defines the tests that a store must pass.
 * @example storeContract({ name: 'MyStore', open: () => new MyStore() }, { describe, test });
 * @throws when `skip` names a sentence that is not in the contract.
 */
export function storeContract(contract: StoreContract, { describe, test }: TestFunctions): void {
  const { name, openAgain, skip = {} } = contract;
  const unknown = Object.keys(skip).find((skipped) =>
    storeChecks.every(({ sentence }) => sentence !== skipped),
  );
  if (unknown !== undefined) throw new Error(`The contract of stores has no sentence "${unknown}".`);
  describe(`${name} is a store`, () => {
    for (const check of storeChecks) {
      const reason = check.needsSecond && !openAgain ? 'the store has one handle' : skip[check.sentence];
      const run = () => runStoreCheck(check, contract);
      if (reason === undefined) test(check.sentence, run);
      else test.skip(`${check.sentence} (${reason})`, run);
    }
  });
}

/** Runs one check and closes what it opened. Rejects when the sentence does not hold. */
export async function runStoreCheck(
  check: StoreCheck,
  { open, openAgain }: Pick<StoreContract, 'open' | 'openAgain'>,
): Promise<void> {
  const opened: Store[] = [];
  const kept = (store: Store): Store => {
    opened.push(store);
    return store;
  };
  const context: CheckContext = {
    open: async (options = {}) => kept(await open(options)),
    second: async (store) => (openAgain ? kept(await openAgain(store)) : store),
  };
  try {
    await check.run(context);
  } finally {
    for (const store of opened) await store.close();
  }
}
