import { describe, expect, test } from 'vitest';
import { request } from '../core/test-support/decide.ts';
import { optionKeys } from './check-options.ts';
import { checkRequest } from './check-request.ts';

const known = { ...optionKeys.decision, verdict: true } as const;
const check = (given: unknown): void => checkRequest(given as never, known, 'a decision');

describe('checkRequest', () => {
  test.each<[string, Record<string, unknown>]>([
    ['no runId', { runId: undefined }],
    ['an empty runId', { runId: '' }],
    ['a toolCallId that is no string', { toolCallId: 1 }],
    ['a null toolCallId', { toolCallId: null }],
    ['a stop of 0', { stop: 0 }],
    ['a stop between', { stop: 1.5 }],
    ['a stop as text', { stop: '1' }],
    ['a fingerprint that is no string', { fingerprint: null }],
    ['a reason that is no string', { reason: { text: 'x' } }],
    ['a decisionId that is no string', { decisionId: 7 }],
    ['somebody without id', { by: {} }],
    ['nobody', { by: null }],
    ['a name that is no string', { by: { id: 'ann', name: 1 } }],
  ])('refuses %s', (_, over) => {
    expect(() => check({ ...request('approve'), ...over })).toThrow(
      expect.objectContaining({ code: 'invalid-decision' }),
    );
  });

  test('takes all the rest', () => {
    check(request('approve'));
    check(request('approve', { toolCallId: 'c1', stop: 1, fingerprint: 'f', reason: '', by: { id: 'ann' } }));
  });

  test.each([[undefined], [null], ['run']])('%o names no run', (given) => {
    expect(() => check(given)).toThrow(expect.objectContaining({ code: 'invalid-decision' }));
  });

  test('a misspelt key is told before what is missing', () => {
    expect(() => check({ runID: 'run' })).toThrow(expect.objectContaining({ code: 'invalid-option' }));
  });
});
