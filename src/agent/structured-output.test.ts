import { jsonSchema } from 'ai';
import { type } from 'arktype';
import { expect, test } from 'vitest';
import { z } from 'zod';
import * as mini from 'zod/mini';
import { runStarted, withOptions } from '../core/test-support/events.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { Agent } from './agent.ts';
import { Countersign } from './countersign.ts';
import { createTool } from './create-tool.ts';
import { checkStructuredOutput, jsonSchemaOfOutput, schemaOfLeg } from './structured-output.ts';

const expected = {
  type: 'object',
  properties: { name: { type: 'string' } },
  required: ['name'],
  additionalProperties: false,
};

test.each([
  ['zod', z.object({ name: z.string() })],
  ['zod mini', mini.object({ name: mini.string() })],
  ['arktype', type({ name: 'string' })],
  ['jsonSchema()', jsonSchema(expected as never)],
])('the JSON Schema of %s is closed', async (_, schema) => {
  expect(await jsonSchemaOfOutput({ schema })).toMatchObject(expected);
});

test('a schema without JSON Schema is refused', async () => {
  await expect(jsonSchemaOfOutput({ schema: z.object({ at: z.date() }) })).rejects.toMatchObject({
    code: 'invalid-option',
  });
});

test.each([[null], ['x'], [{}], [{ schema: {} }], [{ schema: z.string(), mode: 'x' }]])(
  '%o is refused',
  (given) => {
    expect(() => checkStructuredOutput(given as never)).toThrow(/structuredOutput/);
  },
);

test('a leg that brings no schema has that of the defaults only if the run was begun with it', async () => {
  const schema = z.object({ name: z.string() });
  const other = z.object({ age: z.number() });
  const begun = withOptions({ outputSchema: await jsonSchemaOfOutput({ schema }) });
  expect(await schemaOfLeg({ schema: other }, { schema }, begun)).toBe(other);
  expect(await schemaOfLeg(undefined, { schema }, begun)).toBe(schema);
  expect(await schemaOfLeg(undefined, { schema: other }, begun)).toBeUndefined();
  expect(await schemaOfLeg(undefined, undefined, begun)).toBeUndefined();
  expect(await schemaOfLeg(undefined, { schema }, runStarted())).toBeUndefined();
});

test('a leg of a run below reads its answer by its own schema, not by that of the supervisor', async () => {
  const act = createTool({
    id: 'act',
    inputSchema: z.object({}),
    requireApproval: true,
    execute: async () => 1,
  });
  const pays = (answer: string) => scriptedModel([{ calls: [{ toolName: 'act' }] }, answer]);
  const below = { schema: z.object({ paid: z.number().transform((paid) => paid * 2) }) };
  const plain = new Agent({ id: 'plain', model: pays('Paid.'), tools: { act } });
  const exact = new Agent({
    id: 'exact',
    model: pays('{"paid":2}'),
    tools: { act },
    defaultOptions: { structuredOutput: below },
  });
  const calls = ['plain', 'exact'].map((key) => ({
    toolName: `agent-${key}`,
    args: { prompt: 'Pay.' },
    toolCallId: key,
  }));
  const boss = new Agent({
    id: 'boss',
    model: scriptedModel([{ calls }, '{"name":"Ada"}']),
    agents: { plain, exact },
    defaultOptions: { structuredOutput: { schema: z.object({ name: z.string() }) } },
  });
  const registry = new Countersign({ agents: { boss } });
  const { runId } = await boss.generate('Go.');
  const approve = (agent: Agent, structuredOutput?: never, decisionId?: string) =>
    agent.approveToolCallGenerate({
      runId: `${runId}~${agent.id}`,
      toolCallId: 'call-0-0',
      structuredOutput,
      decisionId,
    });
  expect(await approve(plain)).toMatchObject({ text: 'Paid.', object: undefined });
  await expect(approve(exact, { schema: 'none' } as never)).rejects.toMatchObject({ code: 'invalid-option' });
  expect(await approve(exact, undefined, 'click')).toMatchObject({ object: { paid: 4 } });
  await registry.stop();
  // The root has ended, and what its runs below said is not kept.
  expect(await approve(exact, below as never, 'click')).toMatchObject({ text: '', object: undefined });
});
