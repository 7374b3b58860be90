/** K13: an answer that is to be an object is asked for, and read, in every leg as in the first. */
import { createTool, type DecisionOptions, type LegOptions, type RunOptions } from 'countersign';
import { expect } from 'vitest';
import { z } from 'zod';
import { until } from '../../src/core/test-support/parts.ts';
import { askRefunds, kinds, type Refund } from '../support/kinds.ts';
import { codeOf, errorOf, type Scene } from '../support/scene.ts';
import { inBothFaces, inEveryWorld, inOneWorld } from '../support/world.ts';

const schema = z.object({ refunded: z.number(), note: z.string().transform((text) => text.toUpperCase()) });
const structuredOutput = { schema };
const answer = '{"refunded":10,"note":"sent"}';
const responseFormat = {
  type: 'json',
  schema: {
    type: 'object',
    properties: { refunded: { type: 'number' }, note: { type: 'string' } },
    required: ['refunded', 'note'],
    additionalProperties: false,
  },
};

/** What a leg ends with, in both faces. */
async function begin(scene: Scene, options: RunOptions): Promise<{ runId: string; object: unknown }> {
  if (scene.world.face === 'generate') {
    const { runId, object } = await scene.first.generate('Please.', options);
    return { runId, object };
  }
  const stream = await scene.first.stream('Please.', options);
  return { runId: stream.runId, object: await stream.object };
}

async function approve(scene: Scene, runId: string, more: LegOptions = {}): Promise<unknown> {
  const given: DecisionOptions = { ...more, runId };
  const agent = scene.decider();
  if (scene.world.face === 'generate') return (await agent.approveToolCallGenerate(given)).object;
  return (await agent.approveToolCall(given)).object;
}

inEveryWorld('scenario: K13', 'an object, with the schema passed again', async (open) => {
  const effects: Refund[] = [];
  const scene = open({ script: [askRefunds('a'), answer], tools: kinds[0]!.tools(effects, true) });
  const { runId, object } = await begin(scene, { structuredOutput });
  expect(object).toBeUndefined();
  expect(await approve(scene, runId, { structuredOutput })).toEqual({ refunded: 10, note: 'SENT' });
  expect(effects).toHaveLength(1);
  expect(scene.model.calls).toHaveLength(2);
  for (const call of scene.model.calls) {
    expect(call.responseFormat).toMatchObject(responseFormat);
    expect(call.tools?.map(({ name }) => name)).toEqual(['refund']);
  }
});

inEveryWorld(
  'scenario: K13',
  'without the schema the stored one is asked for, and the JSON given',
  async (open) => {
    const scene = open({ script: [askRefunds('a'), answer], tools: kinds[0]!.tools([], true) });
    const { runId } = await begin(scene, { structuredOutput });
    expect(await approve(scene, runId)).toEqual({ refunded: 10, note: 'sent' });
    expect(scene.model.calls[1]?.responseFormat).toEqual(scene.model.calls[0]?.responseFormat);
  },
);

inEveryWorld(
  'scenario: K13',
  'the schema of the agent’s defaults is code, and never missing',
  async (open) => {
    const scene = open({
      script: [askRefunds('a'), answer],
      tools: kinds[0]!.tools([], true),
      agent: { defaultOptions: { structuredOutput } },
    });
    const { runId } = await begin(scene, {});
    expect(await approve(scene, runId)).toEqual({ refunded: 10, note: 'SENT' });
  },
);

inEveryWorld('scenario: K13', 'a leg may ask for another object', async (open) => {
  const scene = open({ script: [askRefunds('a'), '{"other":1}'], tools: kinds[0]!.tools([], true) });
  const { runId } = await begin(scene, { structuredOutput });
  const other = { schema: z.object({ other: z.number() }) };
  expect(await approve(scene, runId, { structuredOutput: other })).toEqual({ other: 1 });
  expect(scene.model.calls[1]?.responseFormat).toMatchObject({ schema: { required: ['other'] } });
});

inEveryWorld(
  'scenario: K13',
  'an answer that is no such object is an error, and the run has finished',
  async (open) => {
    for (const text of ['It is done.', '{"refunded":"10"}']) {
      const effects: Refund[] = [];
      const scene = open({ script: [askRefunds('a'), text], tools: kinds[0]!.tools(effects, true) });
      const { runId } = await begin(scene, { structuredOutput });
      const error = await errorOf(approve(scene, runId, { structuredOutput }));
      expect(error.code).toBe('invalid-object');
      expect(error.details).toMatchObject({
        runId,
        text,
        outcome: { status: 'finished', finishReason: 'stop' },
      });
      expect(effects).toHaveLength(1);
      expect((await scene.list({ status: 'all' })).total).toBe(0);
      const ended = await scene.decider().observe({ runId });
      expect([await ended.finishReason, await ended.text, await ended.object]).toEqual([
        'stop',
        text,
        undefined,
      ]);
    }
  },
);

inBothFaces(
  'scenario: K13',
  'an object in a run that never pauses, after calls and without',
  async (open) => {
    const look = createTool({ id: 'look', inputSchema: z.object({}), execute: async () => 'seen' });
    for (const script of [[answer], [{ calls: [{ toolName: 'look' }] }, answer]]) {
      const scene = open({ script, tools: { look } });
      expect((await begin(scene, { structuredOutput })).object).toEqual({ refunded: 10, note: 'SENT' });
      expect(scene.model.calls.at(-1)?.tools).toHaveLength(1);
    }
  },
);

inBothFaces(
  'scenario: K13',
  'no object where none was asked for, and none without an answer',
  async (open) => {
    const plain = open({ script: [answer] });
    expect((await begin(plain, {})).object).toBeUndefined();
    expect(plain.model.calls[0]?.responseFormat).toBeUndefined();
    const tools = kinds[0]!.tools([], false);
    const limited = open({ script: [askRefunds('a')], tools });
    expect((await begin(limited, { structuredOutput, maxSteps: 1 })).object).toBeUndefined();
    const stopped = open({ script: [askRefunds('a')], tools });
    expect((await begin(stopped, { structuredOutput, stopWhen: () => true })).object).toBeUndefined();
  },
);

inBothFaces('scenario: K13', 'the object of a leg that ends with an error is that error', async (open) => {
  const scene = open({ script: [{ error: new Error('overloaded') }] });
  expect(await codeOf(begin(scene, { structuredOutput, maxRetries: 0 }))).toBe('model-failed');
});

inBothFaces(
  'scenario: K13',
  'a decision that is repeated after the end reads the answer again',
  async (open) => {
    const scene = open({ script: [askRefunds('a'), answer], tools: kinds[0]!.tools([], true) });
    const { runId } = await begin(scene, { structuredOutput });
    const decision = { toolCallId: 'call-0-0', decisionId: 'click', structuredOutput };
    const first = await approve(scene, runId, decision);
    expect(await approve(scene, runId, decision)).toEqual(first);
  },
);

inOneWorld(
  'scenario: K13',
  'the object of a stream is read once, and text and chunks are there as ever',
  async (open) => {
    let checks = 0;
    const counting = z
      .object({})
      .loose()
      .refine(() => ++checks > 0);
    const scene = open({ script: [answer] });
    const stream = await scene.first.stream('Please.', { structuredOutput: { schema: counting } });
    expect(await stream.text).toBe(answer);
    expect(checks).toBe(0);
    expect(await stream.object).toBe(await stream.object);
    expect(checks).toBe(1);
  },
);

inOneWorld('scenario: K13', 'an observer is given the JSON of the stored schema', async (open) => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const scene = open({
    script: [askRefunds('a'), { text: answer, delayUntil: promise }],
    tools: kinds[0]!.tools([], true),
  });
  const { runId } = await begin(scene, { structuredOutput });
  const deciding = approve(scene, runId, { structuredOutput });
  await until(() => scene.model.calls.length === 2);
  const observed = await scene.another().observe({ runId });
  resolve();
  expect(await deciding).toEqual({ refunded: 10, note: 'SENT' });
  expect(await observed.object).toEqual({ refunded: 10, note: 'sent' });
});
