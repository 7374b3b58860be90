/** What the routes answer: the results of `Agent` and of the registry as JSON, so a `Date` is a text (ISO 8601). */
import type { PathStep } from '../core/below.ts';
import type { JsonObject } from '../core/json.ts';
import type { SuspendPayload } from '../core/policy.ts';
import type { DecisionRecord } from '../core/store.ts';
import type { Chunk } from '../stream/chunk.ts';
import type { AgentOutput } from '../stream/output.ts';
import type { ClientErrorCode, Problem } from './errors.ts';

/** An error in a chunk. */
export interface ChunkError {
  readonly name: string;
  readonly message: string;
  readonly code?: ClientErrorCode;
  readonly status?: number;
  readonly [fact: string]: unknown;
}

type ErrorChunk = Omit<Extract<Chunk, { type: 'error' }>, 'payload'> & {
  readonly payload: { readonly error: ChunkError };
};

/** A chunk of a stream. */
export type ClientChunk = Exclude<Chunk, { type: 'error' }> | ErrorChunk;

type WithProblem<Output> = Output extends { readonly finishReason: 'error' }
  ? Omit<Output, 'error'> & { readonly error: Problem }
  : Output;

/** What `generate` and the decisions beside it answer. */
export type ClientOutput = WithProblem<AgentOutput>;

export interface AgentTool {
  readonly id: string;
  readonly description?: string;
  /** `depends`: on the arguments of the call. */
  readonly held: 'always' | 'depends' | 'never';
  readonly approver?: 'owner' | 'reviewer';
}

export interface AgentDetails {
  readonly id: string;
  readonly name: string;
  readonly description?: string;
  readonly tools: Readonly<Record<string, AgentTool>>;
}

/** A call that waits. */
export interface WaitingCall {
  readonly toolCallId: string;
  readonly stop: number;
  readonly state: 'held' | 'suspended' | 'interrupted';
  readonly toolName: string;
  readonly args: SuspendPayload;
  /** The delegations that lead to a call of a sub-agent; its `toolCallId` is then qualified. */
  readonly path?: readonly PathStep[];
  /** True: approve or decline. False: resume with data. */
  readonly requiresApproval: boolean;
  readonly fingerprint: string;
  readonly approver?: 'owner' | 'reviewer';
  readonly suspendPayload?: SuspendPayload;
  /** Interrupted: when the attempt began of which nobody knows what came. */
  readonly startedAt?: string;
  /** JSON Schema, as a JSON string, of what decides or resumes. */
  readonly resumeSchema?: string;
}

interface Page {
  /** How many runs there are; exact up to 1,000. */
  readonly total: number;
  readonly totalIsAtLeast?: true;
  /** Given when there is another page: ask for it with this. */
  readonly cursor?: string;
}

export interface SuspendedRun {
  readonly runId: string;
  readonly status: 'suspended' | 'interrupted' | 'stalled' | 'running';
  readonly threadId?: string;
  readonly resourceId?: string;
  readonly suspendedAt: string;
  readonly toolCalls: readonly WaitingCall[];
}

export interface SuspendedRuns extends Page {
  readonly runs: readonly SuspendedRun[];
}

export interface Approval extends WaitingCall {
  readonly runId: string;
  readonly agentId: string;
  readonly threadId?: string;
  readonly resourceId?: string;
  readonly approver: 'owner' | 'reviewer';
  /** When this stop began. */
  readonly since: string;
}

export interface Approvals extends Omit<Page, 'total'> {
  /** Those of the run that stopped last first. */
  readonly approvals: readonly Approval[];
  /** Left out where not every run is shown. */
  readonly total?: number;
}

/** A decision as those are told who may see its call: without arguments, data and results. */
export type ToldDecision = Omit<DecisionRecord, 'args' | 'data' | 'resolution' | 'outcome'> & {
  readonly outcome?: Pick<NonNullable<DecisionRecord['outcome']>, 'state' | 'at'>;
};

/** A call as it stands, while it waits or not. */
export interface CallDetails {
  readonly runId: string;
  readonly agentId: string;
  readonly threadId?: string;
  readonly resourceId?: string;
  readonly toolCallId: string;
  readonly toolName: string;
  readonly args?: SuspendPayload;
  readonly path?: readonly PathStep[];
  readonly fingerprint: string;
  readonly state?: string;
  /** What it waits at, or waited at last. Not told of a run that has ended. */
  readonly stop?: number;
  readonly approver?: 'owner' | 'reviewer';
  readonly suspendPayload?: SuspendPayload;
  readonly resumeSchema?: string;
  readonly since?: string;
  readonly decisions: readonly ToldDecision[];
  /** Whether it waits, and you are one who may decide it. */
  readonly mayDecide: boolean;
}

/** That a decision is recorded; the run goes on by itself. */
export interface Recorded {
  readonly accepted: true;
  readonly runId: string;
  readonly toolCallId: string;
  /** False: the agent's code is elsewhere, and a process that has it goes on with the run. */
  readonly driven: boolean;
  readonly decision?: ToldDecision;
}

export interface SentToolApproval {
  readonly accepted: true;
  readonly runId: string;
  readonly toolCallId: string;
}

export interface Decisions extends Page {
  readonly decisions: readonly DecisionRecord[];
}

export interface Thread {
  readonly id: string;
  readonly resourceId: string;
  readonly title?: string;
  readonly metadata?: JsonObject;
  readonly createdAt: string;
  /** When something was last said in it. */
  readonly updatedAt: string;
}

export interface Threads extends Page {
  /** Those last spoken in first. */
  readonly threads: readonly Thread[];
  readonly page: number;
  readonly perPage: number;
  readonly hasMore: boolean;
}

/** A message of a thread, as chat pages show it (`UIMessage` of the AI SDK). */
export interface ThreadMessage {
  readonly id: string;
  readonly role: 'system' | 'user' | 'assistant';
  readonly metadata?: unknown;
  // biome-ignore lint/suspicious/noExplicitAny: parts are of many shapes, which a page takes apart by their type
  readonly parts: readonly { readonly type: string; readonly [field: string]: any }[];
}

export interface ThreadMessages {
  /** The newest last. */
  readonly messages: readonly ThreadMessage[];
  readonly page: number;
  readonly perPage: number;
  readonly hasMore: boolean;
}
