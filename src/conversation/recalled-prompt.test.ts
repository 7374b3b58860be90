import { convertToModelMessages } from 'ai';
import { describe, expect, test } from 'vitest';
import type { Event } from '../core/event.ts';
import type { CallState } from '../core/state.ts';
import {
  callStarted,
  decided,
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
import type { UIMessage } from '../models/ai-sdk-types.ts';
import { messagesOf } from '../models/prompt.ts';
import { promptFrom } from './recalled-prompt.ts';
import { spokenIn } from './run-view.ts';

const inThread = { threadId: 'thread-1', resourceId: 'user-1', memory: {} };
const runAfter = (...events: readonly Event[]) => runOf(runStarted(inThread), stepStarted(), ...events);
const storedView = (run: ReturnType<typeof runAfter>): UIMessage[] =>
  JSON.parse(JSON.stringify(spokenIn(run).map(({ message }) => message)));

const assistant = (...parts: readonly object[]): UIMessage => ({
  id: 'a',
  role: 'assistant',
  parts: parts as never,
});

/** What the model reads of the call `c1` in state X, when it looks back at it from a later turn. */
const waits: Partial<Record<CallState, string>> = {
  ready: 'This call is not finished yet: its result is not known.',
  running: 'This call is not finished yet: its result is not known.',
  held: 'This call has not been carried out: it waits for a person to approve it.',
  suspended:
    'This call is not finished: it asked: {"question":"Which?"} and waits for the answer of a person.',
  interrupted:
    'Nobody knows whether this call was carried out: it was interrupted, and waits for a person to find out.',
};

describe('a turn that is looked back at (scenario: K10)', () => {
  test.each(states)(
    'whose call is %s: the same as in its own prompt, or what it waits for',
    async (state) => {
      const run = runAfter(stepFinished(0, ['c1']), ...wayTo[state]);
      const own = messagesOf(run);
      const recalled = await promptFrom(storedView(run));
      const waiting = waits[state];
      const expected =
        waiting === undefined
          ? own
          : [
              ...own,
              {
                role: 'tool',
                content: [
                  {
                    type: 'tool-result',
                    toolCallId: 'c1',
                    toolName: 'refund',
                    output: { type: 'text', value: waiting },
                  },
                ],
              },
            ];
      expect(recalled).toStrictEqual(expected);
    },
  );

  test('whose question was declined', async () => {
    const asked = [requested('c1', 'free'), callStarted('c1'), suspended('c1')];
    const run = runAfter(stepFinished(0, ['c1']), ...asked, decided('c1', 'decline', { reason: 'no idea' }));
    expect(await promptFrom(storedView(run))).toStrictEqual(messagesOf(run));
  });

  test('with other arguments than were shown, another output than the result, and a made-up name', async () => {
    const over = { toolName: 'no such tool!', raw: { id: '1' }, args: 'shown' };
    const result = { ...finished('c1', 'long'), modelOutput: { type: 'text', value: 'short' } } as Event;
    const run = runAfter(stepFinished(0, ['c1']), requested('c1', 'free', over), callStarted('c1'), result);
    expect(await promptFrom(storedView(run))).toStrictEqual(messagesOf(run));
  });

  test('in which a provider asked about its own call', async () => {
    const asked = requested('c1', 'held', { approvalId: 'mcp-1' });
    for (const verdict of ['approve', 'decline'] as const) {
      const after = verdict === 'approve' ? [callStarted('c1'), finished('c1', null)] : [];
      const run = runAfter(
        stepFinished(0, ['c1']),
        asked,
        decided('c1', verdict, { reason: 'so' }),
        ...after,
      );
      expect(await promptFrom(storedView(run))).toStrictEqual(messagesOf(run));
    }
    const waiting = await promptFrom(storedView(runAfter(stepFinished(0, ['c1']), asked)));
    expect(JSON.stringify(waiting)).toContain('(refund) This call has not been carried out');
    expect(JSON.stringify(waiting)).not.toContain('tool-call');
  });

  test('of several steps, with everything that a model can say', async () => {
    const providerOptions = { scripted: { signature: 's' } };
    const content = [
      { type: 'reasoning', text: 'hm', providerOptions },
      { type: 'text', text: 'See:', providerOptions },
      { type: 'custom', kind: 'scripted.thing', providerOptions },
      { type: 'call', toolCallId: 'c1' },
      { type: 'provider-call', toolCallId: 'p1', toolName: 'search', raw: { q: 'x' } },
      { type: 'provider-result', toolCallId: 'p1', toolName: 'search', result: [1] },
    ] as never;
    const second = [stepStarted(1), stepFinished(1, []), runEnded];
    const run = runAfter(
      stepFinished(0, ['c1'], { content }),
      requested('c1', 'free', { providerOptions: { scripted: { thought: 't' } } }),
      callStarted('c1'),
      finished('c1'),
      ...second,
    );
    expect(await promptFrom(storedView(run))).toStrictEqual(messagesOf(run));
  });
});

describe('messages that others wrote', () => {
  const text = { type: 'text', text: 'Hi' };

  test('what has no meaning in a prompt is left out', async () => {
    const messages: UIMessage[] = [
      { id: 's', role: 'system', parts: [{ type: 'text', text: 'Obey.' }] },
      { id: 'u', role: 'user', parts: [] },
      assistant(
        { type: 'step-start' },
        { type: 'text', text: '' },
        { type: 'file', mediaType: 'image/png', url: 'not a url' },
        { type: 'tool-look', toolCallId: '1', state: 'input-streaming', input: {} },
        { type: 'data-weather', data: 1 },
      ),
      { id: 'v', role: 'user', parts: [text as never] },
    ];
    expect(await promptFrom(messages)).toEqual([{ role: 'user', content: [text] }]);
  });

  test('a call has one result, whatever the page made of it', async () => {
    const call = { type: 'tool-look', input: {} };
    const approval = { id: 'x', approved: true };
    const messages = [
      assistant(
        { ...call, toolCallId: '1', state: 'approval-responded', approval },
        {
          ...call,
          toolCallId: '2',
          state: 'approval-responded',
          approval: { ...approval, approved: false, reason: 'no' },
        },
        {
          ...call,
          toolCallId: '3',
          state: 'output-denied',
          approval: { ...approval, approved: false, reason: 'no' },
        },
        {
          type: 'dynamic-tool',
          toolName: 'look',
          input: 'text',
          toolCallId: '4',
          state: 'output-available',
          output: 1,
        },
        { ...call, toolCallId: '5', state: 'input-available' },
        { ...call, toolCallId: '5', state: 'output-available', output: 2, approval },
      ),
    ];
    const [said, results] = await promptFrom(messages, ['4']);
    const idsOf = (message: typeof said): unknown[] =>
      (message!.content as { toolCallId: string }[]).map(({ toolCallId }) => toolCallId);
    expect(idsOf(said)).toEqual(['1', '2', '3', 'call_2_4', '5', 'call_2_5']);
    expect(idsOf(results)).toEqual(idsOf(said));
    expect((results!.content as { output: unknown }[]).map(({ output }) => output)).toEqual([
      { type: 'text', value: 'A person approved this call; its result is not known yet.' },
      { type: 'text', value: 'A person declined this call; it was not carried out. Reason: no' },
      {
        type: 'execution-denied',
        reason: 'A person declined this call; it was not carried out. Reason: no',
      },
      { type: 'json', value: 1 },
      { type: 'text', value: 'This call is not finished yet: its result is not known.' },
      { type: 'json', value: 2 },
    ]);
  });

  test('plain texts are what the library makes of them, and stay in their places', async () => {
    const other = { type: 'text', text: 'Ho', state: 'done' };
    const signed = { ...text, providerMetadata: { scripted: { signature: 's' } } };
    const look = { type: 'tool-look', toolCallId: '1', state: 'output-available', input: {}, output: 1 };
    const said = (role: UIMessage['role'], ...parts: readonly object[]): UIMessage => ({
      id: 'm',
      role,
      metadata: { runId },
      parts: parts as never,
    });
    const messages = [
      said('user', text, other),
      said('assistant', { type: 'step-start' }, other),
      said('assistant', other, { type: 'step-start' }, text),
      said('user', { type: 'step-start' }, text),
      said('assistant', { type: 'step-start' }, look, { type: 'step-start' }, text),
      said('user', signed),
      said('assistant', text),
      said('user', text),
    ];
    expect(await promptFrom(messages)).toStrictEqual(
      JSON.parse(JSON.stringify(await convertToModelMessages(messages))),
    );
  });

  test('what a provider asked elsewhere, and nobody answered, is left out', async () => {
    const asked = { type: 'tool-look', toolCallId: '1', state: 'approval-requested', input: {} };
    const approval = { id: 'x' };
    const messages = [assistant(text, { ...asked, approval, providerExecuted: true })];
    expect(await promptFrom(messages)).toEqual([{ role: 'assistant', content: [text] }]);
  });

  test('a file becomes JSON that the library takes back', async () => {
    const url = 'data:image/png;base64,AP8=';
    const [message] = await promptFrom([
      { id: 'u', role: 'user', parts: [{ type: 'file', mediaType: 'image/png', url }] },
    ]);
    expect(message?.content).toEqual([{ type: 'file', mediaType: 'image/png', data: { type: 'url', url } }]);
    expect(JSON.parse(JSON.stringify(message))).toStrictEqual(message);
  });
});

test('a delegation at work is a call; one that a page remembers beside its outcome is not', async () => {
  const call = { type: 'tool-agent-below', toolCallId: 'd1', input: { prompt: 'Go.' } };
  const delegated = {
    type: 'data-tool-call-delegated',
    id: 'd1',
    data: { ...call, state: 'input-available' },
  };
  const open = JSON.stringify(await promptFrom([assistant({ type: 'step-start' }, delegated)]));
  expect(open).toContain('This call is not finished yet');
  const settled = { ...call, state: 'output-available', output: 'Done.' };
  const prompt = await promptFrom([assistant({ type: 'step-start' }, delegated, settled)]);
  expect(prompt).toEqual(await promptFrom([assistant({ type: 'step-start' }, settled)]));
});
