/** Bad input from those who decide: a typed error before anything is written, and what waits keeps waiting. */
import { createTool } from 'countersign';
import { expect } from 'vitest';
import { z } from 'zod';
import { askRefunds, kinds, type Refund } from '../support/kinds.ts';
import { type Choice, codeOf, type Scene } from '../support/scene.ts';
import { inEveryWorld, inOneWorld, type Open } from '../support/world.ts';

const malformedChoices: [string, unknown][] = [
  ['toolCallId', 5],
  ['toolCallId', null],
  ['toolCallId', ['call-0-0']],
  ['stop', 0],
  ['stop', -1],
  ['stop', 1.5],
  ['stop', '1'],
  ['stop', Number.NaN],
  ['stop', null],
  ['fingerprint', 5],
  ['fingerprint', null],
  ['reason', { text: 'no' }],
  ['reason', 5],
  ['decisionId', 5],
  ['decisionId', {}],
  ['by', 'ann'],
  ['by', null],
  ['by', {}],
  ['by', { id: 5 }],
  ['by', { id: 'ann', name: 5 }],
];

inEveryWorld('scenario: K2', 'bad input: malformed decisions', async (open) => {
  const effects: Refund[] = [];
  const scene = open({ script: [askRefunds('a'), 'Done.'], tools: kinds[0]!.tools(effects, true) });
  const { runId } = await scene.start();
  for (const [name, value] of malformedChoices) {
    const choice = { [name]: value } as Choice;
    for (const attempt of [
      scene.approve(runId, choice),
      scene.decline(runId, choice),
      scene.resume({ approved: true }, runId, choice),
    ]) {
      expect(await codeOf(attempt), `${name}: ${JSON.stringify(value)}`).toBe('invalid-decision');
    }
  }
  expect(effects).toEqual([]);
  expect((await scene.list()).runs[0]?.toolCalls).toHaveLength(1);
  await scene.approve(runId, { by: { id: 'ann', name: 'Ann' }, reason: '', decisionId: 'd' });
  expect(effects).toHaveLength(1);
});

for (const runId of ['', 5, null, undefined, {}, ['a']]) {
  inEveryWorld('scenario: K2', `bad input: the run ${JSON.stringify(runId) ?? 'undefined'}`, async (open) => {
    const scene = open({ script: ['Hello.'] });
    const bad = runId as string;
    expect(await codeOf(scene.approve(bad))).toBe('invalid-decision');
    expect(await codeOf(scene.decline(bad))).toBe('invalid-decision');
    expect(await codeOf(scene.resume(1, bad))).toBe('invalid-decision');
    expect(await codeOf(scene.cancel({ runId: bad }))).toBe('invalid-decision');
    expect(await codeOf(scene.continueRun(bad))).toBe('invalid-decision');
  });
}

inOneWorld('scenario: K2', 'bad input: no options at all', async (open) => {
  const { first } = open({ script: ['Hello.'] });
  for (const verb of [
    'approveToolCall',
    'declineToolCall',
    'approveToolCallGenerate',
    'declineToolCallGenerate',
    'continueRun',
    'continueRunGenerate',
    'cancelRun',
  ] as const) {
    const call = first[verb].bind(first) as unknown as (options?: unknown) => Promise<unknown>;
    for (const nothing of [undefined, null, 'run']) {
      expect(await codeOf(call(nothing)), `${verb}(${nothing})`).toBe('invalid-decision');
    }
  }
  const resume = first.resumeStream.bind(first) as unknown as (data: unknown) => Promise<unknown>;
  expect(await codeOf(resume({ approved: true }))).toBe('invalid-decision');
});

/** A call that waits for an answer. */
async function asking(
  open: Open,
  resumeSchema?: z.ZodType,
): Promise<{ scene: Scene; runId: string; seen: unknown[] }> {
  const seen: unknown[] = [];
  const ask = createTool({
    id: 'ask',
    inputSchema: z.object({}),
    ...(resumeSchema ? { resumeSchema } : {}),
    execute: async (_input, { agent }) => {
      if (agent.resumeData === undefined) return void (await agent.suspend({ question: '?' }));
      seen.push(agent.resumeData);
      return { answered: true };
    },
  });
  const scene = open({ script: [{ calls: [{ toolName: 'ask' }] }, 'Done.'], tools: { ask } });
  const { runId } = await scene.start();
  return { scene, runId, seen };
}

inEveryWorld('scenario: K1', 'bad input: resume data that does not match its schema', async (open) => {
  const { scene, runId, seen } = await asking(open, z.strictObject({ answer: z.string().min(2) }));
  for (const data of [
    undefined,
    null,
    'yes',
    5,
    {},
    { answer: 5 },
    { answer: 'x' },
    { answer: 'yes', more: 1 },
    [],
  ]) {
    expect(await codeOf(scene.resume(data, runId)), JSON.stringify(data)).toBe('invalid-resume-data');
  }
  expect(seen).toEqual([]);
  expect((await scene.list()).runs[0]?.toolCalls).toMatchObject([{ state: 'suspended', stop: 1 }]);
  expect(await codeOf(scene.approve(runId))).toBe('needs-data');
  expect((await scene.resume({ answer: 'yes' }, runId)).text).toBe('Done.');
  expect(seen).toEqual([{ answer: 'yes' }]);
  expect(await codeOf(scene.resume({ answer: 'yes' }, runId))).toBe('already-decided');
});

for (const data of [0, '', false, null, [], {}]) {
  inEveryWorld('scenario: K18', `falsy resume data is data: ${JSON.stringify(data)}`, async (open) => {
    const { scene, runId, seen } = await asking(open);
    expect((await scene.resume(data, runId)).text).toBe('Done.');
    expect(seen).toEqual([data]);
  });
}

const notJson: Record<string, unknown> = {
  'a function': () => 1,
  'a BigInt': { a: 10n },
  'a Map': { a: new Map() },
  NaN: Number.NaN,
};

for (const [name, data] of Object.entries(notJson)) {
  inEveryWorld('scenario: K12', `bad input: resume data that is or holds ${name}`, async (open) => {
    const { scene, runId, seen } = await asking(open);
    expect(['not-json', 'invalid-resume-data']).toContain(await codeOf(scene.resume(data, runId)));
    expect((await scene.list()).total).toBe(1);
    expect((await scene.resume({ a: 1 }, runId)).text).toBe('Done.');
    expect(seen).toEqual([{ a: 1 }]);
  });
}

inEveryWorld(
  'scenario: K12',
  'resume data that its schema changes reaches the tool changed, also after a restart',
  async (open) => {
    const { scene, runId, seen } = await asking(
      open,
      z.object({ at: z.string().transform((text) => new Date(text)) }),
    );
    await scene.resume({ at: '2026-01-02' }, runId);
    expect(seen).toEqual([{ at: new Date('2026-01-02') }]);
  },
);

inEveryWorld(
  'scenario: K8',
  'bad input: the tool of a suspended call is gone: it can only be declined',
  async (open) => {
    let gone = false;
    const ask = createTool({
      id: 'ask',
      inputSchema: z.object({}),
      execute: async (_input, { agent }) => agent.suspend({ question: '?' }),
    });
    const scene = open({
      script: [{ calls: [{ toolName: 'ask' }] }, 'Then not.'],
      tools: () => (gone ? {} : { ask }),
    });
    const { runId } = await scene.start();
    gone = true;
    expect(await codeOf(scene.resume({ answer: 1 }, runId))).toBe('agent-missing');
    expect((await scene.list()).total).toBe(1);
    expect((await scene.decline(runId)).text).toBe('Then not.');
  },
);
