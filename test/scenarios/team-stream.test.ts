/** K14, K16, K17 and K19 with sub-agents: what readers are told, how runs below end early, and what is left of them. */
import { type Chunk, createTool } from 'countersign';
import { expect } from 'vitest';
import { z } from 'zod';
import { turn } from '../../src/core/test-support/parts.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { resultsIn } from '../support/kinds.ts';
import { codeOf } from '../support/scene.ts';
import { withoutFeed } from '../support/stages.ts';
import { call, chain, delegate, modelOf, teamPlan } from '../support/team.ts';
import { grammarProblems, ofType, readStream, typesOf } from '../support/told.ts';
import { inEveryWorld, inOneWorld, type World, worlds } from '../support/world.ts';

const streamsOnly = ({ face }: World): string | undefined =>
  face === 'generate' ? 'nothing is streamed' : undefined;
const coldWorld = worlds.find(({ name }) => name === 'memory, cold, stream');
const top = 'to-one~act-a';

/** What a sub-agent says within the chunks of its delegation. */
function within(chunks: readonly Chunk[] | undefined, toolCallId: string): Chunk[] {
  return ofType(chunks, 'tool-output')
    .filter(({ payload }) => payload.toolCallId === toolCallId)
    .map(({ payload }) => payload.output as unknown as Chunk);
}

inEveryWorld(
  'scenario: K14',
  'the grammar at the top, and of what each sub-agent says',
  async (open) => {
    const level2 = { calls: [call('look', 'b'), call('act', 'a')] };
    const level1 = { calls: [delegate('level2')], agents: { level2 } };
    const { plan } = teamPlan([delegate('level1'), call('look', 'own')], { level1 });
    const scene = open(plan);
    const first = await scene.start();
    const { runId } = first;
    const second = await scene.approve(runId);
    for (const { chunks = [] } of [first, second]) {
      expect(grammarProblems(chunks)).toEqual([]);
      for (const { payload } of ofType(chunks, 'tool-output')) expect(payload.toolName).toBe('agent-level1');
    }
    const inner = within(first.chunks, 'to-level1');
    const deep = within(inner, 'to-level2');
    expect(new Set(inner.map((chunk) => chunk.runId))).toEqual(new Set([`${runId}~to-level1`]));
    expect(new Set(deep.map((chunk) => chunk.runId))).toEqual(new Set([`${runId}~to-level1~to-level2`]));
    expect(typesOf(deep)).toEqual([
      'start',
      'step-start',
      'text-start',
      'text-delta',
      'text-end',
      'tool-call-input-streaming-start',
      'tool-call-delta',
      'tool-call-input-streaming-end',
      'tool-call-input-streaming-start',
      'tool-call-delta',
      'tool-call-input-streaming-end',
      'tool-call',
      'tool-result',
    ]);
    // What waits is announced at the top alone, once.
    for (const said of [inner, deep]) expect(ofType(said, 'tool-call-approval')).toEqual([]);
    const id = 'to-level1~to-level2~act-a';
    const path = [
      { agentId: 'level1', toolCallId: 'to-level1' },
      { agentId: 'level2', toolCallId: 'to-level2' },
    ];
    expect(ofType(first.chunks, 'tool-call-approval').map(({ payload }) => payload)).toMatchObject([
      { toolCallId: id, toolName: 'act', args: { name: 'a' }, path },
    ]);
    expect(ofType(second.chunks, 'tool-call')[0]?.payload).toMatchObject({ replayed: true });
    expect(ofType(second.chunks, 'tool-call').map(({ payload }) => payload.toolCallId)).toContain(id);
    // The rest of both, to their end, from the second leg.
    const innerEnd = within(second.chunks, 'to-level1');
    const deepEnd = within(innerEnd, 'to-level2');
    for (const said of [innerEnd, deepEnd]) expect(grammarProblems(said)).toEqual([]);
    expect(
      ofType(deepEnd, 'text-delta')
        .map(({ payload }) => payload.text)
        .join(''),
    ).toBe('level2 is done.');
    expect(ofType(deepEnd, 'finish')).toMatchObject([{ payload: { finishReason: 'stop' } }]);
    expect(ofType(innerEnd, 'tool-result')).toMatchObject([{ payload: { toolCallId: 'to-level2' } }]);
    expect(second.text).toBe('supervisor is done.');
  },
  streamsOnly,
);

inEveryWorld(
  'scenario: K14',
  'a leg on a run below has the grammar of any other',
  async (open) => {
    const { plan } = teamPlan([delegate('one')], {
      one: { calls: [call('act', 'a')], later: [call('ask', 'b')] },
    });
    const scene = open(plan);
    const { runId } = await scene.start();
    const on = { runId: `${runId}~to-one` };
    const below = scene.memberOf('one');
    const observer = readStream(await below.observe(on));
    const first = await readStream(await below.approveToolCall({ ...on, toolCallId: 'act-a' }));
    expect(first.payloads).toMatchObject([{ toolCallId: 'ask-b', stop: 1 }]);
    expect(first.payloads[0]).not.toHaveProperty('path');
    const second = await readStream(await below.resumeStream({ answer: 'x' }, on));
    expect(second.text).toBe('one is done.');
    for (const { chunks = [] } of [first, second, await observer]) {
      expect(grammarProblems(chunks)).toEqual([]);
      expect(new Set(chunks.map((chunk) => chunk.runId))).toEqual(new Set([on.runId]));
    }
    expect(first.messageId).toBe(second.messageId);
  },
  streamsOnly,
);

inEveryWorld(
  'scenario: K14',
  'every open leg is told each chunk once; the announcing one ends',
  async (open) => {
    const { plan } = teamPlan([delegate('one'), delegate('two')], {
      one: { calls: [call('act', 'a')] },
      two: { calls: [call('act', 'b')] },
    });
    const scene = open(plan);
    const { runId } = await scene.start();
    const observers = [scene.observe({ runId }), scene.observe({ runId })];
    await scene.approve(runId, { toolCallId: top });
    const [one, other] = await Promise.all(observers);
    expect(grammarProblems(one?.chunks ?? [])).toEqual([]);
    const ids = (told: typeof one) =>
      ofType(told?.chunks, 'tool-call').map(({ payload }) => payload.toolCallId);
    expect(ids(one)).toEqual([...new Set(ids(one))]);
    expect(ids(other)).toEqual([...new Set(ids(other))]);
    const rest = await scene.observe({ runId });
    expect(rest.finishReason).toBe('suspended');
    expect(grammarProblems(rest.chunks ?? [])).toEqual([]);
    expect(ofType(rest.chunks, 'tool-call-approval').map(({ payload }) => payload.toolCallId)).toContain(
      'to-two~act-b',
    );
    const seen = within(rest.chunks, 'to-one');
    expect(grammarProblems(seen)).toEqual([]);
    expect(seen.at(-1)?.type).toBe('finish');
  },
);

inOneWorld('scenario: K14', 'chunks of a tool’s own, written below', async (open) => {
  const writing = createTool({
    id: 'writing',
    inputSchema: z.object({}),
    execute: async (_input, { writer }) => {
      await writer.write('half');
      await writer.custom({ type: 'data-progress', data: { done: 1 } });
      return 'whole';
    },
  });
  const { plan } = teamPlan([delegate('one')], {
    one: { calls: [{ toolName: 'writing', toolCallId: 'w' }], config: { tools: { writing } } },
  });
  const { chunks } = await open(plan).start();
  const said = within(chunks, 'to-one');
  expect(said).toContainEqual(expect.objectContaining({ type: 'data-progress', data: { done: 1 } }));
  expect(ofType(said, 'tool-output').map(({ payload }) => payload)).toEqual([
    { toolCallId: 'w', toolName: 'writing', output: 'half' },
  ]);
  expect(chunks?.some(({ type }) => type === 'data-progress')).toBe(false);
});

/** A free tool that runs until the test lets it, or it is aborted. */
function slowTool() {
  const entered = Promise.withResolvers<void>();
  const left = Promise.withResolvers<void>();
  const aborted: boolean[] = [];
  const slow = createTool({
    id: 'slow',
    inputSchema: z.object({ name: z.string() }),
    execute: async (_input, { abortSignal }) => {
      entered.resolve();
      abortSignal.addEventListener('abort', () => left.resolve());
      await left.promise;
      aborted.push(abortSignal.aborted);
      return 'true outcome';
    },
  });
  return { slow, entered: entered.promise, leave: () => left.resolve(), aborted };
}

for (const how of ['abort', 'cancel at the top', 'cancel below'] as const) {
  inEveryWorld(
    'scenario: K17',
    `${how} while a call below runs: its true outcome is kept`,
    async (open) => {
      const { slow, entered, aborted } = slowTool();
      const { plan, model, effects } = teamPlan([delegate('one'), delegate('two')], {
        one: { calls: [call('act', 'a'), call('slow', 's')], config: { tools: { slow, act: slowAct() } } },
        two: { calls: [call('act', 'b')] },
      });
      // A cancel that comes from elsewhere is heard of with the next beat.
      const scene = open({ ...plan, registry: { heartbeat: { every: 20, lease: 20_000 } } });
      const controller = new AbortController();
      const starting = scene.start({ abortSignal: controller.signal, runId: 'the-run' });
      await entered;
      // The pause below is stored by now, with what runs beside it.
      const runId = 'the-run';
      if (how === 'abort') controller.abort();
      else if (how === 'cancel at the top') await scene.cancel({ runId, reason: 'Enough.' });
      else await scene.memberOf('one').cancelRun({ runId: `${runId}~to-one`, reason: 'Enough.' });
      const told = await starting;
      expect(aborted).toEqual([true]);
      if (how === 'cancel below') {
        expect(told.payloads).toMatchObject([{ toolCallId: 'to-two~act-b' }]);
        expect((await scene.approve(runId)).finishReason).toBe('stop');
        expect(resultsIn(model.calls.at(-1)?.prompt)).toMatchObject({
          'to-one': { type: 'error-text' },
          'to-two': { type: 'text' },
        });
      } else {
        expect(told.finishReason).toBe('cancelled');
        expect(effects.executed).toEqual([]);
        expect(model.calls).toHaveLength(1);
      }
      expect(await codeOf(scene.approve(runId, { toolCallId: top }))).toMatch(/^run-ended$/);
      if (told.chunks) expect(grammarProblems(told.chunks)).toEqual([]);
      expect((await scene.list({ status: 'all' })).runs).toEqual([]);
      const ended = await scene.store.load(runId, 0);
      const cancelled =
        ended?.kind === 'ended' ? ended.records.filter(({ verdict }) => verdict === 'cancel') : [];
      expect(cancelled.map(({ toolCallId }) => toolCallId)).toContain(top);
    },
    ({ temperature }) => (temperature === 'cold' || temperature === 'warm' ? undefined : 'the same as cold'),
  );
}

function slowAct() {
  return createTool({
    id: 'act',
    inputSchema: z.object({ name: z.string() }),
    requireApproval: true,
    execute: () => ({}),
  });
}

inEveryWorld(
  'scenario: K17',
  'a leg on a run below is aborted: the supervisor goes on by itself',
  async (open) => {
    const { slow, entered } = slowTool();
    const tools = { slow, act: slowAct() };
    const { plan, model } = teamPlan([delegate('one')], {
      one: { calls: [call('act', 'a')], later: [call('slow', 's')], config: { tools } },
    });
    const idle: Promise<void>[] = [];
    const scene = open({ ...plan, registry: { waitUntil: (work) => void idle.push(work) } });
    const { runId } = await scene.start();
    const controller = new AbortController();
    const leg = await scene
      .memberOf('one')
      .approveToolCall({ runId: `${runId}~to-one`, abortSignal: controller.signal });
    await entered;
    controller.abort();
    expect(await leg.finishReason).toBe('cancelled');
    await Promise.all(idle);
    expect(await scene.store.load(runId, 0)).toMatchObject({
      kind: 'ended',
      outcome: { status: 'finished' },
    });
    expect(resultsIn(model.calls.at(-1)?.prompt)['to-one']).toMatchObject({ type: 'error-text' });
  },
);

inEveryWorld(
  'scenario: K17',
  'after the leg an abort does nothing; late decisions are told',
  async (open) => {
    const { effects, plan } = teamPlan([delegate('level1')], chain(2, [call('act', 'a'), call('act', 'b')]));
    const scene = open(plan);
    const controller = new AbortController();
    const { runId } = await scene.start({ abortSignal: controller.signal });
    controller.abort();
    await turn();
    const id = 'to-level1~to-level2~act-a';
    await scene.approve(runId, { toolCallId: id });
    expect(effects.executed).toEqual(['act a']);
    const middle = scene.memberOf('level1');
    await middle.cancelRun({ runId: `${runId}~to-level1`, by: { id: 'ann' } });
    expect((await scene.observe({ runId })).finishReason).toBe('stop');
    expect(await codeOf(scene.approve(runId, { toolCallId: 'to-level1~to-level2~act-b' }))).toBe('run-ended');
    expect(await codeOf(scene.approve(runId, { toolCallId: id }))).toBe('already-decided');
    expect(effects.executed).toEqual(['act a']);
  },
);

inEveryWorld(
  'scenario: K17',
  'a run below that has ended is neither cancelled nor continued',
  async (open) => {
    const { plan } = teamPlan([delegate('one'), delegate('two')], {
      one: { calls: [call('act', 'a')] },
      two: { calls: [call('act', 'b')] },
    });
    const scene = open(plan);
    const { runId } = await scene.start();
    await scene.approve(runId, { toolCallId: top });
    const below = scene.memberOf('one');
    const on = { runId: `${runId}~to-one` };
    expect(await codeOf(below.cancelRun(on))).toBe('run-ended');
    expect(await codeOf(below.continueRun(on))).toBe('run-ended');
    expect(await codeOf(below.declineToolCall({ ...on, toolCallId: 'act-a' }))).toBe('already-decided');
    expect((await readStream(await below.observe(on))).text).toContain('one is done.');
    expect((await scene.list()).runs[0]?.toolCalls).toHaveLength(1);
  },
);

inEveryWorld(
  'scenario: K19',
  'nothing lingers but records, which tell the way to each call',
  async (open) => {
    const members = chain(2, [call('act', 'a'), call('act', 'b'), call('ask', 'c')]);
    const { plan } = teamPlan([delegate('level1')], members);
    const scene = open(plan);
    const { runId } = await scene.start();
    const prefix = 'to-level1~to-level2~';
    await scene.approve(runId, { toolCallId: `${prefix}act-a`, by: { id: 'ann' } });
    await scene.decline(runId, { toolCallId: `${prefix}act-b`, reason: 'No.' });
    await scene.resume({ answer: 'x' }, runId, { toolCallId: `${prefix}ask-c` });
    const desk = scene.decider();
    for (const status of ['all', 'suspended', 'running', 'stalled', 'interrupted'] as const) {
      expect((await desk.listSuspendedRuns({ status })).runs).toEqual([]);
    }
    await scene.sweep();
    const ended = await scene.store.load(runId, 0);
    const path = [
      { agentId: 'level1', toolCallId: 'to-level1' },
      { agentId: 'level2', toolCallId: 'to-level2' },
    ];
    const on = { runId, agentId: 'desk', path, stop: 1 };
    expect(
      ended?.kind === 'ended' && ended.records.toSorted((x, y) => (x.toolCallId < y.toolCallId ? -1 : 1)),
    ).toMatchObject([
      {
        ...on,
        toolCallId: `${prefix}act-a`,
        toolName: 'act',
        verdict: 'approve',
        by: { id: 'ann' },
        outcome: { state: 'finished' },
      },
      { ...on, toolCallId: `${prefix}act-b`, toolName: 'act', verdict: 'decline', reason: 'No.' },
      {
        ...on,
        toolCallId: `${prefix}ask-c`,
        toolName: 'ask',
        verdict: 'resume',
        outcome: { result: { answered: 'x' } },
      },
    ]);
    const rows = await scene.rowsWith(runId);
    if (rows) {
      expect(
        Object.keys(withoutFeed(rows))
          .map((name) => name.replace(/^countersign_/, ''))
          .sort(),
      ).toEqual(['decisions', 'outcomes']);
    }
    expect(await codeOf(scene.approve(`${runId}~to-level1`))).toBe('run-not-found');
    const again = scene.memberOf('level2');
    const below = { runId: `${runId}~to-level1~to-level2`, toolCallId: 'act-a' };
    expect(await codeOf(again.approveToolCall(below))).toBe('already-decided');
    expect(await codeOf(again.cancelRun({ runId: below.runId }))).toBe('run-ended');
  },
);

inEveryWorld('scenario: K19', 'a team that never waits stores nothing', async (open) => {
  const { effects, plan } = teamPlan([delegate('level1')], chain(3, [call('look', 'a')]));
  const scene = open(plan);
  const { runId, text } = await scene.start();
  expect(text).toContain('supervisor is done.');
  expect(effects.executed).toEqual(['look a']);
  expect(await scene.store.load(runId, 0)).toBeUndefined();
  expect(await scene.rowsWith(runId)).toEqual((await scene.rowsWith(runId)) && {});
});

inOneWorld(
  'scenario: K14',
  'observed at the top and below while it runs',
  async (open) => {
    const { slow, entered, leave } = slowTool();
    const { plan } = teamPlan([delegate('one')], {
      one: {
        calls: [call('act', 'a')],
        later: [call('slow', 's')],
        config: { tools: { slow, act: slowAct() } },
      },
    });
    const scene = open(plan);
    const { runId } = await scene.start();
    const approving = scene.approve(runId);
    await entered;
    const watching = [
      readStream(await scene.decider().observe({ runId })),
      readStream(await scene.memberOf('one').observe({ runId: `${runId}~to-one` })),
    ];
    leave();
    const [above, below] = await Promise.all(watching);
    expect((await approving).text).toBe('supervisor is done.');
    expect(above?.text).toContain('supervisor is done.');
    // Of a run below that ended with its root, the text is not kept: nothing else is told in its place.
    expect(below?.text).not.toContain('supervisor');
    for (const told of [above, below]) expect(grammarProblems(told?.chunks ?? [])).toEqual([]);
  },
  coldWorld,
);

inOneWorld('scenario: K17', 'a model call below is aborted with its run', async (open) => {
  const asked = Promise.withResolvers<void>();
  const model = scriptedModel(() => {
    asked.resolve();
    return { text: 'never', delayUntil: new Promise(() => {}) };
  });
  const { plan, effects } = teamPlan([delegate('one')], { one: { calls: [], config: { model } } });
  const scene = open(plan);
  const controller = new AbortController();
  const starting = scene.start({ abortSignal: controller.signal });
  await asked.promise;
  controller.abort();
  expect((await starting).finishReason).toBe('cancelled');
  expect(modelOf(effects, 'one').calls).toEqual([]);
});

inEveryWorld('scenario: K16', 'what waits below waits for good, and no sweep touches it', async (open) => {
  const started = Date.UTC(2026, 0, 1);
  let now = started;
  const { effects, plan } = teamPlan([delegate('level1')], chain(2, [call('act', 'a'), call('ask', 'b')]));
  const scene = open({ ...plan, registry: { clock: { now: () => now, sleep: async () => {} } } });
  const { runId } = await scene.start();
  now += 10 * 365 * 24 * 60 * 60 * 1000;
  await scene.sweep();
  const { runs } = await scene.list();
  expect(runs).toMatchObject([{ runId, suspendedAt: new Date(started) }]);
  await scene.approve(runId, { toolCallId: 'to-level1~to-level2~act-a' });
  expect((await scene.resume({ answer: 'x' }, runId)).text).toBe('supervisor is done.');
  expect(effects.executed).toEqual(['act a', 'ask b x']);
});
