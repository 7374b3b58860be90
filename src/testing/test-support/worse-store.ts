/** Stores that do not keep the contract, each in one way: its checks must notice. */
import type { Store, ThreadStore } from '../../core/store.ts';
import { InMemoryStore } from '../../store/memory.ts';
import { storeAround } from '../store-around.ts';
import { runStoreCheck, type StoreContract, storeChecks } from '../store-contract.ts';

/** The sentences that the contract says do not hold. */
export async function brokenSentences(
  contract: Pick<StoreContract, 'open' | 'openAgain'>,
): Promise<string[]> {
  const broken: string[] = [];
  for (const check of storeChecks) {
    if (check.needsSecond && !contract.openAgain) continue;
    await runStoreCheck(check, contract).catch(() => broken.push(check.sentence));
  }
  return broken;
}

/** A store in memory with some methods replaced by worse ones. */
export function worse(change: (store: Store) => Partial<Store>): StoreContract['open'] {
  return (options) => {
    const store = new InMemoryStore(options);
    return storeAround(store, { id: 'worse', ...change(store) });
  };
}

/** A store in memory with some methods of its threads replaced by worse ones. */
export function worseThreads(change: (threads: ThreadStore) => Partial<ThreadStore>): StoreContract['open'] {
  return worse(({ threads }) => ({ threads: { ...threads, ...change(threads) } }));
}
