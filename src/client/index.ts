export type {
  ClientAgent,
  Conversation,
  ListSuspendedRunsOptions,
  Messages,
  ResumeOptions,
  SendToolApprovalOptions,
  StartOptions,
  ToolCallDecision,
  UiMessage,
} from './agent.ts';
export type {
  AgentDetails,
  AgentTool,
  Approval,
  Approvals,
  CallDetails,
  ChunkError,
  ClientChunk,
  ClientOutput,
  Decisions,
  Recorded,
  SentToolApproval,
  SuspendedRun,
  SuspendedRuns,
  Thread,
  ThreadMessage,
  ThreadMessages,
  Threads,
  ToldDecision,
  WaitingCall,
} from './answers.ts';
export type {
  ApprovalDecision,
  ApprovalsClient,
  CallIds,
  DecisionsClient,
  ListApprovalsOptions,
  ListDecisionsOptions,
  Resolution,
} from './approvals.ts';
export { CountersignClient } from './client.ts';
export { type ClientErrorCode, CountersignClientError, type Issue, type Problem } from './errors.ts';
export type { ListMemoryThreadsOptions, ListMessagesOptions, MemoryThread } from './memory.ts';
export type { RunStream } from './run-stream.ts';
export type { Cancelled, CancelOptions, ObserveOptions, RunOptions } from './runs.ts';
export type { ApprovalEvent, SubscribeOptions } from './subscription.ts';
export type { ClientOptions, RequestOptions } from './transport.ts';
