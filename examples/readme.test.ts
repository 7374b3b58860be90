/** The code in README.md is type-checked as one program, block after block, and run as one. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CountersignError, type ErrorCode } from 'countersign';
import { afterAll, expect, test } from 'vitest';
import { runExample } from './run-example.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const readme = readFileSync(join(root, 'README.md'), 'utf8');
const program = [...readme.matchAll(/^```ts\n(.*?)^```$/gms)].map((match) => match[1]).join('\n');

// Inside the repository, where its packages are found, and ignored by git.
mkdirSync(join(root, '.countersign'), { recursive: true });
const folder = mkdtempSync(join(root, '.countersign', 'readme-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

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
  const args = tools[0]?.name === 'book-table' ? { restaurant: 'Nori' } : { orderId: 'ord-1042', amount: 129.9 };
  return { calls: [{ toolName: tools[0]?.name ?? '', args }] };
});
`;

function write(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return relative(root, path);
}

test('the code has the types that it needs', async () => {
  write('readme.ts', `${yours}${program}`);
  const config = { extends: '../../tsconfig.json', include: ['readme.ts'], exclude: [] };
  // Whether a reader uses what the last lines declare is not the question.
  write('tsconfig.json', JSON.stringify({ ...config, compilerOptions: { noUnusedLocals: false } }));
  const checked = await runExample('node_modules/typescript/bin/tsc', ['--noEmit', '-p', folder]);
  expect(checked).toEqual({ code: 0, stdout: '', stderr: '' });
});

test.each(['yes', 'no'])('the code does what is written there (%s)', async (answer) => {
  const path = write(
    `run-${answer}.ts`,
    `${scripted}${yours}${program}
console.log(\`refunds: \${refunds.join(', ')}\`);
await storage.close();
`
      .replaceAll("model: 'openai/gpt-5-mini'", 'model: model()')
      .replace("path: 'runs.db'", `path: ${JSON.stringify(join(folder, `runs-${answer}.db`))}`),
  );
  const { code, stdout } = await runExample(path, [], { ANSWER: answer });
  expect(code).toBe(0);
  const denied = 'Please offer a replacement instead.';
  const expected = [
    answer === 'yes' ? '{"refunded":129.9}' : denied,
    '{"refunded":129.9}',
    'suspended',
    'one of 1: issue-refund {"orderId":"ord-1042","amount":129.9}',
    'Too old.',
    '{"booked":"20:00"}',
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
  const links = [...readme.matchAll(/\]\(([^)#:]+)\)/g)].map((match) => match[1] ?? '');
  expect(links.length).toBeGreaterThan(5);
  expect(links.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});
