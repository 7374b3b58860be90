import { describe, expect, test } from 'vitest';
import { callIds } from './call-ids.ts';
import { requested, runOf, runStarted, runWith, stepFinished, stepStarted } from './test-support/events.ts';

const asked = runWith([requested('c1', 'held')]);
const made = /^call_[0-9a-f]{32}$/;

describe('ids are unique in the run (scenario: K2)', () => {
  test.each(['c1', '', 'a~b', '~', 'c2::1', 'c2:', 'a\0', 'x'.repeat(301)])('%j is replaced', (id) => {
    expect(callIds(asked).take(id)).toMatch(made);
  });

  test.each(['c2', 'call-0-0', '0', '__proto__', 'functions.refund:0', 'x'.repeat(300)])(
    '%j is kept',
    (id) => {
      expect(callIds(asked).take(id)).toBe(id);
    },
  );

  test('a repeated one is replaced, each time by another', () => {
    const ids = callIds(asked);
    const taken = ['a', 'a', 'a', ''].map((id) => ids.take(id));
    expect(taken[0]).toBe('a');
    expect(new Set(taken).size).toBe(4);
  });

  test('over steps, those of the provider included', () => {
    const content = [{ type: 'provider-call', toolCallId: 'p1', toolName: 'web', raw: {} }] as const;
    const run = runOf(runStarted(), stepStarted(), stepFinished(0, [], { content }));
    expect(callIds(run).take('p1')).toMatch(made);
  });

  test('over the messages that the run began with', () => {
    const toolCall = { type: 'tool-call', toolCallId: 'm1', toolName: 'refund', input: {} };
    const messages = [
      { role: 'user', content: 'Go.' },
      { role: 'assistant', content: [{ type: 'text', text: 'x' }, toolCall] },
      { role: 'assistant', content: 'only text' },
    ] as const;
    expect(callIds(runOf(runStarted({ messages }))).take('m1')).toMatch(made);
  });
});

describe('what was announced while it streamed', () => {
  test('is what the response gets, use by use', () => {
    const ids = callIds(asked);
    const streamed = [ids.begin('c1'), ids.begin('c2'), ids.begin('c1')];
    expect(ids.current('c1')).toBe(streamed[2]);
    expect(ids.current('c2')).toBe('c2');
    expect([ids.take('c1'), ids.take('c2'), ids.take('c1')]).toEqual(streamed);
    expect(streamed[0]).not.toBe(streamed[2]);
    expect(ids.take('c3')).toBe('c3');
  });

  test('begins with a later delta, if the first one is missing', () => {
    const ids = callIds(asked);
    const first = ids.current('a~b');
    expect(first).toMatch(made);
    expect(ids.current('a~b')).toBe(first);
    expect(ids.take('a~b')).toBe(first);
  });
});

test('an id of the history is taken', () => {
  const content = [{ type: 'tool-call', toolCallId: 'old', toolName: 'refund', input: {} }];
  const ids = callIds(asked, [{ role: 'assistant', content }]);
  expect(ids.take('old')).toMatch(made);
  expect(ids.take('new')).toBe('new');
});

describe("the provider's results", () => {
  test('have the id of their call, also where that was replaced', () => {
    const ids = callIds(asked);
    expect(ids.take('p1')).toBe('p1');
    expect(ids.ofResult('p1')).toBe('p1');
    const replaced = ids.take('c1');
    expect(replaced).toMatch(made);
    expect(ids.ofResult('c1')).toBe(replaced);
  });

  test('of an earlier response keep their id', () => {
    expect(callIds(asked).ofResult('p0')).toBe('p0');
  });
});
