/** The agent that every process of a race has: one step with three held calls, each of which leaves one row. */

import { z } from 'zod';
import { Agent, Countersign, createTool, type Store } from '../../src/index.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import type { Effects } from './effects.ts';
import type { Random } from './random.ts';

/** The ids of the three calls. */
export const callIds = ['one', 'two', 'three'] as const;

/** Short, so that what a killed process leaves is soon taken over. */
export const heartbeat = { every: 50, lease: 400 } as const;

export interface DeskOptions {
  readonly store: Store;
  readonly effects: Effects;
  readonly random: Random;
  /** Told when a tool was entered and when it has had its effect. */
  onTool(what: 'entered' | 'effect'): void;
  warn(message: string): void;
}

export function openDesk({ store, effects, random, onTool, warn }: DeskOptions): {
  agent: Agent;
  countersign: Countersign;
} {
  const refund = createTool({
    id: 'refund',
    inputSchema: z.object({ order: z.string() }),
    requireApproval: true,
    execute: async (args, { runId, toolCallId }) => {
      onTool('entered');
      await turns(random.below(3));
      effects.add({ runId, toolCallId, args: JSON.stringify(args) });
      onTool('effect');
      await turns(random.below(3));
      return { refunded: args.order };
    },
  });
  const model = scriptedModel((prompt) =>
    prompt.at(-1)?.role === 'tool'
      ? 'Done.'
      : {
          calls: callIds.map((toolCallId) => ({
            toolName: 'refund',
            toolCallId,
            args: { order: toolCallId },
          })),
        },
  );
  const agent = new Agent({ id: 'desk', model, tools: { refund } });
  return { agent, countersign: registryOf({ agent }, store, warn) };
}

/** A registry with the heartbeat of races, also one without agents. */
export function registryOf(
  agents: Record<string, Agent>,
  storage: Store,
  warn: (message: string) => void,
): Countersign {
  return new Countersign({ agents, storage, warn, heartbeat, sweepEvery: 20 });
}

/** Lets others go on: work of a tool that takes a while, without a clock. */
async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}
