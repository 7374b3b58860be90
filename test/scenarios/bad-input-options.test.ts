/** Malformed options, messages, lists, agents and registries: a typed error, and no model is asked. */
import {
  Agent,
  type AgentConfig,
  Countersign,
  createTool,
  RequestContext,
  type RunOptions,
} from 'countersign';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { askRefunds, kinds, type Refund, withTools } from '../support/kinds.ts';
import { type Choice, codeOf, errorOf } from '../support/scene.ts';
import { inBothFaces, inEveryWorld } from '../support/world.ts';

const otherTool = createTool({ id: 'other', inputSchema: z.object({}) });

const malformedOptions: [keyof RunOptions, unknown[]][] = [
  ['maxSteps', [0, -1, 1.5, '3', Number.NaN, Number.POSITIVE_INFINITY, null]],
  ['toolCallConcurrency', [0, 1.5, '3', null]],
  ['maxRetries', [-1, 0.5, '3', null]],
  ['activeTools', ['refund', [5], {}, null]],
  ['requestContext', [{ tenant: 'acme' }, 'acme', null]],
  ['runId', ['', 5, 'a~b', 'a::b', 'a:', null]],
  ['abortSignal', [{}, new AbortController(), null]],
  ['hooks', ['x', 5, [], { beforetoolCall: () => {} }, { beforeToolCall: true }, null]],
  ['toolChoice', ['refund', {}, { type: 'tool' }, null]],
  [
    'memory',
    [
      {},
      'thread 1',
      { thread: '' },
      { thread: { id: 5 } },
      { thread: { id: 'a', tittle: 'A' } },
      { thread: 'a', resource: '' },
      { thread: 'a', resourceId: 'acme' },
      { thread: 'a', resource: 'acme', options: { readonly: true } },
      { thread: 'a', resource: 'acme', options: null },
      null,
    ],
  ],
  ['requireToolApproval', ['true', 1, {}, null]],
  ['toolsets', ['x', [], [{}], { desk: null }, { desk: [] }, { desk: 'x' }, { desk: otherTool }, null]],
  ['stopWhen', [true, 'x', {}, [5], [() => true, null], null]],
  [
    'structuredOutput',
    ['x', {}, { schema: {} }, { schema: null }, { schema: z.object({}), model: 'x' }, null],
  ],
  ['autoResumeSuspendedTools', ['true', 1, {}, null]],
  ['onChunk', ['x', {}, null]],
  ['onFinish', [true]],
  ['waitUntil', [5]],
];

for (const [name, values] of malformedOptions) {
  inEveryWorld('scenario: K13', `bad input: the option ${name}`, async (open) => {
    const scene = open({ script: ['Hello.'] });
    for (const value of values) {
      const options = { [name]: value } as RunOptions;
      expect(await codeOf(scene.start(options)), JSON.stringify(value)).toBe('invalid-option');
    }
    expect(scene.model.calls).toHaveLength(0);
    expect((await scene.list({ status: 'all' })).total).toBe(0);
  });
}

inEveryWorld('scenario: K13', 'bad input: malformed options of a decision', async (open) => {
  const effects: Refund[] = [];
  const scene = open({ script: [askRefunds('a'), 'Done.'], tools: kinds[0]!.tools(effects, true) });
  const { runId } = await scene.start();
  const ofLegs = new Set([
    'activeTools',
    'requestContext',
    'abortSignal',
    'hooks',
    'toolChoice',
    'requireToolApproval',
    'toolsets',
    'stopWhen',
    'structuredOutput',
    'onChunk',
    'onFinish',
    'waitUntil',
  ]);
  for (const [name, values] of malformedOptions) {
    if (!ofLegs.has(name)) continue;
    for (const value of values) {
      const code = await codeOf(scene.approve(runId, { [name]: value } as Choice));
      expect(code, `${name}: ${JSON.stringify(value)}`).toBe('invalid-option');
    }
  }
  for (const memory of [
    'thread 1',
    [],
    { resourceId: 'acme' },
    { resource: 5 },
    { thread: { key: 'a' } },
    null,
  ]) {
    const code = await codeOf(scene.approve(runId, { memory } as Choice));
    expect(code, `memory: ${JSON.stringify(memory)}`).toBe('invalid-option');
  }
  expect(effects).toEqual([]);
  expect((await scene.list()).total).toBe(1);
});

/** Keys that nobody takes, and what was meant by them. */
const misspelt = { requireToolAproval: 'requireToolApproval', Hooks: 'hooks', abortsignal: 'abortSignal' };

inBothFaces('scenario: K5', 'bad input: an option that is misspelt is refused, everywhere', async (open) => {
  const effects: Refund[] = [];
  const scene = open({ script: [askRefunds('a'), 'Done.'], tools: kinds[0]!.tools(effects, true) });
  for (const [key, meant] of Object.entries(misspelt)) {
    const error = await errorOf(scene.start({ [key]: true } as RunOptions));
    expect([error.code, error.message.includes(`"${key}"`)]).toEqual(['invalid-option', true]);
    expect(error.details.expected).toContain(meant);
  }
  expect(scene.model.calls).toHaveLength(0);
  const { runId } = await scene.start({ memory: { thread: 't', resource: 'r' } });
  for (const [key, meant] of Object.entries(misspelt)) {
    const choice = { [key]: true } as Choice;
    for (const decide of [
      () => scene.approve(runId, choice),
      () => scene.decline(runId, choice),
      () => scene.resume({ approved: true }, runId, choice),
      () => scene.resolveCall(runId, 'call-0-0', { runAgain: true, ...choice } as never),
      () => scene.continueRun(runId, choice),
      () => scene.send({ threadId: 't', resourceId: 'r', approved: true, ...choice } as never),
    ]) {
      const error = await errorOf(decide());
      expect([error.code, error.details.expected?.includes(meant)]).toEqual(['invalid-option', true]);
    }
  }
  for (const refused of [
    () => scene.approve(runId, { maxSteps: 3 } as Choice),
    () => scene.cancel({ runId, because: 'no' } as never),
    () => scene.observe({ runId, afterEvents: 3 } as never),
    () => scene.list({ threadID: 't' } as never),
  ]) {
    expect(await codeOf(refused())).toBe('invalid-option');
  }
  // What is misspelt is not what is missing.
  const error = await errorOf(scene.approve(undefined as never, { runID: runId } as never));
  expect([error.code, error.details.expected]).toEqual(['invalid-option', 'perhaps runId']);
  expect(effects).toEqual([]);
  expect((await scene.list()).total).toBe(1);
});

for (const messages of [
  [],
  {},
  null,
  undefined,
  5,
  [5],
  [{}],
  [{ role: 'robot', content: 'x' }],
  [{ role: 'user' }],
]) {
  inEveryWorld(
    'scenario: K13',
    `bad input: the messages ${JSON.stringify(messages) ?? 'undefined'}`,
    async (open) => {
      const scene = open({ script: ['Hello.'] });
      // The helper would put its own message in place of undefined.
      const started =
        scene.world.face === 'stream'
          ? scene.first.stream(messages as never)
          : scene.first.generate(messages as never);
      expect(await codeOf(started)).toBe('invalid-message');
      expect(scene.model.calls).toHaveLength(0);
    },
  );
}

inEveryWorld('scenario: K2', 'bad input: a run id that exists, waiting or ended', async (open) => {
  const effects: Refund[] = [];
  const scene = open({ script: [askRefunds('a'), 'Done.', 'Never.'], tools: kinds[0]!.tools(effects, true) });
  const { runId } = await scene.start({ runId: 'mine' });
  expect(runId).toBe('mine');
  expect(await codeOf(scene.start({ runId }))).toBe('run-exists');
  await scene.approve(runId);
  expect(await codeOf(scene.start({ runId }))).toBe('run-exists');
  expect(scene.model.calls).toHaveLength(2);
});

inEveryWorld(
  'scenario: K2',
  'bad input: one run id twice at once: one run, and nothing of the other runs',
  async (open) => {
    const effects: Refund[] = [];
    const looked: string[] = [];
    const look = createTool({
      id: 'look',
      inputSchema: z.object({ by: z.string() }),
      execute: async ({ by }) => looked.push(by),
    });
    const scene = open({
      script: (_prompt, index) => ({
        calls: [
          { toolName: 'look', args: { by: `model call ${index}` } },
          ...(askRefunds(`order ${index}`).calls ?? []),
        ],
      }),
      tools: withTools(kinds[0]!.tools(effects, true), { look }),
    });
    const start = async (agent: Agent): Promise<string> => {
      try {
        return (await agent.generate('Please.', { runId: 'mine' })).finishReason;
      } catch (error) {
        return (error as { code: string }).code;
      }
    };
    const ends = await Promise.all([start(scene.first), start(scene.another())]);
    expect(ends.toSorted()).toEqual(['run-exists', 'suspended']);
    expect(looked).toHaveLength(1);
    const { runs } = await scene.list();
    expect(runs).toHaveLength(1);
    expect(looked[0]?.at(-1)).toBe(runs[0]?.toolCalls[0]?.args.order.at(-1));
    expect(effects).toEqual([]);
  },
);

inEveryWorld('scenario: K8', 'bad input: lists', async (open) => {
  const scene = open({ script: ['Hello.'] });
  for (const options of [
    { perPage: 0 },
    { perPage: 1.5 },
    { perPage: 1001 },
    { perPage: '5' },
    { page: -1 },
    { page: null },
    { status: 'waiting' },
    { fromDate: '2026-01-01' },
    { toDate: new Date(Number.NaN) },
    { cursor: 'x' },
    { cursor: 5 },
  ]) {
    expect(await codeOf(scene.list(options as never)), JSON.stringify(options)).toBe('invalid-option');
  }
});

inEveryWorld('scenario: K8', 'bad input: lists of a thread or resource that is no text', async (open) => {
  const scene = open({ script: ['Hello.'] });
  for (const options of [{ threadId: 5 }, { resourceId: {} }, { threadId: null }]) {
    expect(await codeOf(scene.list(options as never)), JSON.stringify(options)).toBe('invalid-option');
  }
});

test('scenario: K13 bad input: agents and registries', async () => {
  const model = scriptedModel(['Hello.']);
  const make = (config: unknown) => async () => new Agent(config as AgentConfig);
  const tools = kinds[0]!.tools([], true) as Record<string, never>;
  for (const config of [
    undefined,
    null,
    {},
    { id: '' },
    { id: 5, model },
    { id: 'a' },
    { id: 'a', model: null },
    { id: 'a', model, requireToolApproval: true },
    { id: 'a', model, defaultOption: {} },
  ]) {
    expect(await codeOf(make(config)()), JSON.stringify(config)).toBe('invalid-agent');
  }
  for (const bad of [
    { a: null },
    { a: 5 },
    { 'a b': { inputSchema: z.object({}) } },
    { ...tools, again: tools.refund },
  ]) {
    expect(await codeOf(make({ id: 'a', model, tools: bad })())).toBe('invalid-tool');
  }
  const misspeltDefaults = { requireToolAproval: true };
  expect(await codeOf(make({ id: 'a', model, defaultOptions: misspeltDefaults })())).toBe('invalid-option');
  expect(await codeOf(make({ id: 'a', model, defaultOptions: null })())).toBe('invalid-option');
  const agent = new Agent({ id: 'a', model });
  const register = async (agents: unknown) => new Countersign({ agents: agents as Record<string, Agent> });
  expect(await codeOf(register({ a: agent, b: {} }))).toBe('invalid-agent');
  expect(await codeOf(register({ a: agent, b: new Agent({ id: 'a', model }) }))).toBe('invalid-agent');
  const registry = async (more: object) => new Countersign({ agents: { a: agent }, ...more });
  expect(await codeOf(registry({ store: 'x' }))).toBe('invalid-option');
  await register({ a: agent });
  expect(await codeOf(register({ a: agent }))).toBe('invalid-agent');
  expect(new RequestContext([['a', 1]]).toJSON()).toEqual({ a: 1 });
});
