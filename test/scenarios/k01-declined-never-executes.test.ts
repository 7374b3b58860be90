/** K1: a declined, undecided or malformed decision never executes. */
import { createTool, type PolicyFunction, type PolicyOption } from 'countersign';
import { expect } from 'vitest';
import { z } from 'zod';
import {
  approveAndCarryOut,
  askRefunds,
  kinds,
  type Refund,
  refundCall,
  refundInput,
} from '../support/kinds.ts';
import { codeOf } from '../support/scene.ts';
import { inEveryWorld, inOneWorld } from '../support/world.ts';

for (const kind of kinds) {
  inEveryWorld('scenario: K1', `declined, held by the run alone (${kind.name})`, async (open) => {
    const effects: Refund[] = [];
    const scene = open({
      script: [askRefunds('a'), 'Then not.'],
      tools: kind.tools(effects, false),
      options: { requireToolApproval: true },
    });
    const started = await scene.start();
    expect(started.finishReason).toBe('suspended');
    const told = await scene.decline(started.runId, { reason: 'no' });
    expect(told.finishReason).toBe('stop');
    expect(told.text).toBe('Then not.');
    expect(told.payloads).toEqual([]);
    expect(effects).toEqual([]);
    expect(await codeOf(scene.approve(started.runId))).toBe('already-decided');
    expect(effects).toEqual([]);
  });

  inEveryWorld('scenario: K1', `malformed decisions leave the call waiting (${kind.name})`, async (open) => {
    const effects: Refund[] = [];
    const scene = open({ script: [askRefunds('a'), 'Done.'], tools: kind.tools(effects, true) });
    const { runId } = await scene.start();
    for (const data of malformed()) {
      expect(await codeOf(scene.resume(data, runId)), describeData(data)).toBe('needs-verdict');
      expect(await codeOf(scene.resume(data, runId, { toolCallId: 'call-0-0' }))).toBe('needs-verdict');
    }
    expect(effects).toEqual([]);
    expect((await scene.list()).runs[0]?.toolCalls).toHaveLength(1);
    expect(scene.model.calls).toHaveLength(1);
    await approveAndCarryOut(scene, kind, effects, runId);
    expect(effects).toEqual([{ order: 'a', amount: 10 }]);
  });
}

/** Everything that looks like a decision and is none: only `{ approved: boolean, reason?: string }` is. */
function malformed(): unknown[] {
  return [
    undefined,
    null,
    true,
    'true',
    'approved',
    1,
    {},
    [],
    [true],
    { approved: 'yes' },
    { approved: 'true' },
    { approved: 1 },
    { approved: null },
    { approved: undefined },
    { approved: new Boolean(true) },
    { approved: { approved: true } },
    { approve: true },
    { Approved: true },
    { approved: true, reason: 5 },
    { approved: true, reason: null },
    { approved: true, args: { order: 'b' } },
    { approved: true, toolCallId: 'call-0-0' },
    { approved: false, resumeData: { approved: true } },
    { resumeData: { approved: true } },
  ];
}

function describeData(data: unknown): string {
  return typeof data === 'object' && data !== null ? JSON.stringify(data) : String(data);
}

const disguised: Record<string, () => unknown> = {
  'a list with a property approved': () => Object.assign([], { approved: true }),
  'an object that inherits approved': () => Object.create({ approved: true }),
  'a class instance with a getter approved': () =>
    new (class {
      get approved(): boolean {
        return true;
      }
    })(),
};

for (const [name, make] of Object.entries(disguised)) {
  inOneWorld('scenario: K1', `${name} is no decision`, async (open) => {
    const effects: Refund[] = [];
    const scene = open({ script: [askRefunds('a'), 'Done.'], tools: kinds[0]!.tools(effects, true) });
    const { runId } = await scene.start();
    expect(await codeOf(scene.resume(make(), runId))).toBe('needs-verdict');
    expect(effects).toEqual([]);
    expect((await scene.list()).total).toBe(1);
  });
}

inEveryWorld('scenario: K1', 'resume data decides a held call, and no is no', async (open) => {
  const effects: Refund[] = [];
  const scene = open({
    script: [askRefunds('a', 'b'), 'Done.'],
    tools: kinds[0]!.tools(effects, true),
  });
  const { runId } = await scene.start();
  await scene.resume({ approved: false, reason: 'no' }, runId, { toolCallId: 'call-0-0' });
  const told = await scene.resume({ approved: true }, runId, { toolCallId: 'call-0-1' });
  expect(told.text).toBe('Done.');
  expect(effects).toEqual([{ order: 'b', amount: 10 }]);
});

inEveryWorld('scenario: K1', 'a decline does not execute, whatever else it carries', async (open) => {
  const effects: Refund[] = [];
  const scene = open({ script: [askRefunds('a'), 'Then not.'], tools: kinds[0]!.tools(effects, true) });
  const { runId } = await scene.start();
  const carried = {
    approved: true,
    resumeData: { approved: true },
    data: { approved: true },
    verdict: 'approve',
  };
  for (const [key, value] of Object.entries(carried)) {
    expect(await codeOf(scene.decline(runId, { [key]: value } as never))).toBe('invalid-option');
  }
  expect(effects).toEqual([]);
  const told = await scene.decline(runId, { reason: 'approved: true', by: { id: 'approve' } });
  expect(told.text).toBe('Then not.');
  expect(effects).toEqual([]);
});

inEveryWorld('scenario: K1', 'undecided: nothing runs, however often one looks', async (open) => {
  const effects: Refund[] = [];
  const scene = open({ script: [askRefunds('a')], tools: kinds[0]!.tools(effects, true) });
  const { runId } = await scene.start();
  for (let look = 0; look < 3; look++) await scene.list({ status: 'all' });
  expect(await codeOf(scene.continueRun(runId))).toBe('run-not-stalled');
  expect(effects).toEqual([]);
  await scene.cancel({ runId });
  expect(await codeOf(scene.approve(runId))).toBe('run-ended');
  expect(effects).toEqual([]);
});

inEveryWorld(
  'scenario: K1',
  'a policy function that was lost holds every later call',
  async (open, world) => {
    const effects: string[] = [];
    const tools = { record: recordTool('record', effects), harmless: recordTool('harmless', effects) };
    const policy: PolicyFunction = ({ toolName }) => toolName === 'record';
    const scene = open({
      script: [
        {
          calls: [
            { toolName: 'record', args: { name: '1' } },
            { toolName: 'harmless', args: { name: '2' } },
          ],
        },
        {
          calls: [
            { toolName: 'record', args: { name: '3' } },
            { toolName: 'harmless', args: { name: '4' } },
          ],
        },
        'Done.',
      ],
      tools,
      options: { requireToolApproval: policy },
    });
    const started = await scene.start();
    expect(started.payloads.map(({ args }) => args.name)).toEqual(['1']);
    expect(effects).toEqual(['harmless 2']);
    const second = await scene.approve(started.runId);
    const passedAgain = world.temperature === 'cold with options';
    expect(second.payloads.map(({ args }) => args.name)).toEqual(passedAgain ? ['3'] : ['3', '4']);
    expect(effects).toEqual(['harmless 2', 'record 1', ...(passedAgain ? ['harmless 4'] : [])]);
    expect(scene.warnings.some((warning) => warning.includes('requireToolApproval'))).toBe(!passedAgain);
  },
);

inEveryWorld(
  'scenario: K1',
  'a call approved before stays approved when the policy is lost',
  async (open) => {
    const effects: Refund[] = [];
    const scene = open({
      script: [askRefunds('a', 'b'), 'Done.'],
      tools: kinds[0]!.tools(effects, false),
      options: { requireToolApproval: () => true },
    });
    const { runId } = await scene.start();
    const one = await scene.approve(runId, { toolCallId: 'call-0-0' });
    expect(one.payloads.map(({ toolCallId }) => toolCallId)).toEqual(['call-0-1']);
    expect((await scene.approve(runId)).text).toBe('Done.');
    expect(effects.map(({ order }) => order)).toEqual(['a', 'b']);
  },
);

const unclear: Record<string, PolicyOption> = {
  throws: () => {
    throw new Error('policy');
  },
  rejects: () => Promise.reject(new Error('policy')),
  'answers undefined': (() => undefined) as unknown as PolicyFunction,
  'answers null': (() => null) as unknown as PolicyFunction,
  'answers 0': (() => 0) as unknown as PolicyFunction,
  'answers ""': (() => '') as unknown as PolicyFunction,
  'answers "false"': (() => 'false') as unknown as PolicyFunction,
  'answers a promise of a promise of nothing': (async () =>
    (async () => undefined)()) as unknown as PolicyFunction,
};

for (const [name, policy] of Object.entries(unclear)) {
  inOneWorld('scenario: K1', `a policy that ${name} holds`, async (open) => {
    const effects: Refund[] = [];
    const byRun = open({
      script: [askRefunds('a')],
      tools: kinds[0]!.tools(effects, false),
      options: { requireToolApproval: policy },
    });
    expect((await byRun.start()).finishReason).toBe('suspended');
    const ofTool = createTool({
      id: 'refund',
      inputSchema: refundInput,
      requireApproval: policy as () => boolean,
      execute: async (input) => void effects.push(input),
    });
    const byTool = open({ script: [askRefunds('a')], tools: { ofTool } });
    expect((await byTool.start()).finishReason).toBe('suspended');
    expect(effects).toEqual([]);
  });
}

for (const value of ['true', 'false', 1, 0, null, {}, []]) {
  inEveryWorld(
    'scenario: K1',
    `the policy ${JSON.stringify(value)} is refused, nothing runs`,
    async (open) => {
      const effects: Refund[] = [];
      const scene = open({
        script: [askRefunds('a'), 'Done.'],
        tools: kinds[0]!.tools(effects, true),
      });
      const malformedPolicy = { requireToolApproval: value as unknown as boolean };
      expect(await codeOf(scene.start(malformedPolicy))).toBe('invalid-option');
      expect(scene.model.calls).toHaveLength(0);
      const { runId } = await scene.start();
      expect(await codeOf(scene.approve(runId, malformedPolicy))).toBe('invalid-option');
      expect(effects).toEqual([]);
      expect((await scene.list()).total).toBe(1);
    },
  );
}

inOneWorld('scenario: K1', 'a held call asked for again after its decline is held again', async (open) => {
  const effects: Refund[] = [];
  const scene = open({
    script: [askRefunds('a'), { calls: [refundCall('a')] }, { calls: [refundCall('a')] }, 'I give up.'],
    tools: kinds[0]!.tools(effects, true),
  });
  const { runId } = await scene.start();
  for (let round = 0; round < 2; round++) expect((await scene.decline(runId)).finishReason).toBe('suspended');
  expect((await scene.decline(runId)).text).toBe('I give up.');
  expect(effects).toEqual([]);
});

function recordTool(id: string, effects: string[]) {
  return createTool({
    id,
    inputSchema: z.object({ name: z.string() }),
    execute: async ({ name }) => {
      effects.push(`${id} ${name}`);
      return { done: true };
    },
  });
}
