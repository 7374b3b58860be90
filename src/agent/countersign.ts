/** `Countersign`: the registry that binds agents to one store. */
import { CountersignError } from '../core/errors.ts';
import type { Clock } from '../core/log.ts';
import type { Store } from '../core/store.ts';
import { InMemoryStore } from '../store/memory.ts';
import { Agent, bindAgent } from './agent.ts';
import type { Binding, Supply } from './types.ts';
import { openWorker, systemClock } from './worker.ts';

export interface CountersignConfig<
  Agents extends Readonly<Record<string, Agent>> = Readonly<Record<string, Agent>>,
> {
  readonly agents: Agents;
  /** Where paused runs live. Left out: in this process only. */
  readonly storage?: Store | undefined;
  /** Gives what could not be stored (secrets, hooks, model objects) to legs whose caller does not pass it. */
  readonly supply?: Supply | undefined;
  /** As on the agent, for all agents that do not say. */
  readonly whenSeveralWait?: 'latest' | 'refuse' | undefined;
  /** Where warnings go. Default: `console.warn`. */
  readonly warn?: ((message: string) => void) | undefined;
  /** For tests. */
  readonly clock?: Clock | undefined;
}

/**
 * Binds agents to a store, once. What `Mastra` is in the specification.
 * @example new Countersign({ agents: { refundAgent }, storage: new SQLiteStore({ path: 'runs.db' }) })
 * @throws `invalid-agent` when an agent is bound already, or two have one id.
 */
export class Countersign<Agents extends Readonly<Record<string, Agent>> = Readonly<Record<string, Agent>>> {
  readonly storage: Store;
  readonly #agents: Agents;

  constructor(config: CountersignConfig<Agents>) {
    const agents = Object.values(config.agents);
    this.storage = config.storage ?? new InMemoryStore();
    this.#agents = config.agents;
    const warn = config.warn ?? ((message: string): void => console.warn(`[countersign] ${message}`));
    const binding: Binding = {
      worker: openWorker(this.storage, config.clock ?? systemClock, warn),
      supply: config.supply,
      whenSeveralWait: config.whenSeveralWait,
      warnOfMemory: () => {},
    };
    const ids = new Set<string>();
    for (const agent of agents) {
      if (!(agent instanceof Agent) || ids.has(agent.id)) {
        throw new CountersignError(
          'invalid-agent',
          'The registry was given something that is no agent, or two of one id.',
          {
            expected: '{ key: new Agent({ id, … }), … } with an id each',
          },
        );
      }
      ids.add(agent.id);
    }
    for (const agent of agents) agent[bindAgent](binding);
  }

  /** An agent by its key in `agents`, or by its id. @throws `agent-not-found`. */
  getAgent(name: (keyof Agents & string) | (string & {})): Agent {
    const found = Object.hasOwn(this.#agents, name)
      ? this.#agents[name]
      : Object.values(this.#agents).find((agent) => agent.id === name);
    if (found) return found;
    throw new CountersignError('agent-not-found', `There is no agent "${name}".`, {
      expected: `one of: ${Object.keys(this.#agents).join(', ')}`,
    });
  }

  /** The agents under their keys. */
  get agents(): Agents {
    return this.#agents;
  }
}
