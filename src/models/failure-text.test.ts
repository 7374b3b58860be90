import { expect, test } from 'vitest';
import { failureText } from './failure-text.ts';

test.each([
  [new Error('broken'), 'The model call failed: broken'],
  [new Error('first line\nsecond line'), 'The model call failed: first line'],
  [{ message: 'Bad gateway', statusCode: 502 }, 'The model call failed (HTTP 502): Bad gateway'],
  [
    { name: 'AI_APICallError', message: 'No such model', statusCode: 404 },
    'The model call failed (HTTP 404): No such model',
  ],
  [
    { name: 'AI_JSONParseError', message: 'JSON parsing failed: Text: secret' },
    'The model call failed: JSONParseError.',
  ],
  [new Error('x'.repeat(500)), `The model call failed: ${'x'.repeat(400)}…`],
  ['overloaded', 'The model call failed: overloaded'],
  [{ message: '  ' }, 'The model call failed.'],
  [{}, 'The model call failed.'],
  [null, 'The model call failed.'],
  [undefined, 'The model call failed.'],
  [7, 'The model call failed.'],
])('%o', (thrown, expected) => {
  expect(failureText(thrown)).toBe(expected);
});
