/** Specification, tool-level approval: this one tool waits, with or without a policy of the run. */
import { type Agent, Agent as BareAgent, createTool } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type AgentClass, onEachStore } from './each-store.ts';
import { hushWarnings, type Network, network, promptOf, type Terminal, terminal } from './harness.ts';

hushWarnings();

function testToolOf({ fetch }: Network) {
  const testTool = createTool({
    id: 'test-tool',
    description: 'Fetches weather for a location',
    inputSchema: z.object({
      location: z.string(),
    }),
    outputSchema: z.object({
      weather: z.string(),
    }),
    resumeSchema: z.object({
      approved: z.boolean(),
    }),
    execute: async (inputData) => {
      const response = await fetch(`https://wttr.in/${inputData.location}?format=3`);
      const weather = await response.text();

      return { weather };
    },
    requireApproval: true,
  });
  return testTool;
}

async function askThenDecide({
  agent,
  console,
  process,
}: { agent: Agent } & Pick<Terminal, 'console' | 'process'>) {
  const stream = await agent.stream("What's the weather in London?");

  for await (const chunk of stream.fullStream) {
    if (chunk.type === 'tool-call-approval') {
      console.log('Approval required for:', chunk.payload.toolName);
    }
  }

  const handleApproval = async () => {
    const approvedStream = await agent.approveToolCall({ runId: stream.runId });

    for await (const chunk of approvedStream.textStream) {
      process.stdout.write(chunk);
    }
    process.stdout.write('\n');
  };
  return { stream, handleApproval };
}

function weatherAgent(Agent: AgentClass = BareAgent) {
  const net = network('London: +15°C');
  const other: string[] = [];
  const freeTool = createTool({
    id: 'free-tool',
    inputSchema: z.object({}),
    execute: async () => ({ count: other.push('ran') }),
  });
  const calls = [{ toolName: 'test-tool', args: { location: 'London' } }, { toolName: 'free-tool' }];
  const model = scriptedModel([{ calls }, 'Fifteen degrees.']);
  const agent = new Agent({ id: 'weather', model, tools: { testTool: testToolOf(net), freeTool } });
  return { agent, asked: net.asked, other, model };
}

describe('requireApproval: true on a tool', () => {
  const examples = ['tool-level approval', 'tool-level flow'] as const;

  onEachStore(examples, 'holds this tool only, and fetches once after the approval', async ({ Agent }) => {
    const { agent, asked, other, model } = weatherAgent(Agent);
    const { console, process, logged, printed } = terminal();
    const { handleApproval } = await askThenDecide({ agent, console, process });
    expect(logged).toEqual([['Approval required for:', 'test-tool']]);
    expect(asked).toEqual([]);
    expect(other).toEqual(['ran']);
    await handleApproval();
    expect(asked).toEqual(['https://wttr.in/London?format=3']);
    expect(printed()).toBe('Fifteen degrees.\n');
    expect(promptOf(model, 1)).toContain('London: +15°C');
    await expect(handleApproval()).rejects.toMatchObject({ code: 'already-decided' });
    expect(asked).toHaveLength(1);
    expect(other).toHaveLength(1);
  });

  onEachStore(examples, 'declined, it fetches nothing', async ({ Agent }) => {
    const { agent, asked } = weatherAgent(Agent);
    const { stream } = await askThenDecide({ agent, ...terminal() });
    const declined = await agent.declineToolCall({ runId: stream.runId });
    expect(await declined.text).toBe('Fifteen degrees.');
    expect(asked).toEqual([]);
  });

  test('the data of resumeStream decides it too', async () => {
    const { agent, asked } = weatherAgent();
    const { stream } = await askThenDecide({ agent, ...terminal() });
    const resumed = await agent.resumeStream({ approved: true }, { runId: stream.runId });
    expect(await resumed.text).toBe('Fifteen degrees.');
    expect(asked).toHaveLength(1);
  });
});
