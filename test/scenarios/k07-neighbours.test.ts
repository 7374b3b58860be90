/** K7: the neighbours of a held call are not lost, not blocked and not asked about. */

import { createTool, type Store } from 'countersign';
import { storeAround } from 'countersign/testing';
import { expect } from 'vitest';
import { z } from 'zod';
import {
  approveAndCarryOut,
  kinds,
  type Refund,
  refundCall,
  resultsIn,
  withTools,
} from '../support/kinds.ts';
import { codeOf } from '../support/scene.ts';
import { ofType, readStream } from '../support/told.ts';
import { inEveryWorld, inOneWorld } from '../support/world.ts';

/** A free tool that does what the test says. */
function freeTool(id: string, execute: () => unknown) {
  return createTool({ id, inputSchema: z.object({}), execute: async () => (await execute()) as object });
}

const callOf = (toolName: string, toolCallId = toolName) => ({ toolName, toolCallId });

for (const kind of kinds) {
  inEveryWorld(
    'scenario: K7',
    `a free neighbour runs once, at once, and its result survives (${kind.name})`,
    async (open) => {
      const effects: Refund[] = [];
      let looked = 0;
      const look = freeTool('look', () => ({ seen: ++looked }));
      const scene = open({
        script: [
          { calls: [callOf('look', 'before'), refundCall('a', 1, 'held'), callOf('look', 'after')] },
          'Done.',
        ],
        tools: withTools(kind.tools(effects, true), { look }),
      });
      const started = await scene.start();
      expect(looked).toBe(2);
      expect(started.results).toMatchObject([
        { toolCallId: 'before', result: { seen: 1 } },
        { toolCallId: 'after', result: { seen: 2 } },
      ]);
      expect(started.payloads.map(({ toolCallId }) => toolCallId)).toEqual(['held']);
      expect((await scene.list()).runs[0]?.toolCalls.map(({ toolCallId }) => toolCallId)).toEqual(['held']);
      for (const free of ['before', 'after']) {
        expect(await codeOf(scene.approve(started.runId, { toolCallId: free }))).toBe('call-not-waiting');
        expect(await codeOf(scene.decline(started.runId, { toolCallId: free }))).toBe('call-not-waiting');
      }
      const told = await approveAndCarryOut(scene, kind, effects, started.runId);
      expect(told.text).toBe('Done.');
      expect(looked).toBe(2);
      const results = resultsIn(scene.model.calls[1]?.prompt);
      expect(Object.keys(results)).toEqual(['before', 'held', 'after']);
      expect(results.before?.value).toEqual({ seen: 1 });
      expect(results.after?.value).toEqual({ seen: 2 });
    },
  );
}

inEveryWorld('scenario: K7', 'declining one cancels no other', async (open) => {
  const effects: Refund[] = [];
  const look = freeTool('look', () => 'seen');
  const scene = open({
    script: [{ calls: [refundCall('a', 1, 'A'), callOf('look'), refundCall('b', 1, 'B')] }, 'Done.'],
    tools: { ...(kinds[0]!.tools(effects, true) as object), look },
  });
  const { runId } = await scene.start();
  const told = await scene.decline(runId, { toolCallId: 'A' });
  expect(told.payloads.map(({ toolCallId }) => toolCallId)).toEqual(['B']);
  await scene.approve(runId, { toolCallId: 'B' });
  expect(effects.map(({ order }) => order)).toEqual(['b']);
  const results = resultsIn(scene.model.calls[1]?.prompt);
  expect(results.look).toEqual({ type: 'text', value: 'seen' });
  expect(results.A?.type).toBe('execution-denied');
});

inEveryWorld('scenario: K7', 'free neighbours run at the same time, beside what is held', async (open) => {
  const effects: Refund[] = [];
  const [one, other] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const scene = open({
    script: [{ calls: [callOf('one'), refundCall('a'), callOf('other')] }, 'Done.'],
    tools: {
      ...(kinds[0]!.tools(effects, true) as object),
      // Each ends only when the other has begun.
      one: freeTool('one', async () => {
        one.resolve();
        await other.promise;
        return 'one';
      }),
      other: freeTool('other', async () => {
        other.resolve();
        await one.promise;
        return 'other';
      }),
    },
  });
  const { runId, results } = await scene.start();
  expect(results).toHaveLength(2);
  expect((await scene.approve(runId)).text).toBe('Done.');
});

inEveryWorld(
  'scenario: K7',
  'one at a time, a held call does not take the turn of a free one',
  async (open) => {
    const effects: Refund[] = [];
    const order: string[] = [];
    const scene = open({
      script: [{ calls: [refundCall('a'), callOf('one'), refundCall('b'), callOf('other')] }, 'Done.'],
      tools: {
        ...(kinds[0]!.tools(effects, true) as object),
        one: freeTool('one', () => order.push('one')),
        other: freeTool('other', () => order.push('other')),
      },
      options: { toolCallConcurrency: 1 },
    });
    const { runId } = await scene.start();
    expect(order).toEqual(['one', 'other']);
    await scene.approve(runId, { toolCallId: 'call-0-2' });
    expect((await scene.approve(runId)).text).toBe('Done.');
    expect(effects.map(({ order }) => order)).toEqual(['b', 'a']);
  },
);

inEveryWorld(
  'scenario: K7',
  'a neighbour that fails, one that is refused and one that suspends itself',
  async (open) => {
    const effects: Refund[] = [];
    let asked = 0;
    const ask = createTool({
      id: 'ask',
      inputSchema: z.object({}),
      resumeSchema: z.object({ answer: z.string() }),
      execute: async (_input, { agent }) => {
        asked++;
        if (!agent.resumeData) return void (await agent.suspend({ question: '?' }));
        return agent.resumeData;
      },
    });
    const scene = open({
      script: [
        { calls: [callOf('boom'), refundCall('a', 1, 'held'), callOf('unknown'), callOf('ask')] },
        'Done.',
      ],
      tools: {
        ...(kinds[0]!.tools(effects, true) as object),
        ask,
        boom: freeTool('boom', () => {
          throw new Error('it broke');
        }),
      },
    });
    const started = await scene.start();
    expect(started.payloads.map(({ toolCallId, stop }) => [toolCallId, stop])).toEqual([
      ['held', 1],
      ['ask', 1],
    ]);
    const { runId } = started;
    // Each verb finds the call that it can move.
    const approved = await scene.approve(runId);
    expect(approved.payloads.map(({ toolCallId }) => toolCallId)).toEqual(['ask']);
    const told = await scene.resume({ answer: 'yes' }, runId);
    expect(told.text).toBe('Done.');
    expect(effects).toHaveLength(1);
    expect(asked).toBe(2);
    const results = resultsIn(scene.model.calls[1]?.prompt);
    expect(Object.keys(results)).toEqual(['boom', 'held', 'unknown', 'ask']);
    expect(results.boom).toMatchObject({ type: 'error-text', value: 'it broke' });
    expect(results.unknown?.type).toBe('error-text');
    expect(results.ask?.value).toEqual({ answer: 'yes' });
  },
);

inOneWorld('scenario: K7', 'announced and decided while a slow neighbour still runs', async (open) => {
  const effects: Refund[] = [];
  const looks = Promise.withResolvers<void>();
  const scene = open({
    script: [{ calls: [callOf('look'), refundCall('a', 1, 'held')] }, 'Done.'],
    tools: {
      ...(kinds[0]!.tools(effects, true) as object),
      look: freeTool('look', async () => {
        await looks.promise;
        return 'seen';
      }),
    },
  });
  const stream = await scene.first.stream('Please do it.');
  const types: string[] = [];
  for await (const chunk of stream.fullStream) {
    types.push(chunk.type);
    if (chunk.type !== 'tool-call-approval') continue;
    // Another process, too, can see it: it was stored before it was announced.
    const listed = await scene.another().listSuspendedRuns();
    expect(listed.runs[0]?.toolCalls.map(({ toolCallId }) => toolCallId)).toEqual(['held']);
    const approved = await scene.first.approveToolCall({ runId: stream.runId, toolCallId: 'held' });
    const first = approved.fullStream.getReader();
    expect((await first.read()).value?.type).toBe('start');
    looks.resolve();
    const told = await readStream(approved);
    expect(told.text).toBe('Done.');
    expect(told.results.map(({ toolCallId }) => toolCallId).toSorted()).toEqual(['held', 'look']);
    expect(ofType(told.chunks, 'tool-call').map(({ payload }) => payload.replayed)).toEqual([true, true]);
  }
  expect(types).not.toContain('tool-result');
  expect(await stream.finishReason).toBe('suspended');
  expect(effects).toHaveLength(1);
});

inEveryWorld('scenario: K7', 'nothing of the step runs when the pause cannot be stored', async (open) => {
  const effects: Refund[] = [];
  let looked = 0;
  const broken = (store: Store): Store =>
    storeAround(store, { create: () => Promise.reject(new Error('disk full')) });
  const scene = open({
    script: [{ calls: [callOf('look'), refundCall('a')] }, 'Done.'],
    tools: { ...(kinds[0]!.tools(effects, true) as object), look: freeTool('look', () => ++looked) },
    around: broken,
    // The store is tried again; the clock of the test does not wait.
    registry: { clock: { now: () => Date.now(), sleep: async () => {} } },
  });
  const failed = scene.start();
  if (scene.world.face === 'generate') {
    expect(await codeOf(failed)).toBe('store-failed');
  } else {
    const told = await failed;
    expect(told.finishReason).toBe('error');
    expect(told.error?.code).toBe('store-failed');
    const types = told.chunks?.map(({ type }) => type) ?? [];
    expect(types).not.toContain('tool-call-approval');
  }
  expect(looked).toBe(0);
  expect(effects).toEqual([]);
});
