/** Model errors and store errors, before and after a decided call: typed, consistent, and nothing runs twice. */
import { expect } from 'vitest';
import type { ScriptStep } from '../../src/testing/scripted-model.ts';
import { faultyStore, hurriedClock, type Operation, switchedFaults } from '../support/faulty-store.ts';
import { askRefunds, kinds, type Refund } from '../support/kinds.ts';
import { codeOf, errorOf, type Scene } from '../support/scene.ts';
import type { Told } from '../support/told.ts';
import { inEveryWorld, inOneWorld, type Open } from '../support/world.ts';

const failure: ScriptStep = { error: new Error('overloaded') };

/** How a leg that failed ended, by either face. */
async function failedLeg(leg: Promise<Told>): Promise<{ code: string; told: Told | undefined }> {
  try {
    const told = await leg;
    expect(told.finishReason).toBe('error');
    return { code: told.error?.code ?? 'none', told };
  } catch (error) {
    return { code: (error as { code?: string }).code ?? String(error), told: undefined };
  }
}

for (const [name, step] of Object.entries({
  'before it says anything': failure,
  'in the middle of a text': { text: 'Half an', error: new Error('cut') },
  'after its calls': { ...askRefunds('a'), error: new Error('cut') },
} satisfies Record<string, ScriptStep>)) {
  inEveryWorld(
    'scenario: K10',
    `bad input: a model that fails ${name}: the run fails, nothing is stored`,
    async (open) => {
      const effects: Refund[] = [];
      const errors: unknown[] = [];
      const scene = open({ script: [step], tools: kinds[0]!.tools(effects, false) });
      const { code } = await failedLeg(
        scene.start({ runId: 'mine', onError: ({ error }) => errors.push(error) }),
      );
      expect(code).toBe('model-failed');
      expect(errors).toHaveLength(1);
      expect(effects).toEqual([]);
      expect(await scene.store.load('mine', 0)).toBeUndefined();
      expect((await scene.list({ status: 'all' })).total).toBe(0);
      expect(await codeOf(scene.continueRun('mine'))).toBe('run-not-found');
    },
  );
}

/** A run that is stalled: its one call was approved and carried out, then the model failed. */
async function stalledRun(open: Open, ...script: ScriptStep[]) {
  const effects: Refund[] = [];
  const scene = open({
    script: [askRefunds('a'), failure, ...script],
    tools: kinds[0]!.tools(effects, true),
  });
  const { runId } = await scene.start();
  const choice = { toolCallId: 'call-0-0', decisionId: 'click' };
  const leg = await scene.approve(runId, choice);
  return { scene, effects, runId, choice, leg };
}

inEveryWorld(
  'scenario: K3',
  'bad input: a model that fails after an approved call: stalled, listed, continued',
  async (open) => {
    const { scene, effects, runId, leg } = await stalledRun(open, failure, 'Done.');
    expect(leg.finishReason).toBe('error');
    expect(leg.error?.code).toBe('run-stalled');
    // The provider's words, and then ours, each a sentence.
    expect(leg.error?.message).toMatch(
      /^The run is stalled: The model call failed.*[^.]\. continueRun tries/,
    );
    expect(leg.results).toHaveLength(1);
    expect((await scene.list()).total).toBe(0);
    expect((await scene.list({ status: 'stalled' })).runs).toMatchObject([
      { runId, status: 'stalled', toolCalls: [] },
    ]);
    const late = await errorOf(scene.approve(runId, { toolCallId: 'call-0-0' }));
    expect(late).toMatchObject({ code: 'already-decided', details: { stalled: true } });
    const again = await scene.continueRun(runId);
    expect(again.error?.code).toBe('run-stalled');
    expect((await scene.list({ status: 'stalled' })).total).toBe(1);
    const told = await scene.continueRun(runId);
    expect(told.text).toBe('Done.');
    expect(effects).toHaveLength(1);
    expect(scene.model.calls).toHaveLength(4);
    expect((await scene.list({ status: 'all' })).total).toBe(0);
  },
);

inEveryWorld(
  'scenario: K3',
  'bad input: a stalled run goes on when the same decision is repeated',
  async (open) => {
    const { scene, effects, runId, choice } = await stalledRun(open, failure, 'Done.');
    expect(await codeOf(scene.decline(runId, choice))).toBe('already-decided');
    expect((await scene.approve(runId, choice)).error?.code).toBe('run-stalled');
    const told = await scene.approve(runId, choice);
    expect(told.text).toBe('Done.');
    expect(effects).toHaveLength(1);
    expect((await scene.approve(runId, choice)).text).toBe('Done.');
    expect(scene.model.calls).toHaveLength(4);
  },
);

inEveryWorld('scenario: K3', 'bad input: a stalled run, cancelled', async (open) => {
  const { scene, effects, runId } = await stalledRun(open);
  expect(await scene.cancel({ runId })).toEqual({ runId, status: 'cancelled' });
  expect((await scene.list({ status: 'all' })).total).toBe(0);
  expect(await codeOf(scene.continueRun(runId))).toBe('run-ended');
  expect(effects).toHaveLength(1);
});

inEveryWorld('scenario: K3', 'bad input: continued twice at once', async (open) => {
  const { scene, effects, runId } = await stalledRun(open, 'Done.');
  const legs = await Promise.allSettled([scene.continueRun(runId), scene.continueRun(runId)]);
  const won = legs.filter((leg) => leg.status === 'fulfilled');
  expect(won).toHaveLength(1);
  expect(won[0]?.value.text).toBe('Done.');
  for (const leg of legs) {
    if (leg.status === 'rejected') expect(['run-not-stalled', 'run-ended']).toContain(leg.reason.code);
  }
  expect(scene.model.calls).toHaveLength(3);
  expect(effects).toHaveLength(1);
});

inOneWorld(
  'scenario: K12',
  'bad input: arguments of 50,000 levels in a stored run do not lose the run',
  async (open) => {
    const argsText = `{"order":${'['.repeat(50_000)}${']'.repeat(50_000)},"amount":1}`;
    const scene = open({
      script: [askRefunds('a'), { calls: [{ toolName: 'refund', argsText }] }, 'Done.'],
      tools: kinds[0]!.tools([], true),
    });
    const { runId } = await scene.start();
    await scene.approve(runId);
    // Refused and gone on, or stalled: but not in the hands of nobody.
    expect((await scene.list({ status: 'running' })).total).toBe(0);
  },
);

/** A scene whose store can be made to fail. */
function onFaultyStore(open: Open, script: ScriptStep[] = [askRefunds('a'), 'Done.']) {
  const faults = switchedFaults();
  const effects: Refund[] = [];
  const scene: Scene = open({
    script,
    tools: kinds[0]!.tools(effects, true),
    around: (store) => faultyStore(store, faults),
    registry: { clock: hurriedClock },
  });
  return { scene, effects, faults };
}

const writes: Operation[] = ['create', 'append', 'remove'];

inEveryWorld('scenario: K12', 'bad input: the pause cannot be stored', async (open) => {
  const { scene, effects, faults } = onFaultyStore(open);
  faults.fail(['create'], Number.POSITIVE_INFINITY);
  const { code, told } = await failedLeg(scene.start({ runId: 'mine' }));
  expect(code).toBe('store-failed');
  expect(told?.chunks?.map(({ type }) => type) ?? []).not.toContain('tool-call-approval');
  expect(told?.payloads ?? []).toEqual([]);
  expect(effects).toEqual([]);
  faults.fail([], 0);
  expect((await scene.list({ status: 'all' })).total).toBe(0);
  expect(await codeOf(scene.approve('mine'))).toBe('run-not-found');
});

inEveryWorld(
  'scenario: K3',
  'bad input: the decision cannot be stored: nothing runs, and it can be made again',
  async (open) => {
    const { scene, effects, faults } = onFaultyStore(open);
    const { runId } = await scene.start();
    faults.fail(['append'], Number.POSITIVE_INFINITY);
    expect(await codeOf(scene.approve(runId))).toBe('store-failed');
    expect(await codeOf(scene.decline(runId))).toBe('store-failed');
    expect(effects).toEqual([]);
    faults.fail([], 0);
    expect((await scene.list()).runs[0]?.toolCalls).toHaveLength(1);
    expect((await scene.approve(runId)).text).toBe('Done.');
    expect(effects).toHaveLength(1);
  },
);

for (const operation of writes) {
  for (const when of ['before', 'after'] as const) {
    inEveryWorld(
      'scenario: K3',
      `bad input: one ${operation} in two fails ${when} it is done: everything once`,
      async (open) => {
        const { scene, effects, faults } = onFaultyStore(open, [askRefunds('a', 'b'), 'Done.']);
        faults.fail([operation], 1, when);
        const { runId, payloads } = await scene.start();
        expect(payloads).toHaveLength(2);
        faults.fail([operation], 1, when);
        await scene.approve(runId, { toolCallId: 'call-0-1' });
        faults.fail([operation], 2, when);
        const told = await scene.approve(runId);
        expect(told.text).toBe('Done.');
        expect(effects.map(({ order }) => order)).toEqual(['b', 'a']);
        expect(scene.model.calls).toHaveLength(2);
        const ended = await scene.store.load(runId, 0);
        expect(ended).toMatchObject({ kind: 'ended', outcome: { status: 'finished' } });
      },
    );
  }
}

inEveryWorld('scenario: K3', 'bad input: the result is tried again as long as it takes', async (open) => {
  const { scene, effects, faults } = onFaultyStore(open);
  const { runId } = await scene.start();
  const agent = scene.decider();
  const leg = await agent.approveToolCall({ ...scene.again(), runId });
  // The decision is stored by now; what follows it is not.
  faults.fail(['append', 'remove'], 25);
  expect(await leg.text).toBe('Done.');
  expect(effects).toHaveLength(1);
  expect((await scene.list({ status: 'all' })).total).toBe(0);
});

const reads: Record<string, (scene: Scene, runId: string) => Promise<unknown>> = {
  listSuspendedRuns: (scene) => scene.list(),
  approve: (scene, runId) => scene.approve(runId),
  decline: (scene, runId) => scene.decline(runId),
  resume: (scene, runId) => scene.resume({ approved: true }, runId),
  cancelRun: (scene, runId) => scene.cancel({ runId }),
  continueRun: (scene, runId) => scene.continueRun(runId),
  'a start with a run id': (scene) => scene.start({ runId: 'another' }),
  'a decision on an unknown run': (scene) => scene.approve('no such run'),
};

for (const [name, read] of Object.entries(reads)) {
  inEveryWorld('scenario: K8', `bad input: ${name}, and the store cannot be read`, async (open) => {
    const { scene, effects, faults } = onFaultyStore(open);
    const { runId } = await scene.start();
    faults.fail(['load', 'list'], Number.POSITIVE_INFINITY);
    expect(await codeOf(read(scene, runId))).toBe('store-failed');
    expect(effects).toEqual([]);
    faults.fail([], 0);
    expect((await scene.approve(runId)).text).toBe('Done.');
    expect(effects).toHaveLength(1);
  });
}

inEveryWorld('scenario: K8', 'bad input: a store that was closed', async (open) => {
  const scene = open({ script: [askRefunds('a')], tools: kinds[0]!.tools([], true) });
  const { runId } = await scene.start();
  await scene.store.close();
  const { first } = scene;
  expect(await codeOf(first.listSuspendedRuns())).toBe('store-closed');
  expect(await codeOf(first.approveToolCall({ runId }))).toBe('store-closed');
  expect(await codeOf(first.cancelRun({ runId }))).toBe('store-closed');
});
