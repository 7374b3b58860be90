/** Each way to write a schema, through a real run: what reaches the model, the person and `execute`. */
import { toStandardJsonSchema } from '@valibot/to-json-schema';
import { jsonSchema } from 'ai';
import { type } from 'arktype';
import { Agent, type ApprovalPayload, createTool, type Schema } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import * as v from 'valibot';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { hushWarnings, promptOf } from './harness.ts';

hushWarnings();

/** Each takes an amount as a numeric text and gives it as a number. */
const libraries: [string, Schema<{ amount: number }>][] = [
  ['zod 4', z.object({ amount: z.string().regex(/^\d+$/).transform(Number) })],
  ['arktype', type({ amount: 'string.numeric.parse' })],
  [
    'valibot with its adapter',
    toStandardJsonSchema(
      v.object({
        amount: v.pipe(
          v.string(),
          v.regex(/^\d+$/),
          v.transform((text) => Number(text)),
        ),
      }),
    ),
  ],
  [
    "the AI SDK's jsonSchema()",
    jsonSchema<{ amount: number }>(
      { type: 'object', properties: { amount: { type: 'string' } }, required: ['amount'] },
      {
        validate(value) {
          const { amount } = value as { amount?: unknown };
          return typeof amount === 'string' && /^\d+$/.test(amount)
            ? { success: true, value: { amount: Number(amount) } }
            : { success: false, error: new Error('amount: must be numeric') };
        },
      },
    ),
  ],
];

async function run(inputSchema: Schema<{ amount: number }>, args: unknown) {
  const executed: unknown[] = [];
  const policy: unknown[] = [];
  const refundTool = createTool({
    id: 'refund',
    inputSchema,
    requireApproval: (input) => policy.push(input) > 0,
    execute: async (input) => {
      executed.push(input);
      return { refunded: input.amount };
    },
  });
  const model = scriptedModel([{ calls: [{ toolName: 'refund', args }] }, 'Done.']);
  const agent = new Agent({ id: 'desk', model, tools: { refundTool } });
  const stream = await agent.stream('Refund it');
  const held: ApprovalPayload[] = [];
  const failed: unknown[] = [];
  for await (const chunk of stream.fullStream) {
    if (chunk.type === 'tool-call-approval') held.push(chunk.payload);
    if (chunk.type === 'tool-error') failed.push(chunk.payload.toolName);
  }
  return { agent, stream, model, executed, policy, held, failed };
}

describe.each(libraries)('a tool with a schema of %s', (_, inputSchema) => {
  test('the model is given its JSON Schema', async () => {
    const { model } = await run(inputSchema, { amount: '12' });
    expect(model.calls[0]?.tools).toMatchObject([
      {
        name: 'refund',
        inputSchema: { type: 'object', properties: { amount: { type: 'string' } }, required: ['amount'] },
      },
    ]);
  });

  test('valid arguments are shown and executed as the schema made them', async () => {
    const { agent, stream, executed, policy, held, model } = await run(inputSchema, { amount: '12' });
    expect(held).toMatchObject([{ toolName: 'refund', args: { amount: 12 } }]);
    expect(policy).toEqual([{ amount: 12 }]);
    expect(executed).toEqual([]);
    const approved = await agent.approveToolCall({ runId: stream.runId });
    expect(await approved.text).toBe('Done.');
    expect(executed).toEqual([{ amount: 12 }]);
    expect(promptOf(model, 1)).toContain('"refunded":12');
    // The prompt repeats what the model wrote.
    expect(promptOf(model, 1)).toContain('"amount":"12"');
  });

  test.each([
    ['of the wrong type', { amount: true }],
    ['of the wrong form', { amount: 'twelve' }],
    ['that are missing', {}],
  ])('arguments %s are an error for the model, and nobody is asked', async (_name, args) => {
    const { agent, stream, executed, policy, held, failed, model } = await run(inputSchema, args);
    expect(held).toEqual([]);
    expect(policy).toEqual([]);
    expect(executed).toEqual([]);
    expect(failed).toEqual(['refund']);
    expect(await stream.text).toBe('Done.');
    expect(promptOf(model, 1)).toContain('The arguments do not match the schema');
    expect(promptOf(model, 1)).toContain('amount');
    expect((await agent.listSuspendedRuns({ status: 'all' })).total).toBe(0);
  });
});
