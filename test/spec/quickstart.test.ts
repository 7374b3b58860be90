/** Specification, quickstart and approval before execution: one call is held, a person decides, it runs once. */
import { type Agent, type AgentConfig, type AgentStream, createTool, type Tool } from 'countersign';
import { type ScriptedModel, scriptedModel } from 'countersign/testing';
import { describe, expect } from 'vitest';
import { z } from 'zod';
import { type AgentClass, type Kit, onEachStore } from './each-store.ts';
import { type Database, hushWarnings, promptOf, type Terminal, terminal } from './harness.ts';

hushWarnings();

interface Free extends Pick<Terminal, 'process'> {
  readonly db: Database;
  readonly model: ScriptedModel;
  readonly Agent: AgentClass;
}

interface Run {
  readonly agent: Agent;
  readonly stream: AgentStream;
}

async function quickstart({ db, model, process, Agent }: Free): Promise<Run> {
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
function agentsWith(countTool: Tool, Agent: AgentClass): AgentClass {
  return class extends Agent {
    constructor(config: AgentConfig) {
      super({ ...config, tools: { ...config.tools, countTool } });
    }
  };
}

const deletion = { toolName: 'delete-record', args: { id: 'abc-123' } };

describe('the quickstart', () => {
  onEachStore('quickstart', 'deletes once and prints the answer once', async ({ Agent }) => {
    const deleted: string[] = [];
    const { process, printed } = terminal();
    const model = scriptedModel([{ text: 'Let me see. ', calls: [deletion] }, 'The record is gone.']);
    const db: Database = { delete: async (id) => void deleted.push(id) };
    const { agent, stream } = await quickstart({ db, model, process, Agent });
    expect(deleted).toEqual(['abc-123']);
    expect(printed()).toBe('The record is gone.');
    expect(model.calls).toHaveLength(2);
    expect(promptOf(model, 1)).toContain('"deleted":true');
    await expect(agent.approveToolCall({ runId: stream.runId })).rejects.toMatchObject({
      code: 'already-decided',
    });
    expect(deleted).toHaveLength(1);
  });

  const orders: [string, string[]][] = [
    ['before', ['count-records', 'delete-record']],
    ['after', ['delete-record', 'count-records']],
  ];
  for (const [place, order] of orders) {
    const what = `prints the answer once beside a slow free neighbour, called ${place} it`;
    onEachStore('quickstart', what, (kit) => besideNeighbour(kit, order));
  }

  async function besideNeighbour({ Agent }: Kit, order: readonly string[]): Promise<void> {
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
    await quickstart({ db, model, process, Agent: agentsWith(countTool, Agent) });
    expect(printed()).toBe('Gone, and seven are left.');
    expect(deleted).toEqual(['abc-123']);
    expect(counted).toEqual(['started', 'finished']);
    expect(model.calls).toHaveLength(2);
  }
});

interface FreeAgent extends Pick<Terminal, 'process' | 'console'> {
  readonly agent: Agent;
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
  const weatherAgent = ({ Agent }: Kit) => {
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
    return { agent: new Agent({ id: 'weather-agent', model, tools: { weather } }), asked, model };
  };

  onEachStore('request approval', 'holds any call, and an approved one runs once', async (kit) => {
    const { agent, asked, model } = weatherAgent(kit);
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

  onEachStore('request approval', 'a declined call does not run, and the model goes on', async (kit) => {
    const { agent, asked, model } = weatherAgent(kit);
    const { process, console, printed, logged } = terminal();
    await weatherDeclined({ agent, process, console });
    expect(logged).toHaveLength(2);
    expect(asked).toEqual([]);
    expect(printed()).toBe('So much for London.');
    expect(promptOf(model, 1)).not.toContain('15 degrees');
  });
});
