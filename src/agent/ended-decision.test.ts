import { describe, expect, test } from 'vitest';
import type { DecisionRequest } from '../core/decide.ts';
import type { DecisionRecord, EndedRun } from '../core/store.ts';
import { request } from '../core/test-support/decide.ts';
import { fingerprintOf, runId } from '../core/test-support/events.ts';
import { decideEnded } from './ended-decision.ts';

describe('a decision on a run that has ended', () => {
  const record = (toolCallId: string, over: Partial<DecisionRecord> = {}): DecisionRecord => ({
    runId,
    toolCallId,
    stop: 1,
    agentId: 'agent-1',
    toolName: 'refund',
    verdict: 'approve',
    at: 1,
    fingerprint: fingerprintOf(toolCallId),
    ...over,
  });
  const ended = (...records: DecisionRecord[]): EndedRun => ({
    kind: 'ended',
    runId,
    agentId: 'agent-1',
    at: 50,
    outcome: { status: 'finished', finishReason: 'stop', text: 'Done.', usage: {} },
    records,
  });
  const codeOf = (run: EndedRun, asked: DecisionRequest): unknown => {
    try {
      return decideEnded(run, asked);
    } catch (thrown) {
      return (thrown as { code: string }).code;
    }
  };

  test('that was this very decision gets its record', () => {
    const mine = record('c1', { decisionId: 'd-1' });
    const run = ended(mine, record('c2', { decisionId: 'd-2' }));
    expect(codeOf(run, request('approve', { decisionId: 'd-1' }))).toBe(mine);
    expect(codeOf(run, request('approve', { toolCallId: 'c1', stop: 1, decisionId: 'd-1' }))).toBe(mine);
    expect(codeOf(run, request('decline', { decisionId: 'd-1' }))).toBe('already-decided');
    expect(codeOf(run, request('approve', { toolCallId: 'c2', decisionId: 'd-1' }))).toBe('already-decided');
  });

  test('is already-decided, with who decided what and how the run ended, and no values', () => {
    expect(() => decideEnded(ended(record('c1')), request('approve', { toolCallId: 'c1' }))).toThrow(
      expect.objectContaining({
        code: 'already-decided',
        decision: expect.not.objectContaining({ args: expect.anything() }),
        details: expect.objectContaining({
          decision: expect.objectContaining({ toolCallId: 'c1', verdict: 'approve' }),
          outcome: { status: 'finished', finishReason: expect.any(String) },
        }),
      }),
    );
  });

  test.each([
    ['of another call', ended(record('c1')), request('approve', { toolCallId: 'c9' })],
    ['of another stop', ended(record('c1')), request('approve', { toolCallId: 'c1', stop: 2 })],
    ['without records', ended(), request('approve')],
    ['whose stop ended by cancel', ended(record('c1', { verdict: 'cancel' })), request('approve')],
    [
      'that repeats a cancel',
      ended(record('c1', { verdict: 'cancel', decisionId: 'd-1' })),
      request('approve', { decisionId: 'd-1' }),
    ],
  ])('%s is too late', (_, run, asked) => {
    expect(codeOf(run, asked)).toBe('run-ended');
  });
});
