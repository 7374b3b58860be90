/** `Countersign`: the registry that binds agents to one store. */

import { childIdOf, firstIdOf } from '../core/below.ts';
import { CountersignError, isCountersignError } from '../core/errors.ts';
import type { Clock } from '../core/log.ts';
import type { Limits } from '../core/parts.ts';
import type { DecisionPage, Store } from '../core/store.ts';
import type { HeartbeatOptions } from '../engine/heartbeat.ts';
import { type Sweep, type SweepPorts, startSweep, sweepOnce } from '../engine/sweep.ts';
import { InMemoryStore } from '../store/memory.ts';
import { Agent, bindAgent, decideOnAgent, recoverAgentRun } from './agent.ts';
import { type DecisionListOptions, listDecisions } from './decisions.ts';
import { checkKeys, type KeysOf } from './known-keys.ts';
import type { TelemetryOptions } from './opentelemetry.ts';
import { refuseOption } from './refuse-option.ts';
import {
  type AcceptedDecision,
  checkVerdict,
  type DecideOptions,
  decideWithoutAgent,
} from './remote-decision.ts';
import { checkTelemetry } from './telemetry.ts';
import { type Binding, type Supply, subAgent } from './types.ts';
import { openWorker, systemClock, type Worker } from './worker.ts';

type Agents = Readonly<Record<string, Agent>>;

/** Lets a server reach what acts on all runs of the store. */
export const registryInside: unique symbol = Symbol('countersign.registry');

export interface RegistryInside {
  readonly worker: Worker;
  /** The agents and all below them. */
  readonly byId: ReadonlyMap<string, Agent>;
  readonly telemetry: TelemetryOptions | undefined;
}

export interface CountersignConfig<Named extends Agents = Agents> {
  readonly agents: Named;
  /** Where paused runs live. Left out: in this process only. */
  readonly storage?: Store | undefined;
  /** Gives what could not be stored (secrets, hooks, model objects) to legs whose caller does not pass it. */
  readonly supply?: Supply | undefined;
  /** As on the agent, for all agents that do not say. */
  readonly whenSeveralWait?: 'latest' | 'refuse' | undefined;
  /** When this process counts as dead, and how often it says that it is not. The same in every process. */
  readonly heartbeat?: HeartbeatOptions | undefined;
  /** Milliseconds between the sweeps of `start()`. Default 5,000. */
  readonly sweepEvery?: number | undefined;
  /** How large arguments, payloads and results may be. Default 4 Mi characters of JSON each. */
  readonly limits?: Partial<Limits> | undefined;
  /** Tells OpenTelemetry of the runs of all agents. Left out, nobody is told. */
  readonly telemetry?: TelemetryOptions | undefined;
  /** Is given the promise of each drive, for platforms that freeze a process when its response is sent. */
  readonly waitUntil?: ((work: Promise<void>) => void) | undefined;
  /** Where warnings go. Default: `console.warn`. */
  readonly warn?: ((message: string) => void) | undefined;
  /** For tests. */
  readonly clock?: Clock | undefined;
}

const registryKeys = {
  agents: true,
  storage: true,
  supply: true,
  whenSeveralWait: true,
  heartbeat: true,
  sweepEvery: true,
  limits: true,
  telemetry: true,
  waitUntil: true,
  warn: true,
  clock: true,
} as const satisfies KeysOf<CountersignConfig>;

/** Runs that one sweep takes at most: if this process dies, a person is asked about each call that it had begun. */
const sweptAtOnce = 25;
const lookedAtAtOnce = 1000;

/**
 * Binds agents to a store, once. What `Mastra` is in the specification.
 * @example new Countersign({ agents: { refundAgent }, storage: new SQLiteStore({ path: 'runs.db' }) })
 * @throws `invalid-agent` when an agent is bound already, or two have one id.
 */
export class Countersign<Named extends Agents = Agents> {
  readonly storage: Store;
  readonly #agents: Named;
  /** The agents and all below them. */
  readonly #byId = new Map<string, Agent>();
  readonly #worker: Worker;
  readonly #sweepEvery: number;
  #sweep: Sweep | undefined;
  /** @internal */
  readonly [registryInside]: RegistryInside;

  constructor(config: CountersignConfig<Named>) {
    checkKeys(config, registryKeys, 'Countersign');
    const agents = Object.values(config.agents);
    this.storage = config.storage ?? new InMemoryStore();
    this.#agents = config.agents;
    this.#sweepEvery = config.sweepEvery ?? 5000;
    if (!(Number.isFinite(this.#sweepEvery) && this.#sweepEvery >= 1)) {
      refuseOption('sweepEvery', 'milliseconds, from 1');
    }
    if (config.telemetry !== undefined) checkTelemetry(config.telemetry);
    const warn = config.warn ?? ((message: string): void => console.warn(`[countersign] ${message}`));
    this.#worker = openWorker(this.storage, config.clock ?? systemClock, warn, config.heartbeat);
    const binding: Binding = {
      worker: this.#worker,
      supply: config.supply,
      whenSeveralWait: config.whenSeveralWait,
      limits: config.limits,
      telemetry: config.telemetry,
      waitUntil: config.waitUntil,
      agentOf: (id) => this.#byId.get(id)?.[subAgent],
      warnOfMemory: () => {},
    };
    this[registryInside] = {
      worker: this.#worker,
      byId: this.#byId,
      telemetry: config.telemetry,
    };
    for (const agent of agents) this.#collect(agent);
    for (const agent of this.#byId.values()) agent[bindAgent](binding);
  }

  /** The agent and, whatever its depth, each below it. */
  #collect(agent: unknown): void {
    if (!(agent instanceof Agent) || (this.#byId.get(agent.id) ?? agent) !== agent) {
      throw new CountersignError(
        'invalid-agent',
        'The registry was given something that is no agent, or two of one id.',
        { expected: '{ key: new Agent({ id, … }), … } with an id each, sub-agents too' },
      );
    }
    if (this.#byId.has(agent.id)) return;
    this.#byId.set(agent.id, agent);
    const { agents = {} } = agent[subAgent].config;
    if (typeof agents !== 'function') for (const below of Object.values(agents)) this.#collect(below);
  }

  /** An agent by its key in `agents`, or one of them or below them by its id. @throws `agent-not-found`. */
  getAgent(name: (keyof Named & string) | (string & {})): Agent {
    const found = Object.hasOwn(this.#agents, name) ? this.#agents[name] : this.#byId.get(name);
    if (found) return found;
    throw new CountersignError('agent-not-found', `There is no agent "${name}".`, {
      expected: `one of: ${Object.keys(this.#agents).join(', ')}`,
    });
  }

  /** The agents under their keys. */
  get agents(): Named {
    return this.#agents;
  }

  /**
   * Takes over, now and from time to time, what other processes left: runs whose worker died, and decisions taken
   * where the agent's code is not. Keeps the process alive until `stop()`. What dead workers left is also taken over
   * whenever a run is touched.
   */
  start(): void {
    this.#sweep ??= startSweep(this.#sweepPorts(), this.#sweepEvery);
  }

  /** Sweeps once, for platforms without a background: resolves when what was found is under way. */
  async sweep(): Promise<void> {
    await sweepOnce(this.#sweepPorts());
  }

  /** Ends the sweeps, and resolves when what goes on in the background here has come to rest. */
  async stop(): Promise<void> {
    await this.#sweep?.stop();
    this.#sweep = undefined;
    await this.#worker.idle();
    await this.#worker.retire();
  }

  /**
   * Approves or declines a call whose agent this registry may not have. Resolves when the decision is stored.
   * `driven` says whether the run goes on here; where it does not, a process with the agent's code takes it.
   */
  async decideToolCall(options: DecideOptions): Promise<AcceptedDecision> {
    checkVerdict(options);
    const found = await this.#worker.acquire(firstIdOf(options.runId));
    const agentId = found?.kind === 'lease' ? found.log.run.started.agentId : found?.agentId;
    try {
      const agent = agentId === undefined ? undefined : this.#byId.get(agentId);
      if (agent === undefined) {
        const { worker, telemetry } = this[registryInside];
        return await decideWithoutAgent(worker, options, telemetry?.opentelemetry);
      }
      await agent[decideOnAgent](atRoot(options));
      return { accepted: true, runId: options.runId, toolCallId: options.toolCallId, driven: true };
    } finally {
      if (found?.kind === 'lease') found.release();
    }
  }

  /**
   * The record of decisions, of runs that are open or ended, newest first: who, when, what, why, through which door, and
   * what came of it. Ids and tool names of more than 500 characters cannot be filtered by.
   * @throws `invalid-option`.
   */
  listDecisions(options?: DecisionListOptions): Promise<DecisionPage> {
    return listDecisions(this.#worker.store, options);
  }

  #sweepPorts(): SweepPorts {
    const agentIds = [...this.#byId.keys()];
    return {
      clock: this.#worker.clock,
      // In another order each time: runs that cannot be moved now must not hide the others for good.
      abandoned: async () => {
        const found = await this.#worker.store.workers.abandoned(
          this.#worker.lease,
          lookedAtAtOnce,
          agentIds,
        );
        return found
          .map((run) => ({ run, place: Math.random() }))
          .sort((one, other) => one.place - other.place)
          .slice(0, sweptAtOnce)
          .map(({ run }) => run);
      },
      take: async ({ runId, agentId }) => {
        try {
          await this.#byId.get(agentId)?.[recoverAgentRun](runId);
        } catch (error) {
          // Somebody else was faster.
          if (!isCountersignError(error, 'run-ended') && !isCountersignError(error, 'run-not-found'))
            throw error;
        }
      },
      warn: this.#worker.warn,
    };
  }
}

/** The same call as seen from the root: the agent of a run below may be bound to no registry. */
function atRoot(options: DecideOptions): DecideOptions {
  const runId = firstIdOf(options.runId);
  return {
    ...options,
    runId,
    toolCallId: childIdOf(options.runId, options.toolCallId).slice(runId.length + 1),
  };
}
