import type { LanguageModel } from 'ai';

/** A model object of the AI SDK (specification v2, v3 or v4), or an id `'provider/model'`. */
export type ModelInput = LanguageModel;
