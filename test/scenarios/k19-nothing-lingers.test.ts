/** K19: when a run has ended nothing of it is listed, and of its events nothing remains. */
import { expect } from 'vitest';
import type { Script } from '../../src/testing/scripted-model.ts';
import { approveAndCarryOut, askRefunds, type Kind, kinds, type Refund } from '../support/kinds.ts';
import { codeOf, type Scene } from '../support/scene.ts';
import { withoutFeed } from '../support/stages.ts';
import { inEveryWorld } from '../support/world.ts';

interface Ending {
  readonly script: Script;
  readonly maxSteps?: number;
  readonly status: 'finished' | 'cancelled';
  /** The codes of decisions that come too late: named call, run. */
  readonly late: string;
  end(scene: Scene, runId: string, kind: Kind, effects: Refund[]): Promise<unknown>;
}

const endings: Record<string, Ending> = {
  approved: {
    script: [askRefunds('a'), 'Done.'],
    status: 'finished',
    late: 'already-decided',
    end: (scene, runId, kind, effects) => approveAndCarryOut(scene, kind, effects, runId),
  },
  declined: {
    script: [askRefunds('a'), 'Done.'],
    status: 'finished',
    late: 'already-decided',
    end: (scene, runId) => scene.decline(runId),
  },
  'declined by resume data': {
    script: [askRefunds('a'), 'Done.'],
    status: 'finished',
    late: 'already-decided',
    end: (scene, runId) => scene.resume({ approved: false }, runId),
  },
  'at the most steps': {
    script: [askRefunds('a')],
    maxSteps: 1,
    status: 'finished',
    late: 'already-decided',
    end: (scene, runId) => scene.decline(runId),
  },
  'cancelled while it waits': {
    script: [askRefunds('a', 'b')],
    status: 'cancelled',
    late: 'run-ended',
    end: (scene, runId) => scene.cancel({ runId, reason: 'changed my mind', by: { id: 'user 1' } }),
  },
  'stalled, then cancelled': {
    script: [askRefunds('a'), { error: new Error('overloaded') }],
    status: 'cancelled',
    late: 'already-decided',
    end: async (scene, runId) => {
      await scene.decline(runId);
      await scene.cancel({ runId });
    },
  },
  'stalled, then continued': {
    script: [askRefunds('a'), { error: new Error('overloaded') }, 'Done.'],
    status: 'finished',
    late: 'already-decided',
    end: async (scene, runId) => {
      await scene.decline(runId);
      await scene.continueRun(runId);
    },
  },
};

for (const kind of kinds) {
  for (const [name, { script, maxSteps, status, late, end }] of Object.entries(endings)) {
    inEveryWorld('scenario: K19', `${name} (${kind.name})`, async (open) => {
      const effects: Refund[] = [];
      const scene = open({
        script,
        tools: kind.tools(effects, true),
        options: { ...(maxSteps ? { maxSteps } : {}), memory: { thread: 'thread 1', resource: 'user 1' } },
      });
      const { runId } = await scene.start();
      expect((await scene.list({ status: 'all' })).total).toBe(1);
      const before = await scene.rowsWith(runId);
      await end(scene, runId, kind, effects);
      for (const asked of ['suspended', 'interrupted', 'stalled', 'running', 'all'] as const) {
        expect(await scene.list({ status: asked }), asked).toEqual({ runs: [], total: 0 });
      }
      const ended = await scene.store.load(runId, 0);
      if (ended?.kind !== 'ended') throw new Error('The run has not ended.');
      expect(ended.outcome.status).toBe(status);
      expect(ended).toMatchObject({ threadId: 'thread 1', resourceId: 'user 1' });
      const after = await scene.rowsWith(runId);
      if (before && after) {
        // One table with decisions, one with the outcome: the events, the index and the head are gone.
        expect(Object.values(before).reduce((sum, count) => sum + count)).toBeGreaterThan(5);
        expect(Object.values(withoutFeed(after)).toSorted()).toEqual([1, ended.records.length].toSorted());
      }
      const calls = scene.model.calls.length;
      expect(await codeOf(scene.approve(runId))).toBe(late);
      expect(await codeOf(scene.decline(runId, { toolCallId: 'call-0-0' }))).toBe(late);
      expect(await codeOf(scene.cancel({ runId }))).toBe('run-ended');
      expect(await codeOf(scene.continueRun(runId))).toBe('run-ended');
      expect(await codeOf(scene.start({ runId }))).toBe('run-exists');
      expect(scene.model.calls).toHaveLength(calls);
    });
  }
}

inEveryWorld('scenario: K19', 'the records of what was decided remain, one for each stop', async (open) => {
  const effects: Refund[] = [];
  const scene = open({ script: [askRefunds('a', 'b', 'c')], tools: kinds[0]!.tools(effects, true) });
  const { runId } = await scene.start();
  await scene.approve(runId, { toolCallId: 'call-0-0', by: { id: 'ann', name: 'Ann' }, reason: 'fine' });
  await scene.decline(runId, { toolCallId: 'call-0-1', by: { id: 'bob' }, reason: 'no' });
  await scene.cancel({ runId, reason: 'enough', by: { id: 'eve' } });
  const ended = await scene.store.load(runId, 0);
  if (ended?.kind !== 'ended') throw new Error('The run has not ended.');
  const byCall = ended.records.toSorted((one, other) => (one.toolCallId < other.toolCallId ? -1 : 1));
  expect(byCall).toMatchObject([
    {
      verdict: 'approve',
      by: { id: 'ann', name: 'Ann' },
      reason: 'fine',
      args: { order: 'a' },
      outcome: { state: 'finished' },
    },
    {
      verdict: 'decline',
      by: { id: 'bob' },
      reason: 'no',
      args: { order: 'b' },
      outcome: { state: 'declined' },
    },
    {
      verdict: 'cancel',
      by: { id: 'eve' },
      reason: 'enough',
      args: { order: 'c' },
      outcome: { state: 'cancelled' },
    },
  ]);
  expect(ended.outcome).toMatchObject({ status: 'cancelled', reason: 'enough', by: { id: 'eve' } });
});
