/** K10: no provider rejects the history. Every prompt of these runs is checked by the rules of all three. */
import { createTool } from 'countersign';
import { expect } from 'vitest';
import { z } from 'zod';
import { checkPrompt } from '../../src/testing/check-prompt.ts';
import { type ScriptedStep, scriptedModel } from '../../src/testing/scripted-model.ts';
import {
  approveAndCarryOut,
  kinds,
  type Refund,
  refundCall,
  resultsIn,
  withTools,
} from '../support/kinds.ts';
import type { Scene } from '../support/scene.ts';
import { inEveryWorld } from '../support/world.ts';

const providers = ['openai', 'anthropic', 'google', 'all'] as const;

/** Checks what the model was really given; the scripted model would refuse a broken one itself, and end the run. */
function expectValid({ model }: Scene): void {
  expect(model.calls.length).toBeGreaterThan(1);
  for (const { prompt } of model.calls) {
    for (const provider of providers) {
      // Reasoning here is signed as the scripted provider signs it, which 'all' checks.
      const broken = checkPrompt(prompt, provider).filter(
        (what) => !/lost its (openai|anthropic)/.test(what),
      );
      expect(broken).toEqual([]);
    }
  }
}

const look = createTool({ id: 'look', inputSchema: z.object({}), execute: async () => ({ seen: true }) });
const boom = createTool({
  id: 'boom',
  inputSchema: z.object({}),
  execute: async () => {
    throw new Error('it broke');
  },
});
const lookCall = { toolName: 'look' };
const mixed: ScriptedStep = {
  reasoning: 'A person must agree. ',
  text: 'Working. ',
  calls: [
    lookCall,
    refundCall('a', 1, 'A'),
    { toolName: 'boom' },
    refundCall('b', 2, 'B'),
    { toolName: 'refund', args: { order: 5 }, toolCallId: 'wrong' },
    { toolName: 'refund', argsText: '{"order":', toolCallId: 'broken' },
    { toolName: 'refund', argsText: '"a string"', toolCallId: 'text' },
    { toolName: 'refund', argsText: '[1]', toolCallId: 'list' },
    { toolName: 'look', argsText: '', toolCallId: 'empty' },
    { toolName: 'unknown', toolCallId: 'unknown' },
  ],
};

for (const kind of kinds) {
  for (const order of [
    ['A', 'B'],
    ['B', 'A'],
  ] as const) {
    inEveryWorld(
      'scenario: K10',
      `calls of every fate, decided ${order.join(' ')} (${kind.name})`,
      async (open) => {
        const effects: Refund[] = [];
        const scene = open({
          script: [mixed, { reasoning: 'Once more. ', calls: [refundCall('c', 3, 'A'), lookCall] }, 'Done.'],
          tools: withTools(kind.tools(effects, true), { look, boom }),
        });
        const { runId } = await scene.start();
        for (const toolCallId of order) {
          if (toolCallId === 'A') await approveAndCarryOut(scene, kind, effects, runId, { toolCallId });
          else await scene.decline(runId, { toolCallId, reason: 'too much' });
        }
        await approveAndCarryOut(scene, kind, effects, runId);
        expect(scene.model.calls).toHaveLength(3);
        expectValid(scene);
        const results = resultsIn(scene.model.calls[1]?.prompt);
        const ids = ['call-0-0', 'A', 'call-0-2', 'B', 'wrong', 'broken', 'text', 'list', 'empty', 'unknown'];
        expect(Object.keys(results)).toEqual(ids);
        const types = Object.values(results).map(({ type }) => type);
        expect(types).toEqual([
          'json',
          'json',
          'error-text',
          'execution-denied',
          'error-text',
          'error-text',
          'error-text',
          'error-text',
          'json',
          'error-text',
        ]);
        // Reasoning comes back with its signature, also from the store.
        const prompt = JSON.stringify(scene.model.calls[2]?.prompt);
        expect(prompt).toContain('signature-0');
        expect(prompt).toContain('signature-1');
        expect(effects.map((refund) => refund.order)).toEqual(['a', 'c']);
      },
    );
  }
}

inEveryWorld(
  'scenario: K10',
  'a half-decided step: the model is not asked before the last decision',
  async (open) => {
    const effects: Refund[] = [];
    const scene = open({
      script: [{ calls: [refundCall('a', 1, 'A'), refundCall('b', 1, 'B')] }, 'Done.'],
      tools: kinds[0]!.tools(effects, true),
    });
    const { runId } = await scene.start();
    await scene.approve(runId, { toolCallId: 'B' });
    expect(scene.model.calls).toHaveLength(1);
    await scene.decline(runId, { toolCallId: 'A' });
    expectValid(scene);
  },
);

inEveryWorld('scenario: K10', 'suspended, resumed and declined', async (open) => {
  const ask = createTool({
    id: 'ask',
    inputSchema: z.object({}),
    resumeSchema: z.object({ answer: z.string() }),
    execute: async (_input, { agent }) => agent.resumeData ?? agent.suspend(null),
  });
  const calls = [1, 2, 3].map((number) => ({ toolName: 'ask', toolCallId: `ask-${number}` }));
  const scene = open({ script: [{ calls }, 'Done.'], tools: { ask } });
  const { runId } = await scene.start();
  await scene.decline(runId, { toolCallId: 'ask-2', reason: 'no comment' });
  await scene.resume({ answer: 'x' }, runId, { toolCallId: 'ask-3' });
  await scene.resume({ answer: 'y' }, runId, { toolCallId: 'ask-1' });
  expectValid(scene);
  expect(Object.values(resultsIn(scene.model.calls[1]?.prompt)).map(({ type }) => type)).toEqual([
    'json',
    'execution-denied',
    'json',
  ]);
});

inEveryWorld('scenario: K10', 'a model error in the middle, then again', async (open) => {
  const effects: Refund[] = [];
  const scene = open({
    script: [
      { reasoning: 'Think. ', text: 'Working. ', calls: [refundCall('a'), lookCall] },
      { text: 'Half an ans', error: new Error('overloaded') },
      { text: '', calls: [lookCall] },
      'Done.',
    ],
    tools: withTools(kinds[0]!.tools(effects, true), { look }),
  });
  const { runId } = await scene.start();
  expect((await scene.approve(runId)).finishReason).toBe('error');
  expect((await scene.continueRun(runId)).text).toBe('Done.');
  expect(effects).toHaveLength(1);
  expectValid(scene);
  expect(scene.model.calls[2]?.prompt).toEqual(scene.model.calls[1]?.prompt);
  expect(JSON.stringify(scene.model.calls[3]?.prompt)).not.toContain('Half an ans');
});

inEveryWorld('scenario: K10', 'a tool name that providers refuse to read back', async (open) => {
  // Models make such names up: OpenAI's write `functions.refund`.
  const scene = open({
    script: [
      { calls: [{ toolName: 'functions.refund', args: { order: 'a', amount: 1 } }, lookCall] },
      'Sorry.',
    ],
    tools: withTools(kinds[0]!.tools([], true), { look }),
  });
  const told = await scene.start();
  expect(told.finishReason).toBe('stop');
  expect(told.text).toBe('Sorry.');
  expectValid(scene);
});

inEveryWorld('scenario: K10', 'a conversation that the caller brings along stays as it is', async (open) => {
  const effects: Refund[] = [];
  const first = open({
    script: [{ reasoning: 'Think. ', calls: [refundCall('a')] }, 'Done.'],
    tools: kinds[0]!.tools(effects, true),
  });
  const { runId } = await first.start();
  const output = await first.decider().declineToolCallGenerate({ ...first.again(), runId, reason: 'no' });
  const second = open({
    script: scriptedModel([{ calls: [refundCall('b')] }, 'Done again.']),
    tools: kinds[0]!.tools(effects, true),
  });
  const again = await second.start({}, [...output.messages, { role: 'user', content: 'And now?' }] as never);
  await second.approve(again.runId);
  expectValid(second);
  expect(JSON.stringify(second.model.calls[1]?.prompt)).toContain('signature-0');
  expect(effects.map(({ order }) => order)).toEqual(['b']);
});
