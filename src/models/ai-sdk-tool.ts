/** Tools of the AI SDK, wrapped once into our one shape. */
import type { Tool as SdkTool } from 'ai';
import { CountersignError } from '../core/errors.ts';
import { type JsonObject, toJson } from '../core/json.ts';
import type { ModelOutput } from '../core/message.ts';
import { validate } from '../core/schema.ts';
import { type ApprovalContext, type Tool, type ToolContext, toolOf } from '../core/tool.ts';
import { schemaFromAiSdk } from './ai-sdk-schema.ts';

type Execute = (input: unknown, options: object) => unknown;
type NeedsApproval = (input: unknown, options: object) => unknown;
type ToModelOutput = (given: { toolCallId: string; input: unknown; output: unknown }) => unknown;

/**
 * Wraps a tool of the AI SDK: `tool({ … })`, `dynamicTool({ … })`, or a tool of a provider.
 *
 * Its functions are given what the AI SDK gives them. Their `context` is our `ToolContext` (`execute`) or
 * `ApprovalContext` (`needsApproval`); for a tool with a `contextSchema` it is the entries of the request context,
 * checked against it. `onInputStart`, `onInputDelta` and `onInputAvailable` are not called.
 * @param key the key of the tool in its record: the AI SDK's name of a tool, and our `id`.
 * @throws `invalid-tool` for a key that providers refuse, or something that is no tool.
 */
export function toolFromAiSdk(key: string, tool: SdkTool): Tool {
  if (typeof tool !== 'object' || tool === null) throw noTool(key, 'an object');
  const { type = 'function', needsApproval, toModelOutput } = tool;
  if (!['function', 'dynamic', 'provider'].includes(type))
    throw noTool(key, "no type, 'dynamic' or 'provider'");
  return toolOf({
    id: key,
    description: descriptionOf(key, tool),
    inputSchema: schemaFromAiSdk(tool.inputSchema),
    outputSchema: tool.outputSchema === undefined ? undefined : schemaFromAiSdk(tool.outputSchema),
    strict: tool.strict,
    inputExamples: tool.inputExamples && toJson(tool.inputExamples, `inputExamples of tool "${key}"`),
    providerOptions:
      tool.providerOptions &&
      (toJson(tool.providerOptions, `providerOptions of tool "${key}"`) as JsonObject),
    provider:
      tool.type === 'provider'
        ? { executed: isProviderExecuted(tool), asksFirst: asksFirst(tool), tool }
        : undefined,
    requireApproval:
      typeof needsApproval === 'function'
        ? async (input: unknown, context: ApprovalContext) =>
            (await (needsApproval as NeedsApproval)(input, await approvalOptions(tool, context))) as boolean
        : needsApproval,
    toModelOutput:
      toModelOutput &&
      (async (output, call) => (await (toModelOutput as ToModelOutput)({ ...call, output })) as ModelOutput),
    execute:
      tool.execute &&
      (async (input: unknown, context: ToolContext) =>
        (tool.execute as Execute)(input, await executionOptions(tool, context))),
  });
}

function descriptionOf(key: string, { description }: SdkTool): string | undefined {
  if (typeof description !== 'function') return description;
  try {
    return (description as (options: object) => string)({ context: {} });
  } catch (cause) {
    throw new CountersignError('invalid-tool', `The description of tool "${key}" cannot be made.`, {
      toolName: key,
      expected: 'a string, or a function that needs no context: it is called once, before any run',
      cause,
    });
  }
}

function isProviderExecuted(tool: SdkTool): boolean {
  return tool.isProviderExecuted ?? tool.execute === undefined;
}

/** OpenAI's MCP tools: with 'always' the provider asks before each call, and its question becomes a held call. */
function asksFirst(tool: SdkTool): boolean {
  return (tool as { args?: { requireApproval?: unknown } }).args?.requireApproval === 'always';
}

async function executionOptions(tool: SdkTool, given: ToolContext): Promise<object> {
  const context = tool.contextSchema ? await toolContext(tool, given.requestContext.toObject()) : given;
  return {
    toolCallId: given.toolCallId,
    abortSignal: given.abortSignal,
    context,
    experimental_context: context,
    get messages() {
      return given.agent.messages;
    },
  };
}

async function approvalOptions(tool: SdkTool, given: ApprovalContext): Promise<object> {
  const context = tool.contextSchema ? await toolContext(tool, given.requestContext) : given;
  const { toolCallId, messages } = given;
  return { toolCallId, messages, context, experimental_context: context };
}

async function toolContext(tool: SdkTool, entries: Record<string, unknown>): Promise<unknown> {
  const valid = await validate(schemaFromAiSdk(tool.contextSchema), entries);
  if (valid.ok) return valid.value;
  throw new Error(`The request context does not match the tool's contextSchema: ${valid.issues.join('; ')}`);
}

function noTool(key: string, expected: string): CountersignError {
  return new CountersignError('invalid-tool', `"${key}" is no tool of the AI SDK.`, {
    toolName: key,
    expected,
  });
}
