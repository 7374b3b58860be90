/** One scenario's stage: a store, the agents that act on it, the model that they share, and verbs in both faces. */
import {
  Agent,
  type AgentConfig,
  type AgentOutput,
  type AgentStream,
  type CancelOptions,
  Countersign,
  type CountersignConfig,
  type CountersignError,
  type DecisionOptions,
  type LegOptions,
  type ListOptions,
  Memory,
  type MemoryOptions,
  type MessagesInput,
  type RunOptions,
  type Store,
  type SuspendedRuns,
} from 'countersign';
import { type Script, type ScriptedModel, scriptedModel } from '../../src/testing/scripted-model.ts';
import type { Stage } from './stages.ts';
import { readStream, type Told, toldByOutput } from './told.ts';
import type { World } from './world.ts';

export interface Plan {
  readonly script: Script | ScriptedModel;
  readonly tools?: AgentConfig['tools'];
  /** Makes the sub-agents anew for each registry, as each process would. */
  readonly agents?: (() => AgentConfig['agents']) | undefined;
  /** Of the run; in the world 'cold with options' they are passed again with each decision. */
  readonly options?: RunOptions | undefined;
  readonly agent?: Partial<AgentConfig> | undefined;
  /** Gives the agent of each registry a memory of its own, with these options. */
  readonly memory?: MemoryOptions | undefined;
  readonly registry?: Partial<Omit<CountersignConfig, 'agents' | 'storage'>> | undefined;
  /** Puts something around the store of each registry. */
  readonly around?: ((store: Store) => Store) | undefined;
}

export type Choice = Omit<DecisionOptions, 'runId'>;

type ResolveOptions = Parameters<Agent['resolveInterruptedCall']>[0];
export type Resolution = Omit<ResolveOptions, 'runId' | 'toolCallId'>;
export type SendToolApprovalOptions = Parameters<Agent['sendToolApproval']>[0];
type SentToolApproval = Awaited<ReturnType<Agent['sendToolApproval']>>;
type ObserveOptions = Parameters<Agent['observe']>[0];

export interface Scene {
  readonly world: World;
  readonly model: ScriptedModel;
  readonly warnings: string[];
  /** The store of the first registry, without what `around` put there. */
  readonly store: Store;
  /** How many rows of each table hold this text; undefined where there are no tables. */
  rowsWith(text: string): Promise<Record<string, number> | undefined>;
  /** The agent that begins runs. */
  readonly first: Agent;
  /** Who decides now: the first agent when warm, else a new one on the same store, as after a restart. */
  decider(): Agent;
  /** A sub-agent, by id, in the registry of whoever decides now. */
  memberOf(id: string): Agent;
  /** The memory of who decides now. */
  memory(): Memory;
  /** A turn of who decides now. */
  turn(messages: MessagesInput, options?: RunOptions): Promise<Told>;
  /** An agent in a registry of its own on the same store, other than planned where `changes` say so. */
  another(changes?: Partial<AgentConfig>, around?: (store: Store) => Store): Agent;
  /** A registry of its own on the same store, with the planned agent or with others. */
  registry(changes?: Partial<CountersignConfig>): Countersign;
  /** Sweeps once in a registry of its own: resolves when what dead workers left is taken over. */
  sweep(): Promise<void>;
  /** What `options` are passed again with a decision in this world. */
  again(): LegOptions;
  start(options?: RunOptions, messages?: MessagesInput): Promise<Told>;
  approve(runId: string, choice?: Choice): Promise<Told>;
  decline(runId: string, choice?: Choice): Promise<Told>;
  resume(data: unknown, runId: string, choice?: Choice): Promise<Told>;
  /** Says what became of an interrupted call. */
  resolveCall(runId: string, toolCallId: string, resolution: Resolution): Promise<Told>;
  /** Decides by conversation. */
  send(options: SendToolApprovalOptions): Promise<SentToolApproval>;
  observe(options: ObserveOptions): Promise<Told>;
  continueRun(runId: string, options?: LegOptions): Promise<Told>;
  cancel(options: CancelOptions): Promise<{ runId: string; status: string }>;
  list(options?: ListOptions): Promise<SuspendedRuns>;
}

export const agentId = 'desk';

export function openScene(world: World, plan: Plan, stage: Stage): Scene {
  const { script, options = {}, around = (store) => store } = plan;
  const model: ScriptedModel =
    typeof script === 'object' && 'doStream' in script ? script : scriptedModel(script);
  const warnings: string[] = [];
  const openRegistry = (
    storage: Store,
    changes: Partial<AgentConfig> = {},
  ): { agent: Agent; registry: Countersign; memory: Memory | undefined } => {
    const tools = plan.tools === undefined ? {} : { tools: plan.tools };
    const agents = plan.agents === undefined ? {} : { agents: plan.agents() };
    const memory = plan.memory && new Memory({ options: plan.memory });
    const remembering = memory ? { memory } : {};
    const agent = new Agent({
      id: agentId,
      model,
      ...tools,
      ...agents,
      ...remembering,
      ...plan.agent,
      ...changes,
    });
    const registry = new Countersign({
      agents: { agent },
      storage,
      warn: (message) => warnings.push(message),
      ...plan.registry,
    });
    return { agent, registry, memory };
  };
  const { agent: first, registry: firstRegistry, memory: firstMemory } = openRegistry(around(stage.store));
  const another: Scene['another'] = (changes, aroundIt = around) =>
    openRegistry(aroundIt(stage.reopen()), changes).agent;
  const decider = (): Agent => (world.temperature === 'warm' ? first : another());
  const again = (): LegOptions => (world.temperature === 'cold with options' ? legOptionsOf(options) : {});
  const told = async (
    opened: { stream(): Promise<AgentStream> } & { generate(): Promise<AgentOutput> },
  ): Promise<Told> =>
    world.face === 'stream' ? readStream(await opened.stream()) : toldByOutput(await opened.generate());
  const decide = (agent: Agent, verdict: 'approve' | 'decline', given: DecisionOptions): Promise<Told> =>
    told({
      stream: () => agent[`${verdict}ToolCall`](given),
      generate: () => agent[`${verdict}ToolCallGenerate`](given),
    });

  return {
    world,
    model,
    warnings,
    store: stage.store,
    rowsWith: stage.rowsWith,
    first,
    decider,
    memory() {
      const memory = world.temperature === 'warm' ? firstMemory : openRegistry(around(stage.reopen())).memory;
      if (memory === undefined) throw new Error('The plan has no memory.');
      return memory;
    },
    turn(messages, more = {}) {
      const agent = decider();
      const given = { ...options, ...more };
      return told({
        stream: () => agent.stream(messages, given),
        generate: () => agent.generate(messages, given),
      });
    },
    another,
    memberOf: (id) =>
      (world.temperature === 'warm' ? firstRegistry : openRegistry(around(stage.reopen())).registry).getAgent(
        id,
      ),
    registry: (changes = {}) => {
      if (changes.agents === undefined) return openRegistry(around(stage.reopen())).registry;
      const warn = (message: string): void => void warnings.push(message);
      return new Countersign({ agents: {}, storage: around(stage.reopen()), warn, ...changes });
    },
    sweep: () => openRegistry(around(stage.reopen())).registry.sweep(),
    again,
    start: (more = {}, messages = 'Please do it.') =>
      told({
        stream: () => first.stream(messages, { ...options, ...more }),
        generate: () => first.generate(messages, { ...options, ...more }),
      }),
    approve: (runId, choice) => decide(decider(), 'approve', { ...again(), ...choice, runId }),
    decline: (runId, choice) => decide(decider(), 'decline', { ...again(), ...choice, runId }),
    resume(data, runId, choice) {
      const agent = decider();
      const given = { ...again(), ...choice, runId };
      return told({
        stream: () => agent.resumeStream(data, given),
        generate: () => agent.resumeGenerate(data, given),
      });
    },
    resolveCall(runId, toolCallId, resolution) {
      const agent = decider();
      const given = { ...again(), ...resolution, runId, toolCallId } as ResolveOptions;
      return told({
        stream: () => agent.resolveInterruptedCall(given),
        generate: () => agent.resolveInterruptedCallGenerate(given),
      });
    },
    send: (given) => decider().sendToolApproval({ ...again(), ...given }),
    observe: async (given) => readStream(await decider().observe(given)),
    continueRun(runId, more) {
      const agent = decider();
      const given = { ...again(), ...more, runId };
      return told({
        stream: () => agent.continueRun(given),
        generate: () => agent.continueRunGenerate(given),
      });
    },
    cancel: (given) => decider().cancelRun(given),
    list: (given) => decider().listSuspendedRuns(given),
  };
}

/** What a caller of a decision may pass of what the caller of the run passed. */
function legOptionsOf(options: RunOptions): LegOptions {
  const { maxSteps, toolCallConcurrency, maxRetries, durable, autoResumeSuspendedTools, ...more } = options;
  const { runId, memory, abortSignal, ...again } = more;
  return again;
}

/** The code of the error that a promise rejects with; fails when it does not reject. */
export async function codeOf(promise: Promise<unknown>): Promise<string> {
  return (await errorOf(promise)).code;
}

/** The CountersignError that a promise rejects with; fails when it resolves, or rejects with anything else. */
export async function errorOf(promise: Promise<unknown>): Promise<CountersignError> {
  const value = await promise.then(
    (resolved) => ({ resolved }),
    (error: unknown) => error,
  );
  const { isCountersignError } = await import('countersign');
  if (isCountersignError(value)) return value;
  if (value instanceof Error) throw value;
  throw new Error(
    `Expected a CountersignError, but it resolved: ${JSON.stringify(Object.keys(value ?? {}))}`,
  );
}
