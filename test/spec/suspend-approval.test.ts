/** Specification, approval by suspend(): no flag anywhere, the tool itself asks before it acts. */
import { type Agent, Agent as BareAgent, createTool } from 'countersign';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type AgentClass, onEachStore } from './each-store.ts';
import {
  hushWarnings,
  modelFor,
  type Network,
  network,
  promptOf,
  suspensionsOf,
  type Terminal,
  terminal,
} from './harness.ts';

hushWarnings();

describe('a tool that is approved from inside', () => {
  function testToolBOf({ fetch }: Network) {
    const testToolB = createTool({
      id: 'test-tool-b',
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
      suspendSchema: z.object({
        reason: z.string(),
      }),
      execute: async (inputData, context) => {
        const { resumeData: { approved } = {}, suspend } = context?.agent ?? {};

        if (!approved) {
          return suspend?.({ reason: 'Approval required.' });
        }

        const response = await fetch(`https://wttr.in/${inputData.location}?format=3`);
        const weather = await response.text();

        return { weather };
      },
    });
    return testToolB;
  }

  async function suspendThenResume({
    agent,
    console,
    process,
  }: { agent: Agent } & Pick<Terminal, 'console' | 'process'>) {
    const stream = await agent.stream("What's the weather in London?");

    for await (const chunk of stream.fullStream) {
      if (chunk.type === 'tool-call-suspended') {
        console.log(chunk.payload.suspendPayload);
      }
    }

    const handleResume = async () => {
      const resumedStream = await agent.resumeStream({ approved: true }, { runId: stream.runId });

      for await (const chunk of resumedStream.textStream) {
        process.stdout.write(chunk);
      }
      process.stdout.write('\n');
    };
    return { stream, handleResume };
  }

  function toolBAgent(Agent: AgentClass = BareAgent) {
    const net = network('London: +15°C');
    const model = modelFor('test-tool-b', { location: 'London' });
    const agent = new Agent({ id: 'tool-b', model, tools: { testToolB: testToolBOf(net) } });
    return { agent, asked: net.asked, model };
  }

  const examples = ['approval by suspend', 'resume flow'] as const;

  onEachStore(examples, 'fetches nothing before the resume and once after it', async ({ Agent }) => {
    const { agent, asked, model } = toolBAgent(Agent);
    const { console, process, logged, printed } = terminal();
    const { handleResume } = await suspendThenResume({ agent, console, process });
    expect(logged).toEqual([[{ reason: 'Approval required.' }]]);
    expect(asked).toEqual([]);
    await handleResume();
    expect(asked).toEqual(['https://wttr.in/London?format=3']);
    expect(printed()).toBe('There you are.\n');
    expect(promptOf(model, 1)).toContain('London: +15°C');
    await expect(handleResume()).rejects.toMatchObject({ code: 'already-decided' });
    expect(asked).toHaveLength(1);
  });

  test('data that does not fit is an error, and the call keeps waiting', async () => {
    const { agent, asked } = toolBAgent();
    const { stream, handleResume } = await suspendThenResume({ agent, ...terminal() });
    const { runId } = stream;
    for (const data of [{ approved: 'yes' }, {}, null, undefined, 'yes']) {
      await expect(agent.resumeStream(data, { runId })).rejects.toMatchObject({
        code: 'invalid-resume-data',
      });
    }
    expect((await agent.listSuspendedRuns()).runs[0]?.toolCalls[0]).toMatchObject({
      stop: 1,
      state: 'suspended',
      requiresApproval: false,
      suspendPayload: { reason: 'Approval required.' },
    });
    await handleResume();
    expect(asked).toHaveLength(1);
  });

  test('resumed without consent it asks again; approving is not resuming; declining ends it', async () => {
    const { agent, asked, model } = toolBAgent();
    const { stream } = await suspendThenResume({ agent, ...terminal() });
    const { runId } = stream;
    const again = await agent.resumeStream({ approved: false }, { runId });
    expect(await suspensionsOf(again)).toEqual([{ reason: 'Approval required.' }]);
    await expect(agent.approveToolCall({ runId })).rejects.toMatchObject({ code: 'needs-data' });
    const declined = await agent.declineToolCall({ runId });
    expect(await declined.text).toBe('There you are.');
    expect(asked).toEqual([]);
    expect(model.calls).toHaveLength(2);
  });
});
