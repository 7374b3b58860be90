/** Specification, quickstart and approval before execution: one call is held, a person decides, it runs once. */
import {
  type AgentConfig,
  type AgentStream,
  Agent as CountersignAgent,
  createTool,
  type Tool,
} from 'countersign';
import { type ScriptedModel, scriptedModel } from 'countersign/testing';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type Database, hushWarnings, promptOf, type Terminal, terminal } from './harness.ts';

hushWarnings();

interface Free extends Pick<Terminal, 'process'> {
  readonly db: Database;
  readonly model: ScriptedModel;
  /** Another class of agents than ours, to give the example's one tool a neighbour. */
  readonly Agent?: typeof CountersignAgent;
}

interface Run {
  readonly agent: CountersignAgent;
  readonly stream: AgentStream;
}

async function quickstart({ db, model, process, Agent = CountersignAgent }: Free): Promise<Run> {
  const deleteTool = createTool({
    id: 'delete-record',
    description: 'Delete a record by ID',
    inputSchema: z.object({ id: z.string() }),
    outputSchema: z.object({ deleted: z.boolean() }),
    requireApproval: true,
    execute: async ({ id }) => {
      await db.delete(id);
      return { deleted: true };
    },
  });

  const agent = new Agent({
    id: 'my-agent',
    name: 'My Agent',
    model,
    tools: { deleteTool },
  });

  const stream = await agent.stream('Delete record abc-123');

  for await (const chunk of stream.fullStream) {
    if (chunk.type === 'tool-call-approval') {
      const approved = await agent.approveToolCall({ runId: stream.runId });
      for await (const c of approved.textStream) process.stdout.write(c);
    }
  }
  return { agent, stream };
}

/** Agents that have one tool more than they are made with. */
function agentsWith(countTool: Tool): typeof CountersignAgent {
  return class extends CountersignAgent {
    constructor(config: AgentConfig) {
      super({ ...config, tools: { ...config.tools, countTool } });
    }
  };
}

const deletion = { toolName: 'delete-record', args: { id: 'abc-123' } };

describe('the quickstart', () => {
  test('deletes once and prints the answer once', async () => {
    const deleted: string[] = [];
    const { process, printed } = terminal();
    const model = scriptedModel([{ text: 'Let me see. ', calls: [deletion] }, 'The record is gone.']);
    const db: Database = { delete: async (id) => void deleted.push(id) };
    const { agent } = await quickstart({ db, model, process });
    expect(deleted).toEqual(['abc-123']);
    expect(printed()).toBe('The record is gone.');
    expect(model.calls).toHaveLength(2);
    expect(promptOf(model, 1)).toContain('"deleted":true');
    expect((await agent.listSuspendedRuns({ status: 'all' })).total).toBe(0);
  });

  test.each([
    ['before', ['count-records', 'delete-record']],
    ['after', ['delete-record', 'count-records']],
  ])('prints the answer once beside a slow free neighbour, called %s it', async (_, order) => {
    const deleted: string[] = [];
    const counted: string[] = [];
    const neighbourStarted = Promise.withResolvers<void>();
    const recordDeleted = Promise.withResolvers<void>();
    // The neighbour is still running when the person answers, and ends only after the approved call.
    const countTool = createTool({
      id: 'count-records',
      inputSchema: z.object({}),
      execute: async () => {
        counted.push('started');
        neighbourStarted.resolve();
        await recordDeleted.promise;
        counted.push('finished');
        return { records: 7 };
      },
    });
    const db: Database = {
      async delete(id) {
        await neighbourStarted.promise;
        expect(counted).toEqual(['started']);
        deleted.push(id);
        recordDeleted.resolve();
      },
    };
    const calls = order.map((toolName) => (toolName === 'delete-record' ? deletion : { toolName }));
    const model = scriptedModel([{ calls }, 'Gone, and seven are left.']);
    const { process, printed } = terminal();
    await quickstart({ db, model, process, Agent: agentsWith(countTool) });
    expect(printed()).toBe('Gone, and seven are left.');
    expect(deleted).toEqual(['abc-123']);
    expect(counted).toEqual(['started', 'finished']);
    expect(model.calls).toHaveLength(2);
  });

  test('a second approval of the same call deletes nothing', async () => {
    const deleted: string[] = [];
    const model = scriptedModel([{ calls: [deletion] }, 'The record is gone.']);
    const db: Database = { delete: async (id) => void deleted.push(id) };
    const { agent, stream } = await quickstart({ db, model, process: terminal().process });
    await expect(agent.approveToolCall({ runId: stream.runId })).rejects.toMatchObject({
      code: 'already-decided',
    });
    expect(deleted).toEqual(['abc-123']);
  });
});

interface FreeAgent extends Pick<Terminal, 'process' | 'console'> {
  readonly agent: CountersignAgent;
}

async function weatherApproved({ agent, process, console }: FreeAgent): Promise<void> {
  const stream = await agent.stream("What's the weather in London?", {
    requireToolApproval: true,
  });

  for await (const chunk of stream.fullStream) {
    if (chunk.type === 'tool-call-approval') {
      console.log('Tool:', chunk.payload.toolName);
      console.log('Args:', chunk.payload.args);

      const approved = await agent.approveToolCall({ runId: stream.runId });
      for await (const c of approved.textStream) process.stdout.write(c);
    }
  }
}

async function weatherDeclined({ agent, process, console }: FreeAgent): Promise<void> {
  const stream = await agent.stream("What's the weather in London?", {
    requireToolApproval: true,
  });

  for await (const chunk of stream.fullStream) {
    if (chunk.type === 'tool-call-approval') {
      console.log('Tool:', chunk.payload.toolName);
      console.log('Args:', chunk.payload.args);

      const declined = await agent.declineToolCall({ runId: stream.runId });
      for await (const c of declined.textStream) process.stdout.write(c);
    }
  }
}

describe('requireToolApproval: true', () => {
  const weatherAgent = (): { agent: CountersignAgent; asked: string[]; model: ScriptedModel } => {
    const asked: string[] = [];
    const weather = createTool({
      id: 'get-weather',
      inputSchema: z.object({ location: z.string() }),
      // Not even the tool's own word lowers the hold of the run.
      requireApproval: false,
      execute: async ({ location }) => {
        asked.push(location);
        return `${location}: 15 degrees`;
      },
    });
    const model = scriptedModel([
      { calls: [{ toolName: 'get-weather', args: { location: 'London' } }] },
      'So much for London.',
    ]);
    return { agent: new CountersignAgent({ id: 'weather-agent', model, tools: { weather } }), asked, model };
  };

  test('holds any call, and an approved one runs once', async () => {
    const { agent, asked, model } = weatherAgent();
    const { process, console, printed, logged } = terminal();
    await weatherApproved({ agent, process, console });
    expect(logged).toEqual([
      ['Tool:', 'get-weather'],
      ['Args:', { location: 'London' }],
    ]);
    expect(asked).toEqual(['London']);
    expect(printed()).toBe('So much for London.');
    expect(promptOf(model, 1)).toContain('London: 15 degrees');
  });

  test('a declined call does not run, and the model goes on', async () => {
    const { agent, asked, model } = weatherAgent();
    const { process, console, printed, logged } = terminal();
    await weatherDeclined({ agent, process, console });
    expect(logged).toHaveLength(2);
    expect(asked).toEqual([]);
    expect(printed()).toBe('So much for London.');
    expect(promptOf(model, 1)).not.toContain('15 degrees');
    expect((await agent.listSuspendedRuns({ status: 'all' })).total).toBe(0);
  });
});
