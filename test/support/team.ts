/** A supervisor with sub-agents below it, to any depth, with models that read their prompts. */
import { Agent, type AgentConfig, createTool } from 'countersign';
import { z } from 'zod';
import { type ScriptedCall, type ScriptedModel, scriptedModel } from '../../src/testing/scripted-model.ts';
import { resultsIn } from './kinds.ts';

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

/** A model that asks for these calls once, and when it has their results says them. */
export function asksOnce(calls: readonly ScriptedCall[], says: string): ScriptedModel {
  return scriptedModel((prompt) => {
    const results = Object.values(resultsIn(prompt));
    return results.length < calls.length ? { text: `${says} begins. `, calls } : `${says} is done.`;
  });
}

export interface Member {
  readonly calls: readonly ScriptedCall[];
  readonly agents?: Readonly<Record<string, Member>> | undefined;
  readonly config?: Partial<AgentConfig> | undefined;
}

/** New Agent objects for the members, as another process would make them. */
export function membersOf(
  effects: TeamEffects,
  members: Readonly<Record<string, Member>>,
): Record<string, Agent> {
  const made = Object.entries(members).map(([key, { calls, agents = {}, config }]): [string, Agent] => {
    const model = effects.models.get(key) ?? asksOnce(calls, key);
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
