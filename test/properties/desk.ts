/** Two workers on one store, with real agents whose model and tools wait until the schedule lets them go on. */
import { storeAround } from 'countersign/testing';
import { type Event, eventFrom } from '../../src/core/event.ts';
import { fold } from '../../src/core/run.ts';
import type { Run } from '../../src/core/state.ts';
import type { Batch, Store, Written } from '../../src/core/store.ts';
import { schemaOf, turn } from '../../src/core/test-support/parts.ts';
import { Agent, type Clock, Countersign, createTool } from '../../src/index.ts';
import type { AgentStream } from '../../src/stream/output.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import type { Plan, PlannedCall } from './plan.ts';

export const runId = 'run-1';

export interface Desk {
  readonly agents: readonly [Agent, Agent];
  readonly store: Store;
  /** What is stored of the run, in order, also after it was removed. */
  readonly recorded: Event[];
  /** How often each call was entered, and how often it had its effect. */
  readonly entered: Map<string, number>;
  readonly effects: Map<string, number>;
  /** Models and tools that wait to be let go on. */
  readonly doors: (() => void)[];
  /** Legs that have not come to their end. */
  readonly openLegs: Set<AgentStream>;
  /** Why a model call was answered with an error. */
  readonly broken: string[];
}

const clock: Clock = { now: Date.now, sleep: turn };

export function openDesk(plan: Plan, failures: ReadonlySet<number>, inner: Store): Desk {
  const recorded: Event[] = [];
  const store = recording(inner, recorded);
  const entered = new Map<string, number>();
  const effects = new Map<string, number>();
  const suspensions = new Map<string, number>();
  const tried = new Set<number>();
  const doors: (() => void)[] = [];
  const broken: string[] = [];
  const door = (): Promise<void> => new Promise((open) => doors.push(open));

  const script = async (prompt: readonly { role: string }[]) => {
    const step = prompt.filter(({ role }) => role === 'assistant').length;
    await door();
    const fails = failures.has(step) && !tried.has(step);
    tried.add(step);
    if (fails) return { text: 'Half an ', error: new Error('planned failure') };
    const calls = (plan.steps[step] ?? []).map(({ gate }, position) => ({
      toolName: gate === 'refused' ? 'nothing' : gate,
      args: { key: `${step}-${position}` },
      toolCallId: `${step}-${position}`,
    }));
    return calls.length > 0 ? { text: `Step ${step}.`, calls } : { text: 'Done.' };
  };

  const work = async (input: unknown, { agent }: { agent: { suspend(payload: never): Promise<void> } }) => {
    const { key } = input as { key: string };
    add(entered, key);
    await door();
    const [step, position] = key.split('-').map(Number) as [number, number];
    const { starts } = (plan.steps[step] ?? [])[position] as PlannedCall;
    const ending = starts[suspensions.get(key) ?? 0];
    if (ending === 'suspend') {
      add(suspensions, key);
      await agent.suspend({ question: key } as never);
      return undefined as never;
    }
    add(effects, key);
    if (ending === 'fail') throw new Error('planned failure');
    return { did: key } as never;
  };

  const openAgent = (): Agent => {
    const tools = {
      free: createTool({ id: 'free', inputSchema: schemaOf(), execute: work }),
      held: createTool({ id: 'held', inputSchema: schemaOf(), requireApproval: true, execute: work }),
    };
    const model = scriptedModel(async (prompt) => script(prompt));
    const watched = {
      ...model,
      doStream: async (call: never) => {
        try {
          return await model.doStream(call);
        } catch (thrown) {
          broken.push(String(thrown));
          throw thrown;
        }
      },
    };
    const agent = new Agent({ id: 'desk', model: watched, tools });
    new Countersign({ agents: { agent }, storage: store, clock, warn: () => {} });
    return agent;
  };

  return {
    agents: [openAgent(), openAgent()],
    store,
    recorded,
    entered,
    effects,
    doors,
    openLegs: new Set(),
    broken,
  };
}

function add(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

export function followLeg({ openLegs }: Desk, leg: AgentStream): void {
  openLegs.add(leg);
  void leg.consumeStream().then(() => openLegs.delete(leg));
}

/** The state as it is stored. */
export function stateOf({ recorded }: Desk): Run | undefined {
  return fold(recorded);
}

function recording(inner: Store, recorded: Event[]): Store {
  const keep = async (batch: Batch, written: Promise<Written>): Promise<Written> => {
    const answer = await written;
    if (answer.ok) recorded.push(...batch.events.map(eventFrom));
    return answer;
  };
  return storeAround(inner, {
    persistent: true,
    create: (batch) => keep(batch, inner.create(batch)),
    append: (batch) => keep(batch, inner.append(batch)),
    remove: (batch, outcome, at) => keep(batch, inner.remove(batch, outcome, at)),
  });
}
