/** The tools of a leg: the agent's, and those of the toolsets that its caller or the agent's defaults give. */
import type { Tool as AiSdkTool } from 'ai';
import { CountersignError } from '../core/errors.ts';
import type { NamedTool } from '../core/parts.ts';
import { isTool, type Tool } from '../core/tool.ts';
import { toolFromAiSdk } from '../models/ai-sdk-tool.ts';

/**
 * Tools under keys of your own. A tool's name is its `id`; an AI SDK tool takes its key. What a function leaves
 * `undefined` is not offered; in a plain record it is an error.
 */
export type ToolsInput = Readonly<Record<string, Tool | AiSdkTool | undefined>>;

/** Groups of tools under names of your own, for instance one for each MCP server. */
export type ToolsetsInput = Readonly<Record<string, ToolsInput>>;

/**
 * The tools by id, AI SDK tools wrapped once.
 * @throws `invalid-tool` for something that is none, and for two of one name.
 */
export function namedTools(
  tools: ToolsInput,
  agent: { readonly id: string },
  toolsets: ToolsetsInput = {},
): Map<string, NamedTool> {
  const named = new Map<string, NamedTool>();
  const origins = new Map<string, string>();
  const take = (group: ToolsInput, origin: string): void => {
    for (const [alias, given] of Object.entries(group)) {
      const tool = isTool(given) ? given : toolFromAiSdk(alias, given as AiSdkTool);
      const other = origins.get(tool.id);
      if (other !== undefined) throw twoOfOneName(tool.id, agent.id, [other, origin]);
      origins.set(tool.id, origin);
      named.set(tool.id, { tool, alias });
    }
  };
  take(tools, 'the agent itself');
  for (const [name, group] of Object.entries(toolsets)) take(group, `the toolset "${name}"`);
  return named;
}

/** The error of two tools of one name. @param origins where they come from. */
export function twoOfOneName(
  toolName: string,
  agentId: string,
  origins: readonly string[],
): CountersignError {
  const where = [...new Set(origins)].join(' and ');
  return new CountersignError(
    'invalid-tool',
    `Two tools of agent "${agentId}" are called "${toolName}" (in ${where}).`,
    { agentId, toolName, expected: 'an id that no other tool of the agent or of a toolset has' },
  );
}

export function isToolsets(value: unknown): value is ToolsetsInput {
  return isRecord(value) && Object.values(value).every(isRecord);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isTool(value);
}
