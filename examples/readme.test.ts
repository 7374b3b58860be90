/** The code in README.md is type-checked as one program, block after block, and run as one. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { CountersignError, type ErrorCode } from 'countersign';
import { expect, test } from 'vitest';
import { readDocument, root, workplace } from './document.ts';

const { text: readme, program, links } = readDocument('README.md');
const place = workplace('readme');

/** What the README leaves to its reader. */
const yours = `
const refunds: string[] = [];
const payments = {
  refund: async (orderId: string, amount: number) => {
    refunds.push(\`\${orderId} \${amount}\`);
    return { refunded: amount };
  },
};
const askSomebody = async (_toolName: string, _args: unknown): Promise<boolean> => process.env.ANSWER === 'yes';
`;

/** A model in place of 'openai/gpt-5-mini': it asks once for the tool it has, then says how that ended. */
const scripted = `
import { scriptedModel } from 'countersign/testing';
const model = () => scriptedModel((prompt, index, tools) => {
  const last = prompt.at(-1);
  if (last?.role === 'tool') return \`The result was \${JSON.stringify(last.content)}.\`;
  const argsOf = {
    'book-table': { restaurant: 'Nori' },
    'agent-refunds': { prompt: 'Refund ord-1042.' },
  } as Record<string, object>;
  const args = argsOf[tools[0]?.name ?? ''] ?? { orderId: 'ord-1042', amount: 129.9 };
  return { calls: [{ toolName: tools[0]?.name ?? '', args }] };
});
`;

test('the code has the types that it needs', async () => {
  const checked = await place.check({ readme: `${yours}${program}` });
  expect(checked).toEqual({ code: 0, stdout: '', stderr: '' });
});

test.each(['yes', 'no'])('the code does what is written there (%s)', async (answer) => {
  const ending = `
console.log(\`refunds: \${refunds.join(', ')}\`);
await storage.close();
`;
  const { code, stdout } = await place.run(answer, scripted, `${yours}${program}${ending}`, {
    ANSWER: answer,
  });
  expect(code).toBe(0);
  const denied = 'Please offer a replacement instead.';
  const expected = [
    answer === 'yes' ? '{"refunded":129.9}' : denied,
    '{"refunded":129.9}',
    'suspended',
    'one of 1: issue-refund {"orderId":"ord-1042","amount":129.9}',
    'Too old.',
    '{"booked":"20:00"}',
    'asked for by refunds',
    'Not again.',
    'assistant',
    `refunds: ${answer === 'yes' ? 'ord-1042 129.9, ' : ''}ord-1042 129.9`,
  ];
  const lines = stdout.trim().split('\n');
  expect(lines).toEqual(expected.map((part) => expect.stringContaining(part)));
});

test('the table of errors says what the code says', () => {
  const rows = [...readme.matchAll(/^\| (`.+`) \| (\d{3}) \|/gm)];
  expect(rows.length).toBeGreaterThan(5);
  for (const [, codes = '', status] of rows) {
    for (const [, code] of codes.matchAll(/`(.+?)`/g)) {
      expect(new CountersignError(code as ErrorCode, '').status, code).toBe(Number(status));
    }
  }
});

test('the files that it names are there', () => {
  const [, order = ''] = readme.split(/^## Read the code$|^Then `src\/stream`/m);
  const names = [...order.matchAll(/`([a-z-]+)`/g)].map((match) => `src/core/${match[1]}.ts`);
  expect(names.length).toBeGreaterThan(15);
  expect(names.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

test('each link to a file leads to one', () => {
  expect(links.length).toBeGreaterThan(5);
  expect(links.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});
