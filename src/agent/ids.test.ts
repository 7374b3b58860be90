import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { newSchemaName, postgresUrl } from '../../test/support/postgres-schema.ts';
import { PostgresStore } from '../store/postgres.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { Agent } from './agent.ts';
import { Countersign } from './countersign.ts';
import { createTool } from './create-tool.ts';
import { isId } from './ids.ts';
import { Memory } from './memory.ts';

/** Nothing that a database could make shorter. */
const longest = (): string => randomBytes(375).toString('base64url');

test.each([
  ['a', true],
  [longest(), true],
  ['\u00e9'.repeat(250), true],
  ['', false],
  ['a\0', false],
  ['\ud800', false],
  ['x'.repeat(501), false],
  ['\u00e9'.repeat(251), false],
  [7, false],
])('%j is an id: %s', (value, expected) => expect(isId(value)).toBe(expected));

test('the longest ids are kept by the database that takes the shortest ones', async () => {
  expect(longest()).toHaveLength(500);
  const store = new PostgresStore({ connectionString: await postgresUrl(), schemaName: newSchemaName() });
  const pay = createTool({
    id: 'pay',
    inputSchema: z.object({}),
    requireApproval: true,
    execute: async () => 'paid',
  });
  const toolCallId = longest().slice(0, 300);
  const model = scriptedModel([{ calls: [{ toolName: 'pay', toolCallId }] }, 'Done.']);
  const agent = new Agent({ id: 'desk', model, tools: { pay }, memory: new Memory() });
  new Countersign({ agents: { agent }, storage: store });
  const [runId, thread, resource, id, decisionId] = Array.from({ length: 5 }, longest) as [
    string,
    ...string[],
  ];
  const memory = { thread, resource };
  const said = { id, role: 'user', parts: [{ type: 'text', text: 'Hi' }] } as const;
  expect((await agent.generate([said], { runId, memory })).finishReason).toBe('suspended');
  const { text } = await agent.approveToolCallGenerate({ runId, toolCallId, decisionId });
  expect(text).toBe('Done.');
  await store.close();
});
