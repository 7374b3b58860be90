/**
 * Every optional field of public options takes `undefined`, so that callers with exactOptionalPropertyTypes can pass
 * on what they do not have.
 */
import type {
  AgentConfig,
  CancelOptions,
  ContinueOptions,
  CountersignConfig,
  DecisionOptions,
  InMemoryStore,
  LegCallbacks,
  LegOptions,
  ListOptions,
  Memory,
  MemoryConfig,
  MemoryOptions,
  Person,
  RequestContext,
  RunOptions,
  ToolHooks,
  ToolOptions,
  ToolWriter,
} from 'countersign';
import type { SQLiteStoreOptions } from 'countersign/sqlite';
import type { z } from 'zod';
import type { ScriptedCall, ScriptedModelOptions, ScriptedStep } from '../src/testing/scripted-model.ts';

type OptionalKeys<T> = {
  [Key in keyof T]-?: Record<never, never> extends Pick<T, Key> ? Key : never;
}[keyof T];
/** `T`'s optional fields, each given as `undefined`. */
type NothingGiven<T> = { [Key in OptionalKeys<T>]: undefined };
/** `T`'s optional fields, as they are declared. */
type Optional<T> = Pick<T, OptionalKeys<T>>;

declare function nothing<T>(): NothingGiven<T>;

export const taken: {
  agent: Optional<AgentConfig>;
  cancel: Optional<CancelOptions>;
  continue: Optional<ContinueOptions>;
  registry: Optional<CountersignConfig>;
  decision: Optional<DecisionOptions>;
  memoryStore: Optional<NonNullable<ConstructorParameters<typeof InMemoryStore>[0]>>;
  callbacks: Optional<LegCallbacks>;
  leg: Optional<LegOptions>;
  list: Optional<ListOptions>;
  person: Optional<Person>;
  context: Optional<NonNullable<Parameters<RequestContext['set']>[2]>>;
  run: Optional<RunOptions>;
  conversation: Optional<NonNullable<RunOptions['memory']>>;
  conversationOptions: Optional<NonNullable<NonNullable<RunOptions['memory']>['options']>>;
  whoseRun: Optional<NonNullable<DecisionOptions['memory']>>;
  memory: Optional<MemoryConfig>;
  memoryOptions: Optional<MemoryOptions>;
  threadOptions: Optional<Parameters<Memory['createThread']>[0]>;
  threadList: Optional<Parameters<Memory['listThreads']>[0]>;
  recall: Optional<Parameters<Memory['recall']>[0]>;
  hooks: Optional<ToolHooks>;
  tool: Optional<ToolOptions<z.ZodObject, z.ZodObject, z.ZodObject, z.ZodObject>>;
  progress: Optional<Parameters<ToolWriter['custom']>[0]>;
  sqlite: Optional<SQLiteStoreOptions>;
  scriptedModel: Optional<ScriptedModelOptions>;
  scriptedStep: Optional<ScriptedStep>;
  scriptedCall: Optional<ScriptedCall>;
} = {
  agent: nothing<AgentConfig>(),
  cancel: nothing<CancelOptions>(),
  continue: nothing<ContinueOptions>(),
  registry: nothing<CountersignConfig>(),
  decision: nothing<DecisionOptions>(),
  memoryStore: nothing<NonNullable<ConstructorParameters<typeof InMemoryStore>[0]>>(),
  callbacks: nothing<LegCallbacks>(),
  leg: nothing<LegOptions>(),
  list: nothing<ListOptions>(),
  person: nothing<Person>(),
  context: nothing<NonNullable<Parameters<RequestContext['set']>[2]>>(),
  run: nothing<RunOptions>(),
  conversation: nothing<NonNullable<RunOptions['memory']>>(),
  conversationOptions: nothing<NonNullable<NonNullable<RunOptions['memory']>['options']>>(),
  whoseRun: nothing<NonNullable<DecisionOptions['memory']>>(),
  memory: nothing<MemoryConfig>(),
  memoryOptions: nothing<MemoryOptions>(),
  threadOptions: nothing<Parameters<Memory['createThread']>[0]>(),
  threadList: nothing<Parameters<Memory['listThreads']>[0]>(),
  recall: nothing<Parameters<Memory['recall']>[0]>(),
  hooks: nothing<ToolHooks>(),
  tool: nothing<ToolOptions<z.ZodObject, z.ZodObject, z.ZodObject, z.ZodObject>>(),
  progress: nothing<Parameters<ToolWriter['custom']>[0]>(),
  sqlite: nothing<SQLiteStoreOptions>(),
  scriptedModel: nothing<ScriptedModelOptions>(),
  scriptedStep: nothing<ScriptedStep>(),
  scriptedCall: nothing<ScriptedCall>(),
};

// @ts-expect-error: an option that must be given is not one of the optional ones
export const required: Optional<DecisionOptions>['runId'] = 'r';
