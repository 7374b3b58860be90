/** The agent that every process of a race has: three held calls, each of which leaves one row, alone or in a team. */

import { z } from 'zod';
import { childIdOf, firstIdOf } from '../../src/core/below.ts';
import { Agent, Countersign, createTool, type Store } from '../../src/index.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import type { Effects } from './effects.ts';
import type { Random } from './random.ts';

/** The id of a run; every third is one of a supervisor, where `teams` is set. */
export function runIdOf(seed: number, index: number, teams: boolean): string {
  return `${teams && index % 3 === 2 ? 'team' : 'run'}-${seed}-${index}`;
}

const isTeam = (text: string): boolean => /\bteam-/.test(text);

/** The ids of the three calls of a run. Of those of a team two are asked for by a sub-agent. */
export function callIdsOf(runId: string): readonly string[] {
  return isTeam(runId) ? ['to-helper~one', 'to-helper~two', 'three'] : ['one', 'two', 'three'];
}

/** What a run is asked for. */
export const orderFor = (runId: string): string => `Refund all three of ${runId}`;

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
    execute: async (args, context) => {
      const runId = firstIdOf(context.runId);
      const toolCallId = childIdOf(context.runId, context.toolCallId).slice(runId.length + 1);
      onTool('entered');
      await turns(random.below(3));
      effects.add({ runId, toolCallId, args: JSON.stringify(args) });
      onTool('effect');
      await turns(random.below(3));
      return { refunded: args.order };
    },
  });
  const call = (toolCallId: string, order = toolCallId) => ({
    toolName: 'refund',
    toolCallId,
    args: { order },
  });
  const model = scriptedModel((prompt) => {
    if (prompt.at(-1)?.role === 'tool') return 'Done.';
    if (!isTeam(JSON.stringify(prompt))) return { calls: [call('one'), call('two'), call('three')] };
    const delegation = { toolName: 'agent-helper', toolCallId: 'to-helper', args: { prompt: 'Refund two.' } };
    return { calls: [delegation, call('three')] };
  });
  const modelBelow = scriptedModel((prompt) =>
    prompt.at(-1)?.role === 'tool'
      ? 'Done below.'
      : { calls: [call('one', 'to-helper~one'), call('two', 'to-helper~two')] },
  );
  const helper = new Agent({ id: 'helper', model: modelBelow, tools: { refund } });
  const agent = new Agent({ id: 'desk', model, tools: { refund }, agents: { helper } });
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
