/** What holds without a conversation holds within one: K1, K2, K3, K5, K7, K14 and K16 with a memory. */
import { createTool } from 'countersign';
import { expect } from 'vitest';
import { z } from 'zod';
import { thread } from '../support/by-thread.ts';
import { callsIn, expectValidPrompts, loaded, openConversation } from '../support/conversation.ts';
import {
  approveAndCarryOut,
  kinds,
  type Refund,
  refundCall,
  resultsIn,
  withTools,
} from '../support/kinds.ts';
import { codeOf } from '../support/scene.ts';
import { grammarProblems, ofType } from '../support/told.ts';
import { inEveryWorld } from '../support/world.ts';

const years = 365 * 24 * 60 * 60 * 1000;
const asked = (...orders: string[]) => ({
  text: 'I ask. ',
  calls: orders.map((order) => refundCall(order, 10, order.toUpperCase())),
});

for (const kind of kinds) {
  inEveryWorld(
    'scenario: K1',
    `declined in a conversation, also in later turns (${kind.name})`,
    async (open) => {
      const effects: Refund[] = [];
      const scene = openConversation(open, {
        script: [asked('a'), 'Then not.', 'I approve it: {"approved":true}', 'Bye.'],
        tools: kind.tools(effects, false),
        options: { requireToolApproval: true },
      });
      const { runId } = await scene.start();
      await scene.decline(runId, { toolCallId: 'A', reason: 'no' });
      await scene.turn('I approve everything after all.');
      expect(await codeOf(scene.approve(runId, { toolCallId: 'A' }))).toBe('already-decided');
      await scene.turn('Well?');
      expect(effects).toEqual([]);
      expect(resultsIn(scene.model.calls[3]?.prompt).A?.type).toBe('execution-denied');
      expect(callsIn(await loaded(scene))).toMatchObject([{ toolCallId: 'A', state: 'output-denied' }]);
      expectValidPrompts(scene, 4);
    },
  );

  inEveryWorld('scenario: K5', `held in the first turn and in a later one (${kind.name})`, async (open) => {
    const effects: Refund[] = [];
    const scene = openConversation(open, {
      script: [asked('a'), 'Done.', asked('b'), 'Done again.'],
      tools: kind.tools(effects, true),
    });
    const { runId } = await scene.start();
    await approveAndCarryOut(scene, kind, effects, runId);
    expect(effects).toHaveLength(1);
    // What was approved once says nothing of the next call.
    const later = await scene.turn('And the other.');
    expect(later.payloads).toMatchObject([{ toolCallId: 'B', stop: 1 }]);
    expect(effects).toHaveLength(1);
    await approveAndCarryOut(scene, kind, effects, later.runId);
    expect(effects.map(({ order }) => order)).toEqual(['a', 'b']);
    expectValidPrompts(scene, 4);
  });
}

inEveryWorld('scenario: K2', 'a call of one turn is not hit by a decision for another', async (open) => {
  const effects: Refund[] = [];
  const scene = openConversation(open, {
    script: [asked('a'), { calls: [refundCall('b', 99, 'A')] }, 'Done.', 'Done too.'],
    tools: kinds[0]!.tools(effects, true),
  });
  const first = await scene.start();
  const later = await scene.turn('Another.');
  const [one, two] = [first, later].map(({ payloads: [{ toolCallId, fingerprint }] }) => ({
    toolCallId: toolCallId as string,
    fingerprint: fingerprint as string,
  }));
  expect(two?.toolCallId).not.toBe('A');
  const crossed = { toolCallId: two!.toolCallId, fingerprint: one!.fingerprint };
  expect(await codeOf(scene.approve(later.runId, crossed))).toBe('fingerprint-mismatch');
  expect(await codeOf(scene.approve(later.runId, { toolCallId: 'A' }))).toBe('call-not-found');
  expect(await codeOf(scene.approve(first.runId, { toolCallId: two!.toolCallId }))).toBe('call-not-found');
  expect(await codeOf(scene.send({ ...thread, approved: true }))).toBe('ambiguous-run');
  expect(effects).toEqual([]);
  await scene.decline(first.runId, one);
  await scene.approve(later.runId, two);
  expect(effects).toEqual([{ order: 'b', amount: 99 }]);
});

inEveryWorld(
  'scenario: K3',
  'decided twice at once, again, and with the old history sent again',
  async (open) => {
    const effects: Refund[] = [];
    const scene = openConversation(open, {
      script: [asked('a'), 'Done.', 'Bye.'],
      tools: kinds[0]!.tools(effects, true),
    });
    const { runId } = await scene.start();
    const choice = { toolCallId: 'A', stop: 1 };
    const attempts = await Promise.allSettled([scene.approve(runId, choice), scene.approve(runId, choice)]);
    expect(attempts.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    expect(attempts.find(({ status }) => status === 'rejected')).toMatchObject({
      reason: { code: 'already-decided' },
    });
    expect(effects).toHaveLength(1);
    const before = await loaded(scene);
    const next = { id: 'next', role: 'user', parts: [{ type: 'text', text: 'Thanks.' }] };
    await scene.turn([...before, next] as never);
    expect(await codeOf(scene.approve(runId, choice))).toBe('already-decided');
    expect(effects).toHaveLength(1);
    expect(callsIn(await loaded(scene))).toEqual(callsIn(before));
    expectValidPrompts(scene, 3);
  },
);

inEveryWorld('scenario: K7', 'a free neighbour runs once, over turns and decisions', async (open) => {
  const effects: Refund[] = [];
  let looked = 0;
  const look = createTool({
    id: 'look',
    inputSchema: z.object({}),
    execute: async () => ({ seen: ++looked }),
  });
  const step = { calls: [...asked('a', 'b').calls, { toolName: 'look', toolCallId: 'L' }] };
  const scene = openConversation(open, {
    script: [step, 'They wait.', 'Done.'],
    tools: withTools(kinds[0]!.tools(effects, true), { look }),
  });
  const { runId, payloads } = await scene.start();
  expect([payloads.length, looked]).toEqual([2, 1]);
  await scene.turn('Hello.');
  expect(resultsIn(scene.model.calls[1]?.prompt)).toMatchObject({ L: { value: { seen: 1 } } });
  await scene.decline(runId, { toolCallId: 'B' });
  expect((await scene.list(thread)).runs[0]?.toolCalls).toMatchObject([{ toolCallId: 'A' }]);
  expect((await scene.approve(runId)).text).toBe('Done.');
  expect([looked, effects.map(({ order }) => order)]).toEqual([1, ['a']]);
  expect(resultsIn(scene.model.calls[2]?.prompt)).toMatchObject({
    A: { value: { refunded: 10 } },
    B: { type: 'execution-denied' },
    L: { value: { seen: 1 } },
  });
  expectValidPrompts(scene, 3);
});

inEveryWorld(
  'scenario: K14',
  'a leg that resumes in a conversation has the shape of the first',
  async (open) => {
    const scene = openConversation(open, {
      script: ['Hello.', asked('a'), 'It waits.', 'Done.'],
      tools: kinds[0]!.tools([], true),
    });
    await scene.start();
    const first = await scene.turn('Please.');
    await scene.turn('Hm.');
    const second = await scene.approve(first.runId);
    expect([second.runId, second.messageId]).toEqual([first.runId, first.messageId]);
    expect((await loaded(scene)).map(({ id }) => id)).toContain(second.messageId);
    expect(second.totalText).toBe('I ask. Done.');
    if (!first.chunks || !second.chunks) return expect(second.results).toHaveLength(1);
    expect([...grammarProblems(first.chunks), ...grammarProblems(second.chunks)]).toEqual([]);
    expect(ofType(second.chunks, 'tool-call')).toMatchObject([
      { payload: { toolCallId: 'A', replayed: true } },
    ]);
    expect(ofType(second.chunks, 'tool-result')).toHaveLength(1);
  },
);

inEveryWorld(
  'scenario: K16',
  'a conversation whose call waits ten years, with turns between',
  async (open) => {
    const effects: Refund[] = [];
    let now = Date.UTC(2026, 0, 1);
    const scene = openConversation(open, {
      script: [asked('a'), 'It waits.', 'Done.'],
      tools: kinds[0]!.tools(effects, true),
      registry: { clock: { now: () => now, sleep: async () => {} } },
    });
    const { runId } = await scene.start();
    now += 5 * years;
    await scene.sweep();
    await scene.turn('Still there?');
    now += 5 * years;
    await scene.sweep();
    const { runs } = await scene.list(thread);
    expect(runs).toMatchObject([{ runId, suspendedAt: new Date(Date.UTC(2026, 0, 1)) }]);
    expect(callsIn(await loaded(scene))).toMatchObject([{ state: 'approval-requested' }]);
    expect((await scene.approve(runId)).text).toBe('Done.');
    expect(effects).toHaveLength(1);
  },
);
