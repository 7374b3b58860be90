/** Tools that the caller of a run brings along: as guarded as the agent's own, and missed when they do not come again. */
import {
  Agent,
  type AgentConfig,
  createTool,
  type PolicyOption,
  type RunOptions,
  type ToolsetsInput,
  type ToolsInput,
} from 'countersign';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { approveAndCarryOut, askRefunds, kinds, type Refund, resultsIn } from '../support/kinds.ts';
import { codeOf, errorOf } from '../support/scene.ts';
import { inBothFaces, inEveryWorld, inOneWorld } from '../support/world.ts';

type Kind = (typeof kinds)[number];

/** A kind's tools as a toolset. A dynamic tool is none: a toolset is made by its caller. */
function toolsetsOf(kind: Kind, effects: Refund[], own: boolean): ToolsetsInput {
  return { desk: kind.tools(effects, own) as ToolsInput };
}

const inSets = kinds.filter(({ name }) => name !== 'dynamic tool');

const look = createTool({ id: 'look', inputSchema: z.object({}), execute: async () => 'seen' });

/** Who says that the call needs a person. */
const words: Record<string, { own: boolean; agent?: PolicyOption; run?: PolicyOption }> = {
  'the tool': { own: true },
  'the run': { own: false, run: true },
  'a function of the run': { own: false, run: ({ toolName }) => toolName === 'refund' },
  'the agent’s defaults': { own: false, agent: true },
  'the tool, though the run says false': { own: true, run: false },
  'the agent’s defaults, though a function of the run says false': {
    own: false,
    agent: true,
    run: () => false,
  },
};

for (const kind of inSets) {
  for (const [name, { own, agent, run }] of Object.entries(words)) {
    inBothFaces('scenario: K5', `a toolset’s ${kind.name} held by ${name}`, async (open) => {
      const effects: Refund[] = [];
      const toolsets = toolsetsOf(kind, effects, own);
      const scene = open({
        script: [askRefunds('a'), 'Done.'],
        tools: { look },
        agent: agent === undefined ? {} : { defaultOptions: { requireToolApproval: agent } },
      });
      const { runId, finishReason, payloads } = await scene.start({
        toolsets,
        ...(run === undefined ? {} : { requireToolApproval: run }),
      });
      expect(finishReason).toBe('suspended');
      expect(payloads).toMatchObject([{ toolName: 'refund', args: { order: 'a', amount: 10 }, stop: 1 }]);
      expect(effects).toEqual([]);
      const again = { toolsets, ...(typeof run === 'function' ? { requireToolApproval: run } : {}) };
      const approved = await scene.approve(runId, again);
      if (kind.clientSide) {
        expect(approved.finishReason).toBe('suspended');
        await scene.resume({ refunded: 10 }, runId, again);
      }
      expect(effects).toHaveLength(kind.clientSide ? 0 : 1);
      expect(scene.model.calls).toHaveLength(2);
    });
  }

  inEveryWorld(
    'scenario: K13',
    `a toolset’s ${kind.name} must come again, or nothing happens`,
    async (open) => {
      const effects: Refund[] = [];
      const toolsets = toolsetsOf(kind, effects, true);
      const scene = open({ script: [askRefunds('a'), 'Done.'], tools: { look } });
      const { runId } = await scene.start({ toolsets });
      for (const decide of [
        () => scene.approve(runId),
        () => scene.decline(runId),
        () => scene.resume({ approved: true }, runId),
        () => scene.approve(runId, { toolsets: {} }),
        () => scene.approve(runId, { toolsets: { another: { look } } }),
      ]) {
        const error = await errorOf(decide());
        expect([error.code, error.details.missing]).toEqual(['option-missing', ['toolsets.desk']]);
      }
      expect(effects).toEqual([]);
      expect((await scene.list()).runs[0]?.toolCalls).toHaveLength(1);
      await scene.approve(runId, { toolsets });
      if (kind.clientSide) await scene.resume({ refunded: 10 }, runId, { toolsets });
      expect(effects).toHaveLength(kind.clientSide ? 0 : 1);
      const offered = scene.model.calls.map(({ tools = [] }) => tools.map(({ name }) => name));
      expect(offered).toEqual([
        ['look', 'refund'],
        ['look', 'refund'],
      ]);
    },
  );

  inOneWorld('scenario: K13', `a toolset’s ${kind.name} supplied by the registry`, async (open) => {
    const effects: Refund[] = [];
    const asked: unknown[] = [];
    const toolsets = toolsetsOf(kind, effects, true);
    const more = { more: { look } };
    const scene = open({
      script: [askRefunds('a'), 'Done.'],
      registry: {
        supply: ({ missing }) => {
          asked.push(missing);
          return { toolsets };
        },
      },
    });
    const { runId } = await scene.start({ toolsets: { ...toolsets, ...more } });
    await approveAndCarryOut(scene, { ...kind, clientSide: false }, effects, runId, { toolsets: more });
    expect(asked).toEqual([['toolsets.desk']]);
    expect(effects).toHaveLength(kind.clientSide ? 0 : 1);
  });
}

inEveryWorld('scenario: K1', 'a toolset’s tool that was declined never executes', async (open) => {
  const effects: Refund[] = [];
  const toolsets = toolsetsOf(kinds[0]!, effects, true);
  const scene = open({ script: [askRefunds('a', 'b'), 'Done.'] });
  const { runId } = await scene.start({ toolsets });
  await scene.decline(runId, { toolCallId: 'call-0-0', reason: 'no', toolsets });
  await scene.approve(runId, { toolsets });
  expect(effects).toEqual([{ order: 'b', amount: 10 }]);
  expect(resultsIn(scene.model.calls[1]?.prompt)).toMatchObject({
    'call-0-0': { type: 'execution-denied', reason: expect.stringContaining('no') },
    'call-0-1': { type: 'json', value: { refunded: 10 } },
  });
});

inEveryWorld('scenario: K13', 'tools of the agent’s defaults are code, and never missing', async (open) => {
  const effects: Refund[] = [];
  const scene = open({
    script: [askRefunds('a'), 'Done.'],
    agent: { defaultOptions: { toolsets: toolsetsOf(kinds[0]!, effects, true) } },
  });
  const { runId } = await scene.start({ toolsets: { more: { look } }, activeTools: ['refund'] });
  expect((await scene.approve(runId)).text).toBe('Done.');
  expect(effects).toHaveLength(1);
  expect(scene.model.calls.map(({ tools = [] }) => tools.length)).toEqual([1, 1]);
});

inBothFaces('scenario: K13', 'ids and keys of a toolset as active tools and as the choice', async (open) => {
  for (const name of ['refund', 'giveMoneyBack']) {
    const toolsets = toolsetsOf(kinds[1]!, [], true);
    const scene = open({ script: [askRefunds('a'), 'Done.'], tools: { look } });
    const options: RunOptions = { activeTools: [name], toolChoice: { type: 'tool', toolName: name } };
    const { runId } = await scene.start({ toolsets, ...options });
    await scene.approve(runId, { toolsets });
    for (const call of scene.model.calls) {
      expect(call.tools?.map((tool) => tool.name)).toEqual(['refund']);
      expect(call.toolChoice).toEqual({ type: 'tool', toolName: 'refund' });
    }
  }
});

inEveryWorld('scenario: K5', 'two tools of one name are refused, and no model is asked', async (open) => {
  const effects: Refund[] = [];
  const tools = kinds[0]!.tools(effects, true) as ToolsInput;
  const free = kinds[3]!.tools(effects, false) as ToolsInput;
  const scene = open({ script: [askRefunds('a'), 'Done.'], tools });
  expect(await codeOf(scene.start({ toolsets: { desk: free } }))).toBe('invalid-tool');
  expect(await codeOf(scene.start({ toolsets: { one: { look }, two: { again: look } } }))).toBe(
    'invalid-tool',
  );
  expect(scene.model.calls).toHaveLength(0);
  const { runId } = await scene.start();
  const error = await errorOf(scene.approve(runId, { toolsets: { desk: free } }));
  expect([error.code, error.message.includes('the toolset "desk"')]).toEqual(['invalid-tool', true]);
  expect(effects).toEqual([]);
  expect((await scene.list()).total).toBe(1);
});

test('scenario: K5 two tools of one name in the agent’s defaults are refused at construction', async () => {
  const make = async (config: Partial<AgentConfig>): Promise<Agent> =>
    new Agent({ id: 'a', model: scriptedModel([]), ...config });
  const defaultOptions = { toolsets: { more: { again: look } } };
  expect(await codeOf(make({ tools: { look }, defaultOptions }))).toBe('invalid-tool');
  await make({ defaultOptions });
});

inEveryWorld('scenario: K2', 'a stale or wrong decision hits no tool of a toolset', async (open) => {
  const effects: Refund[] = [];
  const toolsets = toolsetsOf(kinds[0]!, effects, true);
  const scene = open({ script: [askRefunds('a'), 'Done.'] });
  const { runId, payloads } = await scene.start({ toolsets });
  const [{ toolCallId, fingerprint }] = payloads as [{ toolCallId: string; fingerprint: string }];
  expect(await codeOf(scene.approve(runId, { toolsets, toolCallId: 'call-9-9' }))).toBe('call-not-found');
  expect(await codeOf(scene.approve(runId, { toolsets, toolCallId, stop: 2 }))).toBe('stop-mismatch');
  const other = fingerprint.replaceAll(/./g, '0');
  expect(await codeOf(scene.approve(runId, { toolsets, fingerprint: other }))).toBe('fingerprint-mismatch');
  expect(effects).toEqual([]);
  await scene.approve(runId, { toolsets, toolCallId, stop: 1, fingerprint });
  expect(await codeOf(scene.approve(runId, { toolsets, toolCallId }))).toBe('already-decided');
  expect(effects).toHaveLength(1);
});

inEveryWorld(
  'scenario: K6',
  'several held tools of toolsets in one step, decided in any order',
  async (open) => {
    const effects: Refund[] = [];
    const toolsets = toolsetsOf(kinds[0]!, effects, true);
    const scene = open({ script: [askRefunds('a', 'b', 'c'), 'Done.'] });
    const { runId, payloads } = await scene.start({ toolsets });
    expect(payloads).toHaveLength(3);
    await scene.approve(runId, { toolsets, toolCallId: 'call-0-2' });
    await scene.decline(runId, { toolsets, toolCallId: 'call-0-0' });
    expect((await scene.list()).runs[0]?.toolCalls.map((call) => call.toolCallId)).toEqual(['call-0-1']);
    expect((await scene.approve(runId, { toolsets })).text).toBe('Done.');
    expect(effects.map(({ order }) => order)).toEqual(['c', 'b']);
  },
);

inEveryWorld(
  'scenario: K7',
  'free neighbours of a held tool of a toolset run at once, once',
  async (open) => {
    const effects: Refund[] = [];
    let looked = 0;
    const count = createTool({ id: 'count', inputSchema: z.object({}), execute: async () => ++looked });
    const toolsets = { ...toolsetsOf(kinds[0]!, effects, true), more: { count } };
    const calls = [...(askRefunds('a').calls ?? []), { toolName: 'count' }];
    const scene = open({ script: [{ calls }, 'Done.'] });
    const { runId, payloads } = await scene.start({ toolsets });
    expect([payloads.length, looked, effects.length]).toEqual([1, 1, 0]);
    expect((await scene.approve(runId, { toolsets })).text).toBe('Done.');
    expect([looked, effects.length]).toEqual([1, 1]);
    expect(resultsIn(scene.model.calls[1]?.prompt)['call-0-1']).toMatchObject({ value: 1 });
  },
);

inEveryWorld('scenario: K8', 'a listed call of a toolset is moved by what the list says', async (open) => {
  const effects: Refund[] = [];
  const toolsets = toolsetsOf(kinds[0]!, effects, true);
  const scene = open({ script: [askRefunds('a'), 'Done.'] });
  await scene.start({ toolsets });
  const [run] = (await scene.list()).runs;
  const [call] = run?.toolCalls ?? [];
  expect(call).toMatchObject({
    toolName: 'refund',
    args: { order: 'a', amount: 10 },
    requiresApproval: true,
  });
  const { toolCallId, stop, fingerprint } = call as NonNullable<typeof call>;
  const told = await scene.approve(run?.runId ?? '', { toolsets, toolCallId, stop, fingerprint });
  expect(told.finishReason).toBe('stop');
  expect((await scene.list({ status: 'all' })).total).toBe(0);
  expect(effects).toHaveLength(1);
});

inEveryWorld('scenario: K20', 'declined: the model reads the reason, and the run goes on', async (open) => {
  const effects: Refund[] = [];
  const toolsets = toolsetsOf(kinds[3]!, effects, true);
  const scene = open({ script: [askRefunds('a'), 'A replacement, then.'] });
  const { runId } = await scene.start({ toolsets });
  const told = await scene.decline(runId, { toolsets, reason: 'too much' });
  expect(told).toMatchObject({ finishReason: 'stop', text: 'A replacement, then.', results: [] });
  expect(resultsIn(scene.model.calls[1]?.prompt)['call-0-0']?.reason).toContain('too much');
  expect(effects).toEqual([]);
});
