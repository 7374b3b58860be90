import { expect, test } from 'vitest';
import { Agent } from '../agent/agent.ts';
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
  expect(output.toolResults.map(({ payload }) => payload.result)).toEqual([{ text: 'That is all.' }]);
  expect(model.calls).toHaveLength(1);
});
