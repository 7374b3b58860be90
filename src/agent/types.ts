/** What an agent is made of, and what the functions of this folder know of it. */
import type { RequestContext } from '../core/context.ts';
import type { Answer, Resumable } from '../core/event.ts';
import type { Json } from '../core/json.ts';
import type { Message, MessageInput } from '../core/message.ts';
import type { Model } from '../core/model.ts';
import type { Limits, ToolHooks } from '../core/parts.ts';
import type { ToolContext } from '../core/tool.ts';
import type { ModelInput } from '../models/model-input.ts';
import type { KeysOf } from './known-keys.ts';
import type { Memory } from './memory.ts';
import type { TelemetryOptions } from './opentelemetry.ts';
import type { LegOptions, RunOptions } from './options.ts';
import type { ToolsInput } from './tools.ts';
import type { UiMessageInput } from './ui-message-input.ts';
import type { Worker } from './worker.ts';

/** A value, or a function of the request that gives it. Asked once for each leg. */
export type Dynamic<T> = T | ((given: { readonly requestContext: RequestContext }) => T | Promise<T>);

/** Agents under keys of your own. What a function leaves `undefined` is not offered; in a plain record it is an error. */
export type AgentsInput = Readonly<Record<string, { readonly [subAgent]: AgentCore } | undefined>>;

/** Who answers what an earlier turn asked: auto-resume. */
export interface AnsweringTurn {
  /** The user's message that answers. Recorded. */
  readonly messageId: string;
  /** The call of the turn that takes the result. */
  readonly context: ToolContext;
  readonly leg: LegOptions;
}

/** What the turn is told: a result, or that there is none yet. */
export interface TurnAnswer extends Pick<Answer, 'modelOutput'> {
  readonly result: Json;
}

/** What agents know of each other. */
export const subAgent: unique symbol = Symbol.for('countersign.agent') as never;

/** What `stream` and `generate` take: text, messages, or UI messages (converted by the AI SDK). */
export type MessagesInput =
  | string
  | MessageInput
  | Message
  | UiMessageInput
  | readonly (string | MessageInput | Message)[]
  | readonly UiMessageInput[];

/** `id` and `model` are all that an agent needs. */
export interface AgentConfig {
  /** Stored with each run; only an agent of the same id can decide it. */
  readonly id: string;
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  readonly instructions?: Dynamic<string> | undefined;
  readonly model: Dynamic<ModelInput>;
  readonly tools?: Dynamic<ToolsInput> | undefined;
  /** Sub-agents: each is a tool `agent-<key>`, and what waits in one waits here (specification: supervisor agents). */
  readonly agents?: Dynamic<AgentsInput> | undefined;
  readonly hooks?: ToolHooks | undefined;
  /** Keeps and recalls conversations. Left out, or where the function gives none, a run knows only what it is given. */
  readonly memory?: Dynamic<Memory | undefined> | undefined;
  /** Options of every run, under those of the call. Policies and hooks combine, the rest is laid over. */
  readonly defaultOptions?: RunOptions | undefined;
  /** Keys of the request context that are never stored. */
  readonly secretContext?: readonly string[] | undefined;
  /** What a decision without `toolCallId` means when several calls wait: the one announced last, or an error. */
  readonly whenSeveralWait?: 'latest' | 'refuse' | undefined;
  /** Handed to policies and tools as it is. */
  readonly workspace?: unknown;
  /** Every event of its runs is stored from the first, so that they survive a crash at any moment. */
  readonly durable?: boolean | undefined;
  /** Tells OpenTelemetry of its runs. Left out, as its registry does. */
  readonly telemetry?: TelemetryOptions | undefined;
}

export const agentKeys = {
  id: true,
  name: true,
  description: true,
  instructions: true,
  model: true,
  tools: true,
  agents: true,
  memory: true,
  hooks: true,
  defaultOptions: true,
  secretContext: true,
  whenSeveralWait: true,
  workspace: true,
  durable: true,
  telemetry: true,
} as const satisfies KeysOf<AgentConfig>;

/** What a drive without a caller, or a decision that lacks it, is given of what could not be stored. */
export type Supply = (asked: {
  readonly agentId: string;
  readonly runId: string;
  readonly resourceId: string | undefined;
  /** For instance `['hooks', 'requestContext.apiKey', 'toolsets.github']`. */
  readonly missing: readonly string[];
}) => LegOptions | Promise<LegOptions>;

/** Where an agent's runs live. */
export interface Binding {
  readonly worker: Worker;
  readonly supply?: Supply | undefined;
  readonly whenSeveralWait?: 'latest' | 'refuse' | undefined;
  readonly limits?: Partial<Limits> | undefined;
  readonly telemetry?: TelemetryOptions | undefined;
  /** Is given the promise of each drive, for platforms that freeze a process when its response is sent. */
  readonly waitUntil?: ((work: Promise<void>) => void) | undefined;
  /** The agents of the registry and all below them, by id. */
  agentOf(id: string): AgentCore | undefined;
  /** What an agent in no registry talks in when no conversation is named. */
  readonly ownConversation?: { readonly threadId: string; readonly resourceId: string } | undefined;
  /** Called when a run paused in a store that does not outlive the process. */
  warnOfMemory(): void;
}

/** The inside of an agent. */
export interface AgentCore {
  readonly id: string;
  readonly name: string;
  readonly config: AgentConfig;
  readonly defaultOptions: RunOptions;
  readonly secretContext: readonly string[];
  binding(): Binding;
  whenSeveralWait(): 'latest' | 'refuse';
  model(input: ModelInput): Model;
  /** Answers a suspended call of an earlier turn for a call of this one. */
  answer(resumable: Resumable, data: unknown, turn: AnsweringTurn): Promise<TurnAnswer>;
  messages(input: MessagesInput): Promise<Exclude<MessagesInput, UiMessageInput | readonly UiMessageInput[]>>;
}
