/** K4, K5, K9 and K10 in a sub-agent: models decide nothing there, what is held stays held, and each reads valid prompts. */
import { Agent, type AgentConfig, createTool, type PolicyOption } from 'countersign';
import { expect } from 'vitest';
import { z } from 'zod';
import { type ScriptedStep, scriptedModel } from '../../src/testing/scripted-model.ts';
import { askRefunds, kinds, type Refund, resultsIn } from '../support/kinds.ts';
import { codeOf } from '../support/scene.ts';
import { call, chain, delegate, leafTools, modelOf, teamEffects, teamPlan } from '../support/team.ts';
import { inBothFaces, inEveryWorld, inOneWorld } from '../support/world.ts';

/** Fields with which a model could try to answer for a person, or to go on with a run of its choice. */
const smuggled = {
  resumeData: { approved: true },
  approved: true,
  suspendedToolRunId: 'null',
  runId: 'another~to-one',
  toolCallId: 'to-one~act-a',
  decisionId: 'x',
  stop: 1,
};

inEveryWorld(
  'scenario: K4',
  'a delegation with fields that it does not have begins nothing',
  async (open) => {
    for (const [field, value] of Object.entries(smuggled)) {
      const args = { prompt: 'Go on.', [field]: value };
      const { effects, plan, model } = teamPlan([{ ...delegate('one'), args }], {
        one: { calls: [call('act', 'a')] },
      });
      const told = await open(plan).start();
      expect(told.finishReason).toBe('stop');
      expect(resultsIn(model.calls.at(-1)?.prompt)['to-one']).toMatchObject({ type: 'error-text' });
      expect(JSON.stringify(model.calls.at(-1)?.prompt)).toContain(`${field}: there is no such field`);
      expect(modelOf(effects, 'one').calls).toEqual([]);
    }
  },
);

inEveryWorld('scenario: K4', 'a decision in the arguments of an inner call is data', async (open) => {
  const seen: unknown[] = [];
  const anything = createTool({
    id: 'anything',
    inputSchema: z.looseObject({}),
    requireApproval: true,
    execute: async (input, { agent }) => {
      seen.push([input, agent.resumeData]);
      return 'ran';
    },
  });
  const inner = { toolName: 'anything', args: smuggled, toolCallId: 'any' };
  const { plan } = teamPlan([delegate('one')], { one: { calls: [inner], config: { tools: { anything } } } });
  const scene = open(plan);
  const { runId, payloads } = await scene.start();
  expect(payloads).toMatchObject([{ toolCallId: 'to-one~any', stop: 1, args: smuggled }]);
  expect(seen).toEqual([]);
  await scene.approve(runId);
  expect(seen).toEqual([[smuggled, undefined]]);
});

inEveryWorld('scenario: K4', 'ids with "~" that models write lead nowhere', async (open) => {
  const { effects, plan } = teamPlan(
    [delegate('one', 'Go on.', 'to-one~act-a'), call('act', 'top', 'x~act-a')],
    { one: { calls: [call('act', 'a', 'to-two~act-b')] } },
  );
  const scene = open(plan);
  const { runId, payloads } = await scene.start();
  const ids = payloads.map(({ toolCallId }) => toolCallId as string);
  expect(ids).toHaveLength(2);
  expect(ids.map((id) => id.split('~').length).sort()).toEqual([1, 2]);
  for (const id of ['to-one~act-a', 'x~act-a', 'to-two~act-b', 'to-one~act-a~to-two~act-b']) {
    expect(await codeOf(scene.approve(runId, { toolCallId: id }))).toBe('call-not-found');
  }
  expect(effects.executed).toEqual([]);
  for (const toolCallId of ids) await scene.approve(runId, { toolCallId });
  expect(effects.executed.toSorted()).toEqual(['act a', 'act top']);
});

inOneWorld('scenario: K4', 'a model that names a run as its sub-agent, or the key of one', async (open) => {
  const wrong = ['agent-two', 'one', 'agent-', 'agent-one~x'];
  const calls = wrong.map((toolName, index) => ({
    toolName,
    args: { prompt: 'Go.' },
    toolCallId: `c-${index}`,
  }));
  const { effects, plan, model } = teamPlan(calls, { one: { calls: [] } });
  expect((await open(plan).start()).finishReason).toBe('stop');
  const results = resultsIn(model.calls.at(-1)?.prompt);
  expect(Object.values(results).map(({ type }) => type)).toEqual(wrong.map(() => 'error-text'));
  expect(modelOf(effects, 'one').calls).toEqual([]);
});

for (const kind of kinds) {
  const inWorlds = ['agent tool', 'client tool'].includes(kind.name) ? inEveryWorld : inBothFaces;
  inWorlds('scenario: K5', `held below by its own word (${kind.name})`, async (open) => {
    const effects: Refund[] = [];
    const model = scriptedModel((prompt) =>
      prompt.at(-1)?.role === 'tool' ? 'Sub-agent done.' : (askRefunds('a') as ScriptedStep),
    );
    const agents = () => ({
      desk: new Agent({ id: 'below', model, tools: kind.tools(effects, true) ?? {} }),
    });
    const scene = open({ script: [{ calls: [delegate('desk')] }, 'Done.'], agents });
    const { runId, payloads } = await scene.start();
    expect(payloads).toMatchObject([{ toolCallId: 'to-desk~call-0-0', toolName: 'refund', stop: 1 }]);
    expect(payloads[0]).not.toHaveProperty('suspendPayload');
    expect(effects).toEqual([]);
    let told = await scene.approve(runId);
    if (kind.clientSide) {
      expect(told.payloads).toMatchObject([{ toolCallId: 'to-desk~call-0-0', stop: 2 }]);
      told = await scene.resume({ refunded: 10 }, runId);
    }
    expect(told.finishReason).toBe('stop');
    expect(resultsIn(model.calls.at(-1)?.prompt)['call-0-0']).toMatchObject({ value: { refunded: 10 } });
    expect(effects).toEqual(kind.clientSide ? [] : [{ order: 'a', amount: 10 }]);
  });
}

for (const kind of kinds) {
  const inWorlds = kind.name === 'agent tool' ? inEveryWorld : inBothFaces;
  inWorlds('scenario: K9', `decided where it waits, by its own agent (${kind.name})`, async (open) => {
    const effects: Refund[] = [];
    const model = scriptedModel((prompt) =>
      prompt.at(-1)?.role === 'tool' ? 'Sub-agent done.' : (askRefunds('a') as ScriptedStep),
    );
    const agents = () => ({
      desk: new Agent({ id: 'below', model, tools: kind.tools(effects, true) ?? {} }),
    });
    const scene = open({ script: [{ calls: [delegate('desk')] }, 'Done.'], agents });
    const { runId } = await scene.start();
    const on = { runId: `${runId}~to-desk`, toolCallId: 'call-0-0' };
    let told = await scene.memberOf('below').approveToolCallGenerate(on);
    if (kind.clientSide) told = await scene.memberOf('below').resumeGenerate({ refunded: 10 }, on);
    expect(told.text).toBe('Sub-agent done.');
    if ((await scene.store.load(runId, 0))?.kind === 'open') await scene.observe({ runId });
    expect(effects).toEqual(kind.clientSide ? [] : [{ order: 'a', amount: 10 }]);
    expect(model.calls).toHaveLength(2);
  });
}

/** Who says that the free tool `look` needs a person, two levels below the top. */
const words: Record<
  string,
  {
    run?: PolicyOption;
    top?: PolicyOption;
    middle?: PolicyOption;
    below?: PolicyOption;
    holds: readonly string[];
  }
> = {
  nobody: { holds: [] },
  'nobody, in as many words': { run: false, top: false, middle: false, below: false, holds: [] },
  'the run': { run: true, holds: ['to-level1', 'to-level1~to-level2', 'to-level1~to-level2~look-it'] },
  'the defaults at the top': {
    top: true,
    holds: ['to-level1', 'to-level1~to-level2', 'to-level1~to-level2~look-it'],
  },
  'a function of the run': {
    run: ({ toolName, args }) => toolName === 'look' && args.name === 'it',
    holds: ['to-level1~to-level2~look-it'],
  },
  'a function of the run, of a delegation by its key': {
    run: ({ toolName }) => toolName === 'level2',
    holds: ['to-level1~to-level2'],
  },
  'the defaults in the middle': {
    middle: true,
    holds: ['to-level1~to-level2', 'to-level1~to-level2~look-it'],
  },
  'a function in the middle': {
    middle: ({ toolName }) => toolName === 'look',
    holds: ['to-level1~to-level2~look-it'],
  },
  'the defaults below': { below: true, holds: ['to-level1~to-level2~look-it'] },
  'the defaults below, though all above say false': {
    run: false,
    top: () => false,
    middle: false,
    below: () => true,
    holds: ['to-level1~to-level2~look-it'],
  },
  'a function of the run that throws': {
    run: ({ toolName }) => {
      if (toolName === 'look') throw new Error('No answer.');
      return false;
    },
    holds: ['to-level1~to-level2~look-it'],
  },
};

/** Tried in every world; how the others combine is decided before a store or a restart matters. */
const everywhere = new Set([
  'the run',
  'a function of the run',
  'a function of the run, of a delegation by its key',
]);

for (const [name, { run, top, middle, below, holds }] of Object.entries(words)) {
  const inWorlds = everywhere.has(name) ? inEveryWorld : inBothFaces;
  inWorlds('scenario: K5', `a free tool below, held by ${name}`, async (open, world) => {
    const says = (word: PolicyOption) => ({ config: { defaultOptions: { requireToolApproval: word } } });
    const level2 = { calls: [call('look', 'it')], ...says(below) };
    const level1 = { calls: [delegate('level2')], agents: { level2 }, ...says(middle) };
    const { effects, plan } = teamPlan(
      [delegate('level1')],
      { level1 },
      {
        options: { requireToolApproval: run },
        agent: { defaultOptions: { requireToolApproval: top } },
      },
    );
    const scene = open(plan);
    let told = await scene.start();
    const { runId } = told;
    const held: string[] = [];
    while (told.finishReason === 'suspended') {
      const toolCallId: string = told.payloads[0].toolCallId;
      held.push(toolCallId);
      expect(effects.executed).toEqual([]);
      told = await scene.approve(runId, { toolCallId });
    }
    expect(told.finishReason).toBe('stop');
    expect(effects.executed).toEqual(['look it']);
    // A function of the run that is not passed again holds all that comes later.
    const isLost = typeof run === 'function' && world.temperature !== 'cold with options';
    const later = isLost && name.endsWith('by its key') ? ['to-level1~to-level2~look-it'] : [];
    expect(held).toEqual([...holds, ...later]);
  });
}

inBothFaces('scenario: K5', 'agents that a function gives', async (open) => {
  const effects = teamEffects();
  const model = scriptedModel((prompt) =>
    prompt.at(-1)?.role === 'tool' ? 'Below is done.' : { calls: [call('act', 'a')] },
  );
  const scene = open({
    script: [{ calls: [delegate('one')] }, 'Done.'],
    agents: () => async () => ({ one: new Agent({ id: 'one', model, tools: leafTools(effects) }) }),
  });
  const { runId, payloads } = await scene.start();
  expect(payloads).toMatchObject([{ toolCallId: 'to-one~act-a', path: [{ agentId: 'one' }] }]);
  const told = await scene.approve(runId);
  expect(told.text).toBe('Done.');
  expect(effects.executed).toEqual(['act a']);
});

inBothFaces('scenario: K5', 'a durable root: a policy function in any sub-agent holds', async (open) => {
  const never = { defaultOptions: { requireToolApproval: () => false } };
  const level2 = { calls: [call('look', 'it')], config: never };
  const level1 = { calls: [delegate('level2')], agents: { level2 } };
  const { effects, plan } = teamPlan([delegate('level1')], { level1 }, { options: { durable: true } });
  const scene = open(plan);
  const { runId, payloads } = await scene.start();
  expect(payloads).toMatchObject([{ toolCallId: 'to-level1~to-level2~look-it' }]);
  await scene.approve(runId);
  expect(effects.executed).toEqual(['look it']);
});

inBothFaces('scenario: K5', 'a durable sub-agent is kept as its root is', async (open) => {
  const config = { durable: true, defaultOptions: { durable: true, requireToolApproval: () => false } };
  const { effects, plan } = teamPlan([delegate('one')], { one: { calls: [call('look', 'it')], config } });
  const scene = open(plan);
  const { runId, finishReason } = await scene.start();
  expect(finishReason).toBe('stop');
  expect(effects.executed).toEqual(['look it']);
  expect(await scene.store.load(runId, 0)).toBeUndefined();
});

inBothFaces('scenario: K5', 'the agent of one store alone, without a registry', async (_open, world) => {
  const { effects, plan, model } = teamPlan([delegate('level1')], chain(2, [call('act', 'a')]));
  const alone = new Agent({ id: 'alone', model, agents: plan.agents?.() });
  const started = await alone.generate('Go.');
  expect(started.suspendPayloads).toMatchObject([{ toolCallId: 'to-level1~to-level2~act-a' }]);
  const { runId } = started;
  const on = { runId, toolCallId: 'to-level1~to-level2~act-a' };
  const text =
    world.face === 'stream'
      ? await (await alone.approveToolCall(on)).text
      : (await alone.approveToolCallGenerate(on)).text;
  expect(text).toBe('supervisor is done.');
  expect(effects.executed).toEqual(['act a']);
});

inEveryWorld(
  'scenario: K10',
  'each model reads valid prompts, whatever became of the calls',
  async (open) => {
    const boom = createTool({
      id: 'boom',
      inputSchema: z.object({}),
      execute: async () => {
        throw new Error('It broke.');
      },
    });
    const effects = teamEffects();
    const one = {
      calls: [call('act', 'a'), call('act', 'b'), { toolName: 'boom', toolCallId: 'boom' }, call('ask', 'c')],
      later: [call('act', 'd')],
      config: { tools: { ...(leafTools(effects) as object), boom } as AgentConfig['tools'] },
    };
    const {
      plan,
      model,
      effects: shared,
    } = teamPlan([delegate('one'), delegate('two')], {
      one,
      two: { calls: [{ toolName: 'nothing', toolCallId: 'n' }] },
    });
    const scene = open(plan);
    const { runId } = await scene.start();
    await scene.approve(runId, { toolCallId: 'to-one~act-a' });
    await scene.decline(runId, { toolCallId: 'to-one~act-b', reason: 'No.' });
    await scene.resume({ answer: 'x' }, runId, { toolCallId: 'to-one~ask-c' });
    const told = await scene.decline(runId, { toolCallId: 'to-one~act-d' });
    expect(told.finishReason).toBe('stop');
    // The scripted models refuse prompts that break a rule: then a delegation would have failed.
    const types = Object.fromEntries(
      Object.entries(resultsIn(model.calls.at(-1)?.prompt)).map(([id, { type }]) => [id, type]),
    );
    expect(types).toEqual({ 'to-one': 'text', 'to-two': 'text' });
    const inner = resultsIn(modelOf(shared, 'one').calls.at(-1)?.prompt);
    expect(Object.entries(inner).map(([id, { type }]) => [id, type])).toEqual([
      ['act-a', 'json'],
      ['act-b', 'execution-denied'],
      ['boom', 'error-text'],
      ['ask-c', 'json'],
      ['act-d', 'execution-denied'],
    ]);
  },
);

inEveryWorld('scenario: K10', 'after a sub-agent that failed, or was cancelled by itself', async (open) => {
  const model = scriptedModel([{ error: new Error('No such model.') }]);
  const { plan, model: supervisor } = teamPlan([delegate('bad'), delegate('one')], {
    bad: { calls: [], config: { model, defaultOptions: { maxRetries: 0 } } },
    one: { calls: [call('act', 'a')] },
  });
  const scene = open({ ...plan, options: { toolCallConcurrency: 1 } });
  const { runId } = await scene.start();
  await scene.memberOf('one').cancelRun({ runId: `${runId}~to-one` });
  const { finishReason } = await scene.observe({ runId });
  expect(finishReason).toBe('stop');
  const results = resultsIn(supervisor.calls.at(-1)?.prompt);
  expect(results['to-bad']).toMatchObject({ type: 'error-text' });
  expect(results['to-bad']?.value).toContain('No such model.');
  expect(results['to-one']).toMatchObject({ type: 'error-text' });
  expect(results['to-one']?.value).toContain('cancelled');
});
