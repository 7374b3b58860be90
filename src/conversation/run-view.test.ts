import { safeValidateUIMessages } from 'ai';
import { describe, expect, test } from 'vitest';
import type { Event, RunStarted } from '../core/event.ts';
import type { Message } from '../core/message.ts';
import type { CallState } from '../core/state.ts';
import {
  callIs,
  callStarted,
  cancelRequested,
  decided,
  failed,
  fingerprintOf,
  finished,
  requested,
  runEnded,
  runId,
  runOf,
  runStarted,
  states,
  stepFinished,
  stepStarted,
  suspended,
  wayTo,
} from '../core/test-support/events.ts';
import { rowsOf, spokenIn } from './run-view.ts';

const inThread: Partial<RunStarted> = { threadId: 'thread-1', resourceId: 'user-1', memory: {} };

const viewOf = (...events: readonly Event[]) =>
  spokenIn(runOf(runStarted(inThread), stepStarted(), ...events)).map(({ message }) => message);

/** The parts of the assistant's message of a run whose only call went this way. */
function partsAfter(...events: readonly Event[]) {
  const message = viewOf(stepFinished(0, ['c1']), ...events).at(-1);
  return message?.parts.slice(2) as unknown as { [key: string]: unknown }[];
}

async function expectValid(messages: readonly unknown[]): Promise<void> {
  const checked = await safeValidateUIMessages({ messages: messages as never });
  if (!checked.success) throw checked.error;
}

const call = { type: 'tool-refund', toolCallId: 'c1', input: { id: 'c1' } };
const id = `${runId}::c1::1`;

const shown: Record<CallState, readonly object[]> = {
  ready: [{ ...call, state: 'input-available' }],
  running: [{ ...call, state: 'input-available' }],
  held: [
    {
      ...call,
      state: 'approval-requested',
      approval: { id, descriptor: { fingerprint: fingerprintOf('c1'), stop: 1 } },
    },
  ],
  suspended: [
    { ...call, state: 'input-available' },
    {
      type: 'data-tool-call-suspended',
      id: 'c1',
      data: {
        runId,
        toolCallId: 'c1',
        toolName: 'refund',
        stop: 1,
        suspendPayload: { question: 'Which?' },
      },
    },
  ],
  interrupted: [
    { ...call, state: 'input-available' },
    {
      type: 'data-tool-call-interrupted',
      id: 'c1',
      data: { runId, toolCallId: 'c1', toolName: 'refund', stop: 1 },
    },
  ],
  finished: [{ ...call, state: 'output-available', output: 'done' }],
  failed: [{ ...call, state: 'output-error', errorText: 'Wrong.' }],
  declined: [
    {
      ...call,
      state: 'output-denied',
      approval: { id, approved: false, descriptor: { outcome: 'declined' } },
    },
  ],
  cancelled: [
    {
      ...call,
      state: 'output-denied',
      approval: { id, approved: false, descriptor: { outcome: 'cancelled' } },
    },
  ],
};

describe('a call in its thread (scenario: K11)', () => {
  test.each(states)('that is %s', async (state) => {
    const messages = viewOf(stepFinished(0, ['c1']), ...wayTo[state]);
    expect(messages).toHaveLength(2);
    expect(messages[1]).toMatchObject({ id: 'message-1', role: 'assistant', metadata: { runId } });
    expect(messages[1]?.parts).toEqual([
      { type: 'step-start' },
      { type: 'text', text: 'text 0' },
      ...shown[state],
    ]);
    await expectValid(messages);
  });

  const approved = [requested('c1', 'held'), decided('c1', 'approve', { reason: 'fine' }), callStarted('c1')];
  const approval = { id, approved: true, reason: 'fine' };

  test('approved, with its result', async () => {
    const parts = partsAfter(...approved, finished('c1'));
    expect(parts).toEqual([{ ...call, state: 'output-available', output: 'done', approval }]);
    await expectValid(viewOf(stepFinished(0, ['c1']), ...approved, finished('c1')));
  });

  test('approved, and failed', async () => {
    const parts = partsAfter(...approved, failed('c1'));
    expect(parts).toEqual([{ ...call, state: 'output-error', errorText: 'Broke.', approval }]);
    await expectValid(viewOf(stepFinished(0, ['c1']), ...approved, failed('c1')));
  });

  test('declined, with the reason; one that had asked is told apart', () => {
    const denied = { state: 'output-denied', approval: { approved: false, reason: 'too much' } };
    expect(
      partsAfter(requested('c1', 'held'), decided('c1', 'decline', { reason: 'too much' })),
    ).toMatchObject([{ ...denied, approval: { ...denied.approval, descriptor: { outcome: 'declined' } } }]);
    const asked = [requested('c1', 'free'), callStarted('c1'), suspended('c1')];
    expect(partsAfter(...asked, decided('c1', 'decline', { reason: 'too much' }))).toMatchObject([
      { ...denied, approval: { ...denied.approval, descriptor: { outcome: 'unanswered' } } },
    ]);
  });

  test('resumed: nothing of the question is left', () => {
    const asked = [requested('c1', 'free'), callStarted('c1'), suspended('c1')];
    const answered = [decided('c1', 'resume'), callStarted('c1', undefined, 2), finished('c1')];
    expect(partsAfter(...asked, ...answered)).toEqual([
      { ...call, state: 'output-available', output: 'done' },
    ]);
  });

  test('what the prompt needs and the page does not is kept beside', () => {
    const written = requested('c1', 'free', { raw: { id: '1' }, args: { id: 1 } });
    const output = { type: 'text', value: 'short' } as const;
    const result: Event = {
      type: 'call-finished',
      runId,
      at: 8,
      toolCallId: 'c1',
      result: 'long',
      modelOutput: output,
    };
    expect(partsAfter(written, callStarted('c1'), result)).toEqual([
      {
        ...call,
        input: { id: 1 },
        state: 'output-available',
        output: 'long',
        toolMetadata: { countersign: { raw: { id: '1' }, modelOutput: output } },
      },
    ]);
  });
});

describe('a response in its thread', () => {
  test('all that a model can say', async () => {
    const providerOptions = { scripted: { signature: 's' } };
    const content = [
      { type: 'reasoning', text: 'hm', providerOptions },
      { type: 'text', text: 'See:', providerOptions },
      { type: 'file', data: 'AP8=', mediaType: 'image/png' },
      { type: 'reasoning-file', data: 'AP8=', mediaType: 'image/png' },
      { type: 'custom', kind: 'scripted.thing', providerOptions },
      { type: 'source', sourceType: 'url', id: 's1', url: 'https://a.example', title: 'A' },
      {
        type: 'source',
        sourceType: 'document',
        id: 's2',
        mediaType: 'text/plain',
        title: 'B',
        filename: 'b.txt',
      },
      { type: 'provider-call', toolCallId: 'p1', toolName: 'search', raw: { q: 'x' }, providerOptions },
      { type: 'provider-result', toolCallId: 'p1', toolName: 'search', result: [1] },
      { type: 'provider-call', toolCallId: 'p2', toolName: 'search', raw: {} },
      { type: 'provider-result', toolCallId: 'p2', toolName: 'search', result: { no: 1 }, isError: true },
    ];
    const messages = viewOf(stepFinished(0, [], { content: content as never }));
    await expectValid(messages);
    expect(messages[1]?.parts).toEqual([
      { type: 'step-start' },
      { type: 'reasoning', text: 'hm', providerMetadata: providerOptions },
      { type: 'text', text: 'See:', providerMetadata: providerOptions },
      { type: 'file', mediaType: 'image/png', url: 'data:image/png;base64,AP8=' },
      { type: 'reasoning-file', mediaType: 'image/png', url: 'data:image/png;base64,AP8=' },
      { type: 'custom', kind: 'scripted.thing', providerMetadata: providerOptions },
      { type: 'source-url', sourceId: 's1', url: 'https://a.example', title: 'A' },
      { type: 'source-document', sourceId: 's2', mediaType: 'text/plain', title: 'B', filename: 'b.txt' },
      expect.objectContaining({
        type: 'tool-search',
        toolCallId: 'p1',
        state: 'output-available',
        output: [1],
        providerExecuted: true,
        callProviderMetadata: providerOptions,
      }),
      expect.objectContaining({ toolCallId: 'p2', state: 'output-error', errorText: '{"no":1}' }),
    ]);
  });

  test('a call that the provider runs and asks about: the answer, not a result', () => {
    const asked = requested('c1', 'held', { approvalId: 'mcp-1' });
    const [part] = partsAfter(asked, decided('c1', 'approve'), callStarted('c1'), finished('c1', null));
    expect(part).toMatchObject({
      state: 'approval-responded',
      providerExecuted: true,
      approval: { id, approved: true },
      toolMetadata: { countersign: { approvalId: 'mcp-1' } },
    });
  });
});

describe('the input in its thread', () => {
  const viewOfInput = (messages: readonly Message[], over: Partial<RunStarted> = {}) =>
    spokenIn(runOf(runStarted({ ...inThread, messages, ...over })));

  test('ids that were given are kept, others made of the run and the place; systems are left out', async () => {
    const spoken = viewOfInput(
      [
        { role: 'system', content: 'Be kind.' },
        { role: 'user', content: 'Hello' },
        { role: 'user', content: [{ type: 'text', text: 'again' }] },
      ],
      { messageIds: [null, 'mine', null] },
    );
    expect(spoken).toEqual([
      {
        at: 1,
        runId,
        index: 1,
        message: { id: 'mine', role: 'user', parts: [{ type: 'text', text: 'Hello' }] },
      },
      {
        at: 1,
        runId,
        index: 2,
        message: { id: `${runId}:2`, role: 'user', parts: [{ type: 'text', text: 'again' }] },
      },
    ]);
    await expectValid(spoken.map(({ message }) => message));
  });

  test('files in all their shapes', async () => {
    const files = [
      { type: 'file', mediaType: 'image/png', data: 'AP8=', filename: 'a.png' },
      { type: 'file', mediaType: 'image/png', data: 'https://a.example/a.png' },
      { type: 'file', mediaType: 'image/png', data: { type: 'url', url: 'https://a.example/b.png' } },
      { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AP8=' } },
      { type: 'file', mediaType: 'text/plain', data: { type: 'text', text: 'a b' } },
      { type: 'file', mediaType: 'image/png', data: { type: 'reference', reference: { openai: 'file-1' } } },
      { type: 'image', image: 'AP8=', mediaType: 'image/gif' },
    ];
    const [spoken] = viewOfInput([{ role: 'user', content: files }]);
    await expectValid([spoken?.message]);
    expect(spoken?.message.parts.map((part) => (part as { url: string }).url)).toEqual([
      'data:image/png;base64,AP8=',
      'https://a.example/a.png',
      'https://a.example/b.png',
      'data:image/png;base64,AP8=',
      'data:text/plain,a%20b',
      '',
      'data:image/gif;base64,AP8=',
    ]);
  });

  test('a conversation that was brought along: one message for each side, calls with their results', async () => {
    const toolCall = (toolCallId: string): object => ({
      type: 'tool-call',
      toolCallId,
      toolName: 'look',
      input: {},
    });
    const result = (toolCallId: string, output: object): object => ({
      type: 'tool-result',
      toolCallId,
      toolName: 'look',
      output,
    });
    const spoken = viewOfInput([
      { role: 'user', content: 'Look.' },
      { role: 'assistant', content: [toolCall('1'), toolCall('2'), toolCall('3'), toolCall('4')] as never },
      {
        role: 'tool',
        content: [
          result('1', { type: 'text', value: 'seen' }),
          result('2', { type: 'error-text', value: 'dark' }),
          result('3', { type: 'execution-denied', reason: 'no' }),
        ] as never,
      },
      { role: 'assistant', content: 'There.' },
      { role: 'user', content: 'Thanks.' },
    ]);
    expect(spoken.map(({ index, message }) => [index, message.role])).toEqual([
      [0, 'user'],
      [1, 'assistant'],
      [4, 'user'],
    ]);
    await expectValid(spoken.map(({ message }) => message));
    expect(spoken[1]?.message.parts).toMatchObject([
      { type: 'step-start' },
      { state: 'output-available', output: 'seen' },
      { state: 'output-error', errorText: 'dark' },
      { state: 'output-denied', approval: { approved: false, reason: 'no' } },
      { state: 'input-available' },
      { type: 'step-start' },
      { type: 'text', text: 'There.' },
    ]);
  });
});

describe('what is left in the thread', () => {
  test('a row for each message, in the order of the run', () => {
    const run = runOf(runStarted(inThread), stepStarted(), stepFinished(0, []), runEnded);
    expect(rowsOf(run).map(({ data: _data, ...row }) => row)).toEqual([
      { at: 1, runId, index: 0, threadId: 'thread-1', messageId: `${runId}:0` },
      { at: 1, runId, index: 1, threadId: 'thread-1', messageId: 'message-1' },
    ]);
  });

  test('a run that failed or was cancelled says so', () => {
    const ended: Event = {
      type: 'run-ended',
      runId,
      at: 11,
      outcome: { status: 'cancelled', finishReason: 'cancelled', text: '', usage: {} },
    };
    const run = runOf(
      runStarted(inThread),
      stepStarted(),
      stepFinished(0, ['c1']),
      requested('c1', 'held'),
      cancelRequested,
      callIs('call-cancelled', 'c1'),
      ended,
    );
    expect(spokenIn(run).at(-1)?.message.metadata).toEqual({ runId, status: 'cancelled' });
  });

  test('nothing without a memory, with one that only reads, or without anything said', () => {
    const events = [stepStarted(), stepFinished(0, []), runEnded];
    expect(rowsOf(runOf(runStarted({ threadId: 'thread-1' }), ...events))).toEqual([]);
    expect(rowsOf(runOf(runStarted({ ...inThread, memory: { readOnly: true } }), ...events))).toEqual([]);
    expect(rowsOf(runOf(runStarted({ ...inThread, messages: [] })))).toEqual([]);
  });
});
