/** What the server tells of an agent: enough to show it and what it holds, nothing of its instructions. */
import type { Agent } from '../agent/agent.ts';
import { namedTools } from '../agent/tools.ts';
import { subAgent } from '../agent/types.ts';

export interface HeldTool {
  readonly toolName: string;
  /** `depends`: on the arguments of the call. */
  readonly held: 'always' | 'depends';
  readonly approver: 'owner' | 'reviewer';
}

/** Tools that are held by themselves, or because the agent holds everything; none for tools chosen per request. */
export function heldTools({ [subAgent]: core }: Agent): HeldTool[] {
  const { tools = {} } = core.config;
  const { requireToolApproval, toolsets } = core.defaultOptions;
  const named = namedTools(typeof tools === 'function' ? {} : tools, core, toolsets);
  return [...named.values()].flatMap(({ tool: { id, requireApproval, approver = 'owner' } }) => {
    const always = requireToolApproval === true || requireApproval === true;
    const depends = typeof requireApproval === 'function' || typeof requireToolApproval === 'function';
    return always || depends ? [{ toolName: id, held: always ? 'always' : 'depends', approver }] : [];
  });
}

export interface AgentCard {
  readonly id: string;
  readonly name: string;
  readonly description: string | undefined;
  readonly tools: Readonly<Record<string, CardTool>>;
}

export interface CardTool {
  readonly id: string;
  readonly description: string | undefined;
  readonly held: HeldTool['held'] | 'never';
  readonly approver: HeldTool['approver'] | undefined;
}

export function agentCard(agent: Agent): AgentCard {
  const { id, name, description, [subAgent]: core } = agent;
  const { tools = {} } = core.config;
  const held = new Map(heldTools(agent).map((tool) => [tool.toolName, tool]));
  const named = namedTools(typeof tools === 'function' ? {} : tools, core, core.defaultOptions.toolsets);
  const shown = [...named.values()].map(({ tool }) => {
    const { held: when = 'never', approver } = held.get(tool.id) ?? {};
    return [tool.id, { id: tool.id, description: tool.description, held: when, approver }];
  });
  return { id, name, description, tools: Object.fromEntries(shown) };
}
