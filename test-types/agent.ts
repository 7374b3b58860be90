/** The types of `Agent`: what it needs, what it takes, what its methods return. Checked by the compiler alone. */
import type { LanguageModelV2, LanguageModelV3, LanguageModelV4 } from '@ai-sdk/provider';
import { type ModelMessage, tool, type UIMessage } from 'ai';
import {
  Agent,
  type AgentConfig,
  type AgentOutput,
  type AgentStream,
  Countersign,
  type CountersignError,
  createTool,
  type ModelInput,
  type SuspendPayload,
  type WaitingCall,
} from 'countersign';
import { expectTypeOf } from 'vitest';
import { z } from 'zod';

declare const agent: Agent;
declare const v2: LanguageModelV2;
declare const v3: LanguageModelV3;
declare const v4: LanguageModelV4;
declare const modelMessages: ModelMessage[];
declare const uiMessages: UIMessage[];

// `id` and `model` are all that an agent needs, and it needs both.
new Agent({ id: 'a', model: 'openai/gpt-5-mini' });
// @ts-expect-error: no id
new Agent({ model: 'openai/gpt-5-mini' });
// @ts-expect-error: no model
new Agent({ id: 'a' });
// @ts-expect-error: not an option
new Agent({ id: 'a', model: v4, requireToolApproval: true });
// @ts-expect-error: a model is no number
new Agent({ id: 'a', model: 7 });

// Models of each version of the AI SDK's specification, ids, and functions of the request.
expectTypeOf<string>().toExtend<ModelInput>();
expectTypeOf<LanguageModelV2>().toExtend<ModelInput>();
expectTypeOf<LanguageModelV3>().toExtend<ModelInput>();
expectTypeOf<LanguageModelV4>().toExtend<ModelInput>();
for (const model of ['openai/gpt-5-mini', v2, v3, v4]) new Agent({ id: 'a', model });
new Agent({ id: 'a', model: ({ requestContext }) => (requestContext.has('small') ? v2 : 'openai/gpt-5') });
new Agent({ id: 'a', model: async () => v3 });
// @ts-expect-error: a function must give a model
new Agent({ id: 'a', model: () => 7 });
void agent.stream('Hi', { model: v2 });

// Our tools and the AI SDK's, and nothing else.
const ours = createTool({
  id: 'ours',
  inputSchema: z.object({ amount: z.number() }),
  outputSchema: z.object({ done: z.boolean() }),
  suspendSchema: z.object({ question: z.string() }),
  resumeSchema: z.object({ answer: z.string() }),
  requireApproval: ({ amount }) => amount > 10,
  toModelOutput: ({ done }) => ({ type: 'text', value: String(done) }),
  execute: async ({ amount }) => ({ done: amount > 0 }),
});
const least = createTool({ id: 'least', inputSchema: z.object({}) });
const theirs = tool({
  description: 'Adds',
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  needsApproval: ({ a }) => a > 10,
  execute: async ({ a, b }) => a + b,
});
new Agent({ id: 'a', model: v4, tools: { ours, least, theirs } });
new Agent({ id: 'a', model: v4, tools: () => ({ ours, theirs }) });
new Agent({
  id: 'a',
  model: v4,
  tools: async ({ requestContext }) => (requestContext.has('x') ? { ours } : {}),
});
// @ts-expect-error: an object that createTool did not make
new Agent({ id: 'a', model: v4, tools: { wrong: { id: 'wrong', inputSchema: z.object({}) } } });

// What agents take as messages.
void agent.stream('Hi');
void agent.stream(['Hi', 'there']);
void agent.generate([{ role: 'user', content: 'Hi' }]);
void agent.generate([{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }]);
void agent.generate({ role: 'user', parts: [{ type: 'text', text: 'Hi' }] });
void agent.stream(modelMessages);
void agent.stream(uiMessages);
void agent.stream(uiMessages[0] ?? 'Hi');
// @ts-expect-error: no message
void agent.stream(7);
// @ts-expect-error: no such role
void agent.stream([{ role: 'person', content: 'Hi' }]);

// One type for all that streams, one for all that is collected.
type Returned<Method extends keyof Agent> = Agent[Method] extends (...args: never[]) => infer Result
  ? Result
  : never;
expectTypeOf<
  Returned<'stream' | 'approveToolCall' | 'declineToolCall' | 'resumeStream' | 'continueRun'>
>().toEqualTypeOf<Promise<AgentStream>>();
expectTypeOf<Returned<'approveToolCall'>>().toEqualTypeOf<Returned<'stream'>>();
expectTypeOf<Returned<'declineToolCall'>>().toEqualTypeOf<Returned<'stream'>>();
expectTypeOf<Returned<'resumeStream'>>().toEqualTypeOf<Returned<'stream'>>();
expectTypeOf<Returned<'continueRun'>>().toEqualTypeOf<Returned<'stream'>>();
expectTypeOf<Returned<'approveToolCallGenerate'>>().toEqualTypeOf<Returned<'generate'>>();
expectTypeOf<Returned<'declineToolCallGenerate'>>().toEqualTypeOf<Returned<'generate'>>();
expectTypeOf<Returned<'resumeGenerate'>>().toEqualTypeOf<Returned<'generate'>>();
expectTypeOf<Returned<'continueRunGenerate'>>().toEqualTypeOf<Returned<'generate'>>();
expectTypeOf<Returned<'generate'>>().toEqualTypeOf<Promise<AgentOutput>>();

// A stream is read by `for await` and by a reader.
declare const stream: AgentStream;
expectTypeOf(stream.textStream).toExtend<AsyncIterable<string>>();
expectTypeOf(stream.textStream).toExtend<ReadableStream<string>>();
expectTypeOf(stream.text).toEqualTypeOf<Promise<string>>();
expectTypeOf(stream.runId).toEqualTypeOf<string>();
const { fullStream, runId } = stream;
expectTypeOf(runId).toEqualTypeOf<string>();
expectTypeOf(fullStream).toExtend<AsyncIterable<{ type: string }>>();

// `generate` narrows on `finishReason`.
declare const output: AgentOutput;
expectTypeOf<SuspendPayload>().toBeAny();
if (output.finishReason === 'suspended') {
  expectTypeOf(output.suspendPayload).toEqualTypeOf<WaitingCall>();
  expectTypeOf(output.error).toEqualTypeOf<undefined>();
} else if (output.finishReason === 'error') {
  expectTypeOf(output.error).toEqualTypeOf<CountersignError>();
  expectTypeOf(output.suspendPayload).toEqualTypeOf<undefined>();
} else {
  expectTypeOf(output.error).toEqualTypeOf<undefined>();
  expectTypeOf(output.suspendPayload).toEqualTypeOf<undefined>();
  // @ts-expect-error: the run has ended, nothing waits
  output.suspendPayload.toolName;
}
// @ts-expect-error: there is no such end
output.finishReason === 'suspend';
expectTypeOf(output.text).toEqualTypeOf<string>();
expectTypeOf(output.runId).toEqualTypeOf<string>();

// Decisions name their run.
void agent.approveToolCall({
  runId: 'r',
  toolCallId: 'c',
  stop: 1,
  fingerprint: 'f',
  by: { id: 'p' },
  reason: 'ok',
});
// @ts-expect-error: no run
void agent.approveToolCall({ toolCallId: 'c' });
// @ts-expect-error: a stop is a number
void agent.declineToolCall({ runId: 'r', stop: '1' });
// @ts-expect-error: no options
void agent.resumeStream({ approved: true });
// @ts-expect-error: it is called toolCallId
void agent.declineToolCall({ runId: 'r', callId: 'c' });

// Policies are booleans or functions.
void agent.stream('Hi', {
  requireToolApproval: ({ toolName, args }) => /^delete_/.test(toolName) || args.amount > 7,
});
void agent.stream('Hi', {
  requireToolApproval: async ({ requestContext, workspace }) => !requestContext.a && !workspace,
});
// @ts-expect-error: text is no policy
void agent.stream('Hi', { requireToolApproval: 'always' });
// @ts-expect-error: a policy answers
void agent.stream('Hi', { requireToolApproval: ({ toolName }) => void toolName });

// Hooks may say nothing, or answer in place of the tool.
new Agent({
  id: 'a',
  model: v4,
  hooks: {
    beforeToolCall: ({ toolName, input, runId, toolCallId, requestContext }) => {
      expectTypeOf([toolName, runId, toolCallId]).toEqualTypeOf<string[]>();
      expectTypeOf(input).toEqualTypeOf<unknown>();
      return requestContext.has('x') ? undefined : { proceed: false, output: 'no' };
    },
    afterToolCall: async ({ output: result }) => expectTypeOf(result).toEqualTypeOf<unknown>(),
  },
});
new Agent({ id: 'a', model: v4, hooks: { beforeToolCall: async () => {} } });
// @ts-expect-error: a hook cannot approve
new Agent({ id: 'a', model: v4, hooks: { beforeToolCall: () => ({ proceed: true, output: 7 }) } });

// The list.
void agent.listSuspendedRuns().then(({ runs, total }) => {
  expectTypeOf(total).toEqualTypeOf<number>();
  for (const run of runs) {
    expectTypeOf(run.runId).toEqualTypeOf<string>();
    expectTypeOf(run.suspendedAt).toEqualTypeOf<Date>();
    for (const call of run.toolCalls) expectTypeOf(call.requiresApproval).toEqualTypeOf<boolean>();
  }
});
// @ts-expect-error: no such status
void agent.listSuspendedRuns({ status: 'pending' });

// A registry knows the keys of its agents, and takes any id.
const registry = new Countersign({ agents: { desk: agent } });
expectTypeOf(registry.getAgent('desk')).toEqualTypeOf<Agent>();
expectTypeOf(registry.agents.desk).toEqualTypeOf<Agent>();
expectTypeOf(registry.getAgent('some-id')).toEqualTypeOf<Agent>();
// @ts-expect-error: no such key
registry.agents.other;
expectTypeOf<AgentConfig['id']>().toEqualTypeOf<string>();
