/** The types of `structuredOutput` and `object`, and of the other options that carry functions of the caller. */
import { hasToolCall, isStepCount, jsonSchema, tool } from 'ai';
import { type } from 'arktype';
import {
  type Agent,
  type AgentOutput,
  type AgentStream,
  type Chunk,
  createTool,
  type RunOptions,
  type StepResult,
} from 'countersign';
import { expectTypeOf } from 'vitest';
import { z } from 'zod';

declare const agent: Agent;
interface Named {
  name: string;
}
const schema = z.object({ name: z.string() });

// The schema's output, or undefined while the run waits.
const { object } = await agent.generate('Hi', { structuredOutput: { schema } });
expectTypeOf(object).toEqualTypeOf<Named | undefined>();
const stream = await agent.stream('Hi', { structuredOutput: { schema }, maxSteps: 3 });
expectTypeOf(stream).toEqualTypeOf<AgentStream<Named>>();
expectTypeOf(stream.object).toEqualTypeOf<Promise<Named | undefined>>();

// `generate` narrows on `finishReason`.
const output = await agent.generate('Hi', { structuredOutput: { schema } });
if (output.finishReason === 'stop') expectTypeOf(output.object).toEqualTypeOf<Named>();
if (output.finishReason === 'suspended') expectTypeOf(output.object).toEqualTypeOf<undefined>();
if (output.finishReason === 'max-steps') expectTypeOf(output.object).toEqualTypeOf<undefined>();
// @ts-expect-error: it may wait
output.object.name;

// What the schema makes of it, not what it takes.
const made = await agent.generate('Hi', {
  structuredOutput: { schema: z.object({ at: z.string().transform((text) => new Date(text)) }) },
});
expectTypeOf(made.object).toEqualTypeOf<{ at: Date } | undefined>();

// Other libraries, and the AI SDK's own.
const byArktype = await agent.generate('Hi', { structuredOutput: { schema: type({ name: 'string' }) } });
expectTypeOf(byArktype.object).toEqualTypeOf<Named | undefined>();
const bySdk = await agent.generate('Hi', {
  structuredOutput: { schema: jsonSchema<Named>({ type: 'object' }) },
});
expectTypeOf(bySdk.object).toEqualTypeOf<Named | undefined>();

// Without a schema here there may be one in the defaults, or stored with the run.
expectTypeOf(await agent.generate('Hi')).toEqualTypeOf<AgentOutput>();
expectTypeOf((await agent.generate('Hi')).object).toEqualTypeOf<unknown>();
declare const options: RunOptions;
expectTypeOf(await agent.stream('Hi', options)).toEqualTypeOf<AgentStream>();

// Every later leg takes it again.
const runId = 'r';
const again = { runId, structuredOutput: { schema } };
expectTypeOf(await agent.approveToolCall(again)).toEqualTypeOf<AgentStream<Named>>();
expectTypeOf(await agent.approveToolCallGenerate(again)).toEqualTypeOf<AgentOutput<Named>>();
expectTypeOf(await agent.declineToolCall(again)).toEqualTypeOf<AgentStream<Named>>();
expectTypeOf(await agent.declineToolCallGenerate(again)).toEqualTypeOf<AgentOutput<Named>>();
expectTypeOf(await agent.resumeStream({}, again)).toEqualTypeOf<AgentStream<Named>>();
expectTypeOf(await agent.resumeGenerate({}, again)).toEqualTypeOf<AgentOutput<Named>>();
expectTypeOf(await agent.continueRun(again)).toEqualTypeOf<AgentStream<Named>>();
expectTypeOf(await agent.continueRunGenerate(again)).toEqualTypeOf<AgentOutput<Named>>();
const resolved = { ...again, toolCallId: 'c', runAgain: true } as const;
expectTypeOf(await agent.resolveInterruptedCall(resolved)).toEqualTypeOf<AgentStream<Named>>();
expectTypeOf(await agent.resolveInterruptedCallGenerate(resolved)).toEqualTypeOf<AgentOutput<Named>>();
expectTypeOf((await agent.approveToolCallGenerate({ runId })).object).toEqualTypeOf<unknown>();

// @ts-expect-error: a schema is no plain object
void agent.generate('Hi', { structuredOutput: { schema: { name: 'string' } } });
// @ts-expect-error: no schema
void agent.generate('Hi', { structuredOutput: {} });
// @ts-expect-error: no such option
void agent.generate('Hi', { structuredOutput: { schema, model: 'openai/gpt-5-mini' } });

// Toolsets hold our tools and the AI SDK's.
const ours = createTool({ id: 'ours', inputSchema: z.object({}) });
const theirs = tool({ inputSchema: z.object({}), execute: async () => 1 });
void agent.stream('Hi', { toolsets: { one: { ours }, two: { theirs } } });
void agent.approveToolCall({ runId, toolsets: { one: { ours } } });
// @ts-expect-error: a toolset is a record of tools
void agent.stream('Hi', { toolsets: { ours } });

// Conditions of one's own, and the AI SDK's.
void agent.stream('Hi', {
  stopWhen: ({ steps }) => {
    expectTypeOf(steps).toEqualTypeOf<readonly StepResult[]>();
    return steps.length > 2;
  },
});
void agent.stream('Hi', { stopWhen: isStepCount(2) });
void agent.generate('Hi', {
  stopWhen: [hasToolCall('ours'), isStepCount(2), async ({ steps }) => steps.length > 1],
});
// @ts-expect-error: a condition answers yes or no
void agent.stream('Hi', { stopWhen: () => 'yes' });
// @ts-expect-error: a step has no such field
void agent.stream('Hi', { stopWhen: ({ steps }) => steps[0]?.nothing === 1 });

void agent.stream('Hi', { onChunk: ({ chunk }) => expectTypeOf(chunk).toEqualTypeOf<Chunk>() });
