/** The types of `createTool`: everything is inferred from the schemas, of whatever library. */
import { toStandardJsonSchema } from '@valibot/to-json-schema';
import { jsonSchema } from 'ai';
import { type } from 'arktype';
import { createTool, type RequestContext, type Tool, type ToolContext } from 'countersign';
import * as v from 'valibot';
import { expectTypeOf } from 'vitest';
import { z } from 'zod';

const empty = z.object({});

// `id` and `inputSchema` are all that a tool needs, and it needs both.
expectTypeOf(createTool({ id: 'least', inputSchema: empty })).toExtend<Tool>();
// @ts-expect-error: no id
createTool({ inputSchema: empty });
// @ts-expect-error: no inputSchema
createTool({ id: 'none' });
// @ts-expect-error: a schema is no plain object
createTool({ id: 'plain', inputSchema: { type: 'object' } });
// @ts-expect-error: it is called requireApproval
createTool({ id: 'misspelt', inputSchema: empty, requiresApproval: true });
// @ts-expect-error: the policy of a tool answers
createTool({ id: 'silent', inputSchema: empty, requireApproval: () => 'yes' });
// @ts-expect-error: nobody else can approve
createTool({ id: 'approver', inputSchema: empty, approver: 'anybody' });

// zod: what transforms and defaults make is what execute reads.
createTool({
  id: 'zod',
  inputSchema: z.object({ amount: z.string().transform(Number), note: z.string().default('none') }),
  outputSchema: z.object({ done: z.boolean().default(true) }),
  suspendSchema: z.object({ question: z.string() }),
  resumeSchema: z.object({ count: z.string().transform(Number) }),
  requireApproval: (input, context) => {
    expectTypeOf(input).toEqualTypeOf<{ amount: number; note: string }>();
    expectTypeOf(context.requestContext).toEqualTypeOf<Record<string, unknown>>();
    return true;
  },
  execute: async (input, context) => {
    expectTypeOf(input).toEqualTypeOf<{ amount: number; note: string }>();
    expectTypeOf(context.agent.resumeData).toEqualTypeOf<{ count: number } | undefined>();
    expectTypeOf(context.agent.suspend).parameter(0).toEqualTypeOf<{ question: string }>();
    expectTypeOf(context.requestContext).toEqualTypeOf<RequestContext>();
    expectTypeOf(context.abortSignal).toEqualTypeOf<AbortSignal>();
    expectTypeOf(context.idempotencyKey).toEqualTypeOf<string>();
    expectTypeOf(context.runId).toEqualTypeOf<string>();
    if (!context.agent.resumeData) return context.agent.suspend({ question: 'How many?' });
    // @ts-expect-error: another payload
    if (input.amount > 7) return context.agent.suspend({ reason: 'no' });
    // @ts-expect-error: the payload's property has another type
    if (input.amount > 8) return context.agent.suspend({ question: 7 });
    // @ts-expect-error: no payload
    if (input.amount > 9) return context.agent.suspend();
    // The default of the output fills in.
    return {};
  },
});

// The output must fit its schema.
createTool({
  id: 'wrong-output',
  inputSchema: empty,
  outputSchema: z.object({ done: z.boolean() }),
  // @ts-expect-error: another type
  execute: async () => ({ done: 'yes' }),
});
createTool({
  id: 'wrong-input',
  inputSchema: z.object({ id: z.string() }),
  // @ts-expect-error: no such property
  execute: async ({ name }) => name,
});
createTool({
  id: 'model-output',
  inputSchema: empty,
  outputSchema: z.object({ done: z.boolean() }),
  toModelOutput: (output) => {
    expectTypeOf(output).toEqualTypeOf<{ done: boolean }>();
    return { type: 'json', value: output };
  },
});

// `suspend` may be destructured, and returned, and awaited.
createTool({
  id: 'destructured',
  inputSchema: empty,
  outputSchema: z.object({ weather: z.string() }),
  suspendSchema: z.object({ reason: z.string() }),
  resumeSchema: z.object({ approved: z.boolean() }),
  execute: async (_input, { agent: { suspend, resumeData } }) => {
    if (!resumeData) return suspend({ reason: 'first' });
    if (!resumeData.approved) return await suspend({ reason: 'again' });
    return { weather: 'fine' };
  },
});
// As the specification prints it, although the context is always there.
createTool({
  id: 'as-printed',
  inputSchema: empty,
  suspendSchema: z.object({ reason: z.string() }),
  resumeSchema: z.object({ approved: z.boolean() }),
  execute: async (_input, context) => {
    const { resumeData: { approved } = {}, suspend } = context?.agent ?? {};
    expectTypeOf(approved).toEqualTypeOf<boolean | undefined>();
    // @ts-expect-error: another payload
    if (approved === undefined) return suspend?.({ message: 'no' });
    return suspend?.({ reason: 'Approval required.' });
  },
});

// arktype
createTool({
  id: 'arktype',
  inputSchema: type({ amount: 'string.numeric.parse', 'note?': 'string' }),
  suspendSchema: type({ question: 'string' }),
  resumeSchema: type({ answer: "'yes' | 'no'" }),
  execute: async (input, { agent: { suspend, resumeData } }) => {
    expectTypeOf(input.amount).toEqualTypeOf<number>();
    expectTypeOf(input.note).toEqualTypeOf<string | undefined>();
    expectTypeOf(resumeData).toEqualTypeOf<{ answer: 'yes' | 'no' } | undefined>();
    // @ts-expect-error: another payload
    if (input.amount > 7) return suspend({ reason: 'no' });
    return suspend({ question: 'Sure?' });
  },
});

// valibot, through its adapter
createTool({
  id: 'valibot',
  inputSchema: toStandardJsonSchema(v.object({ amount: v.pipe(v.string(), v.transform(Number)) })),
  suspendSchema: toStandardJsonSchema(v.object({ question: v.string() })),
  resumeSchema: toStandardJsonSchema(v.object({ answer: v.picklist(['yes', 'no']) })),
  execute: async (input, { agent: { suspend, resumeData } }) => {
    expectTypeOf(input).toEqualTypeOf<{ amount: number }>();
    expectTypeOf(resumeData).toEqualTypeOf<{ answer: 'yes' | 'no' } | undefined>();
    // @ts-expect-error: another payload
    if (input.amount > 7) return suspend({ reason: 'no' });
    return suspend({ question: 'Sure?' });
  },
});

// plain JSON Schema, through the AI SDK
createTool({
  id: 'json-schema',
  inputSchema: jsonSchema<{ amount: number }>({ type: 'object', properties: { amount: { type: 'number' } } }),
  suspendSchema: jsonSchema<{ question: string }>({ type: 'object' }),
  resumeSchema: jsonSchema<{ answer: string }>({ type: 'object' }),
  execute: async (input, { agent: { suspend, resumeData } }) => {
    expectTypeOf(input).toEqualTypeOf<{ amount: number }>();
    expectTypeOf(resumeData).toEqualTypeOf<{ answer: string } | undefined>();
    // @ts-expect-error: another payload
    if (input.amount > 7) return suspend({ reason: 'no' });
    return suspend({ question: 'Sure?' });
  },
});

// Without schemas for it, payload and data are not known.
createTool({
  id: 'open',
  inputSchema: empty,
  execute: async (_input, { agent: { suspend, resumeData } }) => {
    expectTypeOf(resumeData).toEqualTypeOf<unknown>();
    return suspend({ anything: 1 });
  },
});

// Progress has types of its own.
export async function progress({ writer }: ToolContext): Promise<void> {
  await writer.write({ percent: 7 });
  await writer.custom({ type: 'data-progress', data: 7 });
  // @ts-expect-error: only data-… chunks are one's own
  await writer.custom({ type: 'progress', data: 7 });
}
