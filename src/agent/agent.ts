/** `Agent`: the names of the specification over the one loop. The only place that puts the layers together. */
import { CountersignError } from '../core/errors.ts';
import type { Schema } from '../core/schema.ts';
import { messagesFromUi, modelOf, type SdkModel } from '../models/ai-sdk.ts';
import type { ModelInput } from '../models/model-input.ts';
import { messagesOf } from '../models/prompt.ts';
import { InMemoryStore } from '../store/memory.ts';
import { type AgentOutput, type AgentStream, outputOf, streamOf } from '../stream/output.ts';
import { delegationTools, withDelegations } from './agent-code.ts';
import { answerCall } from './auto-resume.ts';
import { cancelRun } from './cancel.ts';
import { checkHooks, checkOptions, optionKeys } from './check-options.ts';
import { continueRun } from './continuation.ts';
import { decideCall, resolveCall } from './decision.ts';
import { checkKeys } from './known-keys.ts';
import { type ListOptions, listRuns, type SuspendedRuns } from './list.ts';
import { Memory, memoryInside } from './memory.ts';
import { type ObserveOptions, observeRun } from './observe.ts';
import type {
  CancelOptions,
  ContinueOptions,
  DecisionOptions,
  ResolveOptions,
  RunOptions,
} from './options.ts';
import { recoverRun } from './recovery.ts';
import type { DecideOptions } from './remote-decision.ts';
import { startRun } from './start.ts';
import type { ObjectOf } from './structured-output.ts';
import { checkTelemetry } from './telemetry.ts';
import { type SendToolApprovalOptions, type SentToolApproval, sendToolApproval } from './thread-approval.ts';
import { namedTools } from './tools.ts';
import {
  type AgentConfig,
  type AgentCore,
  agentKeys,
  type Binding,
  type MessagesInput,
  subAgent,
} from './types.ts';
import type { UiMessageInput } from './ui-message-input.ts';
import { openWorker, systemClock } from './worker.ts';

/** Lets a registry bind an agent to its store. */
export const bindAgent: unique symbol = Symbol('countersign.bind');
/** Lets a registry decide a call whose agent it has. */
export const decideOnAgent: unique symbol = Symbol('countersign.decide');
/** Lets a registry move a run that nobody moves. */
export const recoverAgentRun: unique symbol = Symbol('countersign.recover');

/**
 * An agent whose sensitive tool calls wait for a person (specification: quickstart). It works alone, with runs that
 * live in this process; given to a `Countersign` registry, they live in its store.
 * @throws `invalid-agent`, `invalid-tool`, `invalid-option` at construction.
 */
export class Agent {
  readonly id: string;
  readonly name: string;
  readonly description: string | undefined;
  /** @internal */
  readonly [subAgent]: AgentCore;
  readonly #core: AgentCore;
  /** The same for callers who read no deltas. */
  readonly #collecting: AgentCore;
  #binding: Binding | undefined;

  constructor(config: AgentConfig) {
    check(config);
    this.id = config.id;
    this.name = config.name ?? config.id;
    this.description = config.description;
    const byId = new Map<string, SdkModel>();
    const byObject = new WeakMap<object, SdkModel>();
    const modelFor = (input: ModelInput): SdkModel => {
      const known = typeof input === 'string' ? byId.get(input) : byObject.get(input);
      const model = known ?? modelOf(input);
      if (typeof input === 'string') byId.set(input, model);
      else byObject.set(input, model);
      return model;
    };
    this.#core = {
      id: config.id,
      name: this.name,
      config,
      defaultOptions: config.defaultOptions ?? {},
      secretContext: config.secretContext ?? [],
      binding: () => (this.#binding ??= ownBinding(this.#core)),
      whenSeveralWait: () => config.whenSeveralWait ?? this.#core.binding().whenSeveralWait ?? 'latest',
      model: modelFor,
      answer: (resumable, data, turn) => answerCall(this.#core, resumable, data, turn),
      messages: async (input) =>
        (isUi(input) ? messagesFromUi(Array.isArray(input) ? input : [input]) : input) as never,
    };
    this.#collecting = { ...this.#core, model: (input) => modelFor(input).whole };
    this[subAgent] = this.#core;
    if (config.memory instanceof Memory) {
      config.memory[memoryInside].adopt(() => this.#core.binding().worker);
    }
  }

  /** Answers messages. The stream ends when the run waits for a person, or has ended. */
  async stream<Output extends Schema = never>(
    messages: MessagesInput,
    options: RunOptions<Output> = {},
  ): Promise<AgentStream<ObjectOf<Output>>> {
    return streamOf(await startRun(this.#core, messages, options), messagesOf);
  }

  /** As `stream`, collected. Rejects when the run failed before it ever paused. */
  async generate<Output extends Schema = never>(
    messages: MessagesInput,
    options: RunOptions<Output> = {},
  ): Promise<AgentOutput<ObjectOf<Output>>> {
    return outputOf(await startRun(this.#collecting, messages, options), messagesOf);
  }

  /**
   * Approves a held call: it runs at most once, with exactly the arguments that were announced. Resolves when the
   * decision is stored.
   * @throws `already-decided`, `call-not-found`, `needs-data`, `fingerprint-mismatch`, `stop-mismatch`,
   * `option-missing`, `run-not-found`, `run-ended`; then nothing happens.
   */
  async approveToolCall<Output extends Schema = never>(
    options: DecisionOptions<Output>,
  ): Promise<AgentStream<ObjectOf<Output>>> {
    return streamOf(await decideCall(this.#core, options, { verdict: 'approve' }), messagesOf);
  }

  /** Declines a held or suspended call: it never runs (again), and the model is told, with the reason. */
  async declineToolCall<Output extends Schema = never>(
    options: DecisionOptions<Output>,
  ): Promise<AgentStream<ObjectOf<Output>>> {
    return streamOf(await decideCall(this.#core, options, { verdict: 'decline' }), messagesOf);
  }

  async approveToolCallGenerate<Output extends Schema = never>(
    options: DecisionOptions<Output>,
  ): Promise<AgentOutput<ObjectOf<Output>>> {
    return outputOf(await decideCall(this.#collecting, options, { verdict: 'approve' }), messagesOf);
  }

  async declineToolCallGenerate<Output extends Schema = never>(
    options: DecisionOptions<Output>,
  ): Promise<AgentOutput<ObjectOf<Output>>> {
    return outputOf(await decideCall(this.#collecting, options, { verdict: 'decline' }), messagesOf);
  }

  /**
   * Resumes a call that suspended itself, with data for its `resumeSchema`. On a held call, exactly
   * `{ approved: boolean, reason? }` decides it.
   * @throws `invalid-resume-data` (the call keeps waiting), `needs-verdict`, and what `approveToolCall` throws.
   */
  async resumeStream<Output extends Schema = never>(
    data: unknown,
    options: DecisionOptions<Output>,
  ): Promise<AgentStream<ObjectOf<Output>>> {
    return streamOf(await decideCall(this.#core, options, { verdict: 'resume', data }), messagesOf);
  }

  async resumeGenerate<Output extends Schema = never>(
    data: unknown,
    options: DecisionOptions<Output>,
  ): Promise<AgentOutput<ObjectOf<Output>>> {
    return outputOf(await decideCall(this.#collecting, options, { verdict: 'resume', data }), messagesOf);
  }

  /**
   * Says what became of a call whose worker died while it ran: run it again, or record its output or error.
   * @throws `call-not-waiting` when it is not interrupted, and what `approveToolCall` throws.
   */
  async resolveInterruptedCall<Output extends Schema = never>(
    options: ResolveOptions<Output>,
  ): Promise<AgentStream<ObjectOf<Output>>> {
    return streamOf(await resolveCall(this.#core, options), messagesOf);
  }

  async resolveInterruptedCallGenerate<Output extends Schema = never>(
    options: ResolveOptions<Output>,
  ): Promise<AgentOutput<ObjectOf<Output>>> {
    return outputOf(await resolveCall(this.#collecting, options), messagesOf);
  }

  /** Decides by conversation, for callers who do not know the run (specification: resume after a restart). */
  async sendToolApproval(options: SendToolApprovalOptions): Promise<SentToolApproval> {
    return sendToolApproval(this.#core, options);
  }

  /** Follows a run from any process, from its beginning or after an event, until it waits or ends. */
  async observe(options: ObserveOptions): Promise<AgentStream> {
    return streamOf(await observeRun(this.#core, options), messagesOf);
  }

  /** Tries the failed model call of a stalled run again. What was executed stays executed. */
  async continueRun<Output extends Schema = never>(
    options: ContinueOptions<Output>,
  ): Promise<AgentStream<ObjectOf<Output>>> {
    return streamOf(await continueRun(this.#core, options), messagesOf);
  }

  async continueRunGenerate<Output extends Schema = never>(
    options: ContinueOptions<Output>,
  ): Promise<AgentOutput<ObjectOf<Output>>> {
    return outputOf(await continueRun(this.#collecting, options), messagesOf);
  }

  /**
   * Ends a run. Waiting calls are cancelled; running ones are told, awaited and recorded ('cancelling' until then).
   * @throws `run-not-found`, `run-ended`.
   */
  async cancelRun(options: CancelOptions): Promise<{ runId: string; status: 'cancelled' | 'cancelling' }> {
    return cancelRun(this.#core, options);
  }

  /** This agent's runs that wait, from the store (specification: resume after a restart). */
  async listSuspendedRuns(options: ListOptions = {}): Promise<SuspendedRuns> {
    return listRuns(this.#core, options);
  }

  /** @internal */
  [recoverAgentRun](runId: string): Promise<void> {
    return recoverRun(this.#core, runId);
  }

  /** @internal */
  async [decideOnAgent]({ verdict, ...options }: DecideOptions): Promise<void> {
    await decideCall(this.#core, options, { verdict });
  }

  /** @internal */
  [bindAgent](binding: Binding): void {
    if (this.#binding === binding) return;
    if (this.#binding) {
      throw new CountersignError('invalid-agent', `The agent "${this.id}" has a store already.`, {
        agentId: this.id,
        expected: 'an agent that is in no other registry and has not run yet',
      });
    }
    const { memory } = this.#core.config;
    if (memory instanceof Memory) memory[memoryInside].placesFor(binding.worker);
    this.#binding = binding;
  }
}

function check(config: AgentConfig): void {
  const refuse = (what: string, expected: string): never => {
    throw new CountersignError('invalid-agent', what, { agentId: String(config?.id), expected });
  };
  if (typeof config?.id !== 'string' || config.id === '') refuse('The agent has no id.', 'id: a string');
  if (config.model === undefined || config.model === null) {
    refuse(`Agent "${config.id}" has no model.`, "model: 'provider/model' or a model object of the AI SDK");
  }
  checkKeys(config, agentKeys, `agent "${config.id}"`, 'invalid-agent');
  if (
    config.memory !== undefined &&
    typeof config.memory !== 'function' &&
    !(config.memory instanceof Memory)
  ) {
    refuse(`The memory of agent "${config.id}" is no Memory.`, 'a Memory, or a function that gives one');
  }
  if (config.hooks !== undefined) checkHooks(config.hooks);
  if (config.telemetry !== undefined) checkTelemetry(config.telemetry);
  if (config.defaultOptions !== undefined) {
    checkKeys(config.defaultOptions, optionKeys.run, 'defaultOptions');
    checkOptions(config.defaultOptions);
  }
  const { tools = {}, agents = {}, defaultOptions } = config;
  const own = namedTools(typeof tools === 'function' ? {} : tools, config, defaultOptions?.toolsets);
  withDelegations(own, delegationTools(typeof agents === 'function' ? {} : agents, config), config);
}

function ownBinding(agent: AgentCore): Binding {
  let warned = false;
  const warn = (message: string): void => console.warn(`[countersign] ${message}`);
  return {
    worker: openWorker(new InMemoryStore(), systemClock, warn),
    agentOf: (id) => (id === agent.id ? agent : undefined),
    ownConversation: { threadId: crypto.randomUUID(), resourceId: crypto.randomUUID() },
    warnOfMemory() {
      if (warned) return;
      warned = true;
      warn(
        `Agent "${agent.id}" paused, and its runs live in this process only. ` +
          'Put it into new Countersign({ agents, storage }) to keep them over a restart.',
      );
    },
  };
}

function isUi(input: MessagesInput): input is UiMessageInput | readonly UiMessageInput[] {
  const first: unknown = Array.isArray(input) ? input[0] : input;
  return typeof first === 'object' && first !== null && 'parts' in first && !('content' in first);
}
