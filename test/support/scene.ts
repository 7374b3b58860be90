/** One scenario's stage: a store, the agents that act on it, the model that they share, and verbs in both faces. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
  InMemoryStore,
  type LegOptions,
  type ListOptions,
  type MessagesInput,
  type RunOptions,
  type Store,
  type SuspendedRuns,
} from 'countersign';
import { SQLiteStore } from 'countersign/sqlite';
import { onTestFinished } from 'vitest';
import { type Script, type ScriptedModel, scriptedModel } from '../../src/testing/scripted-model.ts';
import { readStream, type Told, toldByOutput } from './told.ts';
import type { World } from './world.ts';

export interface Plan {
  readonly script: Script | ScriptedModel;
  readonly tools?: AgentConfig['tools'];
  /** Of the run; in the world 'cold with options' they are passed again with each decision. */
  readonly options?: RunOptions | undefined;
  readonly agent?: Partial<AgentConfig> | undefined;
  readonly registry?: Partial<Omit<CountersignConfig, 'agents' | 'storage'>> | undefined;
  /** Puts something around the store of each registry. */
  readonly around?: ((store: Store) => Store) | undefined;
}

export type Choice = Omit<DecisionOptions, 'runId'>;

export interface Scene {
  readonly world: World;
  readonly model: ScriptedModel;
  readonly warnings: string[];
  /** The store of the first registry, without what `around` put there. */
  readonly store: Store;
  /** The file of a SQLite store. */
  readonly file: string | undefined;
  /** The agent that begins runs. */
  readonly first: Agent;
  /** Who decides now: the first agent when warm, else a new one on the same store, as after a restart. */
  decider(): Agent;
  /** An agent in a registry of its own on the same store, other than planned where `changes` say so. */
  another(changes?: Partial<AgentConfig>): Agent;
  /** What `options` are passed again with a decision in this world. */
  again(): LegOptions;
  start(options?: RunOptions, messages?: MessagesInput): Promise<Told>;
  approve(runId: string, choice?: Choice): Promise<Told>;
  decline(runId: string, choice?: Choice): Promise<Told>;
  resume(data: unknown, runId: string, choice?: Choice): Promise<Told>;
  continueRun(runId: string, options?: LegOptions): Promise<Told>;
  cancel(options: CancelOptions): Promise<{ runId: string; status: string }>;
  list(options?: ListOptions): Promise<SuspendedRuns>;
}

export const agentId = 'desk';

export function openScene(world: World, plan: Plan): Scene {
  const { script, options = {}, around = (store) => store } = plan;
  const model: ScriptedModel =
    typeof script === 'object' && 'doStream' in script ? script : scriptedModel(script);
  const warnings: string[] = [];
  const stage = stageOf(world);
  const another = (changes: Partial<AgentConfig> = {}, storage = around(stage.reopen())): Agent => {
    const tools = plan.tools === undefined ? {} : { tools: plan.tools };
    const agent = new Agent({ id: agentId, model, ...tools, ...plan.agent, ...changes });
    new Countersign({
      agents: { agent },
      storage,
      warn: (message) => warnings.push(message),
      ...plan.registry,
    });
    return agent;
  };
  const first = another({}, around(stage.store));
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
    file: stage.file,
    first,
    decider,
    another: (changes) => another(changes),
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
  const { maxSteps, toolCallConcurrency, maxRetries, runId, memory, abortSignal, ...again } = options;
  return again;
}

interface Stage {
  readonly store: Store;
  readonly file: string | undefined;
  /** The store as another process would open it. In memory there is only the one. */
  reopen(): Store;
}

function stageOf(world: World): Stage {
  if (world.store === 'memory') {
    const store = new InMemoryStore();
    return { store, file: undefined, reopen: () => store };
  }
  const file = temporaryFile();
  return { store: openSqliteFile(file), file, reopen: () => openSqliteFile(file) };
}

/** Where files live in memory, if the machine has such a place: what is tested here is not the disk. */
const quickFolder = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

/** A path for a SQLite file in a folder of its own, removed after the test. */
export function temporaryFile(): string {
  const folder = mkdtempSync(join(quickFolder, 'countersign-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'runs.db');
}

/** A handle that is closed after the test. */
export function openSqliteFile(path: string): Store {
  const store = new SQLiteStore({ path });
  onTestFinished(() => store.close());
  return store;
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
