/**
 * Owns what a turn may do with what waits in its thread (specification: auto-resume): one extra tool for each
 * suspended call, in the first model call alone. It gives data to a suspended call; it can never approve a held one.
 */

import type { Resumable, RunStarted } from '../core/event.ts';
import type { JsonObject } from '../core/json.ts';
import type { Message } from '../core/message.ts';
import { waitingCalls } from '../core/next.ts';
import type { NamedTool } from '../core/parts.ts';
import type { Run } from '../core/state.ts';
import { toolOf } from '../core/tool.ts';
import type { LegOptions } from './options.ts';
import type { AgentCore } from './types.ts';

/**
 * The calls that the turn may answer: suspended ones of the agent's open runs, as their tools allow it, where a
 * message of the user opens the turn.
 */
export function resumableIn(
  open: readonly Run[],
  agentId: string,
  messages: readonly Message[],
): readonly Resumable[] {
  if (messages.at(-1)?.role !== 'user') return [];
  const names = new Set<string>();
  return open
    .filter(({ started }) => started.agentId === agentId)
    .flatMap((run) => waitingCalls(run).map(({ id, call }) => ({ runId: run.started.runId, id, call })))
    .flatMap(({ runId, id, call: { state, suspension, toolName, stop } }) => {
      const { resumeSchema, payload = null, autoResume } = suspension ?? {};
      if (state !== 'suspended' || !autoResume || resumeSchema === undefined) return [];
      const name = freeName(toolName, names);
      return [{ name, runId, toolCallId: id, stop, toolName, payload, resumeSchema }];
    });
}

function freeName(toolName: string, taken: Set<string>): string {
  const base = `resume-${toolName}`;
  let name = base.slice(0, 64);
  for (let number = 2; taken.has(name); number++) name = `${base.slice(0, 60)}-${number}`;
  taken.add(name);
  return name;
}

/** @param leg what its caller brought, and what the waiting run may lack. */
export function resumeTools(agent: AgentCore, started: RunStarted, leg: LegOptions): NamedTool[] {
  return (started.resumable ?? []).map((resumable) => {
    const { name, toolName, payload, resumeSchema } = resumable;
    // A model's arguments are an object; what is none is put into one.
    const isObject = resumeSchema.type === 'object';
    const jsonSchema: JsonObject = isObject
      ? resumeSchema
      : { type: 'object', properties: { answer: resumeSchema }, required: ['answer'] };
    const tool = toolOf({
      id: name,
      description:
        `An earlier call of "${toolName}" waits for an answer. It asked: ${JSON.stringify(payload)}. ` +
        "Call this only if the user's message answers that; else leave it waiting.",
      inputSchema: { _type: undefined, jsonSchema },
      // A reference to the waiting call: whoever takes it over takes what became of that one.
      idempotent: true,
      execute(input, context) {
        const data = isObject ? input : (input as { answer: unknown }).answer;
        const { messageIds, messages } = started;
        const messageId = messageIds?.at(-1) ?? `${started.runId}:${messages.length - 1}`;
        return agent.answer(resumable, data, { messageId, context, leg });
      },
    });
    return { tool, alias: name, onlyFirst: true };
  });
}
