/** The options of `stream`, `generate` and of decisions: their types, and what of them is stored. */
import type { RequestContext } from '../core/context.ts';
import type { Door, Person, RunStarted, StoredOptions } from '../core/event.ts';
import { type JsonObject, toJson } from '../core/json.ts';
import type { ToolChoice } from '../core/model.ts';
import type { ToolHooks } from '../core/parts.ts';
import type { PolicyOption } from '../core/policy.ts';
import type { Schema } from '../core/schema.ts';
import type { ModelInput } from '../models/model-input.ts';
import type { LegCallbacks } from '../stream/callbacks.ts';
import type { DelegationOptions } from '../team/delegation-hooks.ts';
import { isId } from './ids.ts';
import type { MemoryOptions } from './memory.ts';
import type { StopWhen } from './stop-when.ts';
import type { StructuredOutput } from './structured-output.ts';
import type { ToolsetsInput } from './tools.ts';

/** What each leg's caller may pass, and must pass again where it could not be stored. */
export interface LegOptions<Output extends Schema = Schema> extends LegCallbacks {
  /**
   * `true` holds every call of the run; a function holds the calls for which it says `true` (or throws). `false` is
   * the absence of a policy.
   */
  readonly requireToolApproval?: PolicyOption;
  /** Run hooks, after the agent's. */
  readonly hooks?: ToolHooks | undefined;
  /** How this agent's delegations to sub-agents are watched and changed. */
  readonly delegation?: DelegationOptions | undefined;
  readonly requestContext?: RequestContext | undefined;
  /** In place of the agent's model. An object cannot be stored. */
  readonly model?: ModelInput | undefined;
  readonly instructions?: string | undefined;
  /** More tools, beside the agent's and as guarded as they are. They cannot be stored. */
  readonly toolsets?: ToolsetsInput | undefined;
  /** The only tools that the model is offered, by id or key. */
  readonly activeTools?: readonly string[] | undefined;
  readonly toolChoice?: ToolChoice | undefined;
  /** Ends the run between two steps: asked when all calls of a step are settled. One that says yes is enough. */
  readonly stopWhen?: StopWhen | undefined;
  /** The answer as an object: `object` of what the leg returns. Tools work as ever. */
  readonly structuredOutput?: StructuredOutput<Output> | undefined;
  /** Temperature, maxOutputTokens and the like: the AI SDK's call settings. */
  readonly modelSettings?: Record<string, unknown> | undefined;
  readonly providerOptions?: Record<string, unknown> | undefined;
  /** Is given the promise of what goes on after the leg was returned. */
  readonly waitUntil?: ((work: Promise<void>) => void) | undefined;
  /** Cancels the run while this leg is open; afterwards it does nothing. */
  readonly abortSignal?: AbortSignal | undefined;
}

/** Options of `stream` and `generate`. */
export interface RunOptions<Output extends Schema = Schema> extends LegOptions<Output> {
  /** Model calls over the whole run, pauses or not. Default 20. */
  readonly maxSteps?: number | undefined;
  /** Tool calls of one step that run at the same time. Default 10. */
  readonly toolCallConcurrency?: number | undefined;
  /** How often a model call that failed in a retryable way is tried again. Default 2. */
  readonly maxRetries?: number | undefined;
  /** Every event is stored from the first. A policy function then holds every call. */
  readonly durable?: boolean | undefined;
  /**
   * The next message of a conversation may answer what a suspended call of it asked: the model is offered a tool for
   * each, in the first model call of the turn (specification: auto-resume). It can never approve a held call. Needs a
   * memory. Default false.
   */
  readonly autoResumeSuspendedTools?: boolean | undefined;
  /** Your own id for the run. It must be new. */
  readonly runId?: string | undefined;
  /** The conversation that the run belongs to: stored with it, and found by it. With a `Memory`, recalled and kept. */
  readonly memory?: RunMemory | undefined;
}

/** The conversation of a run. */
export interface RunMemory {
  /**
   * Its id; with a `Memory`, also what a thread that is new is made with. Left out, the run is in no conversation and
   * only of the resource: an agent with a `Memory` refuses that.
   */
  readonly thread?: string | ThreadInput | undefined;
  /** Whose thread it is: a user, a tenant. An agent with a `Memory` in a registry demands it. */
  readonly resource?: string | undefined;
  /** For this run, over those of the `Memory`. */
  readonly options?: Pick<MemoryOptions, 'lastMessages' | 'readOnly'> | undefined;
}

export interface ThreadInput {
  readonly id: string;
  readonly title?: string | undefined;
  readonly metadata?: Record<string, unknown> | undefined;
}

/** Whose conversation a run must be of that is acted on: another one's is `run-not-found`. */
export interface ConversationOption {
  readonly memory?:
    | {
        readonly thread?: string | { readonly id: string } | undefined;
        readonly resource?: string | undefined;
      }
    | undefined;
}

/** Which call is decided, and by whom. */
export interface DecisionOptions<Output extends Schema = Schema>
  extends LegOptions<Output>,
    ConversationOption {
  readonly runId: string;
  /** Left out: the call announced last. Only a decision that names its call is sure to hit what the person saw. */
  readonly toolCallId?: string | undefined;
  /** The stop that the person saw; refused when the call waits at another one by now. */
  readonly stop?: number | undefined;
  /** The fingerprint that the person saw; refused when the call has another. */
  readonly fingerprint?: string | undefined;
  /** Recorded, and told to the model on a decline. */
  readonly reason?: string | undefined;
  /** Yours, to repeat a request safely: the same id gets the recorded outcome in place of `already-decided`. */
  readonly decisionId?: string | undefined;
  /** Who decided. Recorded. */
  readonly by?: Person | undefined;
  /** Recorded: the door that it came through, said by the door itself. Left out, this is the application's own code. */
  readonly via?: Door | undefined;
}

/** Which interrupted call is meant, and what is to become of it. */
export type ResolveOptions<Output extends Schema = Schema> = Omit<DecisionOptions<Output>, 'toolCallId'> & {
  readonly toolCallId: string;
} & (
    | {
        /** Run it again, with the same `idempotencyKey`: it did not happen, or twice does no harm. */
        readonly runAgain: true;
        readonly output?: undefined;
        readonly error?: undefined;
      }
    | {
        /** It happened, and this is its result; `null` for a tool without one. */
        readonly output: unknown;
        readonly runAgain?: undefined;
        readonly error?: undefined;
      }
    | {
        /** It failed, and this is what the model is told. */
        readonly error: string;
        readonly runAgain?: undefined;
        readonly output?: undefined;
      }
  );

export interface ContinueOptions<Output extends Schema = Schema>
  extends LegOptions<Output>,
    ConversationOption {
  readonly runId: string;
  readonly by?: Person | undefined;
}

export interface CancelOptions {
  readonly runId: string;
  readonly reason?: string | undefined;
  readonly by?: Person | undefined;
}

/** The defaults. One table: SPEC.md has the same. */
export const defaults = {
  maxSteps: 20,
  toolCallConcurrency: 10,
  maxRetries: 2,
  limits: { args: 4 * 1024 * 1024, payload: 4 * 1024 * 1024, result: 4 * 1024 * 1024 },
} as const;

/** Lays call options over an agent's defaults. Policies and hooks are not merged here: they combine. */
export function mergeOptions<T extends RunOptions>(base: RunOptions, over: T): T {
  const given = Object.fromEntries(Object.entries(over).filter(([, value]) => value !== undefined));
  return {
    ...base,
    ...given,
    ...mergedObject('modelSettings', base, over),
    ...mergedObject('providerOptions', base, over),
    ...mergedObject('toolsets', base, over),
  } as T;
}

function mergedObject(
  key: 'modelSettings' | 'providerOptions' | 'toolsets',
  base: RunOptions,
  over: RunOptions,
): object {
  return base[key] && over[key] ? { [key]: { ...base[key], ...over[key] } } : {};
}

/**
 * What the caller of a leg brings to the run at the top. Who acts on a run below brings what could not be stored;
 * the other options are of the run that they name, and that one has its own.
 */
export function broughtToRoot(
  options: LegOptions,
  isRoot: boolean,
  { missing }: Pick<RunStarted, 'missing'>,
): LegOptions {
  if (isRoot) return options;
  const { requireToolApproval, hooks, delegation, toolsets, requestContext, model } = options;
  const lacking = { requireToolApproval, hooks, delegation, toolsets, requestContext };
  return missing.includes('model') ? { ...lacking, model } : lacking;
}

/** The id of the thread, if it is one. */
export function threadOf(memory: RunMemory): string | undefined {
  const id = typeof memory?.thread === 'object' ? memory.thread?.id : memory?.thread;
  return isId(id) ? id : undefined;
}

/** The ids of the conversation, as they are stored with the run. */
export function conversationOf({ memory }: RunOptions): { threadId?: string; resourceId?: string } {
  const threadId = memory && threadOf(memory);
  return {
    ...(threadId === undefined ? {} : { threadId }),
    ...(memory?.resource === undefined ? {} : { resourceId: memory.resource }),
  };
}

/** The part of a run's options that JSON can hold. Later legs lay theirs over it. */
export function storedOptions(options: RunOptions): StoredOptions {
  return {
    maxSteps: options.maxSteps ?? defaults.maxSteps,
    maxRetries: options.maxRetries ?? defaults.maxRetries,
    toolCallConcurrency: options.toolCallConcurrency ?? defaults.toolCallConcurrency,
    ...(options.durable ? { durable: true } : {}),
    ...(typeof options.requireToolApproval === 'boolean'
      ? { requireToolApproval: options.requireToolApproval }
      : {}),
    ...storedLegOptions(options),
  };
}

/** The part of a leg's options that JSON can hold and that may differ from leg to leg. */
export function storedLegOptions(options: LegOptions): Partial<StoredOptions> {
  const { activeTools, toolChoice, instructions, model, modelSettings, providerOptions } = options;
  return {
    ...(activeTools ? { activeTools: [...activeTools] } : {}),
    ...(toolChoice ? { toolChoice } : {}),
    ...(instructions === undefined ? {} : { instructions }),
    ...(typeof model === 'string' ? { model } : {}),
    ...(modelSettings ? { modelSettings: toJson(modelSettings, 'modelSettings') as JsonObject } : {}),
    ...(providerOptions ? { providerOptions: toJson(providerOptions, 'providerOptions') as JsonObject } : {}),
  };
}
