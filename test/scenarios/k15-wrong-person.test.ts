/** K15: in the name of another user or another conversation a run is not there, whatever is asked of it. */
import { expect } from 'vitest';
import { thread } from '../support/by-thread.ts';
import { loaded, openConversation } from '../support/conversation.ts';
import { approveAndCarryOut, askRefunds, kinds, type Refund } from '../support/kinds.ts';
import { codeOf, type Scene } from '../support/scene.ts';
import { call, delegate, teamPlan } from '../support/team.ts';
import { inEveryWorld } from '../support/world.ts';

const others = [
  { thread: thread.threadId, resource: 'somebody else' },
  { thread: 'another thread', resource: thread.resourceId },
  { resource: 'somebody else' },
] as const;

/** That others neither find nor move it. */
async function expectNotThere(scene: Scene, runId: string, toolCallId: string): Promise<void> {
  const [stranger, elsewhere, nameless] = others;
  const ofStranger = { memory: stranger, toolCallId };
  expect(await codeOf(scene.approve(runId, ofStranger))).toBe('run-not-found');
  expect(await codeOf(scene.decline(runId, { memory: elsewhere, toolCallId }))).toBe('run-not-found');
  const choice = { memory: nameless, toolCallId };
  expect(await codeOf(scene.resume({ approved: true }, runId, choice))).toBe('run-not-found');
  const ids = { threadId: thread.threadId, resourceId: 'somebody else' };
  expect(await codeOf(scene.send({ ...ids, approved: true, toolCallId }))).toBe('run-not-found');
  expect((await scene.list(ids)).runs).toEqual([]);
  expect((await scene.list(thread)).runs).toMatchObject([{ runId, toolCalls: [{ toolCallId }] }]);
}

for (const kind of kinds) {
  inEveryWorld('scenario: K15', `others do not find what waits (${kind.name})`, async (open) => {
    const effects: Refund[] = [];
    const scene = openConversation(open, {
      script: [askRefunds('a'), 'Done.'],
      tools: kind.tools(effects, true),
    });
    const { runId, payloads } = await scene.start();
    await expectNotThere(scene, runId, payloads[0]?.toolCallId);
    const [memory] = others;
    expect(await codeOf(scene.turn('Approve it.', { memory }))).toBe('thread-not-found');
    expect(await loaded(scene)).toHaveLength(2);
    expect(effects).toEqual([]);
    expect(scene.model.calls).toHaveLength(1);
    await approveAndCarryOut(scene, kind, effects, runId);
    expect(effects).toHaveLength(1);
  });
}

inEveryWorld('scenario: K15', 'others do not find what waits in a sub-agent', async (open) => {
  const { effects, plan } = teamPlan([delegate('one')], { one: { calls: [call('act', 'a')] } });
  const scene = openConversation(open, plan);
  const { runId } = await scene.start();
  await expectNotThere(scene, runId, 'to-one~act-a');
  expect(effects.executed).toEqual([]);
  expect((await scene.approve(runId, { toolCallId: 'to-one~act-a' })).finishReason).toBe('stop');
  expect(effects.executed).toHaveLength(1);
});

inEveryWorld('scenario: K15', 'others do not find what a tool of the caller waits for', async (open) => {
  const effects: Refund[] = [];
  const toolsets = { desk: kinds[0]!.tools(effects, true) as never };
  const scene = openConversation(open, {
    script: [askRefunds('a'), 'Done.'],
    tools: {},
    options: { toolsets },
  });
  const { runId, payloads } = await scene.start();
  await expectNotThere(scene, runId, payloads[0]?.toolCallId);
  expect(effects).toEqual([]);
  expect((await scene.approve(runId, { toolsets })).finishReason).toBe('stop');
  expect(effects).toHaveLength(1);
});
