/** Executes the examples of the specification on each sort of store, with their code as it stands on the page. */
import {
  type Agent,
  type AgentConfig,
  Agent as BareAgent,
  Countersign,
  type MessagesInput,
  type RunOptions,
  type Schema,
  type Store,
} from 'countersign';
import { expect, test } from 'vitest';
import { prepareStages, type Stage } from '../support/stages.ts';
import type { ExampleName } from './examples.ts';

/** The class that an example imports. */
export type AgentClass = typeof BareAgent;

/** Where an example is executed. */
export interface Kit {
  /** In memory its agents are in no registry, as on the page. On a database they are in one. */
  readonly Agent: AgentClass;
  /** Puts agents into a registry with a handle of its own, as another process has them, until it exits. */
  openProcess(agents: readonly Agent[]): { exit(): Promise<void> };
}

const stores = [
  { name: 'memory', where: 'in memory' },
  { name: 'sqlite', where: 'in a SQLite file' },
  { name: 'postgres', where: 'in PostgreSQL' },
] as const;

/** A test that executes these examples on each store, and after which nothing may be left there. */
export function onEachStore(
  examples: ExampleName | readonly ExampleName[],
  what: string,
  body: (kit: Kit) => Promise<void>,
): void {
  test.for(stores)(`${[examples].flat().join(', ')}: ${what}, $where`, async ({ name }) => {
    const openStage = await prepareStages(name);
    const agents = new Set<Agent>();
    await body(name === 'memory' ? bareKit(openStage(), agents) : registeredKit(openStage(), agents));
    expect(agents.size, 'agents that were used on this store').toBeGreaterThan(0);
    for (const agent of agents) {
      const { runs } = await agent.listSuspendedRuns({ status: 'all' });
      expect(runs, `what is left of ${agent.id}`).toEqual([]);
    }
  });
}

function bareKit(stage: Stage, agents: Set<Agent>): Kit {
  return {
    Agent: collected((made) => addTo(agents, made)),
    openProcess(made) {
      register(made, stage.reopen());
      addTo(agents, made);
      // The store is this process's own, and goes on.
      return { exit: async () => {} };
    },
  };
}

function registeredKit(stage: Stage, agents: Set<Agent>): Kit {
  const openProcess: Kit['openProcess'] = (made) => {
    const storage = stage.reopen();
    register(made, storage);
    addTo(agents, made);
    return {
      async exit() {
        for (const agent of made) agents.delete(agent);
        await storage.close();
      },
    };
  };
  return { Agent: inConversation(collected(openProcess)), openProcess };
}

function register(agents: readonly Agent[], storage: Store): void {
  new Countersign({ agents: Object.fromEntries(agents.entries()), storage });
}

function addTo(agents: Set<Agent>, made: readonly Agent[]): void {
  for (const agent of made) agents.add(agent);
}

/**
 * Agents that are given to `take` when one of them begins its first run, all that were made up to then: a registry
 * takes a supervisor together with those below it.
 */
function collected(take: (made: readonly Agent[]) => void): AgentClass {
  let made: Agent[] = [];
  function takeAll(): void {
    const taken = made;
    made = [];
    if (taken.length > 0) take(taken);
  }
  return class extends BareAgent {
    constructor(config: AgentConfig) {
      super(config);
      made.push(this);
    }

    override stream<Output extends Schema = never>(messages: MessagesInput, options?: RunOptions<Output>) {
      takeAll();
      return super.stream(messages, options);
    }

    override generate<Output extends Schema = never>(messages: MessagesInput, options?: RunOptions<Output>) {
      takeAll();
      return super.generate(messages, options);
    }
  };
}

/** Agents that have the conversation which a registry demands of those with a memory. */
function inConversation(Base: AgentClass): AgentClass {
  const memory = { thread: 'thread-1', resource: 'user-1' };
  return class extends Base {
    constructor(config: AgentConfig) {
      super(config.memory ? { ...config, defaultOptions: { memory, ...config.defaultOptions } } : config);
    }
  };
}
