/**
 * Owns what a turn may do with what waits in its thread (specification: auto-resume): one extra tool for each
 * suspended call, in the first model call alone. It gives data to a suspended call; it can never approve a held one.
 */

import type { Resumable, RunStarted } from '../core/event.ts';
import type { Json, JsonObject } from '../core/json.ts';
import type { Message, ModelOutput } from '../core/message.ts';
import { waitingCalls } from '../core/next.ts';
import type { NamedTool } from '../core/parts.ts';
import type { Call, Run } from '../core/state.ts';
import { type Tool, toolOf } from '../core/tool.ts';
import type { LegOptions } from './options.ts';
import type { AgentCore } from './types.ts';

/**
 * The calls that the turn may answer: suspended ones of the agent's open runs, as their tools allow it, where a
 * message of the user opens the turn.
 * @param taken the names of the tools that the turn has anyhow.
 */
export function resumableIn(
  open: readonly Run[],
  agentId: string,
  messages: readonly Message[],
  taken: Iterable<string>,
): readonly Resumable[] {
  if (messages.at(-1)?.role !== 'user') return [];
  const names = new Set(taken);
  return open
    .filter(({ started }) => started.agentId === agentId)
    .flatMap((run) => waitingCalls(run).map(({ id, call }) => ({ runId: run.started.runId, id, call })))
    .flatMap(({ runId, id, call }) => {
      const { resumeSchema, autoResume } = call.suspension ?? {};
      if (call.state !== 'suspended' || !autoResume || resumeSchema === undefined) return [];
      // What a reviewer decides is not the conversation's to answer, not even with data.
      if (call.request.approver === 'reviewer') return [];
      const name = freeName(call.toolName, names);
      return [{ name, runId, toolCallId: id, stop: call.stop, about: aboutCall(call), resumeSchema }];
    });
}

/** In characters: the names that providers take. */
const longestName = 64;

function freeName(toolName: string, taken: Set<string>): string {
  const named = (suffix: string): string =>
    `resume-${toolName}`.slice(0, longestName - suffix.length) + suffix;
  let name = named('');
  for (let number = 2; taken.has(name); number++) name = named(`-${number}`);
  taken.add(name);
  return name;
}

/** Providers refuse a description of more than 1024 characters; the prompt has the call in full. */
function aboutCall({ toolName, args, suspension }: Call): string {
  return (
    `An earlier call of "${toolName}" waits for an answer. It was called with ${shortJson(args)}. ` +
    `It asked: ${shortJson(suspension?.payload ?? null)}. ` +
    "Call this only if the user's message answers that; else leave it waiting."
  );
}

/** In characters, of what a call was given, and of what it asked. */
const longestPart = 360;

function shortJson(value: Json): string {
  const text = JSON.stringify(value);
  return text.length <= longestPart ? text : `${text.slice(0, longestPart).toWellFormed()}…`;
}

/** @param leg what its caller brought, and what the waiting run may lack. */
export function resumeTools(agent: AgentCore, started: RunStarted, leg: LegOptions): NamedTool[] {
  return (started.resumable ?? []).map((resumable) => {
    const tool = resumeTool(agent, started, leg, resumable);
    return { tool, alias: tool.id, onlyFirst: true };
  });
}

function resumeTool(agent: AgentCore, started: RunStarted, leg: LegOptions, resumable: Resumable): Tool {
  const { name, about, resumeSchema } = resumable;
  const isObject = resumeSchema.type === 'object';
  /** What the model reads of results that their own tools say in other words, by call. */
  const outputs = new Map<string, ModelOutput>();
  return toolOf({
    id: name,
    description: about,
    inputSchema: { _type: undefined, jsonSchema: isObject ? resumeSchema : asArguments(resumeSchema) },
    // A reference to the waiting call: whoever takes it over takes what became of that one.
    idempotent: true,
    async execute(input, context) {
      const data = isObject ? input : (input as { answer: unknown }).answer;
      const { messageIds, messages } = started;
      const messageId = messageIds?.at(-1) ?? `${started.runId}:${messages.length - 1}`;
      const answer = await agent.answer(resumable, data, { messageId, context, leg });
      if (answer.modelOutput) outputs.set(context.toolCallId, answer.modelOutput);
      return answer.result;
    },
    // Of others nothing is kept beside the result.
    toModelOutput: (_output, { toolCallId }) => outputs.get(toolCallId) as ModelOutput,
  });
}

/** A model's arguments are an object: what is none is put into one. References are from its root. */
function asArguments({ $schema: _draft, $defs, definitions, ...answer }: JsonObject): JsonObject {
  return {
    type: 'object',
    properties: { answer },
    required: ['answer'],
    ...($defs === undefined ? {} : { $defs }),
    ...(definitions === undefined ? {} : { definitions }),
  };
}
