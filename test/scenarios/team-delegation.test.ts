/** K13 and K14: what a caller says of delegations, each hook once, before and after a restart. */
import type { DelegationOptions } from 'countersign';
import { Agent } from 'countersign';
import { expect } from 'vitest';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { resultsIn } from '../support/kinds.ts';
import { codeOf } from '../support/scene.ts';
import { call, chain, delegate, modelOf, teamPlan } from '../support/team.ts';
import { inBothFaces, inEveryWorld } from '../support/world.ts';

const top = 'to-one~act-a';
const one = { one: { calls: [call('act', 'a'), call('look', 'b')] } };

/** What a model read as text. */
const readBy = (prompt: unknown): string => JSON.stringify(prompt);

inEveryWorld('scenario: K13', 'each hook of a delegation once, not again on resume', async (open, world) => {
  const told: string[] = [];
  const delegation: DelegationOptions = {
    onDelegationStart: ({ primitiveId, prompt }) => void told.push(`start ${primitiveId}: ${prompt}`),
    messageFilter: ({ primitiveId, messages }) => {
      told.push(`filter ${primitiveId}`);
      return messages;
    },
    onDelegationComplete: ({ primitiveId, result, success }) =>
      void told.push(`complete ${primitiveId}: ${result.text} ${success}`),
  };
  const { effects, plan, model } = teamPlan([delegate('one'), delegate('one', 'Again.', 'again')], one);
  const scene = open({ ...plan, options: { delegation } });
  const { runId } = await scene.start();
  const begun = ['start one: Go on.', 'filter one', 'start one: Again.', 'filter one'];
  expect(told.toSorted()).toEqual(begun.toSorted());
  const again = world.temperature === 'cold with options' ? {} : { delegation };
  await scene.approve(runId, { toolCallId: top, ...again });
  expect(told.slice(4)).toEqual(['complete one: one is done. true']);
  const last = await scene.decline(runId, { toolCallId: 'again~act-a', ...again });
  expect(last.text).toBe('supervisor is done.');
  expect(told.slice(4)).toEqual(['complete one: one is done. true', 'complete one: one is done. true']);
  // The conversation comes first, then the task.
  const prompt = readBy(modelOf(effects, 'one').calls[0]?.prompt);
  expect(prompt.indexOf('Please do it.')).toBeLessThan(prompt.indexOf('Go on.'));
  expect(model.calls).toHaveLength(2);
});

inEveryWorld('scenario: K13', 'rejected: nothing is delegated, and the supervisor is told', async (open) => {
  const delegation: DelegationOptions = {
    onDelegationStart: ({ primitiveId }) =>
      primitiveId === 'one' ? { proceed: false, rejectionReason: 'Ask two.' } : undefined,
  };
  const { effects, plan, model } = teamPlan([delegate('one'), delegate('two')], {
    ...one,
    two: { calls: [call('look', 'c')] },
  });
  const scene = open({ ...plan, options: { delegation } });
  expect((await scene.start()).finishReason).toBe('stop');
  expect(effects.executed).toEqual(['look c']);
  expect(modelOf(effects, 'one').calls).toEqual([]);
  expect(resultsIn(model.calls.at(-1)?.prompt)).toMatchObject({
    'to-one': { type: 'text', value: '[Delegation Rejected] Ask two.' },
    'to-two': { type: 'text', value: 'two is done.' },
  });
});

inEveryWorld(
  'scenario: K13',
  'what the sub-agent is told may be changed, and what came of it',
  async (open, world) => {
    const delegation: DelegationOptions = {
      onDelegationStart: () => ({
        modifiedPrompt: 'Go slowly.',
        modifiedInstructions: 'Look twice.',
        modifiedMaxSteps: 1,
      }),
      onDelegationComplete: () => ({ resultText: 'Enough.', feedback: 'Ask less.' }),
    };
    const { effects, plan, model } = teamPlan([delegate('one')], {
      one: { ...one.one, config: { instructions: 'You are one.' } },
    });
    const scene = open({ ...plan, options: { delegation } });
    const { runId, payloads } = await scene.start();
    expect(payloads).toMatchObject([{ toolCallId: top }]);
    const told = await scene.approve(runId, world.temperature === 'cold with options' ? {} : { delegation });
    expect(told.finishReason).toBe('stop');
    const inner = modelOf(effects, 'one').calls;
    expect(inner).toHaveLength(1);
    expect(inner[0]?.prompt).toMatchObject([
      { role: 'system', content: 'You are one.\n\nLook twice.' },
      { role: 'user', content: [{ type: 'text', text: 'Go slowly.' }] },
    ]);
    expect(resultsIn(model.calls.at(-1)?.prompt)['to-one']).toEqual({
      type: 'text',
      value: 'Enough.\n\nFeedback: Ask less.',
    });
  },
);

inBothFaces(
  'scenario: K13',
  'a hook that throws before, or answers what is unclear, fails the delegation',
  async (open) => {
    const hooks: DelegationOptions[] = [
      { onDelegationStart: () => Promise.reject(new Error('Not today.')) },
      { onDelegationStart: () => ({ proceed: 'no' }) as never },
      { messageFilter: () => Promise.reject(new Error('Not today.')) },
      { messageFilter: () => [{ role: 'nobody', content: 'x' }] as never },
      { messageFilter: () => 'everything' as never },
    ];
    for (const delegation of hooks) {
      const { effects, plan, model } = teamPlan([delegate('one')], one);
      expect((await open({ ...plan, options: { delegation } }).start()).finishReason).toBe('stop');
      expect(modelOf(effects, 'one').calls).toEqual([]);
      expect(resultsIn(model.calls.at(-1)?.prompt)['to-one']).toMatchObject({ type: 'error-text' });
    }
  },
);

inBothFaces(
  'scenario: K13',
  'a hook that throws afterwards is reported, and changes nothing',
  async (open) => {
    const delegation: DelegationOptions = { onDelegationComplete: () => Promise.reject(new Error('Oops.')) };
    const { plan, model } = teamPlan([delegate('one')], { one: { calls: [] } });
    const scene = open({ ...plan, options: { delegation } });
    expect((await scene.start()).finishReason).toBe('stop');
    expect(resultsIn(model.calls.at(-1)?.prompt)['to-one']).toEqual({ type: 'text', value: 'one is done.' });
    expect(scene.warnings.join()).toContain('onDelegationComplete threw: Oops.');
  },
);

inBothFaces('scenario: K13', 'told of a sub-agent that failed', async (open) => {
  const told: unknown[] = [];
  const delegation: DelegationOptions = {
    onDelegationComplete: ({ success, error }) => void told.push([success, error?.message]),
  };
  const model = scriptedModel([{ error: new Error('No answer.') }]);
  const { plan } = teamPlan([delegate('one')], {
    one: { calls: [], config: { model, defaultOptions: { maxRetries: 0 } } },
  });
  await open({ ...plan, options: { delegation } }).start();
  expect(told).toEqual([[false, expect.stringContaining('No answer.')]]);
});

inBothFaces(
  'scenario: K14',
  'messages that are passed on make prompts that every provider takes',
  async (open) => {
    for (const [first, last] of [
      [0, 9],
      [1, 9],
      [1, 2],
      [2, 3],
    ] as const) {
      const delegation: DelegationOptions = { messageFilter: ({ messages }) => messages.slice(first, last) };
      const model = scriptedModel((prompt) => {
        const results = Object.keys(resultsIn(prompt)).length;
        if (results === 0) return { reasoning: 'Hm.', text: 'I look. ', calls: [call('look', 'own')] };
        return results === 1 ? { calls: [delegate('one')] } : 'Done.';
      });
      const { effects, plan } = teamPlan([], { one: { calls: [call('look', 'b')] } });
      const told = await open({ ...plan, script: model, options: { delegation } }).start();
      expect(told.text).toContain('Done.');
      // The scripted model refuses a prompt that breaks a rule: then its delegation would have failed.
      expect(resultsIn(model.calls.at(-1)?.prompt)['to-one']).toEqual({
        type: 'text',
        value: 'one is done.',
      });
      expect(effects.executed).toEqual(['look own', 'look b']);
    }
  },
);

inEveryWorld(
  'scenario: K13',
  'results of the sub-agent’s tools for the supervisor’s model',
  async (open, world) => {
    const delegation: DelegationOptions = { includeSubAgentToolResultsInModelContext: true };
    const { plan, model } = teamPlan([delegate('one')], one);
    const scene = open({ ...plan, options: { delegation } });
    const { runId } = await scene.start();
    await scene.approve(runId, world.temperature === 'cold with options' ? {} : { delegation });
    expect(resultsIn(model.calls.at(-1)?.prompt)['to-one']).toEqual({
      type: 'json',
      value: {
        text: 'one is done.',
        toolResults: [
          { toolCallId: 'act-a', toolName: 'act', args: { name: 'a' }, result: { did: 'a' } },
          { toolCallId: 'look-b', toolName: 'look', args: { name: 'b' }, result: { saw: 'b' } },
        ],
      },
    });
  },
);

inBothFaces('scenario: K13', 'the delegations of a sub-agent are its own to watch', async (open) => {
  const told: string[] = [];
  const watch = (who: string): DelegationOptions => ({
    onDelegationStart: ({ primitiveId, parentAgentId }) =>
      void told.push(`${who}: ${parentAgentId} → ${primitiveId}`),
  });
  const members = chain(2, [call('look', 'a')]);
  const level1 = { ...members.level1, config: { defaultOptions: { delegation: watch('level1') } } };
  const { plan } = teamPlan([delegate('level1')], { level1 } as never);
  const scene = open({ ...plan, agent: { defaultOptions: { delegation: watch('defaults') } } });
  await scene.start();
  await scene.start({ delegation: watch('run') });
  expect(told).toEqual([
    'defaults: desk → level1',
    'level1: level1 → level2',
    'run: desk → level1',
    'level1: level1 → level2',
  ]);
});

inBothFaces(
  'scenario: K13',
  'a model may ask for fewer model calls than its sub-agent has, not for more',
  async (open) => {
    for (const [asked, steps] of [
      [1, 1],
      [2, 2],
      [50, 2],
      [undefined, 2],
    ] as const) {
      const args = { prompt: 'Go on.', ...(asked === undefined ? {} : { maxSteps: asked }) };
      const { effects, plan, model } = teamPlan([{ ...delegate('one'), args }], {
        one: {
          calls: [call('look', 'a')],
          later: [call('look', 'b')],
          config: { defaultOptions: { maxSteps: 2 } },
        },
      });
      await open(plan).start();
      expect(modelOf(effects, 'one').calls).toHaveLength(steps);
      expect(resultsIn(model.calls.at(-1)?.prompt)['to-one']).toMatchObject({ type: 'text' });
    }
    for (const maxSteps of [0, -1, 1.5, '3']) {
      const { effects, plan, model } = teamPlan(
        [{ ...delegate('one'), args: { prompt: 'Go on.', maxSteps } }],
        one,
      );
      await open(plan).start();
      expect(modelOf(effects, 'one').calls).toEqual([]);
      expect(readBy(model.calls.at(-1)?.prompt)).toContain('maxSteps: a whole number from 1 is expected');
    }
  },
);

inBothFaces('scenario: K13', 'malformed options and agents are refused at once', async (open) => {
  const { effects, plan } = teamPlan([delegate('one')], one);
  const scene = open(plan);
  for (const delegation of [null, true, [], { onDelegationStart: 'yes' }, { onDelegationBegin: () => {} }]) {
    expect(await codeOf(scene.start({ delegation } as never))).toBe('invalid-option');
    const config = { id: 'x', model: scriptedModel([]), defaultOptions: { delegation } } as never;
    expect(await codeOf(Promise.resolve().then(() => new Agent(config)))).toBe('invalid-option');
  }
  const { runId } = await scene.start();
  expect(await codeOf(scene.approve(runId, { delegation: 1 } as never))).toBe('invalid-option');
  expect(effects.executed).toEqual(['look b']);
  const refused: readonly [object, string][] = [
    [{ agents: { one: {} } }, 'invalid-agent'],
    [{ agents: { one: undefined } }, 'invalid-agent'],
    [{ agents: { 'no key': new Agent({ id: 'y', model: scriptedModel([]) }) } }, 'invalid-tool'],
    [
      {
        agents: { look: new Agent({ id: 'z', model: scriptedModel([]) }) },
        tools: { 'agent-look': { inputSchema: plan.tools && {}, execute: () => 1 } },
      },
      'invalid-tool',
    ],
  ];
  for (const [config, code] of refused) {
    const made = Promise.resolve().then(
      () => new Agent({ id: 'x', model: scriptedModel([]), ...config } as never),
    );
    expect(await codeOf(made)).toBe(code);
  }
});
