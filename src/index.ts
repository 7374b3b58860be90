export { Agent } from './agent/agent.ts';
export { Countersign, type CountersignConfig } from './agent/countersign.ts';
export { createTool } from './agent/create-tool.ts';
export type { DecisionListOptions } from './agent/decisions.ts';
export type { ListedCall, ListOptions, SuspendedRun, SuspendedRuns } from './agent/list.ts';
export {
  Memory,
  type MemoryConfig,
  type MemoryOptions,
  type ThreadList,
} from './agent/memory.ts';
export type { ObserveOptions } from './agent/observe.ts';
export type { OpenTelemetry, TelemetryOptions } from './agent/opentelemetry.ts';
export type {
  CancelOptions,
  ContinueOptions,
  ConversationOption,
  DecisionOptions,
  LegOptions,
  ResolveOptions,
  RunMemory,
  RunOptions,
  ThreadInput,
} from './agent/options.ts';
export type { Thread } from './agent/own-thread.ts';
export type { SavedMessage } from './agent/saved-messages.ts';
export type { StopCondition, StopWhen } from './agent/stop-when.ts';
export type { ObjectOf, StructuredOutput } from './agent/structured-output.ts';
export type { ToolsetsInput, ToolsInput } from './agent/tools.ts';
export type {
  AgentConfig,
  AgentsInput,
  Dynamic,
  MessagesInput,
  Supply,
} from './agent/types.ts';
export type { UiMessageInput } from './agent/ui-message-input.ts';
export type { PathStep } from './core/below.ts';
export { RequestContext } from './core/context.ts';
export { CountersignError, type ErrorCode, type ErrorDetails, isCountersignError } from './core/errors.ts';
export type { CallError, Decision, Door, Outcome, Person, Verdict } from './core/event.ts';
export type { DecisionQuery, FeedEvent, FeedPage, FeedQuery, FeedStore, ListOrder } from './core/feed.ts';
export { fingerprint, type Json, type JsonObject } from './core/json.ts';
export type { Clock } from './core/log.ts';
export type { Message, MessageInput, ModelOutput } from './core/message.ts';
export type { ToolChoice } from './core/model.ts';
export type { HookAnswer, Limits, ToolHookContext, ToolHooks } from './core/parts.ts';
export type { PolicyCall, PolicyFunction, PolicyOption, SuspendPayload } from './core/policy.ts';
export type { JsonSchemaWrapper, Schema, SchemaInput, SchemaOutput } from './core/schema.ts';
export type {
  AbandonedRun,
  Batch,
  DecisionPage,
  DecisionRecord,
  EndedRun,
  HeadRow,
  ListedDecision,
  ListedRun,
  ListPage,
  ListQuery,
  ListStatus,
  MessageKey,
  MessageQuery,
  MessageRow,
  OpenCall,
  OpenRun,
  RecordedOutcome,
  Store,
  ThreadPage,
  ThreadRow,
  ThreadStore,
  Transcript,
  WorkerStore,
  Written,
} from './core/store.ts';
export type {
  ApprovalContext,
  Tool,
  ToolAgentContext,
  ToolContext,
  ToolOptions,
  ToolWriter,
} from './core/tool.ts';
export type { HeartbeatOptions } from './engine/heartbeat.ts';
export type { ModelInput } from './models/model-input.ts';
export { InMemoryStore } from './store/memory.ts';
export type { FinishedRun, LegCallbacks } from './stream/callbacks.ts';
export type {
  ApprovalPayload,
  CallPayload,
  Chunk,
  FinishReason,
  StepResult,
  SuspensionPayload,
} from './stream/chunk.ts';
export type { AgentOutput, AgentStream } from './stream/output.ts';
export type { WaitingCall } from './stream/result.ts';
export type {
  DelegationCompleteAnswer,
  DelegationCompleteContext,
  DelegationContext,
  DelegationOptions,
  DelegationStartAnswer,
  DelegationStartContext,
} from './team/delegation-hooks.ts';
