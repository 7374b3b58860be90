import { describe, expect, test } from 'vitest';
import { targetOf } from './decide.ts';
import type { Event, Verdict } from './event.ts';
import { answerOf, request } from './test-support/decide.ts';
import {
  asking,
  callStarted,
  requested,
  runIn,
  runOf,
  runStarted,
  runWith,
  stepFinished,
  stepStarted,
  suspended,
} from './test-support/events.ts';

describe('a call that is not named', () => {
  const held = (id: string) => requested(id, 'held');
  const free = (id: string) => requested(id, 'free');
  const chosen = (events: readonly Event[], verdict: Verdict) => {
    const target = targetOf(runOf(...events), request(verdict), 'latest');
    return target.toolCallId;
  };

  test('is the last of those that the verb can move, in call order', () => {
    const events = asking([held('c1'), held('c2'), free('c3')]);
    expect(chosen(events, 'approve')).toBe('c2');
    expect(chosen([...events, callStarted('c3'), suspended('c3')], 'decline')).toBe('c2');
    expect(chosen([...events, callStarted('c3'), suspended('c3')], 'resume')).toBe('c3');
  });

  test('is the one announced last', () => {
    const events = [
      ...asking([free('c1'), free('c2')]),
      callStarted('c1'),
      callStarted('c2'),
      suspended('c2'),
      suspended('c1'),
    ];
    expect(chosen(events, 'resume')).toBe('c1');
  });

  test('falls to what waits otherwise, so that the error tells for what', () => {
    expect(answerOf(runIn('suspended'), request('approve'))).toBe('needs-data');
    expect(answerOf(runIn('held'), request('resume'))).toBe('needs-verdict');
  });

  test('is recorded as not named, and may still bind stop and fingerprint', () => {
    expect(answerOf(runIn('held'), request('approve'))).toMatchObject({ addressed: 'latest' });
    expect(answerOf(runIn('held'), request('approve', { toolCallId: 'c1' }))).not.toHaveProperty('addressed');
    expect(answerOf(runIn('held'), request('approve', { stop: 2 }))).toBe('stop-mismatch');
    expect(answerOf(runIn('held'), request('approve', { fingerprint: 'f' }))).toBe('fingerprint-mismatch');
  });

  test('is asked for where several wait and that is refused', () => {
    const two = runWith([held('c1'), held('c2')]);
    expect(answerOf(two, request('approve'), 'refuse')).toBe('call-required');
    expect(answerOf(two, request('approve', { toolCallId: 'c1' }), 'refuse')).toMatchObject({
      toolCallId: 'c1',
    });
    expect(answerOf(runIn('held'), request('approve'), 'refuse')).toMatchObject({ toolCallId: 'c1' });
  });

  test('where nothing waits: the last decision, or nothing', () => {
    expect(answerOf(runIn('declined'), request('approve'))).toBe('already-decided');
    expect(answerOf(runIn('running'), request('approve'))).toBe('call-not-waiting');
    expect(answerOf(runOf(runStarted(), stepStarted(), stepFinished(0, [])), request('approve'))).toBe(
      'call-not-waiting',
    );
  });
});
