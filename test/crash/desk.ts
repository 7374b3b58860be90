/** The agent of all crash tests. It answers by what it reads and keeps nothing, so any process can go on with it. */
import { z } from 'zod';
import { Agent } from '../../src/agent/agent.ts';
import { createTool } from '../../src/agent/create-tool.ts';
import type { RunOptions } from '../../src/agent/options.ts';
import { childIdOf, firstIdOf } from '../../src/core/below.ts';
import type { ToolContext } from '../../src/core/tool.ts';
import { checkPrompt } from '../../src/testing/check-prompt.ts';
import { type ScriptedCall, type ScriptedStep, scriptedModel } from '../../src/testing/scripted-model.ts';
import type { Journal } from './journal.ts';

/** Where in the work of a tool or a model a process may die. */
export type Phase = 'before effect' | 'in effect' | 'after effect' | 'in model call';

/** The process, as its tools see it. */
export interface World {
  readonly journal: Journal;
  /** The moment in which it may die, and then this never resolves. */
  reach(phase: Phase): Promise<void>;
  /** Does the side effect, reaching the phases around it. */
  effect(effect: {
    readonly runId: string;
    readonly toolCallId: string;
    readonly toolName: string;
    readonly key: string;
  }): Promise<void>;
}

/** An answer of a model. Calls of sub-agents say what the model below is to answer. */
export type Step =
  | string
  | {
      readonly text: string;
      readonly calls: readonly (ScriptedCall & { readonly steps?: readonly Step[] })[];
    };

/** What a run is to do, and what the person is going to say. */
export interface Scenario {
  readonly name: string;
  readonly steps: readonly Step[];
  readonly options?: Pick<RunOptions, 'durable' | 'toolCallConcurrency'> | undefined;
  /** The person ends the run as soon as something waits. */
  readonly cancels?: true;
  /** The person decides everything that waits at once. */
  readonly decidesAtOnce?: true;
}

/** The tools; `pay` and `charge` wait for an approval. What the person says is in the arguments: `no-…` is no. */
const toolNames = ['pay', 'charge', 'note', 'look', 'ship'] as const;
export type ToolName = (typeof toolNames)[number];

/** Tools that may run several times for one call. */
export const repeatableTools: readonly string[] = ['charge', 'look'];

const input = z.object({ id: z.string() });

async function work(world: World, toolName: ToolName, context: ToolContext): Promise<{ by: string }> {
  const { idempotencyKey: key } = context;
  const runId = firstIdOf(context.runId);
  const toolCallId = childIdOf(context.runId, context.toolCallId).slice(runId.length + 1);
  await world.effect({ runId, toolCallId, toolName, key });
  return { by: 'tool' };
}

export function openDesk(world: World): Agent {
  const plain = (id: ToolName, flags: object) =>
    createTool({
      id,
      inputSchema: input,
      ...flags,
      execute: (_input, context) => work(world, id, context as unknown as ToolContext),
    });
  const ship = createTool({
    id: 'ship',
    inputSchema: input,
    suspendSchema: z.object({ question: z.string() }),
    resumeSchema: z.object({ ok: z.boolean() }),
    execute: async (_input, context) => {
      if (context.agent.resumeData === undefined) {
        await world.reach('before effect');
        return context.agent.suspend({ question: 'Where to?' });
      }
      return work(world, 'ship', context as unknown as ToolContext);
    },
  });
  const tools = {
    pay: plain('pay', { requireApproval: true }),
    charge: plain('charge', { requireApproval: true, idempotent: true }),
    note: plain('note', {}),
    look: plain('look', { readOnly: true }),
    ship,
  };
  const model = modelOf(world);
  const deep = new Agent({ id: 'deep', model, tools });
  const helper = new Agent({ id: 'helper', model, tools, agents: { deep } });
  return new Agent({ id: 'desk', model, tools, agents: { helper } });
}

/** Its script is in the user's message, so one model does for all scenarios. */
function modelOf(world: World): ReturnType<typeof scriptedModel> {
  return scriptedModel(
    async (prompt) => {
      const { runId, above = '', steps } = orderIn(prompt);
      for (const what of checkPrompt(prompt)) world.journal.note({ runId, type: 'wrong', what });
      for (const message of prompt) {
        if (message.role !== 'tool') continue;
        for (const part of message.content) {
          if (part.type !== 'tool-result') continue;
          const toolCallId = above + part.toolCallId;
          world.journal.note({ runId, type: 'told', toolCallId, output: JSON.stringify(part.output) });
        }
      }
      await world.reach('in model call');
      const step = steps[prompt.filter(({ role }) => role === 'assistant').length];
      return step ?? 'There is nothing more to say.';
    },
    { check: false },
  );
}

interface Order {
  readonly runId: string;
  /** What the ids of its calls have before them at the top. Orders of earlier formats have none. */
  readonly above?: string;
  readonly steps: readonly (string | ScriptedStep)[];
}

/** The user's message of a run. */
export function orderFor({ steps }: Pick<Scenario, 'steps'>, runId: string): string {
  return orderBelow(steps, runId, '');
}

function orderBelow(steps: readonly Step[], runId: string, above: string): string {
  const plain = steps.map((step) =>
    typeof step === 'string'
      ? step
      : {
          ...step,
          calls: step.calls.map(({ steps: below, ...call }) =>
            below
              ? { ...call, args: { prompt: orderBelow(below, runId, `${above}${call.toolCallId}~`) } }
              : call,
          ),
        },
  );
  return JSON.stringify({ runId, above, steps: plain } satisfies Order);
}

function orderIn(prompt: Parameters<typeof checkPrompt>[0]): Order {
  const message = prompt.find(({ role }) => role === 'user');
  const part = message?.role === 'user' ? message.content[0] : undefined;
  return JSON.parse(part?.type === 'text' ? part.text : '') as Order;
}
