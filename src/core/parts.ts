/** What one leg brings to the loop: the agent's code as deployed now, and what the leg's caller passed. */
import type { RequestContext } from './context.ts';
import type { Holder, RunStarted, StoredOptions } from './event.ts';
import type { Sha256 } from './json.ts';
import type { Clock, Passing } from './log.ts';
import type { Message } from './message.ts';
import type { Model, ModelRequest } from './model.ts';
import type { Policies } from './policy.ts';
import type { Call, Run } from './state.ts';
import type { Tool } from './tool.ts';

/** A tool as an agent has it: under its id, with the key of the agent's record as an alias. */
export interface NamedTool {
  readonly tool: Tool;
  readonly alias: string;
  /** It is offered in the first step alone. */
  readonly onlyFirst?: boolean | undefined;
  /** The call is carried out by a run of its own below this one. */
  readonly delegate?: Delegate | undefined;
}

/** How a delegation becomes a run below, and what it comes to. */
export interface Delegate {
  /** The first event of the run below; or the result of the call, where it is to have none. */
  begin(execution: Execution, input: unknown): Promise<RunStarted | { readonly output: unknown }>;
  /** What the run below needs here. The same for one leg, however often it is asked. */
  partsOf(child: RunStarted, parent: Parts): Promise<Parts>;
  /** The result of the call, when the run below has ended. Rejects when that failed. */
  result(execution: Execution, child: Run): Promise<unknown>;
}

/** A claimed call that is carried out. */
export interface Execution {
  readonly run: Run;
  readonly call: Call;
  readonly parts: Parts;
  readonly abortSignal: AbortSignal;
  pass(passing: Passing): void;
  /** Asked immediately before `execute`. */
  mayBegin(): boolean;
}

/** What a hook is told of a call. */
export interface ToolHookContext {
  readonly runId: string;
  readonly agentId: string;
  readonly toolCallId: string;
  readonly toolName: string;
  /** The arguments as they were shown and bound. */
  readonly input: unknown;
  readonly requestContext: RequestContext;
}

/** Functions around `execute`. They run after the decision, never before it. A hook that throws fails the call. */
export interface ToolHooks {
  /** May answer in place of the tool: `{ proceed: false, output }`. */
  readonly beforeToolCall?:
    | ((
        context: ToolHookContext,
        // biome-ignore lint/suspicious/noConfusingVoidType: a hook that only looks returns nothing
      ) => void | undefined | HookAnswer | Promise<void | undefined | HookAnswer>)
    | undefined;
  /** Called after `execute` returned (`output`) or threw (`error`). Not called when the call suspended itself. */
  readonly afterToolCall?:
    | ((context: ToolHookContext & { readonly output?: unknown; readonly error?: unknown }) => unknown)
    | undefined;
}

export interface HookAnswer {
  readonly proceed: false;
  readonly output: unknown;
}

export interface Limits {
  /** The most characters of JSON that the arguments of a call may have. */
  readonly args: number;
  /** … that the payload of a suspension may have. */
  readonly payload: number;
  /** … that the result of a call may have. */
  readonly result: number;
}

/** A model request without what only the loop has. */
export type StepRequest = Omit<ModelRequest, 'abortSignal' | 'onDelta'>;

export interface Parts {
  readonly me: Holder;
  readonly model: Model;
  /** The prompt so far: what was said before the run, its input, and what it added. Each call has one result (invariant 6). */
  messagesOf(run: Run): readonly Message[];
  /** What the model is asked in the run's last step. */
  requestOf(run: Run): Promise<StepRequest>;
  /** By id. */
  readonly tools: ReadonlyMap<string, NamedTool>;
  readonly instructions: string | undefined;
  /** What was said in the run's thread before it. */
  readonly history: readonly Message[];
  readonly options: StoredOptions;
  readonly policies: Policies;
  readonly hooks: readonly ToolHooks[];
  /** Asked before each model call but the first: whether the run ends in its place. */
  readonly shouldStop?: ((run: Run) => Promise<boolean>) | undefined;
  /** A copy of the request context for each reader. */
  context(): RequestContext;
  readonly workspace: unknown;
  readonly clock: Clock;
  readonly limits: Limits;
  readonly sha256: Sha256;
  /**
   * Whether nobody can have thought the worker dead since it made a claim, nor will while it begins.
   * @param claimedAt when the write of the claim was begun.
   */
  mayBegin(claimedAt: number): boolean;
  /** Notes that `execute` is about to be entered under a claim: from now on nobody may say that it was not. */
  noteBegun(runId: string, toolCallId: string, attempt: number): void;
  warn(message: string): void;
}

/** The tools that a step may call: the active ones, named by id or alias. */
export function activeTools(
  { options, tools }: Pick<Parts, 'options' | 'tools'>,
  step: number,
): Map<string, NamedTool> {
  const active = options.activeTools;
  return new Map(
    [...tools].filter(([id, { alias, onlyFirst }]) =>
      onlyFirst ? step === 0 : active === undefined || active.includes(id) || active.includes(alias),
    ),
  );
}
