import { anthropic } from '@ai-sdk/anthropic';
import { openai } from '@ai-sdk/openai';
import { toStandardJsonSchema } from '@valibot/to-json-schema';
import { dynamicTool, jsonSchema, type Tool as SdkTool, tool } from 'ai';
import { type } from 'arktype';
import * as valibot from 'valibot';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import * as zodMini from 'zod/mini';
import { z as zod3 } from 'zod/v3';
import { RequestContext } from '../core/context.ts';
import { isCountersignError } from '../core/errors.ts';
import { validate } from '../core/schema.ts';
import type { ApprovalContext, Tool, ToolContext } from '../core/tool.ts';
import { schemaFromAiSdk } from './ai-sdk-schema.ts';
import { toolFromAiSdk } from './ai-sdk-tool.ts';

const city = z.object({ city: z.string() });
const approval: ApprovalContext = {
  runId: 'r1',
  toolCallId: 'c1',
  messages: [{ role: 'user', content: 'Hi' }],
  requestContext: { tenant: 'acme' },
  workspace: 'w',
};

function context(over: Partial<ToolContext> = {}): ToolContext {
  return {
    runId: 'r1',
    toolCallId: 'c1',
    requestContext: new RequestContext([['tenant', 'acme']]),
    abortSignal: new AbortController().signal,
    agent: { agentId: 'a', toolCallId: 'c1', messages: [{ role: 'user', content: 'Hi' }] },
    ...over,
  } as ToolContext;
}

/** What the tool's own policy says, as the gate asks it. */
async function policy(made: Tool, input: unknown): Promise<unknown> {
  const { requireApproval } = made;
  return typeof requireApproval === 'function' ? requireApproval(input, approval) : requireApproval;
}

describe('toolFromAiSdk', () => {
  test('what the model is told', async () => {
    const made = toolFromAiSdk(
      'weather',
      tool({
        description: 'Tells the weather.',
        inputSchema: city,
        outputSchema: z.object({ degrees: z.number() }),
        strict: true,
        providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } },
        inputExamples: [{ input: { city: 'Graz' } }],
        execute: () => ({ degrees: 20 }),
      }),
    );
    expect(made).toMatchObject({
      id: 'weather',
      description: 'Tells the weather.',
      strict: true,
      providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } },
      inputExamples: [{ input: { city: 'Graz' } }],
      provider: undefined,
      requireApproval: undefined,
    });
    expect(await made.inputJsonSchema()).toMatchObject({ type: 'object', required: ['city'] });
    expect(await validate(made.outputSchema, { degrees: 'hot' })).toMatchObject({ ok: false });
  });

  test('a description that is made', () => {
    const made = toolFromAiSdk(
      'a',
      tool({ description: () => 'Made.', inputSchema: city, execute: () => 1 }),
    );
    expect(made.description).toBe('Made.');
    const needy = tool({
      description: ({ context }) => context.names.join(),
      contextSchema: z.object({ names: z.array(z.string()) }),
      inputSchema: city,
      execute: () => 1,
    });
    expect(() => toolFromAiSdk('a', needy as SdkTool)).toThrow('cannot be made');
  });

  test('execute is given what the AI SDK would give, and our context', async () => {
    const seen: unknown[] = [];
    const made = toolFromAiSdk(
      'a',
      tool({
        inputSchema: city,
        execute: (input, options) => {
          seen.push(input, options.toolCallId, options.messages, options.abortSignal, options.context);
          return 'done';
        },
      }),
    );
    const given = context();
    expect(await made.execute?.({ city: 'Graz' }, given)).toBe('done');
    expect(seen).toEqual([{ city: 'Graz' }, 'c1', given.agent.messages, given.abortSignal, given]);
  });

  test('a contextSchema is answered from the request context', async () => {
    const made = toolFromAiSdk(
      'a',
      tool({
        inputSchema: city,
        contextSchema: z.object({ tenant: z.string(), size: z.number().default(3) }),
        needsApproval: (_, { context }) => context.size > 2,
        execute: (_, { context }) => context,
      }) as SdkTool,
    );
    expect(await made.execute?.({ city: 'Graz' }, context())).toEqual({ tenant: 'acme', size: 3 });
    expect(await policy(made, {})).toBe(true);
    const wrong = context({ requestContext: new RequestContext([['tenant', 7]]) });
    await expect(made.execute?.({ city: 'Graz' }, wrong)).rejects.toThrow('contextSchema: tenant');
  });

  test('a generator is handed on, for its values to be progress', async () => {
    const made = toolFromAiSdk(
      'a',
      tool({
        inputSchema: city,
        async *execute() {
          yield 1;
          yield 2;
        },
      }),
    );
    const output = await made.execute?.({}, context());
    const values: unknown[] = [];
    for await (const value of output as AsyncIterable<unknown>) values.push(value);
    expect(values).toEqual([1, 2]);
  });

  test('a dynamic tool', async () => {
    const made = toolFromAiSdk(
      'a',
      dynamicTool({ inputSchema: city, execute: async (input) => ({ input }) }),
    );
    expect(await made.execute?.({ city: 'Graz' }, context())).toEqual({ input: { city: 'Graz' } });
  });

  test('a tool without execute waits for its output', async () => {
    const made = toolFromAiSdk(
      'ask',
      tool({ inputSchema: city, outputSchema: z.object({ yes: z.boolean() }) }),
    );
    expect(made.execute).toBeTypeOf('function');
    expect(await made.resumeJsonSchema()).toMatchObject({ properties: { yes: { type: 'boolean' } } });
  });

  test.each([true, false, undefined])('needsApproval: %s', async (needsApproval) => {
    const flag = needsApproval === undefined ? {} : { needsApproval };
    const made = toolFromAiSdk('a', tool({ inputSchema: city, execute: () => 1, ...flag }));
    expect(await policy(made, {})).toBe(needsApproval);
  });

  test('needsApproval as a function of the input', async () => {
    const made = toolFromAiSdk(
      'a',
      tool({ inputSchema: city, needsApproval: async (input) => input.city === 'Graz', execute: () => 1 }),
    );
    expect(await policy(made, { city: 'Graz' })).toBe(true);
    expect(await policy(made, { city: 'Wien' })).toBe(false);
  });

  test('needsApproval is given what the AI SDK would give, and our context', async () => {
    const seen: unknown[] = [];
    const made = toolFromAiSdk(
      'a',
      tool({
        inputSchema: city,
        needsApproval: (_, options) => {
          seen.push(options.toolCallId, options.messages, options.context);
          return true;
        },
        execute: () => 1,
      }),
    );
    await policy(made, {});
    expect(seen).toEqual(['c1', approval.messages, approval]);
  });

  test('toModelOutput', async () => {
    const made = toolFromAiSdk(
      'a',
      tool({
        inputSchema: city,
        execute: () => ({ degrees: 20 }),
        toModelOutput: ({ toolCallId, input, output }) => ({
          type: 'text',
          value: `${toolCallId}: ${input.city} ${output.degrees}`,
        }),
      }),
    );
    const call = { toolCallId: 'c1', input: { city: 'Graz' } };
    expect(await made.toModelOutput?.({ degrees: 20 }, call)).toEqual({ type: 'text', value: 'c1: Graz 20' });
  });

  test('tools of providers', () => {
    const search = openai.tools.webSearch({});
    expect(toolFromAiSdk('web_search', search as SdkTool)).toMatchObject({
      id: 'web_search',
      provider: { executed: true, tool: search },
    });
    const bash = anthropic.tools.bash_20250124({ execute: async () => 'ok', needsApproval: true });
    const made = toolFromAiSdk('bash', bash as SdkTool);
    expect(made).toMatchObject({ requireApproval: true, provider: { executed: false, tool: bash } });
    expect(made.execute).toBeTypeOf('function');
    const shell = anthropic.tools.bash_20250124({});
    expect(toolFromAiSdk('bash', shell as SdkTool)).toMatchObject({ provider: { executed: false } });
  });

  test("a provider's own tool checks its input in our gate", async () => {
    const made = toolFromAiSdk(
      'bash',
      anthropic.tools.bash_20250124({ execute: async () => 'ok' }) as SdkTool,
    );
    expect(await validate(made.inputSchema, { command: 'ls' })).toMatchObject({ ok: true });
    expect(await validate(made.inputSchema, { command: 7 })).toMatchObject({ ok: false });
  });

  test.each([
    ['a b', tool({ inputSchema: city })],
    ['a', 'text'],
    ['a', null],
    ['a', { type: 'provider-defined', inputSchema: city }],
    ['a', { inputSchema: 'text' }],
  ])('%s: %o is no tool', (key, value) => {
    expect(() => toolFromAiSdk(key, value as never)).toThrow(
      expect.toSatisfy((thrown) => isCountersignError(thrown, 'invalid-tool')),
    );
  });
});

describe('schemaFromAiSdk', () => {
  const wrapped = jsonSchema<{ city: string }>(
    { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    {
      validate: (value) =>
        typeof (value as { city?: unknown }).city === 'string'
          ? { success: true, value: value as { city: string } }
          : { success: false, error: new Error('city: no string') },
    },
  );

  test.each([
    ['zod', city],
    ['zod mini', zodMini.object({ city: zodMini.string() })],
    ['zod 3', zod3.object({ city: zod3.string() })],
    ['arktype', type({ city: 'string' })],
    ['valibot', toStandardJsonSchema(valibot.object({ city: valibot.string() }))],
    ['jsonSchema()', wrapped],
    ['a lazy schema', () => wrapped],
    ['a lazy zod schema', () => city],
  ])('%s', async (_, schema) => {
    const made = toolFromAiSdk('a', { inputSchema: schema, execute: () => 1 } as SdkTool);
    expect(await made.inputJsonSchema()).toMatchObject({
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
    });
    expect(await validate(made.inputSchema, { city: 'Graz' })).toEqual({ ok: true, value: { city: 'Graz' } });
    expect(await validate(made.inputSchema, { city: 7 })).toMatchObject({
      ok: false,
      issues: [expect.stringContaining('city')],
    });
  });

  test('none means no arguments', () => {
    expect(schemaFromAiSdk(undefined)).toMatchObject({ jsonSchema: { type: 'object', properties: {} } });
  });

  test('a schema that nobody can describe', async () => {
    const made = toolFromAiSdk(
      'a',
      tool({ inputSchema: valibot.object({ city: valibot.string() }) } as never),
    );
    await expect(made.inputJsonSchema()).rejects.toSatisfy((thrown) =>
      isCountersignError(thrown, 'invalid-tool'),
    );
  });
});
