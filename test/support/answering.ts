/** Conversations in which the next message answers what a suspended call asked: auto-resume. */
import { createTool } from 'countersign';
import { z } from 'zod';
import type { ScriptedCall } from '../../src/testing/scripted-model.ts';
import { openConversation } from './conversation.ts';
import type { Plan, Scene } from './scene.ts';
import type { Open } from './world.ts';

/** A conversation with auto-resume. */
export function openAnswering(open: Open, plan: Plan): Scene {
  return openConversation(open, { ...plan, options: { autoResumeSuspendedTools: true, ...plan.options } });
}

/** A tool that asks for a city, and notes what it was then carried out with. */
export function askingTool(effects: string[], id = 'ask', more: object = {}) {
  return createTool({
    id,
    inputSchema: z.object({ about: z.string() }),
    suspendSchema: z.object({ question: z.string() }),
    resumeSchema: z.object({ city: z.string() }),
    execute: async ({ about }, { agent }) => {
      if (agent.resumeData === undefined) return agent.suspend({ question: `Which city for ${about}?` });
      effects.push(`${about}: ${agent.resumeData.city}`);
      return { [about]: agent.resumeData.city };
    },
    ...more,
  });
}

export const asks = (about: string, toolCallId: string, toolName = 'ask'): ScriptedCall => ({
  toolName,
  args: { about },
  toolCallId,
});

/** The call of the extra tool. */
export const answers = (city: string, toolCallId = 'R', toolName = 'resume-ask'): ScriptedCall => ({
  toolName,
  args: { city },
  toolCallId,
});

interface OfferedTool {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema: { readonly properties?: Readonly<Record<string, unknown>> };
}

/** The tools that a model call was offered. */
export function toolsOffered({ model }: Scene, call: number): OfferedTool[] {
  return (model.calls[call]?.tools ?? []) as unknown as OfferedTool[];
}

export function namesOffered(scene: Scene, call: number): string[] {
  return toolsOffered(scene, call).map(({ name }) => name);
}

/** What the model was told of a call, in the last prompt or an earlier one. */
export function outputsIn(scene: Scene, call: number): Record<string, { type: string; value?: unknown }> {
  const prompt = scene.model.calls.at(call)?.prompt ?? [];
  const outputs = prompt.flatMap((message) =>
    message.role === 'tool'
      ? message.content.flatMap((part) => (part.type === 'tool-result' ? [part] : []))
      : [],
  );
  return Object.fromEntries(outputs.map(({ toolCallId, output }) => [toolCallId, output as never]));
}
