/** The agents that every server process of these tests has: tools that wait in each way, and leave a row of effect. */
import { z } from 'zod';
import { childIdOf, firstIdOf } from '../../src/core/below.ts';
import { Agent, Countersign, createTool, Memory, type Store } from '../../src/index.ts';
import { type ScriptedCall, scriptedModel } from '../../src/testing/scripted-model.ts';
import type { Effects } from '../race/effects.ts';

/** Long enough that a busy machine is not taken for a dead one; what a killed process leaves is taken over soon. */
export const heartbeat = { every: 400, lease: 4000 } as const;

export interface DeskOptions {
  readonly store: Store;
  readonly effects: Effects;
  /** Awaited by `look`, which needs nobody's approval. */
  look(): Promise<void>;
  /** Awaited by the others, before and after their effect. */
  pass(when: 'before' | 'after'): Promise<void>;
  warn(message: string): void;
}

export function openDesk({ store, effects, look, pass, warn }: DeskOptions): Countersign {
  const inputSchema = z.object({ order: z.string() });
  const perform = async (context: { runId: string; toolCallId: string }, args: object): Promise<object> => {
    const runId = firstIdOf(context.runId);
    const toolCallId = childIdOf(context.runId, context.toolCallId).slice(runId.length + 1);
    await pass('before');
    effects.add({ runId, toolCallId, args: JSON.stringify(args) });
    await pass('after');
    return { done: args };
  };
  const refund = createTool({
    id: 'refund',
    inputSchema,
    requireApproval: true,
    execute: (args, context) => perform(context, args),
  });
  const compensate = createTool({
    id: 'compensate',
    inputSchema,
    requireApproval: true,
    approver: 'reviewer',
    execute: (args, context) => perform(context, args),
  });
  const book = createTool({
    id: 'book',
    inputSchema,
    suspendSchema: z.object({ question: z.string() }),
    resumeSchema: z.object({ seats: z.number() }),
    execute: async (args, context) => {
      const { resumeData, suspend } = context.agent;
      if (!resumeData) return suspend({ question: `How many seats for ${args.order}?` });
      return perform(context, args);
    },
  });
  const see = createTool({
    id: 'look',
    inputSchema,
    execute: async ({ order }) => {
      await look();
      return { seen: order };
    },
  });
  const tools = { refund, compensate, book, look: see };
  const model = scriptedModel((prompt) => {
    const last = prompt.at(-1);
    if (last?.role === 'tool') return `Done: ${JSON.stringify(last.content)}`;
    const said = JSON.stringify(last?.content);
    const calls = callsIn(said);
    return calls.length > 0 ? { text: 'Let me see. ', calls } : 'Anything else?';
  });
  const clerk = new Agent({ id: 'clerk', model, tools });
  const desk = new Agent({ id: 'desk', model, tools, agents: { clerk }, memory: new Memory() });
  const sweepEvery = heartbeat.every;
  return new Countersign({
    agents: { desk },
    storage: store,
    warn,
    heartbeat,
    sweepEvery,
  });
}

/** What a message asks for: `refund a-1, book b-2`; `ask the clerk: refund a-1` has a sub-agent do it. */
function callsIn(said: string): ScriptedCall[] {
  const [, delegated] = /ask the clerk: ([^"\\]*)/.exec(said) ?? [];
  if (delegated) return [{ toolName: 'agent-clerk', toolCallId: 'to-clerk', args: { prompt: delegated } }];
  return [...said.matchAll(/\b(refund|compensate|book|look) ([\w-]+)/g)].map(
    ([, toolName = '', order = '']) => ({
      toolName,
      toolCallId: `${toolName}-${order}`,
      args: { order },
    }),
  );
}
