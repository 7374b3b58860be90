/** For users' own tests: a model that answers by a script, the rules of prompts, the store contract, a clock. */
export {
  checkPrompt,
  type PromptRuleName,
  type PromptRules,
  type ProviderName,
  promptRules,
} from './check-prompt.ts';
export { type CrashPoint, type CrashStore, type CrashStoreOptions, crashStore } from './crash-store.ts';
export { type FakeClock, fakeClock } from './fake-clock.ts';
export {
  type Script,
  type ScriptedCall,
  type ScriptedModel,
  type ScriptedModelOptions,
  type ScriptedStep,
  type ScriptStep,
  scriptedModel,
} from './scripted-model.ts';
export { storeAround } from './store-around.ts';
export { type StoreContract, storeContract, type TestFunctions } from './store-contract.ts';
