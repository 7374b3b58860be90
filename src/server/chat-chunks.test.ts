import { readUIMessageStream, type UIMessage, type UIMessageChunk, uiMessageChunkSchema } from 'ai';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { Agent } from '../agent/agent.ts';
import { Countersign } from '../agent/countersign.ts';
import { createTool } from '../agent/create-tool.ts';
import { Memory } from '../agent/memory.ts';
import type { UiPart } from '../conversation/ui-parts.ts';
import { CountersignError } from '../core/errors.ts';
import type { Chunk, PayloadOf } from '../stream/chunk.ts';
import { chunk } from '../stream/render.ts';
import { type ScriptedStep, scriptedModel } from '../testing/scripted-model.ts';
import { fromChunk, fromMessage, type Known, nothingKnown, startChunk, type UiChunk } from './chat-chunks.ts';
import type { ShownCall } from './chat-shown.ts';

const runId = 'run-1';
const call = { toolCallId: 'c1', toolName: 'refund', args: { order: '1' } };
const asked = { ...call, stop: 2, fingerprint: 'f', resumeSchema: '{"type":"object"}' };

type Case = {
  [Type in Exclude<Chunk['type'], `data-${string}`>]: [Type, PayloadOf<Type>, UiChunk[]];
}[Exclude<Chunk['type'], `data-${string}`>];

const cases: Case[] = [
  ['start', { id: 'desk', messageId: 'm' }, [startChunk('m', runId)]],
  ['step-start', { messageId: 'm', step: 0 }, [{ type: 'start-step' }]],
  ['text-delta', { id: 't', text: 'Hi' }, [{ type: 'text-delta', id: 't', delta: 'Hi' }]],
  ['reasoning-end', { id: 't' }, [{ type: 'reasoning-end', id: 't' }]],
  ['custom', { kind: 'x.y' }, []],
  ['reasoning-file', { data: 'SGk=', base64: 'SGk=', mimeType: 'image/png' }, []],
  ['tool-call-input-streaming-start', { toolCallId: 'c1', toolName: 'refund' }, []],
  ['tool-call-delta', { toolCallId: 'c1', argsTextDelta: '{' }, []],
  ['tool-call-input-streaming-end', { toolCallId: 'c1' }, []],
  [
    'tool-call',
    { ...call, toolCallId: 'd~c1', path: [{ agentId: 'a', toolCallId: 'd' }] },
    [
      {
        type: 'tool-input-available',
        toolCallId: 'd~c1',
        toolName: 'refund',
        input: { order: '1' },
        toolMetadata: { countersign: { isBelow: true } },
      },
    ],
  ],
  [
    'tool-call-approval',
    asked,
    [
      {
        type: 'tool-approval-request',
        approvalId: 'run-1::c1::2',
        toolCallId: 'c1',
        approvalDescriptor: { fingerprint: 'f', stop: 2 },
      },
    ],
  ],
  [
    'tool-call-suspended',
    { ...asked, suspendPayload: { question: 'Which?' } },
    [
      {
        type: 'data-tool-call-suspended',
        id: 'c1',
        data: {
          ...{ runId, toolCallId: 'c1', toolName: 'refund', stop: 2 },
          ...{ suspendPayload: { question: 'Which?' }, resumeSchema: { type: 'object' } },
        },
      },
    ],
  ],
  [
    'tool-result',
    { ...call, result: undefined },
    [{ type: 'tool-output-available', toolCallId: 'c1', output: null }],
  ],
  [
    'tool-result',
    { ...call, result: { code: 1 }, isError: true, providerExecuted: true },
    [{ type: 'tool-output-error', toolCallId: 'c1', errorText: '{"code":1}', providerExecuted: true }],
  ],
  [
    'tool-error',
    { ...call, error: { code: 'tool-failed', message: 'No.' } },
    [{ type: 'tool-output-error', toolCallId: 'c1', errorText: 'No.' }],
  ],
  [
    'tool-output-denied',
    { ...call, approval: { id: 'c1', approved: false } },
    [{ type: 'tool-output-denied', toolCallId: 'c1' }],
  ],
  [
    'tool-output',
    { toolCallId: 'c1', output: 1 },
    [{ type: 'data-tool-output', data: { toolCallId: 'c1', output: 1 }, transient: true }],
  ],
  ['abort', { reason: 'so' }, [{ type: 'abort', reason: 'so' }]],
  ['error', { error: new TypeError('secret') }, [{ type: 'error', errorText: 'Something went wrong here.' }]],
  [
    'error',
    { error: new CountersignError('run-stalled', 'It is stalled.', { todo: 'Continue.' }) },
    [{ type: 'error', errorText: 'It is stalled. Continue.' }],
  ],
];

test.each(cases)('%s: %j', async (type, payload, expected) => {
  const told = fromChunk(chunk(runId, type, payload as never), {
    steps: 0,
    calls: new Map([['c1', { isOpen: true }]]),
  });
  expect(told).toEqual(expected);
  await expectValid(told);
});

test('a call that asks is shown again where the page has answered it, and each stop is told once', () => {
  const known: Known = { steps: 0, calls: new Map([['c1', { isOpen: false }]]) };
  const payload = { ...asked, suspendPayload: null };
  const types = (type: 'tool-call-suspended' | 'tool-call-approval', stop: number) =>
    fromChunk(chunk(runId, type, { ...payload, stop } as never), known).map((one) => one.type);
  expect(types('tool-call-approval', 1)).toEqual(['tool-approval-request']);
  expect(types('tool-call-approval', 1)).toEqual([]);
  expect(types('tool-call-suspended', 2)).toEqual(['tool-input-available', 'data-tool-call-suspended']);
  expect(types('tool-call-suspended', 2)).toEqual([]);
  expect(types('tool-call-suspended', 3)).toEqual(['data-tool-call-suspended']);
});

test('a call is shown before anything of it, once; a delegation when something comes of it', () => {
  const known = nothingKnown();
  const types = (...chunks: Chunk[]) =>
    chunks.flatMap((one) => fromChunk(one, known)).map(({ type }) => type);
  const shows = ['tool-input-available', 'tool-output-available'];
  expect(types(chunk(runId, 'tool-result', { ...call, result: 1 }))).toEqual(shows);
  expect(types(chunk(runId, 'tool-call', call), chunk(runId, 'tool-call', call))).toEqual([]);
  const delegation = { ...call, toolCallId: 'd1', toolName: 'agent-below' };
  expect(types(chunk(runId, 'tool-call', delegation))).toEqual(['data-tool-call-delegated']);
  expect(types(chunk(runId, 'tool-result', { ...delegation, result: 1 }))).toEqual(shows);
});

test.each([
  ['stop', 'stop'],
  ['content-filter', 'content-filter'],
  ['suspended', 'tool-calls'],
  ['max-steps', 'tool-calls'],
  ['cancelled', 'other'],
  ['answered', 'other'],
  ['something new', 'other'],
] as const)('finish: %s is %s', async (finishReason, expected) => {
  const told = fromChunk(chunk(runId, 'finish', { finishReason } as PayloadOf<'finish'>), nothingKnown());
  expect(told).toEqual([{ type: 'finish', finishReason: expected }]);
  await expectValid(told);
});

async function expectValid(chunks: readonly UiChunk[]): Promise<void> {
  const schema = typeof uiMessageChunkSchema === 'function' ? uiMessageChunkSchema() : uiMessageChunkSchema;
  for (const one of chunks)
    expect(await schema.validate?.(JSON.parse(JSON.stringify(one)))).toMatchObject({ success: true });
}

/** What a page makes of chunks. */
async function read(chunks: readonly UiChunk[], message?: UIMessage): Promise<UIMessage> {
  const stream = new ReadableStream<UIMessageChunk>({
    start(controller) {
      for (const one of chunks) controller.enqueue(JSON.parse(JSON.stringify(one)));
      controller.close();
    },
  });
  let last = message as UIMessage;
  for await (const one of readUIMessageStream({ stream, ...(message ? { message } : {}) })) last = one;
  return last;
}

/** Without what a page does not look at, and without the order of the parts that come after the text of a step. */
function plain({ id, metadata, parts }: UIMessage) {
  let step = 0;
  const told = (JSON.parse(JSON.stringify(parts)) as Record<string, unknown>[]).map(
    ({ toolMetadata: _, id: __, state, approval, ...part }) => {
      if (part.type === 'step-start') step++;
      const isText = part.type === 'text' || part.type === 'reasoning';
      const { id: approvalId } = (approval ?? {}) as { id?: string };
      return JSON.stringify({ step, ...part, approvalId, state: isText ? undefined : state }, keys);
    },
  );
  return { id, metadata, parts: told.toSorted() };
}

/** In one order. */
function keys(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

const named = z.object({ name: z.string() });
const tools = {
  act: createTool({
    id: 'act',
    inputSchema: named,
    requireApproval: true,
    execute: async () => ({ did: true }),
  }),
  ask: createTool({
    id: 'ask',
    inputSchema: named,
    resumeSchema: z.object({ city: z.string() }),
    execute: async (_, { agent: { resumeData, suspend } }) => resumeData ?? suspend({ question: 'Where?' }),
  }),
  fail: createTool({
    id: 'fail',
    inputSchema: named,
    execute: async () => {
      throw new Error('No such thing.');
    },
  }),
};
const of = (toolName: string) => ({ toolName, args: { name: toolName } });

const everything: ScriptedStep = {
  reasoning: 'Hm.',
  text: 'See:',
  calls: [of('act'), of('ask'), of('fail'), { toolName: 'fail', args: {} }],
  parts: [
    { type: 'source', sourceType: 'url', id: 's1', url: 'https://a.example', title: 'A' },
    {
      type: 'source',
      sourceType: 'document',
      id: 's2',
      mediaType: 'text/plain',
      title: 'B',
      filename: 'b.txt',
    },
    { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'SGk=' } },
    { type: 'tool-call', toolCallId: 'p1', toolName: 'search', input: '{"q":1}', providerExecuted: true },
    { type: 'tool-result', toolCallId: 'p1', toolName: 'search', result: [1] },
  ],
};

describe('a page that is told a run and one that loads it show the same', () => {
  test.each([
    ['whatever a model says', [everything], tools],
    ['of a sub-agent', [{ calls: [{ toolName: 'agent-below', args: { prompt: 'Go.' } }] }], {}],
  ] as const)('%s', async (_, script, own) => {
    const below = new Agent({
      id: 'below',
      model: scriptedModel([{ calls: [of('act'), of('ask')] }, 'Below.']),
      tools,
    });
    const memory = new Memory();
    const agent = new Agent({
      id: 'desk',
      model: scriptedModel([...script, 'Done.']),
      tools: own,
      agents: { below },
      memory,
    });
    new Countersign({ agents: { agent }, warn: () => {} });
    const ids = { thread: 't-1', resource: 'ada' };
    const loaded = async () => {
      const { messages } = await memory.recall({ threadId: 't-1', resourceId: 'ada' });
      const { id, metadata, parts } = messages.at(-1) as UIMessage;
      return {
        id,
        runId: (metadata as { runId: string }).runId,
        parts: parts as unknown as UiPart[],
        message: messages.at(-1) as UIMessage,
      };
    };
    const seen: Known['calls'] = new Map();
    const told = async (stream: { fullStream: AsyncIterable<Chunk> }) => {
      const chunks: UiChunk[] = [];
      const known = { steps: 0, calls: seen };
      for await (const one of stream.fullStream) chunks.push(...fromChunk(one, known));
      await expectValid(chunks);
      return chunks;
    };
    /** Three ways to the same message. */
    const expectSame = async (live: UIMessage) => {
      const { id, runId: of, parts, message } = await loaded();
      const again = [startChunk(id, of), ...fromMessage(parts, nothingKnown())];
      await expectValid(again);
      expect(plain(live)).toEqual(plain(message));
      expect(plain(await read(again))).toEqual(plain(message));
    };
    const stream = await agent.stream('Go.', { memory: ids });
    let live = await read(await told(stream));
    await expectSame(live);
    const [act, ask] = await stream.suspendPayloads;
    const { runId: at } = stream;
    const approved = await agent.approveToolCall({ runId: at, toolCallId: act!.toolCallId });
    live = await read(await told(approved), live);
    const resumed = await agent.resumeStream({ city: 'Rome' }, { runId: at, toolCallId: ask!.toolCallId });
    live = await read(await told(resumed), live);
    const past = live.parts.filter(({ type }) => /^data-tool-call-(suspended|delegated)$/.test(type));
    expect(past.length).toBeGreaterThan(0);
    // A page keeps what it was told of the way.
    await expectSame({ ...live, parts: live.parts.filter((part) => !past.includes(part)) });
  });
});

test('of the steps that a page has only the calls of the last are told, and what waits where it does not show it', () => {
  const part = (toolCallId: string, more: object): UiPart => ({
    type: 'tool-x',
    toolCallId,
    input: {},
    ...more,
  });
  const approval = { id: 'r::b::1', descriptor: { stop: 1 } };
  const parts: UiPart[] = [
    { type: 'step-start' },
    part('a', { state: 'output-available', output: 1 }),
    { type: 'step-start' },
    { type: 'text', text: 'known' },
    part('b', { state: 'approval-requested', approval }),
    part('c', { state: 'input-available' }),
    { type: 'data-tool-call-suspended', id: 'c', data: { runId: 'r', stop: 2 } },
    part('d', { state: 'output-denied', approval: { ...approval, approved: false } }),
    part('e', { state: 'output-error', errorText: 'No.' }),
    { type: 'step-start' },
    { type: 'text', text: 'new' },
  ];
  const types = (b: ShownCall, c: ShownCall) => {
    const [a, d] = [{ isOpen: false }, { isOpen: false }];
    const known = { steps: 2, calls: new Map(Object.entries({ a, b, c, d })) };
    const told = fromMessage(parts, known).map(({ type, toolCallId = '' }) => `${type} ${toolCallId}`);
    expect(told.splice(-7)).toEqual([
      'tool-output-denied d',
      'tool-input-available e',
      'tool-output-error e',
      'start-step ',
      'text-start ',
      'text-delta ',
      'text-end ',
    ]);
    return told;
  };
  const approvalOf = 'tool-approval-request b';
  const questionOf = ['tool-input-available c', 'data-tool-call-suspended '];
  const [shownB, shownC] = [
    { isOpen: false, stop: 'r::b::1' },
    { isOpen: true, stop: 'r::c::2' },
  ];
  expect(types(shownB, shownC)).toEqual([]);
  expect(types({ isOpen: false }, { isOpen: false })).toEqual([approvalOf, ...questionOf]);
  expect(types(shownB, { isOpen: false, stop: 'r::c::1' })).toEqual(questionOf);
  // What the page shows to be open is not told again: it would carry it out twice.
  expect(types(shownB, { isOpen: true, stop: 'r::c::1' })).toEqual(questionOf.slice(1));
  expect(types({ isOpen: true, stop: 'r::b::0' }, shownC)).toEqual([approvalOf]);
});
