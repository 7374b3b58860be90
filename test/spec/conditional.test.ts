/** Specification, conditional approval: a function decides call by call, and what is unclear is held. */
import {
  type Agent,
  type AgentStream,
  Agent as BareAgent,
  createTool,
  type PolicyCall,
  RequestContext,
} from 'countersign';
import { type ScriptedCall, scriptedModel } from 'countersign/testing';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type AgentClass, onEachStore } from './each-store.ts';
import { hushWarnings } from './harness.ts';

hushWarnings();

async function cleanUp({ agent }: { agent: Agent }): Promise<AgentStream> {
  const stream = await agent.stream('Clean up old records', {
    requireToolApproval: ({ toolName }) => /^delete_/.test(toolName),
  });
  return stream;
}

const calls: readonly ScriptedCall[] = [
  { toolName: 'find_records', args: { id: 'r-1' } },
  { toolName: 'delete_record', args: { id: 'r-1' } },
  { toolName: 'delete_index', args: { id: 'i-1' } },
];

interface Wanted {
  readonly requireApproval?: boolean;
  readonly Agent?: AgentClass;
}

function recordAgent({ requireApproval, Agent = BareAgent }: Wanted = {}) {
  const ran: string[] = [];
  const found = Promise.withResolvers<void>();
  const recordTool = (id: string) =>
    createTool({
      id,
      inputSchema: z.object({ id: z.string() }),
      requireApproval,
      execute: async (input) => {
        ran.push(`${id} ${input.id}`);
        if (id === 'find_records') found.resolve();
        return { done: true };
      },
    });
  const tools = {
    find: recordTool('find_records'),
    deleteRecord: recordTool('delete_record'),
    deleteIndex: recordTool('delete_index'),
  };
  const model = scriptedModel([{ calls }, 'Cleaned up.']);
  const agent = new Agent({ id: 'cleaner', model, tools, workspace: { name: 'desk' } });
  return { agent, ran, found: found.promise };
}

async function heldBy(stream: AgentStream): Promise<string[]> {
  const held: string[] = [];
  for await (const chunk of stream.fullStream) {
    if (chunk.type === 'tool-call-approval') held.push(chunk.payload.toolName);
  }
  return held;
}

describe('requireToolApproval as a function', () => {
  onEachStore('conditional approval', 'holds the calls that it names, and no others', async (kit) => {
    const { agent, ran } = recordAgent(kit);
    const stream = await cleanUp({ agent });
    expect(await heldBy(stream)).toEqual(['delete_record', 'delete_index']);
    expect(ran).toEqual(['find_records r-1']);

    const { runId } = stream;
    const first = await agent.approveToolCall({ runId, toolCallId: 'call-0-1' });
    expect(await first.finishReason).toBe('suspended');
    expect(ran).toEqual(['find_records r-1', 'delete_record r-1']);
    const second = await agent.declineToolCall({ runId, toolCallId: 'call-0-2' });
    expect(await second.text).toBe('Cleaned up.');
    expect(ran).toEqual(['find_records r-1', 'delete_record r-1']);
  });

  test('is given the tool, the arguments, the request context and the workspace', async () => {
    const { agent, found } = recordAgent();
    const asked: PolicyCall[] = [];
    const stream = await agent.stream('Clean up old records', {
      requestContext: new RequestContext([['tenant', 'acme']]),
      requireToolApproval: async (call) => {
        asked.push(call);
        return /^delete/.test(call.toolName) && call.args.id === 'r-1';
      },
    });
    expect(await heldBy(stream)).toEqual(['delete_record']);
    await found;
    // Each call is judged once by the name of its tool, and by the key under which the agent has it.
    expect([...new Set(asked.map(({ toolName }) => toolName))].sort()).toEqual(
      ['delete_index', 'delete_record', 'find_records', 'deleteIndex', 'deleteRecord', 'find'].sort(),
    );
    for (const call of asked) {
      expect(call.requestContext).toEqual({ tenant: 'acme' });
      expect(call.workspace).toEqual({ name: 'desk' });
    }
  });

  test.each([
    [
      'throws',
      () => {
        throw new Error('the policy is down');
      },
    ],
    ['rejects', () => Promise.reject(new Error('the policy is down'))],
    ['answers no boolean', (() => undefined) as unknown as () => boolean],
  ])('holds every call when it %s', async (_, requireToolApproval) => {
    const { agent, ran } = recordAgent();
    const stream = await agent.stream('Clean up old records', { requireToolApproval });
    expect(await heldBy(stream)).toEqual(['find_records', 'delete_record', 'delete_index']);
    expect(ran).toEqual([]);
  });

  test("the tool's own word goes before the function's", async () => {
    const open = recordAgent({ requireApproval: false });
    const stream = await open.agent.stream('Clean up old records', { requireToolApproval: () => true });
    expect(await heldBy(stream)).toEqual([]);
    expect(open.ran).toHaveLength(3);

    const strict = recordAgent({ requireApproval: true });
    const held = await strict.agent.stream('Clean up old records', { requireToolApproval: () => false });
    expect(await heldBy(held)).toHaveLength(3);
    expect(strict.ran).toEqual([]);
  });
});
