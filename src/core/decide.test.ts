import { describe, expect, test } from 'vitest';
import { decide, targetOf, verdictIn } from './decide.ts';
import type { CallDecided, Verdict } from './event.ts';
import { transition } from './run.ts';
import type { CallState } from './state.ts';
import { answerOf, request } from './test-support/decide.ts';
import {
  callStarted,
  cancelRequested,
  decided,
  fingerprintOf,
  requested,
  runId,
  runIn,
  runWith,
  states,
  stepFailed,
  stepStarted,
  suspended,
} from './test-support/events.ts';

const verdicts = ['approve', 'decline', 'resume', 'resolve'] as const;

/** Verdict × state of the named call: the code of the refusal, or 'ok'. */
const table: Record<CallState, Record<Verdict, string>> = {
  ready: row('call-not-waiting'),
  held: { approve: 'ok', decline: 'ok', resume: 'needs-verdict', resolve: 'needs-verdict' },
  suspended: { approve: 'needs-data', decline: 'ok', resume: 'ok', resolve: 'needs-data' },
  running: row('call-not-waiting'),
  interrupted: { ...row('call-interrupted'), resolve: 'ok' },
  finished: row('call-not-waiting'),
  failed: row('call-not-waiting'),
  declined: row('already-decided'),
  cancelled: row('call-not-waiting'),
};

function row(code: string): Record<Verdict, string> {
  return { approve: code, decline: code, resume: code, resolve: code };
}

const cells = states.flatMap((state) =>
  verdicts.map((verdict) => ({ state, verdict, code: table[state][verdict] })),
);

describe('a named call (scenario: K1, K2)', () => {
  test.each(cells)('$verdict of a $state call: $code', ({ state, verdict, code }) => {
    const run = runIn(state);
    const answer = answerOf(
      run,
      request(verdict, {
        toolCallId: 'c1',
        ...(verdict === 'resolve' ? { resolution: 'run-again' } : {}),
      }),
    );
    if (code !== 'ok') return expect(answer).toBe(code);
    expect(answer).toMatchObject({
      type: 'call-decided',
      runId,
      at: 99,
      toolCallId: 'c1',
      stop: 1,
      verdict,
      fingerprint: fingerprintOf('c1'),
    });
    expect(() => transition(run, answer as CallDecided)).not.toThrow();
  });

  test.each(cells)('with cancel requested, $verdict of a $state call is too late', ({ state, verdict }) => {
    const run = transition(runIn(state), cancelRequested);
    const answer = answerOf(run, request(verdict, { toolCallId: 'c1' }));
    const settled = table[state].approve;
    const over = ['finished', 'failed', 'declined', 'cancelled'].includes(state);
    expect(answer).toBe(over ? settled : 'run-ended');
  });

  test.each(cells)('another stop than that of a $state call: $verdict is refused', ({ state, verdict }) => {
    const run = runIn(state);
    const answer = answerOf(run, request(verdict, { toolCallId: 'c1', stop: 2 }));
    const { stop } = run.calls.get('c1')!;
    expect(answer).toBe(stop > 0 ? 'stop-mismatch' : 'call-not-waiting');
  });

  test.each(cells)('other arguments than a $state call has: $verdict is refused', ({ state, verdict }) => {
    const answer = answerOf(runIn(state), request(verdict, { toolCallId: 'c1', fingerprint: 'f' }));
    expect(answer).toBe(state === 'declined' ? 'already-decided' : 'fingerprint-mismatch');
  });

  test('that does not exist', () => {
    for (const verdict of verdicts) {
      expect(answerOf(runIn('held'), request(verdict, { toolCallId: 'c9' }))).toBe('call-not-found');
    }
  });

  test('carries who, why, and the data as JSON', () => {
    const by = { id: 'ann', name: 'Ann', email: 'not ours' };
    const asked = request('decline', { toolCallId: 'c1', by, reason: 'too much', decisionId: 'd-1' });
    expect(answerOf(runIn('held'), asked)).toEqual({
      type: 'call-decided',
      runId,
      at: 99,
      toolCallId: 'c1',
      stop: 1,
      verdict: 'decline',
      fingerprint: fingerprintOf('c1'),
      by: { id: 'ann', name: 'Ann' },
      reason: 'too much',
      decisionId: 'd-1',
    });
    for (const data of [null, 0, '', false]) {
      const resumed = answerOf(runIn('suspended'), request('resume', { toolCallId: 'c1', data }));
      expect((resumed as CallDecided).data).toBe(data);
    }
    expect(answerOf(runIn('suspended'), request('resume', { data: { n: 1n } }))).toBe('not-json');
  });

  test('data beside another verdict is not kept (scenario: K1)', () => {
    const asked = request('decline', { toolCallId: 'c1', data: { approved: true } });
    expect(answerOf(runIn('suspended'), asked)).not.toHaveProperty('data');
  });
});

describe('the second of two decisions (scenario: K3)', () => {
  const approve = decided('c1', 'approve', { decisionId: 'd-1', by: { id: 'ann' } });
  const approved = runWith([requested('c1', 'held')], approve);

  test('is already-decided, with the one that won', () => {
    for (const verdict of verdicts) {
      const asked = request(verdict, { toolCallId: 'c1', decisionId: 'd-2' });
      expect(answerOf(approved, asked)).toBe('already-decided');
    }
    const asked = request('decline', { toolCallId: 'c1' });
    expect(() => decide(approved, asked, { toolCallId: 'c1', stop: 1 }, 99)).toThrow(
      expect.objectContaining({
        decision: expect.objectContaining({ verdict: 'approve', by: { id: 'ann' }, stop: 1 }),
      }),
    );
  });

  test('is recognised by its decisionId and verdict together', () => {
    expect(answerOf(approved, request('approve', { toolCallId: 'c1', decisionId: 'd-1' }))).toBe('repeat');
    expect(answerOf(approved, request('decline', { toolCallId: 'c1', decisionId: 'd-1' }))).toBe(
      'already-decided',
    );
    const nameless = runWith([requested('c1', 'held')], decided('c1', 'approve'));
    expect(answerOf(nameless, request('approve', { toolCallId: 'c1' }))).toBe('already-decided');
  });

  test('is recognised where the data of a resume is itself a yes or no', () => {
    const resume = decided('c1', 'resume', { decisionId: 'd-1' });
    const run = runWith([requested('c1', 'free')], callStarted('c1'), suspended('c1'), resume);
    for (const approved of [true, false]) {
      const asked = request('resume', { toolCallId: 'c1', decisionId: 'd-1', data: { approved } });
      expect(answerOf(run, asked)).toBe('repeat');
    }
    const declined = runWith([requested('c1', 'held')], decided('c1', 'decline', { decisionId: 'd-1' }));
    const no = request('resume', { toolCallId: 'c1', decisionId: 'd-1', data: { approved: false } });
    expect(answerOf(declined, no)).toBe('repeat');
    expect(answerOf(declined, { ...no, data: { approved: true } })).toBe('already-decided');
  });

  test('is about its own stop, also after the call waits again', () => {
    const again = [approve, callStarted('c1'), suspended('c1', 2)];
    const run = runWith([requested('c1', 'held')], ...again);
    expect(answerOf(run, request('approve', { toolCallId: 'c1', stop: 1, decisionId: 'd-1' }))).toBe(
      'repeat',
    );
    expect(answerOf(run, request('approve', { toolCallId: 'c1', stop: 1 }))).toBe('already-decided');
    expect(answerOf(run, request('approve', { toolCallId: 'c1', stop: 2 }))).toBe('needs-data');
    expect(answerOf(run, request('resume', { toolCallId: 'c1' }))).toMatchObject({ stop: 2 });
  });

  test('a target that was chosen before the call moved on decides nothing new', () => {
    const held = runWith([requested('c1', 'held')]);
    const asked = request('decline');
    const target = targetOf(held, asked, 'latest');
    expect(target).toEqual({ toolCallId: 'c1', stop: 1, addressed: 'latest' });
    const later = runWith([requested('c1', 'held')], approve, callStarted('c1'), suspended('c1', 2));
    expect(() => decide(later, asked, target, 99)).toThrow(
      expect.objectContaining({ code: 'already-decided' }),
    );
  });

  test('says that the run is stalled', () => {
    const run = runWith([requested('c1', 'held')], decided('c1', 'decline'), stepStarted(1), stepFailed(1));
    expect(() => decide(run, request('decline'), { toolCallId: 'c1', stop: 1 }, 99)).toThrow(
      expect.objectContaining({
        code: 'already-decided',
        details: expect.objectContaining({ stalled: true, todo: expect.stringContaining('continueRun') }),
      }),
    );
  });
});

describe('verdictIn (scenario: K1)', () => {
  test('exactly { approved, reason? }', () => {
    expect(verdictIn({ approved: true })).toEqual({ verdict: 'approve' });
    expect(verdictIn({ approved: false })).toEqual({ verdict: 'decline' });
    expect(verdictIn({ approved: false, reason: 'no' })).toEqual({ verdict: 'decline', reason: 'no' });
  });

  test.each([
    undefined,
    null,
    true,
    'true',
    1,
    [],
    [true],
    {},
    { approved: 'yes' },
    { approved: 'true' },
    { approved: 1 },
    { approved: null },
    { approve: true },
    { approved: true, extra: 1 },
    { approved: true, reason: 1 },
    { approved: true, reason: null },
    { approved: true, resumeData: { approved: true } },
    Object.assign([], { approved: 1 }),
  ])('never %j', (data) => {
    expect(verdictIn(data)).toBeUndefined();
  });
});
