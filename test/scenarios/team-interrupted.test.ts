/** K3, K8 and K9 where a worker dies, or the code is elsewhere: only what it ran itself must be seen to. */
import { type AgentConfig, createTool } from 'countersign';
import { expect } from 'vitest';
import { z } from 'zod';
import { mortalAgent } from '../support/interrupted.ts';
import { codeOf } from '../support/scene.ts';
import {
  call,
  delegate,
  type Member,
  membersOf,
  modelOf,
  type TeamEffects,
  teamPlan,
} from '../support/team.ts';
import { inEveryWorld, type Open, type World } from '../support/world.ts';

const coldOnly = ({ temperature }: World): string | undefined =>
  temperature === 'cold' ? undefined : 'a new process comes after the one that died';
const top = 'to-one~act-a';

/** `act`, in which the process dies when its effect has happened. */
function deadlyTools({ executed }: TeamEffects, die: () => void): AgentConfig['tools'] {
  return {
    act: createTool({
      id: 'act',
      inputSchema: z.object({ name: z.string() }),
      requireApproval: true,
      execute: async ({ name }) => {
        executed.push(`act ${name}`);
        die();
        return new Promise<never>(() => {});
      },
    }),
  };
}

const members: Record<string, Member> = {
  one: { calls: [call('act', 'a')] },
  two: { calls: [call('act', 'b')] },
};

inEveryWorld(
  'scenario: K9',
  'a call below is interrupted, and resolved at the top or by its own agent',
  async (open) => {
    for (const place of ['top', 'below'] as const) {
      const { effects, plan, model } = teamPlan([delegate('one'), delegate('two')], members);
      const scene = open(plan);
      const { runId } = await scene.start();
      const { agent, died, bury } = mortalAgent(
        scene,
        () => ({}),
        (die) => deadlyMembers(effects, die),
      );
      await agent.approveToolCall({ runId, toolCallId: top });
      await died;
      await bury();
      const { runs } = await scene.list({ status: 'interrupted' });
      expect(runs[0]?.toolCalls).toMatchObject([
        { toolCallId: top, state: 'interrupted', stop: 2, path: [{ agentId: 'one', toolCallId: 'to-one' }] },
      ]);
      // The other sub-agent waits as before.
      expect((await scene.list()).runs[0]?.toolCalls).toMatchObject([
        { toolCallId: 'to-two~act-b', stop: 1 },
      ]);
      expect(await codeOf(scene.approve(runId, { toolCallId: top }))).toBe('call-interrupted');
      if (place === 'top') {
        await scene.resolveCall(runId, top, { output: { did: 'a' } });
      } else {
        const below = scene.memberOf('one');
        const leg = await below.resolveInterruptedCallGenerate({
          runId: `${runId}~to-one`,
          toolCallId: 'act-a',
          runAgain: true,
        });
        expect(leg.text).toBe('one is done.');
      }
      expect(effects.executed).toEqual(place === 'top' ? ['act a'] : ['act a', 'act a']);
      const told = await scene.approve(runId, { toolCallId: 'to-two~act-b' });
      expect(told.text).toBe('supervisor is done.');
      expect(effects.executed.at(-1)).toBe('act b');
      expect(model.calls).toHaveLength(2);
      for (const key of ['one', 'two']) expect(modelOf(effects, key).calls).toHaveLength(2);
      expect((await scene.list({ status: 'all' })).runs).toEqual([]);
    }
  },
  coldOnly,
);

function deadlyMembers(effects: TeamEffects, die: () => void) {
  const { one, two } = members as { one: Member; two: Member };
  return membersOf(effects, { one: { ...one, config: { tools: deadlyTools(effects, die) } }, two });
}

inEveryWorld(
  'scenario: K3',
  'decideToolCall with the id of a run below drives the root, and decides once',
  async (open) => {
    const { effects, plan } = teamPlan([delegate('one')], { one: { calls: [call('act', 'a')] } });
    const scene = open(plan);
    const { runId } = await scene.start();
    const on = { verdict: 'approve', runId: `${runId}~to-one`, toolCallId: 'act-a' } as const;
    const registry = scene.registry();
    expect(await registry.decideToolCall(on)).toEqual({
      accepted: true,
      runId: on.runId,
      toolCallId: 'act-a',
      driven: true,
    });
    expect(await codeOf(registry.decideToolCall(on))).toBe('already-decided');
    await registry.stop();
    expect(effects.executed).toEqual(['act a']);
    expect((await scene.store.load(runId, 0))?.kind).toBe('ended');
    expect(await codeOf(registry.decideToolCall(on))).toBe('already-decided');
  },
);

inEveryWorld(
  'scenario: K8',
  'decided where no agent is: stored under the qualified id or below, and driven elsewhere',
  async (open) => {
    const { effects, plan } = teamPlan([delegate('one'), delegate('two')], members);
    const scene = open(plan);
    const { runId } = await scene.start();
    const front = scene.registry({ agents: {} });
    const first = { verdict: 'approve', runId, toolCallId: top } as const;
    expect(await front.decideToolCall(first)).toMatchObject({ driven: false });
    const second = { verdict: 'decline', runId: `${runId}~to-two`, toolCallId: 'act-b' } as const;
    expect(await front.decideToolCall(second)).toMatchObject({ driven: false });
    await front.stop();
    const told = await scene.observe({ runId });
    expect(told.text).toContain('supervisor is done.');
    expect(effects.executed).toEqual(['act a']);
  },
);

inEveryWorld(
  'scenario: K8',
  'a sub-agent is here and its supervisor is not: accepted, and driven where that is',
  async (open) => {
    const { effects, plan } = teamPlan([delegate('one')], {
      one: { calls: [call('act', 'a'), call('ask', 'b')] },
    });
    const scene = open(plan);
    const { runId } = await scene.start();
    const [one] = Object.values(membersOf(effects, { one: { calls: [] } }));
    const registry = scene.registry({ agents: { one } as never });
    const on = { runId: `${runId}~to-one` };
    const below = registry.getAgent('one');
    expect(await codeOf(below.resumeStream({ answer: 'x' }, { ...on, toolCallId: 'ask-b' }))).toBe(
      'agent-missing',
    );
    const leg = await below.approveToolCall({ ...on, toolCallId: 'act-a' });
    expect(effects.executed).toEqual([]);
    await scene.sweep();
    expect(await leg.finishReason).toBe('suspended');
    expect(effects.executed).toEqual(['act a']);
    expect((await scene.resume({ answer: 'y' }, runId)).text).toBe('supervisor is done.');
  },
);

inEveryWorld(
  'scenario: K8',
  'nobody supplies what the root needs: it is stalled, also where a run below could go on',
  async (open) => {
    const { effects, plan } = teamPlan([delegate('one')], { one: { calls: [call('act', 'a')] } });
    const scene = open(plan);
    const hooks = { beforeToolCall: () => {} };
    const { runId } = await scene.start({ hooks });
    const front = scene.registry({ agents: {} });
    await front.decideToolCall({ verdict: 'approve', runId, toolCallId: top });
    await front.stop();
    for (let sweeps = 0; sweeps < 2; sweeps++) {
      await scene.sweep();
      expect((await scene.list({ status: 'stalled' })).runs).toMatchObject([{ runId }]);
      expect((await scene.list({ status: 'running' })).runs).toEqual([]);
    }
    expect(effects.executed).toEqual([]);
    expect(await codeOf(scene.continueRun(runId))).toBe('option-missing');
    expect((await scene.continueRun(runId, { hooks })).text).toBe('supervisor is done.');
    expect(effects.executed).toEqual(['act a']);
  },
  coldOnly,
);

/** A root that is stalled for want of its hooks, above one call that was approved and one that waits. */
async function stalledAbove(open: Open) {
  const { effects, plan } = teamPlan([delegate('one'), delegate('two')], {
    one: { calls: [call('act', 'a')] },
    two: { calls: [call('act', 'b')] },
  });
  const scene = open(plan);
  const hooks = { beforeToolCall: () => {} };
  const { runId } = await scene.start({ hooks });
  const front = scene.registry({ agents: {} });
  await front.decideToolCall({ verdict: 'approve', runId, toolCallId: top });
  await front.stop();
  await scene.sweep();
  return { effects, scene, runId, one: `${runId}~to-one`, two: `${runId}~to-two`, hooks };
}

inEveryWorld(
  'scenario: K9',
  'below a stalled root a leg ends, and continueRun there moves both on',
  async (open) => {
    const { effects, scene, runId, one, hooks } = await stalledAbove(open);
    const observed = await scene.memberOf('one').observe({ runId: one });
    expect((await observed.error)?.code).toBe('run-stalled');
    const { text } = await scene.memberOf('one').continueRunGenerate({ runId: one, hooks });
    expect(text).toBe('one is done.');
    expect((await scene.approve(runId, { hooks })).text).toBe('supervisor is done.');
    expect(effects.executed).toEqual(['act a', 'act b']);
  },
  coldOnly,
);

inEveryWorld(
  'scenario: K9',
  'a decision below a stalled root that brings what it lacks moves both on',
  async (open) => {
    const { effects, scene, runId, two, hooks } = await stalledAbove(open);
    const decision = { runId: two, toolCallId: 'act-b', hooks };
    expect((await scene.memberOf('two').approveToolCallGenerate(decision)).text).toBe('two is done.');
    if ((await scene.store.load(runId, 0))?.kind === 'open') await scene.observe({ runId });
    expect(effects.executed.toSorted()).toEqual(['act a', 'act b']);
  },
  coldOnly,
);
