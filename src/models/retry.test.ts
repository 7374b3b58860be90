import { describe, expect, test, vi } from 'vitest';
import { delayOf, isRetryable, sleep } from './retry.ts';

const caused = (cause: unknown): Error => new Error('outer', { cause });

describe('isRetryable', () => {
  test.each([
    [{ isRetryable: true }, true],
    [{ isRetryable: false }, false],
    [{ isRetryable: 'yes' }, false],
    [caused({ isRetryable: true }), true],
    [caused({ isRetryable: false, cause: { code: 'ECONNRESET' } }), false],
    [caused(caused({ code: 'ECONNRESET' })), true],
    [Object.assign(new TypeError('terminated'), { cause: { code: 'UND_ERR_SOCKET' } }), true],
    [{ code: 'ENOENT' }, false],
    [new Error('no'), false],
    ['text', false],
    [undefined, false],
  ])('%o → %s', (error, expected) => {
    expect(isRetryable(error)).toBe(expected);
  });

  test('a cycle of causes ends', () => {
    const error = new Error('a');
    error.cause = error;
    expect(isRetryable(error)).toBe(false);
  });
});

describe('delayOf', () => {
  const now = Date.parse('2026-01-01T00:00:00Z');
  const withHeaders = (responseHeaders: Record<string, string>): unknown => caused({ responseHeaders });

  test.each([
    [0, {}, 2000],
    [3, {}, 16_000],
    [0, { 'retry-after-ms': '150' }, 150],
    [0, { 'retry-after-ms': '150', 'retry-after': '9' }, 150],
    [0, { 'retry-after-ms': 'soon', 'retry-after': '9' }, 9000],
    [0, { 'retry-after': '0' }, 0],
    [0, { 'retry-after': 'Thu, 01 Jan 2026 00:00:05 GMT' }, 5000],
    [0, { 'retry-after': 'Wed, 31 Dec 2025 23:00:00 GMT' }, 2000],
    [0, { 'retry-after': '61' }, 2000],
    [6, { 'retry-after': '61' }, 61_000],
    [0, { 'retry-after': 'later' }, 2000],
    [0, { 'retry-after-ms': '-5' }, 2000],
  ])('after %i retries, headers %o → %i', (retries, headers, expected) => {
    expect(delayOf(withHeaders(headers), retries, now)).toBe(expected);
  });
});

describe('sleep', () => {
  test('ends with the time, or with the abort', async () => {
    vi.useFakeTimers();
    try {
      const controller = new AbortController();
      const whole = sleep(2000, controller.signal);
      await vi.advanceTimersByTimeAsync(2000);
      await whole;
      const broken = sleep(2000, controller.signal);
      controller.abort('why');
      await expect(broken).rejects.toBe('why');
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });
});
