/** K12 and K13 in a sub-agent: what is stored of it, and what it knows and may do, before and after a restart. */
import {
  Agent,
  type AgentConfig,
  createTool,
  RequestContext,
  type RunOptions,
  type ToolHooks,
} from 'countersign';
import { storeAround } from 'countersign/testing';
import { expect } from 'vitest';
import { z } from 'zod';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { resultsIn } from '../support/kinds.ts';
import { codeOf, errorOf } from '../support/scene.ts';
import {
  asksFor,
  call,
  chain,
  delegate,
  leafTools,
  modelOf,
  teamEffects,
  teamPlan,
} from '../support/team.ts';
import { inBothFaces, inEveryWorld, inOneWorld, worlds } from '../support/world.ts';

const coldWorld = worlds.find(({ name }) => name === 'memory, cold, stream');
const top = 'to-one~act-a';

inEveryWorld(
  'scenario: K12',
  'a payload or result below that cannot be kept fails its call alone',
  async (open) => {
    const cycle: { self?: unknown } = {};
    cycle.self = cycle;
    const odd = createTool({
      id: 'odd',
      inputSchema: z.object({ name: z.string() }),
      suspendSchema: z.object({ question: z.string() }),
      execute: async ({ name }, { agent }) => {
        if (name === 'payload') return agent.suspend({ question: 1 } as never);
        if (name === 'cycle') return cycle as never;
        return { at: new Date(0), gone: undefined, text: 'a\0b\ud800' } as never;
      },
    });
    const calls = [call('odd', 'payload'), call('odd', 'cycle'), call('odd', 'fine'), call('act', 'a')];
    const effects = teamEffects();
    const tools = { ...(leafTools(effects) as object), odd } as AgentConfig['tools'];
    const { plan, effects: shared } = teamPlan([delegate('one')], { one: { calls, config: { tools } } });
    const scene = open(plan);
    const { runId, payloads } = await scene.start();
    expect(payloads.map(({ toolCallId }) => toolCallId)).toEqual([top]);
    expect((await scene.approve(runId)).finishReason).toBe('stop');
    const results = resultsIn(modelOf(shared, 'one').calls.at(-1)?.prompt);
    expect(results['odd-payload']).toMatchObject({ type: 'error-text' });
    expect(results['odd-cycle']).toMatchObject({ type: 'error-text' });
    expect(results['odd-fine']).toMatchObject({
      type: 'json',
      value: { at: '1970-01-01T00:00:00.000Z', text: 'a\0b\ud800' },
    });
  },
);

inOneWorld('scenario: K12', 'a pause and its approval below add what is new, and no copy', async (open) => {
  const long = 'x'.repeat(50_000);
  const { plan } = teamPlan([delegate('level1', long)], chain(2, [call('act', 'a'), call('act', 'b')]));
  const written: number[] = [];
  const around: typeof plan.around = (store) =>
    storeAround(store, {
      create: (batch) => {
        written.push(batch.events.join().length);
        return store.create(batch);
      },
      append: (batch) => {
        written.push(batch.events.join().length);
        return store.append(batch);
      },
    });
  const scene = open({ ...plan, around });
  const { runId } = await scene.start();
  // The prompt is what the supervisor's model wrote, and what the sub-agent was given.
  expect(written[0]).toBeGreaterThan(2 * long.length);
  expect(written[0]).toBeLessThan(2 * long.length + 10_000);
  await scene.approve(runId, { toolCallId: 'to-level1~to-level2~act-a' });
  for (const bytes of written.slice(1)) expect(bytes).toBeLessThan(2_000);
});

inBothFaces(
  'scenario: K12',
  'a pause below that cannot be stored ends the leg, and nothing of it runs',
  async (open) => {
    const { effects, plan, model } = teamPlan([delegate('one')], {
      one: { calls: [call('act', 'a'), call('look', 'b')] },
    });
    const around: typeof plan.around = (store) =>
      storeAround(store, { create: () => Promise.reject(new Error('disk full')) });
    const scene = open({ ...plan, around });
    const code = await scene.start().then(
      ({ error }) => error?.code,
      (error) => error.code,
    );
    expect(code).toBe('store-failed');
    expect(effects.executed).toEqual([]);
    expect(model.calls).toHaveLength(1);
  },
);

inEveryWorld(
  'scenario: K12',
  'approved in the tick of its announcement',
  async (open, world) => {
    if (world.face === 'generate') return;
    const { effects, plan } = teamPlan([delegate('level1')], chain(2, [call('act', 'a')]));
    const scene = open(plan);
    const stream = await scene.first.stream('Go.');
    for await (const chunk of stream.fullStream) {
      if (chunk.type !== 'tool-call-approval') continue;
      const { toolCallId } = chunk.payload;
      const leg = await scene.decider().approveToolCall({ runId: stream.runId, toolCallId });
      expect(await leg.finishReason).toBe('stop');
    }
    expect(effects.executed).toEqual(['act a']);
  },
  ({ face }) => (face === 'generate' ? 'nothing is announced before it ends' : undefined),
);

/** A tool that tells what it was given, and may be asked for twice. */
function tellTale(seen: unknown[]): AgentConfig['tools'] {
  return {
    act: createTool({
      id: 'act',
      inputSchema: z.object({ name: z.string() }),
      requireApproval: true,
      execute: async ({ name }, { requestContext, agent, workspace }) => {
        const { agentId, threadId, resourceId, messages } = agent;
        seen.push({
          name,
          context: requestContext.toObject(),
          agentId,
          threadId,
          resourceId,
          workspace,
          messages,
        });
        requestContext.set('tenant', 'evil');
        return name;
      },
    }),
  };
}

inEveryWorld('scenario: K13', 'context, conversation, workspace and prompt of a sub-agent', async (open) => {
  const seen: { messages: unknown }[] = [];
  const two = { calls: [call('act', 'b')], config: { tools: tellTale(seen), workspace: 'its own' } };
  const one = {
    calls: [call('act', 'a'), delegate('two', 'Deeper.')],
    agents: { two },
    config: { tools: tellTale(seen) },
  };
  const { plan } = teamPlan([delegate('one', 'Do a.')], { one });
  const scene = open({
    ...plan,
    agent: { workspace: 'the top’s' },
    options: {
      requestContext: new RequestContext([
        ['tenant', 'acme'],
        ['roles', ['x']],
      ] as never),
      memory: { thread: 'thread 1', resource: 'user 1' },
    },
  });
  const { runId } = await scene.start();
  await scene.approve(runId, { toolCallId: top });
  await scene.approve(runId, { toolCallId: 'to-one~to-two~act-b' });
  const same = { context: { tenant: 'acme', roles: ['x'] }, threadId: 'thread 1', resourceId: 'user 1' };
  expect(seen).toMatchObject([
    { name: 'a', agentId: 'one', workspace: 'the top’s', ...same },
    { name: 'b', agentId: 'two', workspace: 'its own', ...same },
  ]);
  expect(seen.map(({ messages }) => JSON.stringify(messages).match(/Do a\.|Deeper\.|Please/g))).toEqual([
    ['Do a.'],
    ['Deeper.'],
  ]);
});

inEveryWorld('scenario: K13', 'a decision below supplies nothing but what was not stored', async (open) => {
  const seen: { context: object }[] = [];
  const one = { calls: [call('act', 'a'), call('act', 'b')], config: { tools: tellTale(seen as never) } };
  const { plan } = teamPlan([delegate('one')], { one });
  const requestContext = () =>
    new RequestContext([['tenant', 'acme']]).set('apiKey', 'k-1', { secret: true });
  const scene = open({ ...plan, options: { requestContext: requestContext() } });
  const { runId } = await scene.start();
  const below = scene.memberOf('one');
  const on = { runId: `${runId}~to-one`, toolCallId: 'act-a' };
  const error = await errorOf(below.approveToolCall(on));
  expect(error).toMatchObject({ code: 'option-missing', details: { missing: ['requestContext.apiKey'] } });
  const evil = requestContext().set('tenant', 'evil');
  expect(await codeOf(below.approveToolCall({ ...on, requestContext: evil }))).toBe('context-conflict');
  expect(await codeOf(scene.approve(runId, { toolCallId: top, requestContext: evil }))).toBe(
    'context-conflict',
  );
  expect(seen).toEqual([]);
  await below.approveToolCallGenerate({ ...on, requestContext: requestContext() });
  expect(seen).toMatchObject([{ context: { tenant: 'acme', apiKey: 'k-1' } }]);
  await scene.approve(runId, { toolCallId: 'to-one~act-b', requestContext: requestContext() });
  expect(seen).toHaveLength(2);
});

inEveryWorld(
  'scenario: K13',
  'what a sub-agent keeps secret is not stored for its supervisor either',
  async (open) => {
    const seen: { context: object }[] = [];
    const two = {
      calls: [call('act', 'a')],
      config: { tools: tellTale(seen as never), secretContext: ['apiKey'] },
    };
    const { plan } = teamPlan([delegate('one')], { one: { calls: [delegate('two')], agents: { two } } });
    const requestContext = new RequestContext([['apiKey', 'sesame-77']]);
    const scene = open({ ...plan, options: { requestContext } });
    const { runId } = await scene.start();
    expect(JSON.stringify(await scene.store.load(runId, 0))).not.toContain('sesame-77');
    await scene.approve(runId, { requestContext });
    expect(seen).toMatchObject([{ context: { apiKey: 'sesame-77' } }]);
  },
);

/** What cannot be stored of the run at the top must come again, also with a decision below. */
const unstorable: Record<string, { options: RunOptions; missing: string }> = {
  'hooks of the run': { options: { hooks: { beforeToolCall: () => {} } }, missing: 'hooks' },
  'how it delegates': { options: { delegation: { onDelegationStart: () => {} } }, missing: 'delegation' },
  'a model object': { options: { model: asksFor('another', [delegate('one')]) }, missing: 'model' },
};

for (const [name, { options, missing }] of Object.entries(unstorable)) {
  inEveryWorld('scenario: K13', `${name} must be passed again`, async (open) => {
    const { effects, plan } = teamPlan([delegate('one')], { one: { calls: [call('act', 'a')] } });
    const scene = open(plan);
    const { runId } = await scene.start(options);
    const below = scene.memberOf('one');
    const on = { runId: `${runId}~to-one`, toolCallId: 'act-a' };
    const desk = scene.decider();
    for (const refused of [
      () => desk.approveToolCall({ runId, toolCallId: top }),
      () => desk.declineToolCall({ runId, toolCallId: top }),
      () => below.approveToolCall(on),
    ]) {
      expect(await errorOf(refused())).toMatchObject({
        code: 'option-missing',
        details: { missing: [missing] },
      });
    }
    expect(effects.executed).toEqual([]);
    const leg = await below.approveToolCall({ ...options, ...on });
    expect(await leg.finishReason).toBe('stop');
    if ((await scene.store.load(runId, 0))?.kind === 'open') await scene.observe({ runId });
    expect(effects.executed).toEqual(['act a']);
  });
}

inEveryWorld(
  'scenario: K13',
  'hooks of the run and of each agent, the outermost run hooks last',
  async (open, world) => {
    const order: string[] = [];
    const hooksOf = (who: string): ToolHooks => ({
      beforeToolCall: ({ agentId, toolName, toolCallId }) =>
        void order.push(`${who}: ${agentId} ${toolName} ${toolCallId}`),
      afterToolCall: ({ toolName, error }) =>
        void order.push(`${who} after ${toolName}${error ? ' failed' : ''}`),
    });
    const config = { hooks: hooksOf('one'), defaultOptions: { hooks: hooksOf('defaults of one') } };
    const { plan } = teamPlan([delegate('one')], { one: { calls: [call('act', 'a')], config } });
    const options = { hooks: hooksOf('run') };
    const scene = open({ ...plan, agent: { hooks: hooksOf('desk') }, options });
    const { runId } = await scene.start();
    expect(order).toEqual(['desk: desk agent-one to-one', 'run: desk agent-one to-one']);
    await scene.approve(runId, world.temperature === 'cold with options' ? {} : options);
    expect(order.slice(2)).toEqual([
      'one: one act act-a',
      'defaults of one: one act act-a',
      'run: one act act-a',
      'one after act',
      'defaults of one after act',
      'run after act',
      'desk after agent-one',
      'run after agent-one',
    ]);
  },
);

inEveryWorld(
  'scenario: K13',
  'a hook may answer in place of a sub-agent, and of a call below',
  async (open, world) => {
    const hooks: ToolHooks = {
      beforeToolCall: ({ toolName }) => {
        if (toolName === 'agent-two') return { proceed: false, output: { text: 'two is asleep' } };
        return toolName === 'act' ? { proceed: false, output: 'blocked' } : undefined;
      },
    };
    const { effects, plan, model } = teamPlan([delegate('one'), delegate('two')], {
      one: { calls: [call('act', 'a')] },
      two: { calls: [] },
    });
    const scene = open({ ...plan, options: { hooks } });
    const { runId } = await scene.start();
    const told = await scene.approve(runId, world.temperature === 'cold with options' ? {} : { hooks });
    expect(told.finishReason).toBe('stop');
    expect(effects.executed).toEqual([]);
    expect(modelOf(effects, 'two').calls).toEqual([]);
    expect(resultsIn(modelOf(effects, 'one').calls.at(-1)?.prompt)['act-a']).toMatchObject({
      value: 'blocked',
    });
    expect(resultsIn(model.calls.at(-1)?.prompt)['to-two']).toMatchObject({
      value: { text: 'two is asleep' },
    });
  },
);

inEveryWorld('scenario: K13', 'options of each: model calls, instructions, settings, tools', async (open) => {
  const given = { prompt: 'Go on.', instructions: 'Be brief.', maxSteps: 2 };
  const { effects, plan, model } = teamPlan([{ toolName: 'agent-one', args: given, toolCallId: 'to-one' }], {
    one: {
      calls: [call('act', 'a')],
      later: [call('look', 'b')],
      config: {
        instructions: ({ requestContext }) => `You are one of ${requestContext.get('tenant')}.`,
        defaultOptions: { modelSettings: { temperature: 0.1 }, activeTools: ['act', 'look'] },
      },
    },
  });
  const scene = open({
    ...plan,
    options: {
      instructions: 'You lead.',
      modelSettings: { temperature: 0.9 },
      maxSteps: 3,
      requestContext: new RequestContext([['tenant', 'acme']]),
    },
  });
  const { runId } = await scene.start();
  const told = await scene.approve(runId);
  expect(told.finishReason).toBe('stop');
  const inner = modelOf(effects, 'one').calls;
  // The second step was its last, and its calls are settled.
  expect(inner).toHaveLength(2);
  expect(effects.executed).toEqual(['act a', 'look b']);
  for (const { prompt, temperature, tools } of inner) {
    expect(prompt[0]).toMatchObject({ role: 'system', content: 'You are one of acme.\n\nBe brief.' });
    expect(temperature).toBe(0.1);
    expect(tools?.map(({ name }) => name).sort()).toEqual(['act', 'look']);
  }
  for (const { prompt, temperature } of model.calls) {
    expect(prompt[0]).toMatchObject({ role: 'system', content: 'You lead.' });
    expect(temperature).toBe(0.9);
  }
  expect(resultsIn(model.calls.at(-1)?.prompt)['to-one']).toMatchObject({ type: 'text' });
});

inBothFaces(
  'scenario: K13',
  'activeTools and toolChoice name a sub-agent by its tool or its key',
  async (open) => {
    for (const name of ['agent-one', 'one']) {
      const { plan, model } = teamPlan([delegate('one')], { one: { calls: [] }, two: { calls: [] } });
      const toolChoice = { type: 'tool', toolName: name } as const;
      const scene = open({ ...plan, options: { activeTools: [name], toolChoice, maxSteps: 1 } });
      expect((await scene.start()).finishReason).toBe('max-steps');
      for (const asked of model.calls) {
        expect(asked.tools?.map((tool) => tool.name)).toEqual(['agent-one']);
        expect(asked.toolChoice).toEqual({ type: 'tool', toolName: 'agent-one' });
      }
    }
    const { plan, effects, model } = teamPlan([delegate('two')], { one: { calls: [] }, two: { calls: [] } });
    expect((await open({ ...plan, options: { activeTools: ['one'] } }).start()).finishReason).toBe('stop');
    expect(resultsIn(model.calls.at(-1)?.prompt)['to-two']).toMatchObject({ type: 'error-text' });
    expect(modelOf(effects, 'two').calls).toEqual([]);
  },
);

inBothFaces('scenario: K13', 'limits of the registry hold below', async (open) => {
  const limits = { args: 200, result: 40, payload: 40 };
  const calls = [
    call('look', 'x'.repeat(150), 'long'),
    call('look', 'y'.repeat(250), 'longer'),
    call('ask', 'z'.repeat(60), 'asked'),
  ];
  const { plan, effects } = teamPlan([delegate('one')], { one: { calls } }, { registry: { limits } });
  expect((await open(plan).start()).finishReason).toBe('stop');
  const results = resultsIn(modelOf(effects, 'one').calls.at(-1)?.prompt);
  for (const id of ['long', 'longer', 'asked']) expect(results[id]).toMatchObject({ type: 'error-text' });
  expect(effects.executed).toEqual([`look ${'x'.repeat(150)}`]);
});

inOneWorld(
  'scenario: K13',
  'a sub-agent that is gone after a deploy: stalled, and continued when it is back',
  async (open) => {
    for (const [depth, gone] of [
      [1, { agents: {} }],
      [2, { agents: {} }],
    ] as const) {
      const { effects, plan } = teamPlan([delegate('level1')], chain(depth, [call('act', 'it')]));
      const scene = open(plan);
      const { runId, payloads } = await scene.start();
      const leg = await scene.another(gone).approveToolCall({ runId, toolCallId: payloads[0].toolCallId });
      expect(await leg.finishReason).toBe('error');
      expect((await leg.error)?.code).toBe('run-stalled');
      expect(effects.executed).toEqual([]);
      expect((await scene.list({ status: 'stalled' })).runs).toMatchObject([{ runId }]);
      expect((await scene.list({ status: 'running' })).runs).toEqual([]);
      // Nobody but a person moves it.
      await scene.sweep();
      expect(effects.executed).toEqual([]);
      const told = await scene.continueRun(runId);
      expect(told.text).toContain('supervisor is done.');
      expect(effects.executed).toEqual(['act it']);
    }
  },
  coldWorld,
);

inOneWorld(
  'scenario: K13',
  'resume data for a sub-agent that is gone is refused, and it waits on',
  async (open) => {
    const { plan } = teamPlan([delegate('level1')], chain(2, [call('ask', 'it')]));
    const scene = open(plan);
    const { runId, payloads } = await scene.start();
    const { toolCallId } = payloads[0];
    const gone = scene.another({ agents: {} });
    expect(await codeOf(gone.resumeStream({ answer: 'x' }, { runId, toolCallId }))).toBe('agent-missing');
    expect((await scene.list()).runs[0]?.toolCalls).toMatchObject([{ toolCallId }]);
  },
  coldWorld,
);

inBothFaces(
  'scenario: K13',
  'a sub-agent that cannot begin fails its delegation, not the supervisor',
  async (open) => {
    const broken: Record<string, Partial<AgentConfig>> = {
      tools: { tools: () => Promise.reject(new Error('no tools here')) },
      model: { model: () => Promise.reject(new Error('no model here')) },
      call: {
        model: scriptedModel([{ error: new Error('no answer here') }]),
        defaultOptions: { maxRetries: 0 },
      },
    };
    for (const config of Object.values(broken)) {
      const { plan, model } = teamPlan([delegate('one'), call('look', 'own')], {
        one: { calls: [], config },
      });
      const scene = open(plan);
      const told = await scene.start();
      expect(told.finishReason).toBe('stop');
      const results = resultsIn(model.calls.at(-1)?.prompt);
      expect(results['to-one']).toMatchObject({
        type: 'error-text',
        value: expect.stringMatching(/no \w+ here/),
      });
      expect(results['look-own']).toMatchObject({ type: 'json' });
      expect(await scene.store.load(told.runId, 0)).toBeUndefined();
    }
  },
);

inEveryWorld(
  'scenario: K13',
  'a model call below that fails in a stored run stalls it, and can be tried again',
  async (open) => {
    let fails = true;
    const model = scriptedModel((prompt) => {
      if (prompt.at(-1)?.role !== 'tool') return { calls: [call('act', 'a')] };
      return fails ? { error: new Error('Overloaded.') } : 'one is done.';
    });
    const config = { model, defaultOptions: { maxRetries: 0 } };
    const {
      effects,
      plan,
      model: supervisor,
    } = teamPlan([delegate('one'), delegate('two')], {
      one: { calls: [], config },
      two: { calls: [call('act', 'b')] },
    });
    const scene = open(plan);
    const { runId } = await scene.start();
    const told = await scene.approve(runId, { toolCallId: top });
    expect(told.finishReason).toBe('error');
    expect(told.error?.code).toBe('run-stalled');
    expect((await scene.list({ status: 'stalled' })).runs).toMatchObject([{ runId }]);
    fails = false;
    const below = scene.memberOf('one');
    const continued = await below.continueRunGenerate({ runId: `${runId}~to-one` });
    expect(continued.text).toBe('one is done.');
    expect((await scene.list({ status: 'stalled' })).runs).toEqual([]);
    expect((await scene.approve(runId, { toolCallId: 'to-two~act-b' })).text).toBe('supervisor is done.');
    expect(effects.executed).toEqual(['act a', 'act b']);
    expect(supervisor.calls).toHaveLength(2);
  },
);

inBothFaces('scenario: K13', 'a stalled run below that is then cancelled stalls nobody', async (open) => {
  const model = scriptedModel((prompt) =>
    prompt.at(-1)?.role === 'tool' ? { error: new Error('Gone.') } : { calls: [call('act', 'a')] },
  );
  const { effects, plan } = teamPlan([delegate('one'), delegate('two')], {
    one: { calls: [], config: { model, defaultOptions: { maxRetries: 0 } } },
    two: { calls: [call('act', 'b')] },
  });
  const scene = open(plan);
  const { runId } = await scene.start();
  await scene.approve(runId, { toolCallId: top });
  await scene.memberOf('one').cancelRun({ runId: `${runId}~to-one` });
  expect((await scene.list({ status: 'stalled' })).runs).toEqual([]);
  expect((await scene.list()).runs[0]?.toolCalls).toMatchObject([{ toolCallId: 'to-two~act-b' }]);
  expect((await scene.approve(runId)).text).toBe('supervisor is done.');
  expect(effects.executed).toEqual(['act a', 'act b']);
});

inBothFaces('scenario: K13', 'one Agent object below two supervisors, and beside them', async (open) => {
  const effects = teamEffects();
  const model = scriptedModel((prompt) =>
    prompt.at(-1)?.role === 'tool' ? 'Done below.' : { calls: [call('act', 'a')] },
  );
  const scene = open({
    script: (prompt) =>
      prompt.at(-1)?.role === 'tool' ? 'All done.' : { calls: [delegate('one'), delegate('two')] },
    agents: () => {
      const shared = new Agent({ id: 'shared', model, tools: leafTools(effects) });
      const two = new Agent({
        id: 'two',
        model: scriptedModel((prompt) =>
          prompt.at(-1)?.role === 'tool' ? 'Two is done.' : { calls: [delegate('helper')] },
        ),
        agents: { helper: shared },
      });
      return { one: shared, two };
    },
  });
  const { runId, payloads } = await scene.start();
  const shared = scene.memberOf('shared');
  const own = await shared.generate('Alone.');
  expect(own.suspendPayloads).toMatchObject([{ toolCallId: 'act-a' }]);
  expect(payloads).toMatchObject([
    { toolCallId: 'to-one~act-a', path: [{ agentId: 'shared' }] },
    { toolCallId: 'to-two~to-helper~act-a', path: [{ agentId: 'two' }, { agentId: 'shared' }] },
  ]);
  await shared.approveToolCallGenerate({ runId: own.runId });
  await shared.approveToolCallGenerate({ runId: `${runId}~to-two~to-helper` });
  const told = await scene.approve(runId, { toolCallId: 'to-one~act-a' });
  expect(told.text).toBe('All done.');
  expect(effects.executed).toEqual(['act a', 'act a', 'act a']);
});
