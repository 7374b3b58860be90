import { describe, test } from 'vitest';
import { storeContract } from '../testing/store-contract.ts';
import { InMemoryStore } from './memory.ts';

storeContract({ name: 'InMemoryStore', open: (options) => new InMemoryStore(options) }, { describe, test });
