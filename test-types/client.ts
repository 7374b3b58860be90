import type { Chunk, CountersignError, ErrorDetails, SuspendedRuns, Thread } from 'countersign';
import {
  type Approval,
  type Approvals,
  type ChunkError,
  type ClientChunk,
  CountersignClient,
  type CountersignClientError,
  type Problem,
  type RunStream,
  type Recorded as WireRecorded,
  type SuspendedRuns as WireRuns,
  type SentToolApproval as WireSent,
  type Thread as WireThread,
} from 'countersign/client';
import { expectTypeOf } from 'vitest';
import type { SentToolApproval } from '../src/agent/thread-approval.ts';
import type { Recorded } from '../src/server/answer-approval.ts';
import type { Approvals as ServerApprovals } from '../src/server/approvals.ts';
import type { Issue } from '../src/server/problem.ts';

/** As JSON. */
type Wire<T> = 0 extends 1 & T
  ? T
  : T extends Date
    ? string
    : T extends readonly (infer Item)[]
      ? readonly Wire<Item>[]
      : T extends object
        ? { [Key in keyof T]: Wire<T[Key]> }
        : T;

// What the client declares is what the server answers.
expectTypeOf<WireRuns>().toEqualTypeOf<Wire<SuspendedRuns>>();
expectTypeOf<Approvals>().toEqualTypeOf<Wire<ServerApprovals>>();
expectTypeOf<WireThread>().toEqualTypeOf<Wire<Thread>>();
expectTypeOf<WireSent>().toEqualTypeOf<SentToolApproval>();
expectTypeOf<Omit<WireRecorded, 'decision'>>().toEqualTypeOf<Omit<Recorded, 'decision'>>();
expectTypeOf<Problem['issues']>().toEqualTypeOf<readonly Issue[] | undefined>();
expectTypeOf<ClientChunk['type']>().toEqualTypeOf<Chunk['type']>();
expectTypeOf<CountersignClientError['details']>().toEqualTypeOf<ErrorDetails>();
// `isCountersignError` says of it that it is one: what it has must be there, in its shape.
expectTypeOf<Omit<CountersignClientError, 'code' | 'name'>>().toExtend<
  Pick<CountersignError, 'status' | 'details' | 'runId' | 'toolCallId' | 'decision' | 'message' | 'toJSON'>
>();

// Options that a caller leaves undefined were left out.
const client = new CountersignClient({
  baseUrl: '',
  apiPrefix: undefined,
  headers: undefined,
  fetch: undefined,
  credentials: undefined,
  retries: undefined,
  backoffMs: undefined,
  maxBackoffMs: undefined,
  abortSignal: undefined,
});
new CountersignClient({ baseUrl: '', headers: async () => ({ authorization: 'Bearer x' }) });
const agent = client.getAgent('desk');
const stream = await agent.stream('Hi', { memory: undefined, maxSteps: undefined, abortSignal: undefined });
expectTypeOf(stream).toEqualTypeOf<RunStream>();
expectTypeOf(stream).toExtend<Response>();
for await (const chunk of stream) {
  if (chunk.type === 'error') expectTypeOf(chunk.payload.error).toEqualTypeOf<ChunkError>();
  if (chunk.type === 'tool-call-approval') expectTypeOf(chunk.payload.stop).toEqualTypeOf<number>();
}
await stream.processDataStream({ onChunk: async ({ type }) => type });

const output = await agent.generate([{ role: 'user', parts: [{ type: 'text', text: 'Hi' }] }]);
if (output.finishReason === 'suspended')
  expectTypeOf(output.suspendPayload.toolCallId).toEqualTypeOf<string>();
if (output.finishReason === 'error') expectTypeOf(output.error).toEqualTypeOf<Problem>();

const [approval] = (await client.approvals.list({ agentId: undefined, fromDate: new Date() })).approvals;
expectTypeOf(approval).toEqualTypeOf<Approval | undefined>();
const of = { runId: 'r', toolCallId: 'c', stop: 1 };
await client.approvals.approve({ ...of, fingerprint: approval?.fingerprint, reason: undefined });
await client.approvals.resolve({ ...of, runAgain: true });
await client.approvals.resolve({ ...of, output: null });
await client.approvals.subscribe({ onEvent: ({ type }) => type, lastEventId: undefined });
for await (const event of client.approvals.subscribe()) {
  if (event.type === 'decided') expectTypeOf(event.decision.reason).toEqualTypeOf<string | undefined>();
}

// @ts-expect-error an address is demanded
new CountersignClient({});
// @ts-expect-error a decision names its call
await agent.approveToolCall({ runId: 'r' });
// @ts-expect-error over all agents a decision says which stop was seen
await client.approvals.approve({ runId: 'r', toolCallId: 'c' });
// @ts-expect-error who decides is who asks
await client.approvals.decline({ ...of, by: { id: 'boss' } });
// @ts-expect-error one of runAgain, output and error
await client.approvals.resolve({ ...of, runAgain: true, error: 'no' });
// @ts-expect-error a flag can hold more, never less
await agent.stream('Hi', { requireToolApproval: false });
