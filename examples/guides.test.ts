/** The code of each guide is type-checked as one program, run as one, and prints what the guide says. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { CountersignError, type ErrorCode } from 'countersign';
import { expect, test } from 'vitest';
import { readDocument, root, workplace } from './document.ts';
import type { Answers } from './document-model.ts';

interface Guide {
  /** What the guide leaves to its reader. */
  readonly yours: string;
  /** What puts away what `yours` began. */
  readonly after?: string;
  /** What the model answers, question by question. Left out: the code is type-checked, not run. */
  readonly answers?: Answers;
}

const pay = (to: string, amount: number) => ({ toolName: 'transfer', args: { to, amount } });
const to = (key: string, prompt: string) => ({ toolName: `agent-${key}`, args: { prompt } });

const guides: Readonly<Record<string, Guide>> = {
  approvals: {
    yours: `
const records = { delete: async (id: string) => \`deleted \${id}\` };
const bank = {
  send: async (to: string, amount: number) => \`sent \${amount} to \${to}\`,
  balance: async () => '500 euros',
};
`,
    answers: {
      'Delete record r-1.': [{ calls: [{ toolName: 'delete-record', args: { id: 'r-1' } }] }],
      'Pay Ben 20.': [{ calls: [pay('Ben', 20)] }],
      'Pay Ada 200.': [{ calls: [pay('Ada', 200)] }],
      'Pay Ada 200, then Ben 300.': [{ calls: [pay('Ada', 200)] }, { calls: [pay('Ben', 300)] }],
      'What do we have?': [{ calls: [{ toolName: 'balance' }] }],
      'Pay Ada 200 and Ben 300. What do we have?': [
        { calls: [pay('Ada', 200), pay('Ben', 300), { toolName: 'balance' }] },
      ],
    },
  },
  chat: {
    yours: `
const bank = {
  refund: async (order: string) => \`refunded \${order}\`,
  ship: async (order: string, street: string) => \`\${order} goes to \${street}\`,
};
`,
    answers: {
      'Refund o-1, please.': [{ calls: [{ toolName: 'refund', args: { order: 'o-1' } }] }],
      'Ship o-2, please.': [{ calls: [{ toolName: 'ship', args: { order: 'o-2' } }] }],
    },
  },
  client: {
    yours: `
import { Agent, Countersign, createTool } from 'countersign';
import { bearerTokens, createServer, serve } from 'countersign/server';
import { z } from 'zod';
const inputSchema = z.object({ order: z.string(), amount: z.number() });
const execute = async ({ order, amount }: z.infer<typeof inputSchema>) => \`refunded \${amount} for \${order}\`;
const tools = {
  refund: createTool({ id: 'refund', inputSchema, requireApproval: true, execute }),
  compensate: createTool({ id: 'compensate', inputSchema, requireApproval: true, approver: 'reviewer', execute }),
};
const people = { 'token-of-ada': { id: 'ada', resourceId: 'ada' }, 'token-of-rita': { id: 'rita', roles: ['reviewer'] } };
const agents = { desk: new Agent({ id: 'desk', model: 'openai/gpt-5-mini', tools }) };
const countersign = new Countersign({ agents, warn: () => {} });
const auth = { authenticate: bearerTokens(people) };
const server = await serve(createServer({ countersign, auth, logger: false }), { port: 0 });
`,
    answers: {
      'Refund 20 for o-1.': [{ calls: [{ toolName: 'refund', args: { order: 'o-1', amount: 20 } }] }],
      'Compensate 500 for o-2.': [
        { calls: [{ toolName: 'compensate', args: { order: 'o-2', amount: 500 } }] },
      ],
      'Refund 5 for o-3.': [{ calls: [{ toolName: 'refund', args: { order: 'o-3', amount: 5 } }] }],
      'Refund 7 for o-9.': [{ calls: [{ toolName: 'refund', args: { order: 'o-9', amount: 7 } }] }],
      'How much?': ['505.'],
    },
    after: 'await server.close();',
  },
  conversations: {
    yours: `
const bank = { refund: async (order: string) => \`refunded \${order}\` };
`,
    answers: {
      'My order arrived broken.': ['Which order is it?'],
      'It is ord-1042.': ['I am sorry that ord-1042 arrived broken.'],
      'Please refund it.': [{ calls: [{ toolName: 'refund', args: { order: 'ord-1042' } }] }],
      'How is the weather?': [{ calls: [{ toolName: 'weather' }] }],
      'Rome, please.': [{ calls: [{ toolName: 'resume-weather', args: { city: 'Rome' } }] }],
    },
  },
  durability: {
    yours: `
import { type Agent, Countersign, RequestContext, type Store, type ToolHooks } from 'countersign';
declare const desk: Agent;
declare const storage: Store;
declare const hooks: ToolHooks;
declare const bank: { find(query: { after: Date | undefined }): Promise<object | undefined> };
declare const vault: { keyOf(resourceId: string | undefined): Promise<string> };
`,
  },
  server: {
    yours: `
const bank = { refund: async (order: string, amount: number) => \`refunded \${amount} for \${order}\` };
`,
    answers: {
      'Refund 20 for o-1.': [{ calls: [{ toolName: 'refund', args: { order: 'o-1', amount: 20 } }] }],
      'Compensate 500 for o-2.': [
        { calls: [{ toolName: 'compensate', args: { order: 'o-2', amount: 500 } }] },
      ],
      'Refund 30 for o-3.': [{ calls: [{ toolName: 'refund', args: { order: 'o-3', amount: 30 } }] }],
    },
  },
  suspension: {
    yours: `
const nori = { book: async (guests: number, time: string) => \`table for \${guests} at \${time}\` };
const shop = {
  reservations: new Map<string, string>(),
  reserve: async (cake: string, key: string) => {
    shop.reservations.set(key, cake);
    return { price: 30 };
  },
  buy: async (key: string) => \`\${shop.reservations.get(key)} is bought\`,
};
const mail = { send: async (to: string, subject: string) => \`mail to \${to}: \${subject}\` };
`,
    answers: {
      'A table for two, please.': [{ calls: [{ toolName: 'book-table', args: { guests: 2 } }] }],
      'A cheesecake, please.': [{ calls: [{ toolName: 'order-cake', args: { cake: 'cheesecake' } }] }],
      'Confirm ada@example.com.': [{ calls: [{ toolName: 'send-code', args: { to: 'ada@example.com' } }] }],
      'Write to Ben.': [{ calls: [{ toolName: 'send-mail', args: { to: 'Ben' } }] }],
      'Where am I?': [{ calls: [{ toolName: 'location' }] }],
    },
  },
  telemetry: {
    yours: `
const bank = { refund: async (order: string) => \`refunded \${order}\` };
`,
    answers: {
      'Refund o-1.': [{ calls: [{ toolName: 'refund', args: { order: 'o-1' } }] }],
    },
  },
  testing: { yours: '', answers: {} },
  teams: {
    yours: `
const bank = { refund: async (order: string, amount: number) => \`refunded \${amount} for \${order}\` };
const shop = { count: async () => '7 cups' };
`,
    answers: {
      'My cup is broken.': [{ calls: [to('money', 'Refund the cup.')] }],
      'My cup and my plate are broken.': [
        { calls: [to('money', 'Refund the cup.'), to('money', 'Refund the plate.')] },
      ],
      'Refund the cup.': [{ calls: [{ toolName: 'refund', args: { order: 'o-1', amount: 12 } }] }],
      'Refund the plate.': [{ calls: [{ toolName: 'refund', args: { order: 'o-2', amount: 20 } }] }],
      'What does a cup cost?': [{ calls: [to('money', 'Price of a cup?')] }],
      'Price of a cup?': ['12 euros.'],
      'How many cups are there?': [{ calls: [to('keeper', 'Count the cups.')] }],
      'Count the cups.': [{ calls: [{ toolName: 'count' }] }],
      'Somebody complains.': [{ calls: [to('desk', 'My cup is broken.')] }],
    },
  },
};

/** Tables to look things up in: what code they have is in fragments. */
const reference = ['docs/guides/errors.md', 'docs/guides/options.md'];

const place = workplace('guides');
const documents = new Map(Object.keys(guides).map((name) => [name, readDocument(`docs/guides/${name}.md`)]));

test('the code has the types that it needs', async () => {
  const programs = Object.entries(guides).map(([name, { yours }]) => {
    return [name, `${yours}${documents.get(name)?.program}`];
  });
  const checked = await place.check(Object.fromEntries(programs));
  expect(checked).toEqual({ code: 0, stdout: '', stderr: '' });
});

const run = Object.entries(guides).filter(([, { answers }]) => answers);
test.each(run)('%s: the code prints what is written there', async (name, guide) => {
  const { program, printed } = readDocument(`docs/guides/${name}.md`);
  const model = `
import { answering } from '../../examples/document-model.ts';
const model = () => answering(${JSON.stringify(guide.answers)});
`;
  const { code, stdout, stderr } = await place.run(
    name,
    model,
    `${guide.yours}${program}${guide.after ?? ''}`,
  );
  const warnings = stderr.split('\n').filter((line) => line !== '');
  // A bare agent warns once that its runs do not outlive the process; nothing else is worth a warning.
  expect(warnings.filter((line) => !line.includes('its runs live in this process only'))).toEqual([]);
  expect(stdout.trimEnd().split('\n')).toEqual(printed);
  expect(printed.length).toBeGreaterThan(5);
  expect(code).toBe(0);
});

test('the list of the guides names each of them', () => {
  const files = readdirSync(join(root, 'docs/guides')).filter((file) => file !== 'README.md');
  const { links } = readDocument('docs/guides/README.md');
  expect(links.toSorted()).toEqual(['SPEC.md', ...files.map((file) => `docs/guides/${file}`)].toSorted());
});

test.each([...documents])(
  '%s: ends with codes that are there, and links that lead somewhere',
  (_name, { text, links }) => {
    expect(links).toEqual(expect.arrayContaining(['SPEC.md', 'docs/guides/README.md']));
    expect(links.filter((path) => !existsSync(join(root, path)))).toEqual([]);
    const [, table = ''] = text.split('## What can go wrong');
    const rows = [...table.matchAll(/^\| (`[^|]+`) \|/gm)];
    const codes = rows.flatMap(([, cell = '']) => cell.match(/[a-z-]+/g) ?? []);
    expect(codes.length).toBeGreaterThan(5);
    // A code that there is has a status.
    expect(codes.filter((code) => !new CountersignError(code as ErrorCode, '').status)).toEqual([]);
  },
);

test('each guide is run or checked', () => {
  const files = readDocument('docs/guides/README.md').links.filter((path) => path !== 'SPEC.md');
  const known = Object.keys(guides).map((name) => `docs/guides/${name}.md`);
  expect(files.filter((file) => !known.includes(file) && !reference.includes(file))).toEqual([]);
});
