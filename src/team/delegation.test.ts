import { expect, test } from 'vitest';
import { z } from 'zod';
import { Agent } from '../agent/agent.ts';
import { createTool } from '../agent/create-tool.ts';
import { scriptedModel } from '../testing/scripted-model.ts';

const look = createTool({ id: 'look', inputSchema: z.object({}), execute: async () => 'seen' });

/** What the supervisor's model reads of a sub-agent that says "Half." and looks. */
async function readOf(defaultOptions: object): Promise<string> {
  const half = scriptedModel([{ text: 'Half.', calls: [{ toolName: 'look' }] }]);
  const worker = new Agent({ id: 'worker', model: half, tools: { look }, defaultOptions });
  const model = scriptedModel([
    { calls: [{ toolName: 'agent-worker', args: { prompt: 'Do it.' } }] },
    'I see.',
  ]);
  await new Agent({ id: 'boss', model, agents: { worker } }).generate('Go.');
  return JSON.stringify(model.calls.at(-1)?.prompt.at(-1));
}

test('the model of the supervisor is told that a sub-agent was cut short', async () => {
  expect(await readOf({ maxSteps: 1 })).toContain('"Half.\\n\\nCut short: max-steps"');
});

test('and not of one that was stopped as it was wanted', async () => {
  expect(await readOf({ stopWhen: () => true })).toContain('"Half."');
});
