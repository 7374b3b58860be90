/** The same sensitive tool in every shape that an agent takes, with its effects counted in one place. */
import { tool } from 'ai';
import { type AgentConfig, createTool, type ToolsInput } from 'countersign';
import { z } from 'zod';
import type { ScriptedCall, ScriptedStep } from '../../src/testing/scripted-model.ts';
import type { Choice, Scene } from './scene.ts';
import type { Told } from './told.ts';

export const refundInput = z.object({ order: z.string(), amount: z.number() });
export type Refund = z.infer<typeof refundInput>;

export interface Kind {
  readonly name: string;
  /** Whether a client carries it out: approved, it waits for its output. */
  readonly clientSide: boolean;
  /** @param own whether the tool itself says that it needs an approval; else a policy of the run must. */
  tools(effects: Refund[], own: boolean): AgentConfig['tools'];
}

const description = 'Give money back';
const output = z.object({ refunded: z.number() });

function agentTool(effects: Refund[], own: boolean) {
  return createTool({
    id: 'refund',
    description,
    inputSchema: refundInput,
    outputSchema: output,
    ...(own ? { requireApproval: true } : {}),
    execute: async (input) => {
      effects.push(input);
      return { refunded: input.amount };
    },
  });
}

export const kinds: readonly Kind[] = [
  {
    name: 'agent tool',
    clientSide: false,
    tools: (effects, own) => ({ refund: agentTool(effects, own) }),
  },
  {
    name: 'agent tool under another key',
    clientSide: false,
    tools: (effects, own) => ({ giveMoneyBack: agentTool(effects, own) }),
  },
  {
    name: 'dynamic tool',
    clientSide: false,
    tools: (effects, own) => () => ({ refund: agentTool(effects, own) }),
  },
  {
    name: 'AI SDK tool',
    clientSide: false,
    tools: (effects, own) => ({
      refund: tool({
        description,
        inputSchema: refundInput,
        ...(own ? { needsApproval: true } : {}),
        execute: async (input: Refund) => {
          effects.push(input);
          return { refunded: input.amount };
        },
      }),
    }),
  },
  {
    name: 'client tool',
    clientSide: true,
    tools: (_effects, own) => ({
      refund: createTool({
        id: 'refund',
        description,
        inputSchema: refundInput,
        outputSchema: output,
        ...(own ? { requireApproval: true } : {}),
      }),
    }),
  },
  {
    name: 'AI SDK client tool',
    clientSide: true,
    tools: (_effects, own) => ({
      refund: tool({
        description,
        inputSchema: refundInput,
        outputSchema: output,
        ...(own ? { needsApproval: true } : {}),
      }),
    }),
  },
];

/** A call of the refund tool. */
export function refundCall(order: string, amount = 10, toolCallId?: string): ScriptedCall {
  return { toolName: 'refund', args: { order, amount }, ...(toolCallId === undefined ? {} : { toolCallId }) };
}

/** An answer that asks for refunds, one for each order. */
export function askRefunds(...orders: string[]): ScriptedStep {
  return { text: 'Let me see. ', calls: orders.map((order) => refundCall(order)) };
}

/**
 * Approves a call, and where a client carries it out, does that too: but only what was handed out to it, so that
 * effects are counted there as well.
 */
export async function approveAndCarryOut(
  scene: Scene,
  kind: Kind,
  effects: Refund[],
  runId: string,
  choice: Choice = {},
): Promise<Told> {
  const approved = await scene.approve(runId, choice);
  if (!kind.clientSide) return approved;
  const handed = approved.payloads.filter((payload) => 'suspendPayload' in payload);
  let told = approved;
  for (const { toolCallId, args } of handed) {
    effects.push(args);
    told = await scene.resume({ refunded: args.amount }, runId, { toolCallId });
  }
  return told;
}

/** The prompt's results: what the model was told of each call, by call id. */
export function resultsIn(
  prompt: unknown,
): Record<string, { type: string; value?: unknown; reason?: string }> {
  const messages = prompt as {
    role: string;
    content: { type: string; toolCallId: string; output: never }[];
  }[];
  return Object.fromEntries(
    messages
      .filter(({ role }) => role === 'tool')
      .flatMap(({ content }) => content.map(({ toolCallId, output }) => [toolCallId, output])),
  );
}

/** A kind's tools and others beside them. */
export function withTools(tools: AgentConfig['tools'], more: ToolsInput): NonNullable<AgentConfig['tools']> {
  return typeof tools === 'function'
    ? async (given) => ({ ...(await tools(given)), ...more })
    : { ...tools, ...more };
}
