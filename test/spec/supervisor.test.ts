/** Specification, supervisors: what a sub-agent's tool waits for is announced and decided at the top. */
import { type Agent, type AgentOutput, type AgentStream, createTool, Memory } from 'countersign';
import { type ScriptedModel, scriptedModel } from 'countersign/testing';
import { describe, expect } from 'vitest';
import { z } from 'zod';
import { type AgentClass, type Kit, onEachStore } from './each-store.ts';
import { hushWarnings, modelFor, promptOf, suspensionsOf, type Terminal, terminal } from './harness.ts';

hushWarnings();

interface User {
  readonly id: string;
  readonly name: string;
  readonly email: string;
}

interface Database {
  findUser(userId: string): Promise<User>;
}

interface FreeAgents {
  readonly Agent: AgentClass;
  readonly database: Database;
  readonly dataModel: ScriptedModel;
  readonly supervisorModel: ScriptedModel;
}

function supervisorOf({ Agent, database, dataModel, supervisorModel }: FreeAgents): Agent {
  const findUserTool = createTool({
    id: 'find-user',
    description: 'Finds user by ID in the database',
    inputSchema: z.object({
      userId: z.string(),
    }),
    outputSchema: z.object({
      user: z.object({
        id: z.string(),
        name: z.string(),
        email: z.string(),
      }),
    }),
    requireApproval: true,
    execute: async (input) => {
      const user = await database.findUser(input.userId);
      return { user };
    },
  });

  const dataAgent = new Agent({
    id: 'data-agent',
    name: 'Data Agent',
    description: 'Handles database queries and user data retrieval',
    model: dataModel,
    tools: { findUserTool },
  });

  const supervisorAgent = new Agent({
    id: 'supervisor',
    name: 'Supervisor Agent',
    instructions: `You coordinate data retrieval tasks.
    Delegate to data-agent for user lookups.`,
    model: supervisorModel,
    agents: { dataAgent },
    memory: new Memory(),
  });
  return supervisorAgent;
}

interface Free extends Pick<Terminal, 'process' | 'console'> {
  readonly supervisorAgent: Agent;
}

async function findApproved({ supervisorAgent, process, console }: Free): Promise<AgentStream> {
  const stream = await supervisorAgent.stream('Find user with ID 12345');

  for await (const chunk of stream.fullStream) {
    if (chunk.type === 'tool-call-approval') {
      console.log('Tool requires approval:', chunk.payload.toolName);
      console.log('Arguments:', chunk.payload.args);

      // Approve the tool call
      const resumeStream = await supervisorAgent.approveToolCall({
        runId: stream.runId,
        toolCallId: chunk.payload.toolCallId,
      });

      for await (const resumeChunk of resumeStream.textStream) {
        process.stdout.write(resumeChunk);
      }
    }
  }
  return stream;
}

async function findDeclined({ supervisorAgent, console }: Omit<Free, 'process'>): Promise<AgentStream[]> {
  const declined: AgentStream[] = [];
  const stream = await supervisorAgent.stream('Find user with ID 12345');

  for await (const chunk of stream.fullStream) {
    if (chunk.type === 'tool-call-approval') {
      console.log('Tool requires approval:', chunk.payload.toolName);
      console.log('Arguments:', chunk.payload.args);

      // To decline instead, use:
      const declineStream = await supervisorAgent.declineToolCall({
        runId: stream.runId,
        toolCallId: chunk.payload.toolCallId,
      });
      declined.push(declineStream);
    }
  }
  return declined;
}

async function findByGenerate({ supervisorAgent, console }: Omit<Free, 'process'>): Promise<AgentOutput> {
  const output = await supervisorAgent.generate('Find user with ID 12345', {
    maxSteps: 10,
  });

  if (output.finishReason === 'suspended') {
    console.log('Tool requires approval:', output.suspendPayload.toolName);

    // Approve
    const result = await supervisorAgent.approveToolCallGenerate({
      runId: output.runId,
      toolCallId: output.suspendPayload.toolCallId,
    });

    console.log('Final result:', result.text);
  }
  return output;
}

const user = { id: '12345', name: 'Ada', email: 'ada@example.com' };

/** The supervisor of the page, whose database says how often each model had been asked when it was. */
function supervised({ Agent }: Kit) {
  const dataModel = scriptedModel([
    { text: 'Looking. ', calls: [{ toolName: 'find-user', args: { userId: '12345' } }] },
    'It is Ada.',
  ]);
  const supervisorModel = scriptedModel([
    { text: 'One moment. ', calls: [{ toolName: 'agent-dataAgent', args: { prompt: 'Find user 12345' } }] },
    'The user is Ada.',
  ]);
  const found: { userId: string; supervisorCalls: number; dataCalls: number }[] = [];
  const database: Database = {
    async findUser(userId) {
      found.push({
        userId,
        supervisorCalls: supervisorModel.calls.length,
        dataCalls: dataModel.calls.length,
      });
      return user;
    },
  };
  const supervisorAgent = supervisorOf({ Agent, database, dataModel, supervisorModel });
  return { supervisorAgent, found, dataModel, supervisorModel };
}

describe('a held call of a sub-agent', () => {
  const once = [{ userId: '12345', supervisorCalls: 1, dataCalls: 1 }];
  const announced = [
    ['Tool requires approval:', 'find-user'],
    ['Arguments:', { userId: '12345' }],
  ];

  onEachStore('supervisor', 'approved at the top it runs once, and both agents go on', async (kit) => {
    const { supervisorAgent, found, dataModel, supervisorModel } = supervised(kit);
    const { process, console, printed, logged } = terminal();
    const stream = await findApproved({ supervisorAgent, process, console });
    expect(logged).toEqual(announced);
    expect(found).toEqual(once);
    expect(printed()).toBe('The user is Ada.');
    expect(dataModel.calls).toHaveLength(2);
    expect(promptOf(dataModel, 1)).toContain('ada@example.com');
    expect(supervisorModel.calls).toHaveLength(2);
    expect(promptOf(supervisorModel, 1)).toContain('It is Ada.');
    await expect(supervisorAgent.approveToolCall({ runId: stream.runId })).rejects.toMatchObject({
      code: 'already-decided',
    });
    expect(found).toHaveLength(1);
  });

  onEachStore('supervisor', 'declined at the top it never runs, and both agents go on', async (kit) => {
    const { supervisorAgent, found, dataModel, supervisorModel } = supervised(kit);
    const { console, logged } = terminal();
    const declined = await findDeclined({ supervisorAgent, console });
    expect(await Promise.all(declined.map(({ text }) => text))).toEqual(['The user is Ada.']);
    expect(logged).toEqual(announced);
    expect(found).toEqual([]);
    expect(dataModel.calls).toHaveLength(2);
    expect(promptOf(dataModel, 1)).not.toContain('ada@example.com');
    expect(supervisorModel.calls).toHaveLength(2);
  });

  onEachStore('supervisor generate', 'is found and approved in the output of the supervisor', async (kit) => {
    const { supervisorAgent, found, dataModel, supervisorModel } = supervised(kit);
    const { console, logged } = terminal();
    const output = await findByGenerate({ supervisorAgent, console });
    expect(output).toMatchObject({
      finishReason: 'suspended',
      suspendPayload: { toolName: 'find-user', args: { userId: '12345' } },
    });
    expect(logged).toEqual([
      ['Tool requires approval:', 'find-user'],
      ['Final result:', 'The user is Ada.'],
    ]);
    expect(found).toEqual(once);
    expect(dataModel.calls).toHaveLength(2);
    expect(supervisorModel.calls).toHaveLength(2);
  });
});

interface Operations {
  performOperation(operation: string): Promise<{ done: string }>;
}

function conditionalToolOf({ performOperation }: Operations) {
  const conditionalTool = createTool({
    id: 'conditional-operation',
    description: 'Performs an operation that may require confirmation',
    inputSchema: z.object({
      operation: z.string(),
    }),
    suspendSchema: z.object({
      message: z.string(),
    }),
    resumeSchema: z.object({
      confirmed: z.boolean(),
    }),
    execute: async (input, context) => {
      const { resumeData } = context?.agent ?? {};

      if (!resumeData?.confirmed) {
        return context?.agent?.suspend({
          message: `Confirm: ${input.operation}?`,
        });
      }

      // Proceed with operation
      return await performOperation(input.operation);
    },
  });
  return conditionalTool;
}

async function confirmed({
  supervisorAgent,
  stream,
  process,
  console,
}: Free & { stream: AgentStream }): Promise<void> {
  // When using this tool through a subagent in supervisor agents
  for await (const chunk of stream.fullStream) {
    if (chunk.type === 'tool-call-suspended') {
      console.log('Tool suspended:', chunk.payload.suspendPayload.message);

      // Resume with confirmation
      const resumeStream = await supervisorAgent.resumeStream({ confirmed: true }, { runId: stream.runId });

      for await (const resumeChunk of resumeStream.textStream) {
        process.stdout.write(resumeChunk);
      }
    }
  }
}

describe('a tool that asks for a confirmation', () => {
  function operations() {
    const performed: string[] = [];
    const conditionalTool = conditionalToolOf({
      performOperation: async (operation) => ({ done: `${operation} ${performed.push(operation)}` }),
    });
    const model = modelFor('conditional-operation', { operation: 'reindex' });
    return { performed, conditionalTool, model };
  }

  onEachStore('supervised tool', 'called by one agent it goes on when confirmed', async ({ Agent }) => {
    const { performed, conditionalTool, model } = operations();
    const agent = new Agent({ id: 'operator', model, tools: { conditionalTool } });
    const stream = await agent.stream('Reindex, please');
    expect(await suspensionsOf(stream)).toEqual([{ message: 'Confirm: reindex?' }]);
    expect(performed).toEqual([]);
    const resumed = await agent.resumeGenerate({ confirmed: true }, { runId: stream.runId });
    expect(resumed.text).toBe('There you are.');
    expect(performed).toEqual(['reindex']);
  });

  onEachStore(
    ['supervised tool', 'supervisor resume'],
    'called by a sub-agent it is confirmed at the top and performed once',
    async ({ Agent }) => {
      const { performed, conditionalTool, model } = operations();
      const operator = new Agent({ id: 'operator', model, tools: { conditionalTool } });
      const supervisorModel = scriptedModel([
        { calls: [{ toolName: 'agent-operator', args: { prompt: 'Reindex' } }] },
        'The index is new.',
      ]);
      const supervisorAgent = new Agent({ id: 'supervisor', model: supervisorModel, agents: { operator } });
      const { process, console, printed, logged } = terminal();
      const stream = await supervisorAgent.stream('Reindex, please');
      await confirmed({ supervisorAgent, stream, process, console });
      expect(logged).toEqual([['Tool suspended:', 'Confirm: reindex?']]);
      expect(performed).toEqual(['reindex']);
      expect(printed()).toBe('The index is new.');
      expect(model.calls).toHaveLength(2);
      expect(promptOf(model, 1)).toContain('"done":"reindex 1"');
      expect(supervisorModel.calls).toHaveLength(2);
      const { runId } = stream;
      await expect(supervisorAgent.resumeStream({ confirmed: true }, { runId })).rejects.toMatchObject({
        code: 'already-decided',
      });
      expect(performed).toHaveLength(1);
    },
  );
});
