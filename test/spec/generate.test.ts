/** Specification, approval with generate(): it returns when a person must act, and again when the run has ended. */
import { type Agent, Agent as BareAgent, createTool } from 'countersign';
import { type ScriptedCall, scriptedModel } from 'countersign/testing';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type AgentClass, onEachStore } from './each-store.ts';
import { hushWarnings, promptOf, type Terminal, terminal } from './harness.ts';

hushWarnings();

interface Free extends Pick<Terminal, 'console'> {
  readonly agent: Agent;
}

async function findApproved({ agent, console }: Free) {
  const output = await agent.generate('Find user John', {
    requireToolApproval: true,
  });

  if (output.finishReason === 'suspended') {
    console.log('Tool requires approval:', output.suspendPayload.toolName);

    const result = await agent.approveToolCallGenerate({
      runId: output.runId,
      toolCallId: output.suspendPayload.toolCallId,
    });
    console.log('Final result:', result.text);
  }
  return output;
}

async function findDeclined({ agent, console }: Free) {
  const output = await agent.generate('Find user John', {
    requireToolApproval: true,
  });

  if (output.finishReason === 'suspended') {
    console.log('Tool requires approval:', output.suspendPayload.toolName);

    const result = await agent.declineToolCallGenerate({
      runId: output.runId,
      toolCallId: output.suspendPayload.toolCallId,
    });
    return { output, result };
  }
  return { output, result: undefined };
}

const find = (name: string): ScriptedCall => ({ toolName: 'find-user', args: { name } });

function userAgent(calls: readonly ScriptedCall[], Agent: AgentClass = BareAgent) {
  const found: string[] = [];
  const findUser = createTool({
    id: 'find-user',
    inputSchema: z.object({ name: z.string() }),
    execute: async ({ name }) => {
      found.push(name);
      return { email: `${name.toLowerCase()}@example.com` };
    },
  });
  const model = scriptedModel([{ text: 'Looking. ', calls }, 'That is all.']);
  return { agent: new Agent({ id: 'user-agent', model, tools: { findUser } }), found, model };
}

describe('generate() with a held call', () => {
  onEachStore('generate', 'says what waits, and its approval returns the final result', async ({ Agent }) => {
    const { agent, found, model } = userAgent([find('John')], Agent);
    const { console, logged } = terminal();
    const output = await findApproved({ agent, console });
    expect(output).toMatchObject({
      finishReason: 'suspended',
      text: 'Looking. ',
      suspendPayload: { toolCallId: 'call-0-0', toolName: 'find-user', args: { name: 'John' } },
    });
    expect(output.suspendPayloads).toEqual([output.suspendPayload]);
    expect(output.runId).toMatch(/./);
    expect(logged).toEqual([
      ['Tool requires approval:', 'find-user'],
      ['Final result:', 'That is all.'],
    ]);
    expect(found).toEqual(['John']);
    expect(promptOf(model, 1)).toContain('john@example.com');
  });

  onEachStore('generate', 'its decline runs nothing, and the model goes on', async ({ Agent }) => {
    const { agent, found, model } = userAgent([find('John')], Agent);
    const { result } = await findDeclined({ agent, console: terminal().console });
    expect(result).toMatchObject({ finishReason: 'stop', text: 'That is all.' });
    expect(found).toEqual([]);
    expect(promptOf(model, 1)).not.toContain('john@example.com');
  });

  test('without toolCallId the last of the held calls is meant', async () => {
    const { agent, found } = userAgent([find('John'), find('Mary')]);
    const output = await agent.generate('Find both', { requireToolApproval: true });
    expect(output.suspendPayloads.map(({ args }) => args.name)).toEqual(['John', 'Mary']);
    expect(output.suspendPayload).toMatchObject({ args: { name: 'John' } });
    const one = await agent.approveToolCallGenerate({ runId: output.runId });
    expect(found).toEqual(['Mary']);
    expect(one).toMatchObject({ finishReason: 'suspended', suspendPayload: { args: { name: 'John' } } });
    const other = await agent.declineToolCallGenerate({ runId: output.runId });
    expect(other).toMatchObject({ finishReason: 'stop', text: 'That is all.' });
    expect(found).toEqual(['Mary']);
  });
});
