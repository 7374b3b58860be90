/** K1, K2, K3 and K20 in a sub-agent: what a person says below, or at the top of it, is what happens, and once. */
import type { Agent } from 'countersign';
import { expect } from 'vitest';
import { resultsIn } from '../support/kinds.ts';
import { codeOf, errorOf } from '../support/scene.ts';
import { call, chain, delegate, type Member, modelOf, teamPlan } from '../support/team.ts';
import { ofType } from '../support/told.ts';
import { inBothFaces, inEveryWorld, inOneWorld } from '../support/world.ts';

const one: Record<string, Member> = { one: { calls: [call('act', 'a')] } };
const top = 'to-one~act-a';

inEveryWorld('scenario: K1', 'below: undecided and malformed decisions run nothing', async (open) => {
  const { effects, plan } = teamPlan([delegate('one')], one);
  const scene = open(plan);
  const { runId } = await scene.start();
  const below = scene.memberOf('one');
  for (const data of [undefined, null, 'true', 1, { approved: 'yes' }, { approved: true, more: 1 }]) {
    expect(await codeOf(scene.resume(data, runId, { toolCallId: top }))).toBe('needs-verdict');
    expect(await codeOf(below.resumeStream(data, { runId: `${runId}~to-one` }))).toBe('needs-verdict');
  }
  expect(effects.executed).toEqual([]);
  expect((await scene.list()).runs[0]?.toolCalls).toMatchObject([{ toolCallId: top, stop: 1 }]);
});

inEveryWorld('scenario: K1', 'below: declined by its own agent, it never executes', async (open) => {
  const { effects, plan, model } = teamPlan([delegate('one')], one);
  const scene = open(plan);
  const { runId } = await scene.start();
  const leg = await scene
    .memberOf('one')
    .declineToolCall({ runId: `${runId}~to-one`, toolCallId: 'act-a', reason: 'No.' });
  expect(await leg.text).toBe('one is done.');
  expect((await scene.observe({ runId })).text).toContain('supervisor is done.');
  expect(await codeOf(scene.approve(runId, { toolCallId: top }))).toBe('already-decided');
  expect(effects.executed).toEqual([]);
  expect(model.calls).toHaveLength(2);
});

inEveryWorld(
  'scenario: K1',
  'a policy function at the top that was lost holds below too',
  async (open, world) => {
    const members = { one: { calls: [call('act', 'a')], later: [call('look', 'b')] } };
    const options = { requireToolApproval: ({ toolName }: { toolName: string }) => toolName === 'unknown' };
    const { effects, plan, model } = teamPlan([delegate('one')], members, { options });
    const scene = open(plan);
    const { runId } = await scene.start();
    const approved = await scene.approve(runId, { toolCallId: top });
    if (world.temperature === 'cold with options') {
      expect(approved.finishReason).toBe('stop');
      expect(effects.executed).toEqual(['act a', 'look b']);
      return;
    }
    expect(approved.payloads).toMatchObject([{ toolCallId: 'to-one~look-b', toolName: 'look' }]);
    expect(scene.warnings.join()).toContain('requireToolApproval');
    expect(effects.executed).toEqual(['act a']);
    await scene.decline(runId, { toolCallId: 'to-one~look-b' });
    expect(effects.executed).toEqual(['act a']);
    expect(model.calls).toHaveLength(2);
  },
);

inEveryWorld('scenario: K2', 'ids of another place decide nothing', async (open) => {
  const { effects, plan } = teamPlan([delegate('one'), delegate('two')], {
    one: { calls: [call('act', 'a'), call('ask', 'x')] },
    two: { calls: [call('act', 'b')] },
  });
  const scene = open(plan);
  const [{ runId }, { runId: otherRun }] = [await scene.start(), await scene.start()];
  const [first, second] = [scene.memberOf('one'), scene.memberOf('two')];
  const desk = scene.decider();
  const child = `${runId}~to-one`;
  const refused: readonly [() => Promise<unknown>, string][] = [
    [() => desk.approveToolCall({ runId, toolCallId: 'act-a' }), 'call-not-found'],
    [() => desk.approveToolCall({ runId, toolCallId: 'to-two~act-a' }), 'call-not-found'],
    [() => desk.approveToolCall({ runId, toolCallId: 'to-one~act-a~act-a' }), 'call-not-found'],
    [() => desk.approveToolCall({ runId, toolCallId: '~act-a' }), 'call-not-found'],
    [() => desk.approveToolCall({ runId, toolCallId: 'to-one~' }), 'call-not-found'],
    [() => desk.approveToolCall({ runId, toolCallId: 'to-one' }), 'call-not-waiting'],
    [() => desk.approveToolCall({ runId: child, toolCallId: 'act-a' }), 'run-not-found'],
    [() => first.approveToolCall({ runId: child, toolCallId: top }), 'call-not-found'],
    [() => first.approveToolCall({ runId: `${runId}~to-two`, toolCallId: 'act-b' }), 'run-not-found'],
    [() => first.approveToolCall({ runId: `${child}~act-a`, toolCallId: 'act-a' }), 'run-not-found'],
    [() => first.approveToolCall({ runId: `no-run~to-one`, toolCallId: 'act-a' }), 'run-not-found'],
    [() => second.approveToolCall({ runId, toolCallId: 'to-two~act-b' }), 'run-not-found'],
    [() => desk.approveToolCall({ runId, toolCallId: top, stop: 2 }), 'stop-mismatch'],
    [() => desk.approveToolCall({ runId, toolCallId: top, fingerprint: 'wrong' }), 'fingerprint-mismatch'],
    [() => first.approveToolCall({ runId: child, toolCallId: 'act-a', stop: 2 }), 'stop-mismatch'],
    [
      () => first.approveToolCall({ runId: child, toolCallId: 'act-a', fingerprint: 'x' }),
      'fingerprint-mismatch',
    ],
    [() => desk.approveToolCall({ runId, toolCallId: 'to-one~ask-x' }), 'needs-data'],
    [() => desk.resumeStream({ answer: 'y' }, { runId, toolCallId: top }), 'needs-verdict'],
  ];
  for (const [asked, code] of refused) expect(await codeOf(asked())).toBe(code);
  expect(effects.executed).toEqual([]);
  expect((await scene.list()).runs.map((run) => [run.runId, run.toolCalls.length]).sort()).toEqual(
    [[runId, 3] as const, [otherRun, 3] as const].sort(),
  );
});

inEveryWorld('scenario: K2', 'a decision on an earlier ask is not one on the next', async (open) => {
  const { effects, plan } = teamPlan([delegate('one'), delegate('one', 'Again.', 'to-one-again')], one);
  const scene = open(plan);
  const { runId } = await scene.start();
  await scene.decline(runId, { toolCallId: top });
  expect(await codeOf(scene.approve(runId, { toolCallId: top }))).toBe('already-decided');
  expect(effects.executed).toEqual([]);
  await scene.approve(runId, { toolCallId: 'to-one-again~act-a' });
  expect(effects.executed).toEqual(['act a']);
});

inBothFaces('scenario: K2', 'without an id: the call announced last, at any depth', async (open) => {
  const { effects, plan } = teamPlan(
    [delegate('level1'), call('act', 'own')],
    chain(2, [call('act', 'deep')]),
  );
  const scene = open(plan);
  const { runId, payloads } = await scene.start();
  const ids = payloads.map(({ toolCallId }) => toolCallId);
  expect(ids.toSorted()).toEqual(['act-own', 'to-level1~to-level2~act-deep']);
  await scene.approve(runId);
  expect(effects.executed).toEqual(['act deep']);
  const told = await scene.approve(runId);
  expect(effects.executed).toEqual(['act deep', 'act own']);
  expect(told.finishReason).toBe('stop');
});

inOneWorld('scenario: K2', 'where several wait below and one must be named', async (open) => {
  const { effects, plan } = teamPlan([delegate('one'), delegate('two')], {
    one: { calls: [call('act', 'a')] },
    two: { calls: [call('act', 'b')] },
  });
  const scene = open({ ...plan, agent: { whenSeveralWait: 'refuse' } });
  const { runId } = await scene.start();
  const error = await errorOf(scene.approve(runId));
  expect(error.code).toBe('call-required');
  expect(error.message).toContain('to-one~act-a, to-two~act-b');
  // In the run below only one waits.
  const leg = await scene.memberOf('one').approveToolCall({ runId: `${runId}~to-one` });
  expect(await leg.text).toBe('one is done.');
  expect(effects.executed).toEqual(['act a']);
});

inEveryWorld('scenario: K3', 'two at once, one at the top and one below', async (open) => {
  const { effects, plan, model } = teamPlan([delegate('one')], one);
  const scene = open(plan);
  const { runId } = await scene.start();
  const decisions: Promise<unknown>[] = [
    scene.approve(runId, { toolCallId: top, by: { id: 'ann' } }),
    scene.memberOf('one').approveToolCallGenerate({ runId: `${runId}~to-one`, toolCallId: 'act-a' }),
    scene.approve(runId, { toolCallId: top }),
    scene.decline(runId, { toolCallId: top }),
  ];
  const settled = await Promise.allSettled(decisions);
  const lost = settled.filter((one) => one.status === 'rejected').map(({ reason }) => reason.code);
  expect(lost).toEqual(['already-decided', 'already-decided', 'already-decided']);
  if ((await scene.store.load(runId, 0))?.kind === 'open') await scene.observe({ runId });
  expect(effects.executed.length).toBeLessThanOrEqual(1);
  expect(model.calls).toHaveLength(2);
  const ended = await scene.store.load(runId, 0);
  expect(ended).toMatchObject({ kind: 'ended', records: [{ toolCallId: top, stop: 1 }] });
});

inEveryWorld('scenario: K3', 'twice in a row, and repeated under one decisionId', async (open) => {
  const { effects, plan } = teamPlan([delegate('one'), call('act', 'own')], one);
  const scene = open(plan);
  const { runId } = await scene.start();
  const below: Agent = scene.memberOf('one');
  const first = await scene.approve(runId, { toolCallId: top, decisionId: 'd-1' });
  expect(first.finishReason).toBe('suspended');
  const again = await scene.approve(runId, { toolCallId: top, decisionId: 'd-1' });
  expect(again.results).toMatchObject([{ toolCallId: top, result: { did: 'a' } }]);
  const inside = { runId: `${runId}~to-one`, toolCallId: 'act-a' };
  const repeated = await below.approveToolCallGenerate({ ...inside, decisionId: 'd-1' });
  expect(repeated.toolResults.map(({ payload }) => payload)).toMatchObject([{ toolCallId: 'act-a' }]);
  expect(await codeOf(below.approveToolCall(inside))).toBe('already-decided');
  const error = await errorOf(scene.approve(runId, { toolCallId: top }));
  expect(error).toMatchObject({ code: 'already-decided', details: { toolCallId: top } });
  expect(error.details.decision).toMatchObject({
    toolCallId: top,
    verdict: 'approve',
    path: [{ agentId: 'one' }],
  });
  expect(effects.executed).toEqual(['act a']);
  await scene.approve(runId, { toolCallId: 'act-own' });
  const late = await scene.approve(runId, { toolCallId: top, decisionId: 'd-1' });
  expect(late.results).toMatchObject([{ toolCallId: top, result: { did: 'a' } }]);
  expect(effects.executed).toEqual(['act a', 'act own']);
});

for (const depth of [1, 2]) {
  inEveryWorld('scenario: K20', `depth ${depth}: declined, as each reader is told`, async (open) => {
    const { effects, plan, model } = teamPlan(
      [delegate('level1')],
      chain(depth, [call('act', 'it'), call('ask', 'it')]),
    );
    const scene = open(plan);
    const { runId, payloads } = await scene.start();
    const told = [];
    for (const { toolCallId } of payloads) {
      told.push(await scene.decline(runId, { toolCallId, reason: `No to ${toolCallId}.` }));
    }
    for (const [position, { chunks }] of told.entries()) {
      const { toolCallId = '' } = payloads[position];
      if (!chunks) continue;
      expect(ofType(chunks, 'tool-output-denied').map(({ payload }) => payload)).toMatchObject([
        { toolCallId, approval: { id: toolCallId, approved: false, reason: `No to ${toolCallId}.` } },
      ]);
    }
    const results = resultsIn(modelOf(effects, `level${depth}`).calls.at(-1)?.prompt);
    expect(results['act-it']).toMatchObject({ type: 'execution-denied' });
    expect(results['act-it']?.reason).toContain(`No to ${payloads[0]?.toolCallId}.`);
    expect(results['ask-it']).toMatchObject({ type: 'execution-denied' });
    // Of a decline below, the supervisor reads what the sub-agent makes of it.
    expect(resultsIn(model.calls.at(-1)?.prompt)['to-level1']).toEqual({
      type: 'text',
      value: 'level1 is done.',
    });
    expect(effects.executed).toEqual([]);
    const ended = await scene.store.load(runId, 0);
    expect(ended?.kind === 'ended' && ended.records.map(({ verdict, reason }) => [verdict, reason])).toEqual(
      payloads.map(({ toolCallId }) => ['decline', `No to ${toolCallId}.`]),
    );
  });
}

inEveryWorld('scenario: K20', 'the delegation itself is held and declined', async (open) => {
  const { effects, plan, model } = teamPlan([delegate('one')], one, {
    options: { requireToolApproval: true },
  });
  const scene = open(plan);
  const { runId, payloads } = await scene.start();
  expect(payloads).toMatchObject([
    { toolCallId: 'to-one', toolName: 'agent-one', args: { prompt: 'Go on.' } },
  ]);
  const told = await scene.decline(runId, { reason: 'Do it yourself.' });
  expect(told.text).toBe('supervisor is done.');
  expect(resultsIn(model.calls.at(-1)?.prompt)['to-one']?.reason).toContain('Do it yourself.');
  expect(modelOf(effects, 'one').calls).toEqual([]);
});
