import { describe, expect, test } from 'vitest';
import { approvalIdOf, stopIn } from './approval-id.ts';

describe('the id of a stop', () => {
  test.each([
    ['run', 'call', 1],
    ['r', 'c', 999_999_999],
    ['run', 'delegation~call', 2],
    // What models made up is replaced where it has `::`; a page may have one that is older.
    ['run', 'a::b', 3],
    ['run', ':', 4],
  ])('names run, call and stop: %s, %s, %s', (runId, toolCallId, stop) => {
    expect(stopIn(approvalIdOf({ runId, toolCallId, stop }))).toEqual({ runId, toolCallId, stop });
  });

  test.each([
    ...['', '::', '::::', '::call::1', 'run::1', 'run::::1', 'run::call', 'run::call::', 'run::call::0'],
    ...['run::call::01', 'run::call::1.5', 'run::call::-1', 'run::call::1 ', 'run::call::1234567890'],
    ...[undefined, null, 7, {}, ['run::call::1']],
  ])('is not %j', (id) => {
    expect(stopIn(id)).toBeUndefined();
  });

  test('is looked at once, however long it is', () => {
    const started = process.cpuUsage();
    for (const part of ['a::', '::', ':']) {
      expect(stopIn(part.repeat(1_000_000))).toBeUndefined();
      expect(stopIn(`${part.repeat(1000)}1`)?.stop ?? 1).toBe(1);
    }
    expect(process.cpuUsage(started).user / 1000).toBeLessThan(1000);
  });
});
