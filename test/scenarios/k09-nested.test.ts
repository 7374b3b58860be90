/** K9: what waits in a sub-agent, at any depth, surfaces at the top and is decided there, or where it waits. */
import type { PathStep } from 'countersign';
import { expect } from 'vitest';
import { codeOf } from '../support/scene.ts';
import { call, chain, delegate, teamPlan } from '../support/team.ts';
import { grammarProblems, ofType } from '../support/told.ts';
import { inEveryWorld } from '../support/world.ts';

/** The id at the top of a call that the last of a chain asks for, and the way to it. */
function placeIn(depth: number, inner: string): { id: string; path: PathStep[] } {
  const ids = Array.from({ length: depth }, (_, index) => `to-level${index + 1}`);
  return {
    id: [...ids, inner].join('~'),
    path: ids.map((toolCallId, index) => ({ agentId: `level${index + 1}`, toolCallId })),
  };
}

for (const depth of [1, 2, 3]) {
  inEveryWorld('scenario: K9', `depth ${depth}: held, approved at the top`, async (open) => {
    const { effects, plan, model } = teamPlan([delegate('level1')], chain(depth, [call('act', 'it')]));
    const scene = open(plan);
    const started = await scene.start();
    const { id, path } = placeIn(depth, 'act-it');
    expect(started.finishReason).toBe('suspended');
    const waiting = { toolCallId: id, toolName: 'act', args: { name: 'it' }, path, stop: 1 };
    expect(started.payloads).toMatchObject([waiting]);
    if (started.chunks) {
      expect(grammarProblems(started.chunks)).toEqual([]);
      expect(ofType(started.chunks, 'tool-call-approval').map(({ payload }) => payload)).toMatchObject([
        waiting,
      ]);
    }
    const { runs } = await scene.list();
    expect(runs).toMatchObject([
      { runId: started.runId, toolCalls: [{ ...waiting, requiresApproval: true }] },
    ]);
    expect(await codeOf(scene.approve(started.runId, { toolCallId: 'act-it' }))).toBe('call-not-found');
    expect(effects.executed).toEqual([]);

    const approved = await scene.approve(started.runId, { toolCallId: id });
    expect(approved.text).toBe('supervisor is done.');
    expect(approved.finishReason).toBe('stop');
    if (approved.chunks) expect(grammarProblems(approved.chunks)).toEqual([]);
    expect(effects.executed).toEqual(['act it']);
    expect(model.calls).toHaveLength(2);
    for (const below of effects.models.values()) expect(below.calls).toHaveLength(2);
    expect((await scene.list({ status: 'all' })).runs).toEqual([]);
  });

  inEveryWorld('scenario: K9', `depth ${depth}: declined with its reason`, async (open) => {
    const { effects, plan } = teamPlan([delegate('level1')], chain(depth, [call('act', 'it')]));
    const scene = open(plan);
    const { runId } = await scene.start();
    const declined = await scene.decline(runId, { reason: 'Not today.' });
    expect(declined.text).toBe('supervisor is done.');
    expect(effects.executed).toEqual([]);
    const prompt = JSON.stringify(effects.models.get(`level${depth}`)?.calls.at(-1)?.prompt);
    expect(prompt).toContain('Not today.');
    expect(await codeOf(scene.approve(runId, { toolCallId: placeIn(depth, 'act-it').id }))).toBe(
      'already-decided',
    );
  });

  inEveryWorld('scenario: K9', `depth ${depth}: suspended, resumed with data`, async (open) => {
    const { effects, plan } = teamPlan([delegate('level1')], chain(depth, [call('ask', 'where')]));
    const scene = open(plan);
    const started = await scene.start();
    const { id, path } = placeIn(depth, 'ask-where');
    expect(started.payloads).toMatchObject([
      { toolCallId: id, toolName: 'ask', path, suspendPayload: { question: 'where?' } },
    ]);
    expect(await codeOf(scene.resume({ wrong: 1 }, started.runId))).toBe('invalid-resume-data');
    expect(await codeOf(scene.approve(started.runId))).toBe('needs-data');
    const resumed = await scene.resume({ answer: 'here' }, started.runId);
    expect(resumed.text).toBe('supervisor is done.');
    expect(effects.executed).toEqual(['ask where here']);
  });
}

inEveryWorld('scenario: K9', 'addressed below: the run of the sub-agent, by its own agent', async (open) => {
  const { effects, plan, model } = teamPlan([delegate('level1')], chain(2, [call('act', 'it')]));
  const scene = open(plan);
  const { runId } = await scene.start();
  const below = scene.memberOf('level2');
  const childId = `${runId}~to-level1~to-level2`;
  expect(await codeOf(below.approveToolCall({ runId, toolCallId: 'act-it' }))).toBe('run-not-found');
  expect(await codeOf(scene.memberOf('level1').approveToolCall({ runId: childId }))).toBe('run-not-found');
  const leg = await below.approveToolCall({ runId: childId, toolCallId: 'act-it' });
  expect(await leg.text).toBe('level2 is done.');
  expect(await leg.finishReason).toBe('stop');
  const { text, finishReason } = await scene.observe({ runId });
  expect(finishReason).toBe('stop');
  expect(text).toContain('supervisor is done.');
  expect(effects.executed).toEqual(['act it']);
  expect(model.calls).toHaveLength(2);
  expect(await codeOf(below.approveToolCall({ runId: childId, toolCallId: 'act-it' }))).toBe(
    'already-decided',
  );
});

inEveryWorld(
  'scenario: K6',
  'two sub-agents and the same one twice, decided in mixed order',
  async (open) => {
    const calls = [delegate('one'), delegate('two'), delegate('one', 'Again.', 'to-one-again')];
    const { effects, plan, model } = teamPlan(calls, {
      one: { calls: [call('act', 'a'), call('look', 'b')] },
      two: { calls: [call('act', 'c'), call('act', 'd')] },
    });
    const scene = open(plan);
    const started = await scene.start();
    const { runId } = started;
    const ids = ['to-one~act-a', 'to-two~act-c', 'to-two~act-d', 'to-one-again~act-a'];
    expect(started.payloads.map(({ toolCallId }) => toolCallId)).toEqual(ids);
    const listed = (await scene.list()).runs[0]?.toolCalls.map(({ toolCallId }) => toolCallId);
    expect(listed?.toSorted()).toEqual(ids.toSorted());
    expect(effects.executed).toEqual(['look b', 'look b']);
    await scene.approve(runId, { toolCallId: 'to-one-again~act-a' });
    await scene.decline(runId, { toolCallId: 'to-two~act-d' });
    const third = await scene.approve(runId, { toolCallId: 'to-one~act-a' });
    expect(third.finishReason).toBe('suspended');
    expect(model.calls).toHaveLength(1);
    const last = await scene.approve(runId, { toolCallId: 'to-two~act-c' });
    expect(last.text).toBe('supervisor is done.');
    expect(effects.executed.filter((one) => one.startsWith('act')).sort()).toEqual([
      'act a',
      'act a',
      'act c',
    ]);
    expect(model.calls).toHaveLength(2);
  },
);

inEveryWorld('scenario: K17', 'cancelled at the top: all below it ends', async (open) => {
  const { effects, plan } = teamPlan([delegate('level1')], chain(3, [call('act', 'it')]));
  const scene = open(plan);
  const { runId } = await scene.start();
  expect(await scene.cancel({ runId, reason: 'Enough.' })).toEqual({ runId, status: 'cancelled' });
  expect(await codeOf(scene.approve(runId))).toBe('run-ended');
  expect((await scene.list({ status: 'all' })).runs).toEqual([]);
  expect(effects.executed).toEqual([]);
});

inEveryWorld('scenario: K17', 'cancelled below: the supervisor is told, and goes on', async (open) => {
  const { effects, plan, model } = teamPlan([delegate('level1')], chain(1, [call('act', 'it')]));
  const scene = open(plan);
  const { runId } = await scene.start();
  const cancelled = await scene.memberOf('level1').cancelRun({ runId: `${runId}~to-level1` });
  expect(cancelled.status).toBe('cancelled');
  expect((await scene.observe({ runId })).finishReason).toBe('stop');
  expect(JSON.stringify(model.calls.at(-1)?.prompt)).toContain('cancelled');
  expect(effects.executed).toEqual([]);
});
