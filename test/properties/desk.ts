/** Two workers on one store, with real agents whose model and tools wait until the schedule lets them go on. */
import { storeAround } from 'countersign/testing';
import { type Event, eventFrom } from '../../src/core/event.ts';
import { fold } from '../../src/core/run.ts';
import type { Run } from '../../src/core/state.ts';
import type { Batch, Store, Written } from '../../src/core/store.ts';
import { schemaOf, turn } from '../../src/core/test-support/parts.ts';
import { Agent, type Clock, Countersign, createTool, type RunOptions } from '../../src/index.ts';
import type { PromptV4 } from '../../src/models/ai-sdk-types.ts';
import type { AgentStream } from '../../src/stream/output.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { type Plan, type PlannedCall, plannedBelow, plannedCallOf } from './plan.ts';

export const runId = 'run-1';

export interface Desk {
  readonly agents: readonly [Agent, Agent];
  /** Their sub-agents, by id. */
  readonly members: readonly Readonly<Record<string, Agent>>[];
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
  const tried = new Set<string>();
  const doors: (() => void)[] = [];
  const broken: string[] = [];
  const door = (): Promise<void> => new Promise((open) => doors.push(open));

  /** @param above what the ids of the calls have before them at the top. */
  const script = async (prompt: readonly { role: string }[], above: string) => {
    const step = prompt.filter(({ role }) => role === 'assistant').length;
    await door();
    const fails = failures.has(step) && !tried.has(`${above}${step}`);
    tried.add(`${above}${step}`);
    if (fails) return { text: 'Half an ', error: new Error('planned failure') };
    const planned = plannedBelow(plan, above.split('~').slice(0, -1))[step] ?? [];
    const calls = planned.map(({ gate, below }, position) => {
      const toolCallId = `${step}-${position}`;
      const key = above + toolCallId;
      if (below) {
        const toolName = gate === 'held' ? 'agent-asked' : 'agent-below';
        return { toolName, args: { prompt: `${key}~` }, toolCallId };
      }
      return { toolName: gate === 'refused' ? 'nothing' : gate, args: { key }, toolCallId };
    });
    return calls.length > 0 ? { text: `Step ${step}.`, calls } : { text: 'Done.' };
  };

  const work = async (input: unknown, { agent }: { agent: { suspend(payload: never): Promise<void> } }) => {
    const { key } = input as { key: string };
    add(entered, key);
    await door();
    const ids = key.split('~');
    const id = ids.pop() as string;
    const { starts } = plannedCallOf(plannedBelow(plan, ids), id) as PlannedCall;
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

  const openAgents = (): Record<string, Agent> => {
    const tools = {
      free: createTool({ id: 'free', inputSchema: schemaOf(), execute: work }),
      held: createTool({ id: 'held', inputSchema: schemaOf(), requireApproval: true, execute: work }),
    };
    const modelWith = (aboveIn: (prompt: PromptV4) => string) => {
      const model = scriptedModel(async (prompt) => script(prompt, aboveIn(prompt)));
      return {
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
    };
    const below = modelWith(firstText);
    // A delegation by the key `asked` waits for an approval.
    const defaultOptions: RunOptions = { requireToolApproval: ({ toolName }) => toolName === 'asked' };
    const deep = new Agent({ id: 'deep', model: below, tools, defaultOptions: { maxRetries: 0 } });
    const middle = new Agent({
      id: 'middle',
      model: below,
      tools,
      agents: { below: deep, asked: deep },
      defaultOptions: { ...defaultOptions, maxRetries: 0 },
    });
    const agents = { below: middle, asked: middle };
    const desk = new Agent({ id: 'desk', model: modelWith(() => ''), tools, agents, defaultOptions });
    new Countersign({ agents: { desk }, storage: store, clock, warn: () => {} });
    return { desk, middle, deep };
  };

  const members = [openAgents(), openAgents()];
  return {
    agents: members.map(({ desk }) => desk) as [Agent, Agent],
    members,
    store,
    recorded,
    entered,
    effects,
    doors,
    openLegs: new Set(),
    broken,
  };
}

/** What the user said first. */
function firstText(prompt: PromptV4): string {
  const message = prompt.find(({ role }) => role === 'user');
  const part = message?.role === 'user' ? message.content[0] : undefined;
  return part?.type === 'text' ? part.text : '';
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
