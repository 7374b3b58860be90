import { expect, onTestFinished, test, vi } from 'vitest';
import { print } from './print.ts';

test('a reviewer sees all arguments as they are, whatever the model wrote into them', () => {
  const log = vi.spyOn(console, 'log').mockImplementation(() => {});
  onTestFinished(() => log.mockRestore());
  const args = {
    amount: 900,
    note: '\u001b[1A\u001b[2Kamount 9\namount 9',
    '\u202egnirts': '\u009b2K',
    fingerprint: 'of the model',
  };
  print.held({
    toolCallId: 'call-0-0',
    stop: 1,
    toolName: 'issue-refund',
    args,
    fingerprint: 'abcdef0123456789',
  });
  const [, ...lines] = log.mock.calls.map(([line]) => String(line));
  expect(lines).toEqual([
    '  amount       900',
    '  note         "\\u001b[1A\\u001b[2Kamount 9\\namount 9"',
    '  \\u{202e}gnirts "\\u{9b}2K"',
    '  fingerprint  "of the model"',
    '  fingerprint  abcdef012345…',
  ]);
});
