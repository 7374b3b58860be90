import { expect, test } from 'vitest';
import { z } from 'zod';
import { Agent } from '../agent/agent.ts';
import { createTool } from '../agent/create-tool.ts';
import { scriptedModel } from '../testing/scripted-model.ts';

test('bail(): the supervisor asks its model no more, and the run has finished', async () => {
  const worker = new Agent({ id: 'worker', model: scriptedModel(['That is all.']) });
  const model = scriptedModel([
    { calls: [{ toolName: 'agent-worker', args: { prompt: 'Do it.' } }] },
    'Never said.',
  ]);
  const boss = new Agent({ id: 'boss', model, agents: { worker } });
  const delegation = { onDelegationComplete: ({ bail }: { bail(): void }) => bail() };
  const output = await boss.generate('Go.', { delegation });
  expect(output.finishReason).toBe('tool-calls');
  expect(output.toolResults.map(({ payload }) => payload.result)).toEqual([
    { text: 'That is all.', bailed: true },
  ]);
  expect(model.calls).toHaveLength(1);
});

test('bail() holds when another call of the step was waiting, and a later leg settles it', async () => {
  const act = createTool({
    id: 'act',
    inputSchema: z.object({}),
    requireApproval: true,
    execute: async () => 1,
  });
  const worker = new Agent({ id: 'worker', model: scriptedModel(['That is all.']) });
  const calls = [{ toolName: 'agent-worker', args: { prompt: 'Do it.' } }, { toolName: 'act' }];
  const model = scriptedModel([{ calls }, 'Never said.']);
  const boss = new Agent({ id: 'boss', model, agents: { worker }, tools: { act } });
  const delegation = { onDelegationComplete: ({ bail }: { bail(): void }) => bail() };
  const { runId } = await boss.generate('Go.', { delegation });
  const output = await boss.approveToolCallGenerate({ runId, delegation });
  expect(output.finishReason).toBe('tool-calls');
  expect(model.calls).toHaveLength(1);
});
