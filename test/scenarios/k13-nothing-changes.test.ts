/** K13: context, identity, tools and options are the same after a resume, or it is refused or held. */
import { createTool, RequestContext, type RunOptions, type ToolHooks } from 'countersign';
import { expect } from 'vitest';
import { z } from 'zod';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { askRefunds, kinds, type Refund } from '../support/kinds.ts';
import { codeOf, errorOf } from '../support/scene.ts';
import { inEveryWorld, inOneWorld } from '../support/world.ts';

inEveryWorld('scenario: K13', 'the request context, and a copy for each reader', async (open) => {
  const seen: unknown[] = [];
  const note = createTool({
    id: 'note',
    inputSchema: z.object({}),
    requireApproval: true,
    execute: async (_input, { requestContext }) => {
      seen.push(requestContext.toObject());
      requestContext.set('tenant', 'evil');
      requestContext.delete('roles');
    },
  });
  const scene = open({
    script: [{ calls: [{ toolName: 'note' }, { toolName: 'note' }] }, 'Done.'],
    tools: { note },
    options: {
      requestContext: new RequestContext([
        ['tenant', 'acme'],
        ['roles', ['a']],
        ['none', null],
      ] as never),
    },
  });
  const { runId } = await scene.start();
  await scene.approve(runId);
  await scene.approve(runId);
  const stored = { tenant: 'acme', roles: ['a'], none: null };
  expect(seen).toEqual([stored, stored]);
});

inEveryWorld('scenario: K13', 'a decision cannot change the request context', async (open) => {
  const effects: Refund[] = [];
  const scene = open({
    script: [askRefunds('a'), 'Done.'],
    tools: kinds[0]!.tools(effects, true),
    options: { requestContext: new RequestContext([['tenant', 'acme']]) },
  });
  const { runId } = await scene.start();
  for (const entries of [[['tenant', 'evil']], [['role', 'admin']], [['__proto__', 'x']]] as [
    string,
    unknown,
  ][][]) {
    const requestContext = new RequestContext(entries);
    expect(await codeOf(scene.approve(runId, { requestContext }))).toBe('context-conflict');
  }
  expect(effects).toEqual([]);
  await scene.approve(runId, { requestContext: new RequestContext([['tenant', 'acme']]) });
  expect(effects).toHaveLength(1);
});

/** What cannot be stored: must come again, or nothing happens. */
const unstorable: Record<string, { options: RunOptions; missing: string }> = {
  'a secret': {
    options: { requestContext: new RequestContext().set('apiKey', 'k-1', { secret: true }) },
    missing: 'requestContext.apiKey',
  },
  'a context value that JSON cannot hold': {
    options: { requestContext: new RequestContext([['at', new Date(0)]]) },
    missing: 'requestContext.at',
  },
  'hooks of the run': { options: { hooks: { beforeToolCall: () => {} } }, missing: 'hooks' },
  'a model object': { options: { model: scriptedModel([]) }, missing: 'model' },
};

for (const [name, { options, missing }] of Object.entries(unstorable)) {
  inEveryWorld('scenario: K13', `${name} must be passed again`, async (open) => {
    const effects: Refund[] = [];
    const script = [askRefunds('a'), 'Done.'];
    const model = scriptedModel(script);
    const scene = open({
      script,
      tools: kinds[0]!.tools(effects, true),
    });
    const given = options.model ? { ...options, model } : options;
    const { runId } = await scene.start(given);
    for (const decide of [
      () => scene.approve(runId),
      () => scene.decline(runId),
      () => scene.resume({ approved: true }, runId),
    ]) {
      const error = await errorOf(decide());
      expect(error.code).toBe('option-missing');
      expect(error.details.missing).toEqual([missing]);
    }
    expect(effects).toEqual([]);
    expect((await scene.list()).runs[0]?.toolCalls).toHaveLength(1);
    const { requestContext, hooks, model: again } = given;
    const told = await scene.approve(runId, {
      ...(requestContext ? { requestContext } : {}),
      ...(hooks ? { hooks } : {}),
      ...(again ? { model: again } : {}),
    });
    expect(told.finishReason).toBe('stop');
    expect(effects).toHaveLength(1);
  });

  inOneWorld('scenario: K13', `${name} supplied by the registry`, async (open) => {
    const effects: Refund[] = [];
    const asked: unknown[] = [];
    const model = scriptedModel([askRefunds('a'), 'Done.']);
    const given = options.model ? { ...options, model } : options;
    const scene = open({
      script: model,
      tools: kinds[0]!.tools(effects, true),
      registry: {
        supply: (question) => {
          asked.push(question);
          return given as never;
        },
      },
    });
    const { runId } = await scene.start({ ...given, memory: { thread: 't', resource: 'user 1' } });
    expect((await scene.approve(runId)).text).toBe('Done.');
    expect(asked).toEqual([{ agentId: 'desk', runId, resourceId: 'user 1', missing: [missing] }]);
    expect(effects).toHaveLength(1);
  });
}

inEveryWorld('scenario: K13', 'secrets are never stored, however they were named', async (open) => {
  const effects: Refund[] = [];
  const scene = open({
    script: [askRefunds('a'), 'Done.'],
    tools: kinds[0]!.tools(effects, true),
    agent: { secretContext: ['password'] },
  });
  const requestContext = new RequestContext([
    ['password', 'swordfish-1'],
    ['tenant', 'acme'],
  ]);
  requestContext.set('token', 'swordfish-2', { secret: true });
  const { runId } = await scene.start({ requestContext });
  const stored = JSON.stringify(await scene.store.load(runId, 0));
  expect(stored).toContain('acme');
  expect(stored).not.toContain('swordfish');
  expect((await errorOf(scene.approve(runId))).details.missing).toEqual([
    'requestContext.password',
    'requestContext.token',
  ]);
  await scene.approve(runId, { requestContext });
  expect(JSON.stringify(await scene.store.load(runId, 0))).not.toContain('swordfish');
});

inEveryWorld('scenario: K13', 'maxSteps counts over the whole run', async (open) => {
  const effects: Refund[] = [];
  const scene = open({
    script: (_prompt, index) => askRefunds(`order ${index}`),
    tools: kinds[0]!.tools(effects, true),
    options: { maxSteps: 3 },
  });
  let told = await scene.start();
  for (let step = 1; step < 3; step++) {
    told = await scene.approve(told.runId);
    expect(told.finishReason).toBe('suspended');
  }
  told = await scene.approve(told.runId);
  expect(told.finishReason).toBe('max-steps');
  expect(told.steps).toHaveLength(3);
  expect(scene.model.calls).toHaveLength(3);
  expect(effects).toHaveLength(3);
});

inEveryWorld('scenario: K13', 'active tools, tool choice, instructions and settings', async (open) => {
  const scene = open({
    script: [askRefunds('a'), askRefunds('b'), 'Done.'],
    tools: { ...(kinds[0]!.tools([], true) as object), other: otherTool },
    agent: { instructions: ({ requestContext }) => `For ${requestContext.get('tenant')}.` },
    options: {
      activeTools: ['refund'],
      toolChoice: { type: 'tool', toolName: 'refund' },
      modelSettings: { temperature: 0.5, seed: 7 },
      requestContext: new RequestContext([['tenant', 'acme']]),
    },
  });
  const { runId } = await scene.start();
  await scene.approve(runId);
  await scene.decline(runId);
  expect(scene.model.calls).toHaveLength(3);
  const [first] = scene.model.calls;
  expect(first?.tools?.map(({ name }) => name)).toEqual(['refund']);
  for (const call of scene.model.calls) {
    for (const name of ['tools', 'toolChoice', 'temperature', 'seed'] as const)
      expect(call[name]).toEqual(first?.[name]);
    expect(call.prompt.slice(0, 2)).toEqual(first?.prompt.slice(0, 2));
    expect(call.prompt[0]).toMatchObject({ role: 'system', content: 'For acme.' });
    expect(call.prompt.filter(({ role }) => role === 'user')).toHaveLength(1);
  }
});

const otherTool = createTool({ id: 'other', inputSchema: z.object({}), execute: async () => 'x' });

inEveryWorld(
  'scenario: K13',
  'the agent’s hooks run around every execution, wherever it happens',
  async (open) => {
    const effects: Refund[] = [];
    const told: string[] = [];
    const hooks: ToolHooks = {
      beforeToolCall: ({ toolCallId }) => void told.push(`before ${toolCallId}`),
      afterToolCall: ({ toolCallId, output }) =>
        void told.push(`after ${toolCallId} ${JSON.stringify(output)}`),
    };
    const scene = open({
      script: [askRefunds('a', 'b'), 'Done.'],
      tools: kinds[0]!.tools(effects, true),
      agent: { hooks },
    });
    const { runId } = await scene.start();
    expect(told).toEqual([]);
    await scene.decline(runId, { toolCallId: 'call-0-0' });
    expect(told).toEqual([]);
    await scene.approve(runId);
    expect(told).toEqual(['before call-0-1', 'after call-0-1 {"refunded":10}']);
  },
);

inEveryWorld('scenario: K13', 'work of the beginning is not done twice', async (open) => {
  const effects: Refund[] = [];
  const finished: unknown[] = [];
  const steps: string[] = [];
  let asked = 0;
  const scene = open({
    script: [askRefunds('a'), askRefunds('b'), 'Done.'],
    tools: kinds[0]!.tools(effects, false),
    agent: {
      defaultOptions: {
        requireToolApproval: () => {
          asked++;
          return true;
        },
        onFinish: (run) => finished.push(run.finishReason),
        onStepFinish: (step) => steps.push(step.text),
      },
    },
  });
  const { runId, messageId } = await scene.start();
  expect(asked).toBe(1);
  const second = await scene.approve(runId);
  const third = await scene.approve(runId);
  expect([second.messageId, third.messageId]).toEqual([messageId, messageId]);
  expect([second.runId, third.runId]).toEqual([runId, runId]);
  expect(asked).toBe(2);
  expect(finished).toEqual(['stop']);
  expect(steps).toEqual(['Let me see. ', 'Let me see. ', 'Done.']);
  expect(third.steps).toHaveLength(3);
  expect(third.totalText).toBe('Let me see. Let me see. Done.');
  expect(third.text).toBe('Done.');
});

inEveryWorld('scenario: K13', 'continueRun needs what could not be stored, too', async (open) => {
  const effects: Refund[] = [];
  const requestContext = new RequestContext().set('apiKey', 'k-1', { secret: true });
  const scene = open({
    script: [askRefunds('a'), { error: new Error('overloaded') }, 'Done.'],
    tools: kinds[0]!.tools(effects, true),
  });
  const { runId } = await scene.start({ requestContext });
  await scene.approve(runId, { requestContext });
  expect((await errorOf(scene.continueRun(runId))).details.missing).toEqual(['requestContext.apiKey']);
  expect((await scene.list({ status: 'stalled' })).total).toBe(1);
  expect((await scene.continueRun(runId, { requestContext })).text).toBe('Done.');
  expect(effects).toHaveLength(1);
});

for (const kind of kinds) {
  inEveryWorld('scenario: K13', `secrets and hooks of the run around a ${kind.name}`, async (open) => {
    const effects: Refund[] = [];
    const hooked: unknown[] = [];
    const requestContext = new RequestContext([['tenant', 'acme']]).set('apiKey', 'k-1', { secret: true });
    const hooks: ToolHooks = {
      beforeToolCall: ({ input, requestContext: seen }) => void hooked.push([input, seen.toObject()]),
    };
    const scene = open({ script: [askRefunds('a'), 'Done.'], tools: kind.tools(effects, true) });
    const { runId } = await scene.start({ requestContext, hooks });
    expect(await codeOf(scene.approve(runId, { requestContext }))).toBe('option-missing');
    expect(await codeOf(scene.approve(runId, { hooks }))).toBe('option-missing');
    expect([effects, hooked]).toEqual([[], []]);
    const told = await scene.approve(runId, { requestContext, hooks });
    expect(told.finishReason).toBe(kind.clientSide ? 'suspended' : 'stop');
    expect(hooked).toEqual([
      [
        { order: 'a', amount: 10 },
        { tenant: 'acme', apiKey: 'k-1' },
      ],
    ]);
    expect(effects).toHaveLength(kind.clientSide ? 0 : 1);
    if (kind.clientSide) expect(await codeOf(scene.resume({ refunded: 1 }, runId))).toBe('option-missing');
  });
}
