/** A supervisor with sub-agents below it, to any depth, with models that read their prompts. */
import { Agent, type AgentConfig, createTool } from 'countersign';
import { z } from 'zod';
import { type ScriptedCall, type ScriptedModel, scriptedModel } from '../../src/testing/scripted-model.ts';
import { resultsIn } from './kinds.ts';
import type { Plan } from './scene.ts';

/** What was carried out, by name, in order. */
export interface TeamEffects {
  readonly executed: string[];
  /** The sub-agents' models by agent id: one for all Agent objects of that id, so that calls are counted. */
  readonly models: Map<string, ScriptedModel>;
}

export function teamEffects(): TeamEffects {
  return { executed: [], models: new Map() };
}

/** `act` is held, `look` is free, `ask` suspends itself until it is resumed with `{ answer }`. */
export function leafTools({ executed }: TeamEffects): NonNullable<AgentConfig['tools']> {
  const named = z.object({ name: z.string() });
  return {
    act: createTool({
      id: 'act',
      inputSchema: named,
      requireApproval: true,
      execute: async ({ name }) => {
        executed.push(`act ${name}`);
        return { did: name };
      },
    }),
    look: createTool({
      id: 'look',
      inputSchema: named,
      execute: async ({ name }) => {
        executed.push(`look ${name}`);
        return { saw: name };
      },
    }),
    ask: createTool({
      id: 'ask',
      inputSchema: named,
      suspendSchema: z.object({ question: z.string() }),
      resumeSchema: z.object({ answer: z.string() }),
      execute: async ({ name }, { agent }) => {
        if (agent.resumeData === undefined) return agent.suspend({ question: `${name}?` });
        executed.push(`ask ${name} ${agent.resumeData.answer}`);
        return { answered: agent.resumeData.answer };
      },
    }),
  };
}

export const call = (toolName: string, name: string, toolCallId = `${toolName}-${name}`): ScriptedCall => ({
  toolName,
  args: { name },
  toolCallId,
});

export const delegate = (key: string, prompt = 'Go on.', toolCallId = `to-${key}`): ScriptedCall => ({
  toolName: `agent-${key}`,
  args: { prompt },
  toolCallId,
});

/** A model that asks for these calls, then, with their results, for the next ones, and in the end says so. */
export function asksFor(says: string, ...steps: readonly (readonly ScriptedCall[])[]): ScriptedModel {
  return scriptedModel((prompt) => {
    let left = Object.keys(resultsIn(prompt)).length;
    for (const calls of steps) {
      if (left < calls.length) return { text: `${says} begins. `, calls };
      left -= calls.length;
    }
    return `${says} is done.`;
  });
}

export interface Member {
  readonly calls: readonly ScriptedCall[];
  /** What it asks for when it has the results of the first calls. */
  readonly later?: readonly ScriptedCall[] | undefined;
  readonly agents?: Readonly<Record<string, Member>> | undefined;
  readonly config?: Partial<AgentConfig> | undefined;
}

/** New Agent objects for the members, as another process would make them. */
export function membersOf(
  effects: TeamEffects,
  members: Readonly<Record<string, Member>>,
): Record<string, Agent> {
  const made = Object.entries(members).map(([key, member]): [string, Agent] => {
    const { calls, later = [], agents = {}, config } = member;
    const model = effects.models.get(key) ?? asksFor(key, calls, later);
    effects.models.set(key, model);
    const below = membersOf(effects, agents);
    return [key, new Agent({ id: key, model, tools: leafTools(effects), agents: below, ...config })];
  });
  return Object.fromEntries(made);
}

/** Depth 1 is a sub-agent of the supervisor that asks for these calls itself. */
export function chain(depth: number, calls: readonly ScriptedCall[]): Record<string, Member> {
  const key = `level${depth}`;
  let member: Record<string, Member> = { [key]: { calls } };
  for (let level = depth - 1; level >= 1; level--) {
    member = { [`level${level}`]: { calls: [delegate(`level${level + 1}`)], agents: member } };
  }
  return member;
}

/** A supervisor that asks once for these calls, with these members below it, and has the same tools. */
export function teamPlan(
  calls: readonly ScriptedCall[],
  members: Readonly<Record<string, Member>>,
  more: Partial<Plan> = {},
): { effects: TeamEffects; plan: Plan; model: ScriptedModel } {
  const effects = teamEffects();
  const model = asksFor('supervisor', calls);
  const agents = () => membersOf(effects, members);
  return { effects, plan: { script: model, tools: leafTools(effects), agents, ...more }, model };
}

/** The model of a member, by its agent's id. */
export function modelOf({ models }: TeamEffects, agentId: string): ScriptedModel {
  const model = models.get(agentId);
  if (model === undefined) throw new Error(`There is no member "${agentId}".`);
  return model;
}
