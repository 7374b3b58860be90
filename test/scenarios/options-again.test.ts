/** K13: what a later leg does with options that are passed again, and with those that are not. */
import { hasToolCall, isStepCount } from 'ai';
import { type Chunk, createTool, type RunOptions } from 'countersign';
import { expect } from 'vitest';
import { until } from '../../src/core/test-support/parts.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { askRefunds, kinds, type Refund, refundInput } from '../support/kinds.ts';
import { codeOf, errorOf } from '../support/scene.ts';
import { grammarProblems, typesOf } from '../support/told.ts';
import { inBothFaces, inEveryWorld, inOneWorld } from '../support/world.ts';

inEveryWorld(
  'scenario: K13',
  'onChunk gets each chunk of its own leg once, and is not called by a leg that lacks it',
  async (open) => {
    const seen: Chunk[] = [];
    const onChunk: RunOptions['onChunk'] = ({ chunk }) => void seen.push(chunk);
    const effects: Refund[] = [];
    const scene = open({
      script: [askRefunds('a'), askRefunds('b'), 'Done.'],
      tools: kinds[0]!.tools(effects, true),
    });
    const started = await scene.start({ onChunk });
    const first = seen.splice(0);
    expect([first.at(0)?.type, first.at(-1)?.type]).toEqual(['start', 'finish']);
    if (started.chunks) expect(first).toEqual(started.chunks);
    await scene.approve(started.runId);
    expect(seen).toEqual([]);
    const told = await scene.approve(started.runId, { onChunk });
    expect(told.text).toBe('Done.');
    expect([seen.at(0)?.type, seen.at(-1)?.type]).toEqual(['start', 'finish']);
    if (told.chunks) expect(seen).toEqual(told.chunks);
    expect(effects).toHaveLength(2);
  },
);

inEveryWorld('scenario: K13', 'onChunk of the agent’s defaults is called by every leg', async (open) => {
  const ends: unknown[] = [];
  const scene = open({
    script: [askRefunds('a'), 'Done.'],
    tools: kinds[0]!.tools([], true),
    agent: {
      defaultOptions: {
        onChunk: ({ chunk }) => void (chunk.type === 'finish' && ends.push(chunk.payload.finishReason)),
      },
    },
  });
  const { runId } = await scene.start();
  await scene.approve(runId);
  expect(ends).toEqual(['suspended', 'stop']);
});

inOneWorld('scenario: K13', 'an onChunk that throws changes nothing', async (open) => {
  const effects: Refund[] = [];
  const errors: unknown[] = [];
  const scene = open({ script: [askRefunds('a'), 'Done.'], tools: kinds[0]!.tools(effects, false) });
  const told = await scene.start({
    onChunk: () => {
      throw new Error('broken');
    },
    onError: ({ error }) => errors.push(error),
  });
  expect(told).toMatchObject({ finishReason: 'stop', totalText: 'Let me see. Done.' });
  expect(errors).toHaveLength(told.chunks?.length ?? 0);
  expect(effects).toHaveLength(1);
});

inOneWorld(
  'scenario: K13',
  'a decision that is repeated after the end is told to onChunk too',
  async (open) => {
    const seen: Chunk[] = [];
    const scene = open({ script: [askRefunds('a'), 'Done.'], tools: kinds[0]!.tools([], true) });
    const { runId } = await scene.start();
    await scene.approve(runId, { decisionId: 'click' });
    const told = await scene.approve(runId, {
      decisionId: 'click',
      toolCallId: 'call-0-0',
      onChunk: ({ chunk }) => void seen.push(chunk),
    });
    expect(seen).toEqual(told.chunks);
    expect(seen.at(-1)?.type).toBe('finish');
  },
);

inEveryWorld(
  'scenario: K13',
  'stopWhen ends the run after a step whose calls are settled, and looks at the steps of all legs',
  async (open) => {
    const effects: Refund[] = [];
    const seen: number[] = [];
    const scene = open({
      script: (_prompt, index) => askRefunds(`order ${index}`),
      tools: kinds[0]!.tools(effects, true),
    });
    const stopWhen: RunOptions['stopWhen'] = ({ steps }) => {
      seen.push(steps.length);
      return steps.length === 3;
    };
    const { runId } = await scene.start({ stopWhen });
    expect(seen).toEqual([]);
    await scene.approve(runId, { stopWhen });
    // Not passed again, it is not called.
    await scene.decline(runId);
    const told = await scene.approve(runId, { stopWhen });
    expect(seen).toEqual([1, 3]);
    expect(told).toMatchObject({ finishReason: 'tool-calls', payloads: [] });
    expect([told.steps.length, effects.length, scene.model.calls.length]).toEqual([3, 2, 3]);
    expect((await scene.list({ status: 'all' })).total).toBe(0);
    expect(await codeOf(scene.continueRun(runId))).toBe('run-ended');
  },
);

inEveryWorld('scenario: K13', 'stopWhen of the agent’s defaults counts in every leg', async (open) => {
  const effects: Refund[] = [];
  const scene = open({
    script: (_prompt, index) => askRefunds(`order ${index}`),
    tools: kinds[0]!.tools(effects, true),
    agent: { defaultOptions: { stopWhen: [isStepCount(2), hasToolCall('other')] } },
  });
  const { runId } = await scene.start();
  expect((await scene.approve(runId)).finishReason).toBe('suspended');
  expect((await scene.approve(runId)).finishReason).toBe('tool-calls');
  expect(effects).toHaveLength(2);
});

inEveryWorld('scenario: K13', 'a run that stopWhen ended told no step that never was', async (open) => {
  const finished: unknown[] = [];
  const scene = open({ script: [askRefunds('a')], tools: kinds[0]!.tools([], false) });
  const told = await scene.start({
    stopWhen: () => true,
    onFinish: ({ finishReason, text }) => finished.push([finishReason, text]),
  });
  expect(told).toMatchObject({ finishReason: 'tool-calls', text: 'Let me see. ' });
  expect(finished).toEqual([['tool-calls', 'Let me see. ']]);
  if (told.chunks) {
    expect(grammarProblems(told.chunks)).toEqual([]);
    const steps = typesOf(told.chunks).filter((type) => type.startsWith('step-'));
    expect(steps).toEqual(['step-start', 'step-finish']);
  }
});

inEveryWorld(
  'scenario: K13',
  'a stopWhen that throws stops a stored run where it can go on',
  async (open) => {
    const effects: Refund[] = [];
    const scene = open({ script: [askRefunds('a'), 'Done.'], tools: kinds[0]!.tools(effects, true) });
    const stopWhen = (): boolean => {
      throw new Error('broken');
    };
    const { runId } = await scene.start({ stopWhen });
    const told = await scene.approve(runId, { stopWhen });
    expect([told.finishReason, told.error?.code]).toEqual(['error', 'run-stalled']);
    expect(told.error?.message).toContain('stopWhen threw: broken');
    expect((await scene.list({ status: 'stalled' })).total).toBe(1);
    expect((await scene.continueRun(runId)).text).toBe('Done.');
    expect(effects).toHaveLength(1);
  },
);

inBothFaces('scenario: K13', 'a stopWhen that throws in a run that never paused fails it', async (open) => {
  const scene = open({ script: [askRefunds('a'), 'Done.'], tools: kinds[0]!.tools([], false) });
  const started = scene.start({
    stopWhen: async () => {
      throw new Error('broken');
    },
  });
  const error = scene.world.face === 'stream' ? (await started).error : await errorOf(started);
  expect([error?.code, error?.message.includes('stopWhen threw: broken')]).toEqual(['invalid-option', true]);
});

inBothFaces(
  'scenario: K13',
  'a model object of the agent’s defaults is code, and never missing',
  async (open) => {
    const model = scriptedModel([askRefunds('a'), 'From the defaults.']);
    const scene = open({
      script: ['Never.'],
      tools: kinds[0]!.tools([], true),
      agent: { defaultOptions: { model } },
    });
    const { runId } = await scene.start();
    expect((await scene.approve(runId)).text).toBe('From the defaults.');
    expect([scene.model.calls.length, model.calls.length]).toEqual([0, 2]);
  },
);

inOneWorld(
  'scenario: K13',
  'who follows a run that ends elsewhere after calls is not told old text',
  async (open) => {
    let door = Promise.withResolvers<void>();
    const effects: string[] = [];
    const refund = createTool({
      id: 'refund',
      inputSchema: refundInput,
      requireApproval: true,
      execute: async ({ order }) => {
        effects.push(order);
        if (order === 'a') await door.promise;
        return order;
      },
    });
    for (const end of [{ maxSteps: 1 }, { stopWhen: () => true }] satisfies RunOptions[]) {
      const scene = open({ script: [askRefunds('a', 'b')], tools: { refund }, options: end });
      const { runId } = await scene.start();
      const again = 'stopWhen' in end ? end : {};
      const slow = scene.another().approveToolCallGenerate({ runId, toolCallId: 'call-0-0', ...again });
      await until(() => effects.includes('a'));
      const following = scene.another().approveToolCallGenerate({ runId, toolCallId: 'call-0-1' });
      await until(() => effects.includes('b'));
      door.resolve();
      const [first, second] = await Promise.all([slow, following]);
      expect([first.finishReason, first.text]).toEqual([second.finishReason, second.text]);
      expect(second.text).toBe('');
      effects.splice(0);
      door = Promise.withResolvers();
    }
  },
);

inBothFaces(
  'scenario: K13',
  'waitUntil and abortSignal of the agent’s defaults count in every leg',
  async (open) => {
    const works: Promise<void>[] = [];
    const controller = new AbortController();
    const scene = open({
      script: [askRefunds('a'), askRefunds('b')],
      tools: kinds[0]!.tools([], true),
      agent: {
        defaultOptions: { waitUntil: (work) => void works.push(work), abortSignal: controller.signal },
      },
    });
    const { runId } = await scene.start();
    expect((await scene.approve(runId)).finishReason).toBe('suspended');
    expect(works).toHaveLength(2);
    await Promise.all(works);
    controller.abort();
    expect((await scene.start()).finishReason).toBe('cancelled');
  },
);
