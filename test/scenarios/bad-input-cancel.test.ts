/** Abort and cancelRun in each state: what waits is settled, what runs is told, awaited and recorded as it was. */
import { createTool } from 'countersign';
import { expect } from 'vitest';
import { z } from 'zod';
import { askRefunds, kinds, type Refund, refundCall, withTools } from '../support/kinds.ts';
import { codeOf, errorOf } from '../support/scene.ts';
import { grammarProblems, ofType, type Told } from '../support/told.ts';
import { inEveryWorld, inOneWorld, type Open } from '../support/world.ts';

/** A tool that begins, waits for the test or the signal, and says what it did all the same. */
function slowTool(id: string, requireApproval: boolean) {
  const began = Promise.withResolvers<AbortSignal>();
  const letGo = Promise.withResolvers<void>();
  const tool = createTool({
    id,
    inputSchema: z.object({}),
    requireApproval,
    execute: async (_input, { abortSignal }) => {
      began.resolve(abortSignal);
      await letGo.promise;
      return { aborted: abortSignal.aborted };
    },
  });
  return { tool, began: began.promise, letGo: letGo.resolve };
}

function expectCancelled(told: Told): void {
  expect(told.finishReason).toBe('cancelled');
  if (!told.chunks) return;
  expect(grammarProblems(told.chunks)).toEqual([]);
  expect(ofType(told.chunks, 'abort')).toHaveLength(1);
}

inEveryWorld(
  'scenario: K17',
  'aborted before it starts: no model is asked, nothing is stored',
  async (open) => {
    const scene = open({ script: ['Never.'] });
    const told = await scene.start({ abortSignal: AbortSignal.abort(), runId: 'mine' });
    expectCancelled(told);
    expect(told.text).toBe('');
    expect(scene.model.calls).toHaveLength(0);
    expect(await scene.store.load('mine', 0)).toBeUndefined();
  },
);

inEveryWorld('scenario: K17', 'aborted while the model is asked', async (open) => {
  const aborting = new AbortController();
  const scene = open({
    script: (_prompt, index) => {
      if (index === 0) aborting.abort();
      return askRefunds('a');
    },
    tools: kinds[0]!.tools([], true),
  });
  expectCancelled(await scene.start({ abortSignal: aborting.signal }));
  expect(scene.model.calls).toHaveLength(1);
  expect((await scene.list({ status: 'all' })).total).toBe(0);
});

inEveryWorld('scenario: K17', 'aborted while a free call runs and another is held', async (open) => {
  const effects: Refund[] = [];
  const slow = slowTool('slow', false);
  const aborting = new AbortController();
  const scene = open({
    script: [{ calls: [{ toolName: 'slow' }, refundCall('a')] }],
    tools: withTools(kinds[0]!.tools(effects, true), { slow: slow.tool }),
  });
  const leg = scene.start({ abortSignal: aborting.signal });
  const signal = await slow.began;
  const [run] = (await scene.first.listSuspendedRuns()).runs;
  aborting.abort();
  await signalled(signal);
  slow.letGo();
  const told = await leg;
  expectCancelled(told);
  // The true outcome of the one that ran is told and recorded; the other never ran.
  expect(told.results).toMatchObject([{ toolCallId: 'call-0-0', result: { aborted: true } }]);
  expect(effects).toEqual([]);
  expect(scene.model.calls).toHaveLength(1);
  const ended = await scene.store.load(run!.runId, 0);
  expect(ended).toMatchObject({
    kind: 'ended',
    outcome: { status: 'cancelled' },
    records: [{ toolCallId: 'call-0-1', verdict: 'cancel', outcome: { state: 'cancelled' } }],
  });
  expect(await codeOf(scene.approve(run!.runId, { toolCallId: 'call-0-1' }))).toBe('run-ended');
});

function signalled(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (signal.aborted) resolve();
  signal.addEventListener('abort', () => resolve());
  return promise;
}

inEveryWorld('scenario: K17', 'an abort after the leg has ended at a pause does nothing', async (open) => {
  const effects: Refund[] = [];
  const aborting = new AbortController();
  const scene = open({ script: [askRefunds('a'), 'Done.'], tools: kinds[0]!.tools(effects, true) });
  const { runId } = await scene.start({ abortSignal: aborting.signal });
  aborting.abort();
  expect((await scene.list()).total).toBe(1);
  expect((await scene.approve(runId)).text).toBe('Done.');
  expect(effects).toHaveLength(1);
});

inEveryWorld('scenario: K17', 'the leg of a decision, aborted while its call runs', async (open) => {
  const slow = slowTool('slow', true);
  const aborting = new AbortController();
  const scene = open({ script: [{ calls: [{ toolName: 'slow' }] }, 'Never.'], tools: { slow: slow.tool } });
  const { runId } = await scene.start();
  const leg = scene.approve(runId, { abortSignal: aborting.signal });
  const signal = await slow.began;
  aborting.abort();
  await signalled(signal);
  slow.letGo();
  const told = await leg;
  expectCancelled(told);
  expect(told.results).toMatchObject([{ result: { aborted: true } }]);
  expect(scene.model.calls).toHaveLength(1);
  const ended = await scene.store.load(runId, 0);
  expect(ended).toMatchObject({ records: [{ verdict: 'approve', outcome: { state: 'finished' } }] });
});

inEveryWorld(
  'scenario: K17',
  'a decision whose leg is aborted already: decided, and cancelled before it runs',
  async (open) => {
    const effects: Refund[] = [];
    const scene = open({ script: [askRefunds('a', 'b'), 'Never.'], tools: kinds[0]!.tools(effects, true) });
    const { runId } = await scene.start();
    const told = await scene.approve(runId, { abortSignal: AbortSignal.abort() });
    expectCancelled(told);
    expect(scene.model.calls).toHaveLength(1);
    expect((await scene.list({ status: 'all' })).total).toBe(0);
    expect(await codeOf(scene.approve(runId, { toolCallId: 'call-0-0' }))).toBe('run-ended');
    // The one whose start was stored with its decision may have run; the other one not.
    expect(effects.map(({ order }) => order)).not.toContain('a');
  },
);

/** What waits in these runs, by the name of the state. */
const waiting: Record<
  string,
  (open: Open) => Promise<{ scene: ReturnType<Open>; runId: string; effects: unknown[] }>
> = {
  held: async (open) => {
    const effects: Refund[] = [];
    const scene = open({ script: [askRefunds('a', 'b')], tools: kinds[0]!.tools(effects, true) });
    return { scene, runId: (await scene.start()).runId, effects };
  },
  suspended: async (open) => {
    const scene = open({ script: [askRefunds('a')], tools: kinds[4]!.tools([], false) });
    return { scene, runId: (await scene.start()).runId, effects: [] };
  },
  'half decided': async (open) => {
    const scene = open({ script: [askRefunds('a', 'b')], tools: kinds[0]!.tools([], true) });
    const { runId } = await scene.start();
    await scene.decline(runId);
    return { scene, runId, effects: [] };
  },
};

for (const [name, prepare] of Object.entries(waiting)) {
  inEveryWorld('scenario: K17', `cancelRun on a run that is ${name}`, async (open) => {
    const { scene, runId, effects } = await prepare(open);
    const by = { id: 'ann', name: 'Ann' };
    expect(await scene.cancel({ runId, reason: 'changed my mind', by })).toEqual({
      runId,
      status: 'cancelled',
    });
    expect((await scene.list({ status: 'all' })).total).toBe(0);
    const ended = await scene.store.load(runId, 0);
    if (ended?.kind !== 'ended') throw new Error('The run has not ended.');
    expect(ended.outcome).toMatchObject({ status: 'cancelled', reason: 'changed my mind', by });
    const cancelled = ended.records.filter(({ verdict }) => verdict === 'cancel');
    expect(cancelled).toHaveLength(name === 'held' ? 2 : 1);
    for (const record of cancelled) expect(record).toMatchObject({ by, reason: 'changed my mind' });
    const late = await errorOf(scene.approve(runId, { toolCallId: 'call-0-0' }));
    expect(late.code).toBe('run-ended');
    expect(late.details.outcome).toMatchObject({ status: 'cancelled' });
    expect(await codeOf(scene.cancel({ runId }))).toBe('run-ended');
    expect(effects).toEqual([]);
    expect(scene.model.calls).toHaveLength(1);
  });
}

inEveryWorld(
  'scenario: K17',
  'cancelRun while a call runs: its outcome is recorded, then the run ends',
  async (open) => {
    const slow = slowTool('slow', true);
    const scene = open({
      script: [{ calls: [{ toolName: 'slow' }, { toolName: 'slow' }] }, 'Never.'],
      tools: { slow: slow.tool },
    });
    const { runId } = await scene.start();
    const leg = scene.approve(runId, { toolCallId: 'call-0-0' });
    const signal = await slow.began;
    expect(await scene.cancel({ runId, reason: 'stop' })).toEqual({ runId, status: 'cancelling' });
    expect(await codeOf(scene.approve(runId, { toolCallId: 'call-0-1' }))).toBe('run-ended');
    if (scene.world.temperature === 'warm') await signalled(signal);
    slow.letGo();
    const told = await leg;
    expectCancelled(told);
    expect(told.results).toHaveLength(1);
    const ended = await scene.store.load(runId, 0);
    expect(ended).toMatchObject({ kind: 'ended', outcome: { status: 'cancelled', reason: 'stop' } });
    expect(scene.model.calls).toHaveLength(1);
  },
);

inOneWorld(
  'scenario: K17',
  'cancelRun while the model is asked, before anything was stored',
  async (open) => {
    const asked = Promise.withResolvers<void>();
    const never = Promise.withResolvers<void>();
    const scene = open({
      script: () => {
        asked.resolve();
        return { text: 'Never.', delayUntil: never.promise };
      },
    });
    const stream = await scene.first.stream('Please do it.');
    await asked.promise;
    expect((await scene.cancel({ runId: stream.runId })).runId).toBe(stream.runId);
    expect(await stream.finishReason).toBe('cancelled');
    expect(await stream.text).toBe('');
  },
);

inEveryWorld('scenario: K17', 'cancelRun while the model is asked again, in a stored run', async (open) => {
  const asked = Promise.withResolvers<void>();
  const never = Promise.withResolvers<void>();
  const scene = open({
    script: (_prompt, index) => {
      if (index === 0) return askRefunds('a');
      asked.resolve();
      return { text: 'Never.', delayUntil: never.promise };
    },
    tools: kinds[0]!.tools([], true),
  });
  const { runId } = await scene.start();
  const leg = scene.approve(runId);
  await asked.promise;
  // The process that asks the model is told; another one has only the store to say it by.
  const agent = scene.world.temperature === 'warm' ? scene.first : undefined;
  if (agent) await agent.cancelRun({ runId });
  else await scene.cancel({ runId });
  never.resolve();
  expectCancelled(await leg);
  expect((await scene.list({ status: 'all' })).total).toBe(0);
});

inEveryWorld('scenario: K17', 'the leg of continueRun, aborted while the model is asked', async (open) => {
  const aborting = new AbortController();
  const scene = open({
    script: (_prompt, index) => {
      if (index === 0) return askRefunds('a');
      if (index === 1) return { error: new Error('overloaded') };
      aborting.abort();
      return 'Never.';
    },
    tools: kinds[0]!.tools([], true),
  });
  const { runId } = await scene.start();
  await scene.approve(runId);
  expectCancelled(await scene.continueRun(runId, { abortSignal: aborting.signal }));
  expect((await scene.list({ status: 'all' })).total).toBe(0);
  expect(await codeOf(scene.continueRun(runId))).toBe('run-ended');
});

inEveryWorld('scenario: K17', 'malformed cancelRun', async (open) => {
  const { scene, runId } = await waiting.held!(open);
  for (const bad of [{ reason: 5 }, { by: 'ann' }, { by: { id: 5 } }]) {
    expect(await codeOf(scene.cancel({ runId, ...bad } as never))).toBe('invalid-decision');
  }
  expect((await scene.list()).runs[0]?.toolCalls).toHaveLength(2);
});
