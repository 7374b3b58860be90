/** K6 to K9 with sub-agents: calls side by side in one run, and in several below one root. */
import { expect } from 'vitest';
import { resultsIn } from '../support/kinds.ts';
import { call, chain, delegate, leafTools, modelOf, teamPlan } from '../support/team.ts';
import { ofType } from '../support/told.ts';
import { inBothFaces, inEveryWorld, inOneWorld } from '../support/world.ts';

const mixed = {
  one: { calls: [call('act', 'a'), call('look', 'b'), call('ask', 'c')] },
  two: { calls: [call('look', 'd'), call('act', 'e'), call('act', 'f')] },
};

inEveryWorld('scenario: K6', 'held, suspended and free neighbours mixed in two sub-agents', async (open) => {
  const calls = [delegate('one'), call('act', 'own'), delegate('two'), call('look', 'own')];
  const { effects, plan, model } = teamPlan(calls, mixed);
  const scene = open(plan);
  const { runId, payloads } = await scene.start();
  const ids = ['act-own', 'to-one~act-a', 'to-one~ask-c', 'to-two~act-e', 'to-two~act-f'];
  expect(payloads.map(({ toolCallId }) => toolCallId)).toEqual(ids);
  const listed = (await scene.list()).runs.flatMap(({ toolCalls }) => toolCalls);
  expect(listed.map(({ toolCallId }) => toolCallId).toSorted()).toEqual(ids.toSorted());
  expect(effects.executed.toSorted()).toEqual(['look b', 'look d', 'look own']);

  await scene.decline(runId, { toolCallId: 'to-two~act-f' });
  await scene.resume({ answer: 'x' }, runId, { toolCallId: 'to-one~ask-c' });
  await scene.approve(runId, { toolCallId: 'act-own' });
  expect(modelOf(effects, 'one').calls).toHaveLength(1);
  const third = await scene.approve(runId, { toolCallId: 'to-one~act-a' });
  expect(third.finishReason).toBe('suspended');
  expect(modelOf(effects, 'one').calls).toHaveLength(2);
  expect(model.calls).toHaveLength(1);
  const last = await scene.approve(runId, { toolCallId: 'to-two~act-e' });
  expect(last.text).toBe('supervisor is done.');
  expect(model.calls).toHaveLength(2);
  expect(modelOf(effects, 'two').calls).toHaveLength(2);
  expect(effects.executed.toSorted()).toEqual(
    ['act a', 'act e', 'act own', 'ask c x', 'look b', 'look d', 'look own'].toSorted(),
  );
  expect(Object.keys(resultsIn(model.calls.at(-1)?.prompt))).toEqual([
    'to-one',
    'act-own',
    'to-two',
    'look-own',
  ]);
});

inEveryWorld('scenario: K6', 'all decided at once', async (open) => {
  const { effects, plan, model } = teamPlan([delegate('one'), delegate('two')], mixed);
  const scene = open(plan);
  const { runId } = await scene.start();
  await Promise.all([
    scene.approve(runId, { toolCallId: 'to-one~act-a' }),
    scene.decline(runId, { toolCallId: 'to-one~ask-c' }),
    scene.memberOf('two').approveToolCallGenerate({ runId: `${runId}~to-two`, toolCallId: 'act-e' }),
    scene.approve(runId, { toolCallId: 'to-two~act-f' }),
  ]);
  if ((await scene.store.load(runId, 0))?.kind === 'open') await scene.observe({ runId });
  expect(effects.executed.toSorted()).toEqual(['act a', 'act e', 'act f', 'look b', 'look d']);
  expect(model.calls).toHaveLength(2);
  for (const key of ['one', 'two']) expect(modelOf(effects, key).calls).toHaveLength(2);
  expect((await scene.list({ status: 'all' })).runs).toEqual([]);
});

inEveryWorld('scenario: K7', 'free neighbours run once, at once, and their results wait', async (open) => {
  const calls = [delegate('one'), call('look', 'beside'), delegate('free')];
  const { effects, plan, model } = teamPlan(calls, {
    one: { calls: [call('look', 'before'), call('act', 'a'), call('look', 'after')] },
    free: { calls: [call('look', 'far')] },
  });
  const scene = open(plan);
  const { runId, finishReason } = await scene.start();
  expect(finishReason).toBe('suspended');
  const looked = ['look after', 'look before', 'look beside', 'look far'];
  expect(effects.executed.toSorted()).toEqual(looked);
  const told = await scene.decline(runId);
  expect(told.text).toBe('supervisor is done.');
  expect(effects.executed.toSorted()).toEqual(looked);
  expect(
    Object.entries(resultsIn(modelOf(effects, 'one').calls.at(-1)?.prompt)).map(([id, { type }]) => [
      id,
      type,
    ]),
  ).toEqual([
    ['look-before', 'json'],
    ['act-a', 'execution-denied'],
    ['look-after', 'json'],
  ]);
  expect(resultsIn(model.calls.at(-1)?.prompt)).toMatchObject({
    'to-one': { value: 'one is done.' },
    'look-beside': { value: { saw: 'beside' } },
    'to-free': { value: 'free is done.' },
  });
});

inBothFaces('scenario: K7', 'one at a time: a delegation that waits keeps nobody waiting', async (open) => {
  const { effects, plan } = teamPlan([delegate('one'), delegate('two'), call('look', 'own')], {
    one: { calls: [call('act', 'a'), call('look', 'b')] },
    two: { calls: [call('act', 'c')] },
  });
  const scene = open({ ...plan, options: { toolCallConcurrency: 1 } });
  const { runId, payloads } = await scene.start();
  expect(payloads.map(({ toolCallId }) => toolCallId)).toEqual(['to-one~act-a', 'to-two~act-c']);
  expect(effects.executed).toEqual(['look b', 'look own']);
  await scene.approve(runId, { toolCallId: 'to-two~act-c' });
  const told = await scene.approve(runId, { toolCallId: 'to-one~act-a' });
  expect(told.text).toBe('supervisor is done.');
  expect(effects.executed).toEqual(['look b', 'look own', 'act c', 'act a']);
});

inOneWorld('scenario: K7', 'two delegations go on side by side', async (open) => {
  const both = Promise.withResolvers<void>();
  let inside = 0;
  const { plan } = teamPlan([delegate('one'), delegate('two')], {
    one: { calls: [], config: { model: await meeting() } },
    two: { calls: [], config: { model: await meeting() } },
  });
  async function meeting() {
    const { scriptedModel } = await import('countersign/testing');
    return scriptedModel(async () => {
      if (++inside === 2) both.resolve();
      await both.promise;
      return 'Both are here.';
    });
  }
  expect((await open(plan).start()).finishReason).toBe('stop');
});

inEveryWorld(
  'scenario: K8',
  'listed at any depth, then approved, declined and resumed as they were asked',
  async (open) => {
    const members = chain(2, [call('act', 'a'), call('act', 'b'), call('ask', 'c')]);
    const { effects, plan } = teamPlan([delegate('level1')], members);
    const memory = { thread: 'thread 1', resource: 'user 1' };
    const scene = open({ ...plan, options: { memory } });
    const { runId, payloads } = await scene.start();
    for (const filter of [
      { threadId: 'thread 1' },
      { resourceId: 'user 1' },
      { status: 'all' as const },
      {},
    ]) {
      const { runs } = await scene.list(filter);
      expect(runs).toHaveLength(1);
      expect(runs[0]).toMatchObject({
        runId,
        threadId: 'thread 1',
        resourceId: 'user 1',
        status: 'suspended',
      });
      for (const listed of runs[0]?.toolCalls ?? []) {
        const announced = payloads.find(({ toolCallId }) => toolCallId === listed.toolCallId);
        const { toolName, args, path, stop, fingerprint } = announced;
        expect(listed).toMatchObject({ toolName, args, path, stop, fingerprint });
      }
    }
    expect((await scene.list({ threadId: 'thread 2' })).runs).toEqual([]);
    // A sub-agent's runs are listed at the top alone.
    expect((await scene.memberOf('level2').listSuspendedRuns({ status: 'all' })).runs).toEqual([]);
    const prefix = 'to-level1~to-level2~';
    await scene.approve(runId, { toolCallId: `${prefix}act-a` });
    await scene.decline(runId, { toolCallId: `${prefix}act-b`, reason: 'No.' });
    expect((await scene.list()).runs[0]?.toolCalls.map(({ toolCallId }) => toolCallId)).toEqual([
      `${prefix}ask-c`,
    ]);
    const told = await scene.resume({ answer: 'y' }, runId, { toolCallId: `${prefix}ask-c` });
    expect(told.text).toBe('supervisor is done.');
    expect(effects.executed).toEqual(['act a', 'ask c y']);
    if (told.chunks) expect(ofType(told.chunks, 'tool-call')[0]?.payload).toMatchObject({ replayed: true });
  },
);

inEveryWorld('scenario: K9', 'decided by conversation, under the qualified id', async (open) => {
  const { effects, plan } = teamPlan([delegate('one'), delegate('two')], mixed);
  const on = { threadId: 'thread 1', resourceId: 'user 1' };
  const scene = open({ ...plan, options: { memory: { thread: on.threadId, resource: on.resourceId } } });
  const { runId } = await scene.start();
  const sent = await scene.send({ ...on, toolCallId: 'to-one~act-a', approved: true });
  expect(sent).toEqual({ accepted: true, runId, toolCallId: 'to-one~act-a' });
  await scene.send({ ...on, toolCallId: 'to-one~ask-c', approved: true, resumeData: { answer: 'z' } });
  await scene.send({ ...on, toolCallId: 'to-two~act-e', approved: false, reason: 'No.' });
  await scene.send({ ...on, approved: true });
  await scene.observe({ runId });
  expect(effects.executed.toSorted()).toEqual(['act a', 'act f', 'ask c z', 'look b', 'look d']);
});

inBothFaces('scenario: K8', 'resume data is checked while the run moves on beside it', async (open) => {
  const { effects, plan } = teamPlan([call('ask', 'own'), call('act', 'own'), delegate('one')], {
    one: { calls: [call('ask', 'c')] },
  });
  const entered = Promise.withResolvers<void>();
  const door = Promise.withResolvers<void>();
  let slowly = false;
  const tools = async (): Promise<object> => {
    if (slowly) {
      slowly = false;
      entered.resolve();
      await door.promise;
    }
    return leafTools(effects);
  };
  const scene = open({ ...plan, tools: tools as never });
  const { runId } = await scene.start();
  slowly = true;
  const resuming = scene.resume({ answer: 'x' }, runId, { toolCallId: 'ask-own' });
  await entered.promise;
  await scene.approve(runId, { toolCallId: 'act-own' });
  door.resolve();
  expect((await resuming).finishReason).toBe('suspended');
  expect((await scene.resume({ answer: 'y' }, runId)).text).toBe('supervisor is done.');
  expect(effects.executed).toEqual(['act own', 'ask own x', 'ask c y']);
});
