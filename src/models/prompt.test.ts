import { describe, expect, test } from 'vitest';
import type { CallRequested, Event } from '../core/event.ts';
import type { Message } from '../core/message.ts';
import type { Run } from '../core/state.ts';
import {
  asking,
  callIs,
  callStarted,
  cancelRequested,
  decided,
  failed,
  finished,
  requested,
  runIn,
  runOf,
  runStarted,
  runWith,
  states,
  stepFinished,
  stepStarted,
  suspended,
} from '../core/test-support/events.ts';
import { checkPrompt } from '../testing/check-prompt.ts';
import { fromFirstUser, messagesOf, modelOutputOf } from './prompt.ts';

/** Each way in which a call can be settled: how it was asked for, and what happened. */
const settledWays: Record<string, (id: string) => [CallRequested, ...Event[]]> = {
  finished: (id) => [requested(id, 'free'), callStarted(id), finished(id)],
  approved: (id) => [requested(id, 'held'), decided(id, 'approve'), callStarted(id), finished(id)],
  failed: (id) => [requested(id, 'free'), callStarted(id), failed(id)],
  refused: (id) => [requested(id, 'refused')],
  declined: (id) => [requested(id, 'held'), decided(id, 'decline', { reason: 'No.' })],
  'declined when it asked': (id) => [
    requested(id, 'free'),
    callStarted(id),
    suspended(id),
    decided(id, 'decline'),
  ],
  resumed: (id) => [
    requested(id, 'free'),
    callStarted(id),
    suspended(id),
    decided(id, 'resume'),
    callStarted(id, undefined, 2),
    finished(id),
  ],
  cancelled: (id) => [requested(id, 'held'), callIs('call-cancelled', id)],
  reported: (id) => [
    requested(id, 'free'),
    callStarted(id),
    callIs('call-interrupted', id),
    decided(id, 'resolve', { resolution: { error: 'It had failed.' } }),
  ],
};

const ways = Object.keys(settledWays);
const pairs = ways.flatMap((one) => ways.map((another) => [one, another] as const));

/** The calls settled in the order in which the events are given; asked for in the order of the ids. */
function runWithWays(names: readonly string[], settleInReverse: boolean): Run {
  const ids = names.map((_, index) => `c${index + 1}`);
  const events = names.map((name, index) => settledWays[name]!(ids[index]!));
  const settling = events.map((all) => all.slice(1));
  return runOf(
    ...asking(events.map(([request]) => request)),
    ...(settleInReverse ? settling.toReversed() : settling).flat(),
  );
}

function resultsIn(run: Run): { toolCallId: string; output: { type: string } }[] {
  const tool = messagesOf(run).filter((message) => message.role === 'tool');
  expect(tool).toHaveLength(1);
  return tool[0]!.content as never;
}

describe('one result for each call, in order (invariant 6, scenario: K10)', () => {
  test.each(pairs)('%s and %s', (one, another) => {
    for (const reverse of [false, true]) {
      const run = runWithWays([one, another], reverse);
      expect(resultsIn(run).map((result) => result.toolCallId)).toEqual(['c1', 'c2']);
      expect(checkPrompt(messagesOf(run) as never)).toEqual([]);
    }
  });

  test('all ways in one step, and again in the next', () => {
    const run = runWithWays(ways, true);
    const ids = ways.map((_, index) => `d${index}`);
    const second = ways.map((name, index) =>
      settledWays[name]!(ids[index]!).map((event) =>
        event.type === 'call-requested' ? { ...event, step: 1 } : event,
      ),
    );
    const both = runOf(
      run.started,
      ...asking(ways.map((name, index) => settledWays[name]!(`c${index + 1}`)[0])).slice(1),
      ...ways.flatMap((name, index) => settledWays[name]!(`c${index + 1}`).slice(1)),
      stepStarted(1),
      stepFinished(1, ids),
      ...second.map(([request]) => request as Event),
      ...second.flatMap(([, ...more]) => more),
    );
    expect(checkPrompt(messagesOf(both) as never)).toEqual([]);
    expect(messagesOf(both).map((message) => message.role)).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
      'tool',
    ]);
  });
});

test.each(states)('a %s call has a result only when it is settled', (state) => {
  const call = runIn(state).calls.get('c1')!;
  const settled = ['finished', 'failed', 'declined', 'cancelled'].includes(state);
  expect(modelOutputOf(call) !== undefined).toBe(settled);
});

test('what was said before stands after the system messages and before the input', () => {
  const [system, user] = [
    { role: 'system', content: 'Be kind.' },
    { role: 'user', content: 'Now?' },
  ] as const;
  const before = [
    { role: 'user', content: 'Before?' },
    { role: 'assistant', content: 'Yes.' },
  ] as const;
  const begun = (...messages: Message[]) =>
    runOf(runStarted({ messages }), stepStarted(), stepFinished(0, []));
  const answer = { role: 'assistant', content: [{ type: 'text', text: 'text 0' }] };
  expect(messagesOf(begun(system, user), before)).toEqual([system, ...before, user, answer]);
  expect(messagesOf(begun(user), before)).toEqual([...before, user, answer]);
  expect(messagesOf(begun(system, user))).toEqual([system, user, answer]);
});

describe('what the model reads', () => {
  const outputOf = (...events: [CallRequested, ...Event[]]) =>
    modelOutputOf(runWith([events[0]], ...events.slice(1)).calls.get('c1')!);
  const result = (value: unknown): Event => ({ ...finished('c1'), result: value }) as Event;

  test.each<[unknown, object]>([
    ['text', { type: 'text', value: 'text' }],
    ['', { type: 'text', value: '' }],
    [{ a: [1] }, { type: 'json', value: { a: [1] } }],
    [null, { type: 'json', value: null }],
    [false, { type: 'json', value: false }],
    [0, { type: 'json', value: 0 }],
  ])('of the result %j', (value, expected) => {
    expect(outputOf(requested('c1', 'free'), callStarted('c1'), result(value))).toEqual(expected);
  });

  test('of a tool that says it in its own words', () => {
    const modelOutput = { type: 'text', value: 'In short: done.' } as const;
    const event = { ...finished('c1'), modelOutput } as Event;
    expect(outputOf(requested('c1', 'free'), callStarted('c1'), event)).toEqual(modelOutput);
  });

  test('of a failure', () => {
    expect(outputOf(requested('c1', 'free'), callStarted('c1'), failed('c1'))).toEqual({
      type: 'error-text',
      value: 'Broke.',
    });
    expect(outputOf(requested('c1', 'refused'))).toEqual({ type: 'error-text', value: 'Wrong.' });
  });

  test('of a decline, with the reason if there is one (scenario: K20)', () => {
    const declined = (reason?: string) =>
      outputOf(requested('c1', 'held'), decided('c1', 'decline', reason ? { reason } : {}));
    expect(declined()).toEqual({
      type: 'execution-denied',
      reason: 'A person declined this call; it was not carried out.',
    });
    expect(declined('Too much.')).toMatchObject({
      reason: expect.stringMatching(/not carried out.*Too much\.$/),
    });
  });

  test('of a decline after execute was entered does not say that nothing was done', () => {
    const suspendedFirst = outputOf(
      requested('c1', 'free'),
      callStarted('c1'),
      suspended('c1'),
      decided('c1', 'decline', { reason: 'No.' }),
    );
    const approvedFirst = outputOf(
      requested('c1', 'held'),
      decided('c1', 'approve', { reason: 'fine so far' }),
      callStarted('c1'),
      suspended('c1', 2),
      decided('c1', 'decline', { stop: 2 }),
    );
    for (const output of [suspendedFirst, approvedFirst]) {
      expect(output).toMatchObject({
        type: 'execution-denied',
        reason: expect.stringContaining('not completed'),
      });
      expect(JSON.stringify(output)).not.toContain('not carried out');
    }
    expect(JSON.stringify(suspendedFirst)).toContain('Reason: No.');
    expect(JSON.stringify(approvedFirst)).not.toContain('fine so far');
  });
});

describe('the assistant message', () => {
  test('repeats what the model wrote, not what was made of it', () => {
    const run = runWith([requested('c1', 'refused', { raw: { id: 'a' }, args: { id: 'A' } })]);
    expect(messagesOf(run)[1]).toEqual({
      role: 'assistant',
      content: [
        { type: 'text', text: 'text 0' },
        { type: 'tool-call', toolCallId: 'c1', toolName: 'refund', input: { id: 'a' } },
      ],
    });
  });

  test('keeps reasoning, signatures and options, drops empty text and sources', () => {
    const signature = { scripted: { signature: 's' } };
    const run = runOf(
      runStarted(),
      stepStarted(),
      stepFinished(0, [], {
        content: [
          { type: 'reasoning', text: '', providerOptions: signature },
          { type: 'text', text: '' },
          { type: 'source', url: 'https://a.example' },
          { type: 'call', toolCallId: 'c1' },
        ],
      }),
      requested('c1', 'refused', { providerOptions: signature }),
    );
    expect(messagesOf(run)[1]?.content).toEqual([
      { type: 'reasoning', text: '', providerOptions: signature },
      {
        type: 'tool-call',
        toolCallId: 'c1',
        toolName: 'refund',
        input: { id: 'c1' },
        providerOptions: signature,
      },
    ]);
  });

  test('of an empty response is none', () => {
    const empty = stepFinished(0, [], { content: [{ type: 'text', text: '' }] });
    expect(messagesOf(runOf(runStarted(), stepStarted(), empty)).slice(1)).toEqual([]);
  });

  test('of calls that the provider ran has their results beside them', () => {
    const of = { toolCallId: 'p1', toolName: 'web_search' };
    const content = [
      { type: 'provider-call', ...of, raw: { q: 'x' } },
      { type: 'provider-result', ...of, result: ['y'] },
      { type: 'provider-result', ...of, toolCallId: 'p2', result: 'bad', isError: true },
    ] as const;
    const run = runOf(runStarted(), stepStarted(), stepFinished(0, [], { content }));
    expect(messagesOf(run).slice(1)).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'tool-call', ...of, input: { q: 'x' }, providerExecuted: true },
          { type: 'tool-result', ...of, output: { type: 'json', value: ['y'] } },
          { type: 'tool-result', ...of, toolCallId: 'p2', output: { type: 'error-json', value: 'bad' } },
        ],
      },
    ]);
  });
});

describe("a provider's question", () => {
  const asked = requested('c1', 'held', { approvalId: 'question-1' });
  const answerIn = (...events: Event[]) =>
    (messagesOf(runWith([asked], ...events))[2]!.content as unknown[])[0];

  test('stands beside its call', () => {
    const content = messagesOf(runWith([asked]))[1]?.content;
    expect(content).toMatchObject([
      { type: 'text' },
      { type: 'tool-call', toolCallId: 'c1', providerExecuted: true },
      { type: 'tool-approval-request', approvalId: 'question-1', toolCallId: 'c1' },
    ]);
  });

  test('is answered yes, no with the reason, and no when the run is cancelled', () => {
    const answer = { type: 'tool-approval-response', approvalId: 'question-1', providerExecuted: true };
    expect(answerIn(decided('c1', 'approve'), callStarted('c1'), finished('c1', null))).toEqual({
      ...answer,
      approved: true,
    });
    expect(answerIn(decided('c1', 'decline', { reason: 'No.' }))).toEqual({
      ...answer,
      approved: false,
      reason: 'No.',
    });
    expect(answerIn(cancelRequested, callIs('call-cancelled', 'c1'))).toEqual({ ...answer, approved: false });
  });
});

test('a history begins with a user', () => {
  const user = { role: 'user', content: 'a' } as const;
  const other = { role: 'assistant', content: 'b' } as const;
  expect(fromFirstUser([other, user, other])).toEqual([user, other]);
  expect(fromFirstUser([other])).toEqual([]);
});
