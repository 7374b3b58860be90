import { expect, test } from 'vitest';
import { z } from 'zod';
import { InMemoryStore } from '../store/memory.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { Agent } from './agent.ts';
import { Countersign } from './countersign.ts';
import { createTool } from './create-tool.ts';
import { Memory } from './memory.ts';

const pay = createTool({
  id: 'pay',
  inputSchema: z.object({}),
  requireApproval: true,
  approver: 'reviewer',
  execute: async () => 'paid',
});
const memory = { resource: 'ada' };

test('a run may be of a resource and of no conversation; who must approve is listed', async () => {
  const agent = new Agent({
    id: 'desk',
    model: scriptedModel([{ calls: [{ toolName: 'pay' }] }]),
    tools: { pay },
  });
  new Countersign({ agents: { agent }, storage: new InMemoryStore() });
  const { runId } = await agent.generate('Pay.', { memory });
  const { runs } = await agent.listSuspendedRuns({ resourceId: 'ada' });
  expect(runs).toMatchObject([{ runId, resourceId: 'ada', toolCalls: [{ approver: 'reviewer' }] }]);
  expect(runs[0]).not.toHaveProperty('threadId');
  expect(await agent.listSuspendedRuns({ resourceId: 'ben' })).toMatchObject({ runs: [] });
});

test('an agent with a memory demands the conversation, also one that has its own', async () => {
  const model = scriptedModel(['Hello.']);
  const alone = new Agent({ id: 'alone', model, memory: new Memory() });
  const bound = new Agent({ id: 'bound', model, memory: new Memory() });
  new Countersign({ agents: { bound }, storage: new InMemoryStore() });
  for (const agent of [alone, bound]) {
    await expect(agent.generate('Hi', { memory })).rejects.toMatchObject({ code: 'thread-required' });
  }
});
