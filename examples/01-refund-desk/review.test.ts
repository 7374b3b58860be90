import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { ask } from './review.ts';

/** What `ask` makes of a person who answers each question with the next of these lines. */
async function typed(...lines: string[]) {
  const input = new PassThrough();
  const output = Object.assign(new PassThrough(), { isTTY: true, columns: 200 });
  const questions: string[] = [];
  output.setEncoding('utf8').on('data', (text: string) => {
    if (!/[:?] $/.test(text)) return;
    questions.push(text.trim());
    const line = lines.shift();
    if (line === undefined) input.end();
    else input.write(line);
  });
  return { verdict: await ask(input, output), questions };
}

test.each([
  [['yes\n'], { approved: true }],
  [[' Y \n'], { approved: true }],
  [['no\n', 'too much\n'], { approved: false, reason: 'too much' }],
  [['n\n', '\n'], { approved: false, reason: undefined }],
])('%j decides', async (lines, verdict) => {
  expect((await typed(...lines)).verdict).toEqual(verdict);
});

test('what is neither yes nor no is asked again', async () => {
  const { verdict, questions } = await typed('yesterday\n', '\n', 'y\n');
  expect(verdict).toEqual({ approved: true });
  expect(questions).toHaveLength(3);
});

test.each([
  ['Ctrl-C', ['\u0003']],
  ['Ctrl-C at the reason', ['no\n', '\u0003']],
  ['the end of the input', []],
])('%s leaves the call waiting', async (_, lines) => {
  expect((await typed(...lines)).verdict).toBe('later');
});
