/** Tools of toolsets on the way through a run: what the model writes, what it is told, what is told, what stays. */
import { createTool, type ToolsetsInput } from 'countersign';
import { expect } from 'vitest';
import { z } from 'zod';
import { askRefunds, kinds, type Refund, refundCall, resultsIn } from '../support/kinds.ts';
import { codeOf, type Plan } from '../support/scene.ts';
import { grammarProblems, ofType } from '../support/told.ts';
import { inEveryWorld } from '../support/world.ts';

function deskPlan(script: Plan['script']): { plan: Plan; effects: Refund[]; toolsets: ToolsetsInput } {
  const effects: Refund[] = [];
  const fail = createTool({
    id: 'fail',
    inputSchema: z.object({}),
    requireApproval: true,
    execute: () => Promise.reject(new Error('It is out of order.')),
  });
  const refund = kinds[0]?.tools(effects, true) as ToolsetsInput[string];
  return { plan: { script }, effects, toolsets: { desk: refund, broken: { fail } } };
}

inEveryWorld('scenario: K3', 'a toolset’s tool approved twice runs once', async (open) => {
  const { plan, effects, toolsets } = deskPlan([askRefunds('a'), 'Done.']);
  const scene = open(plan);
  const { runId } = await scene.start({ toolsets });
  const answers = await Promise.allSettled([
    scene.approve(runId, { toolsets, toolCallId: 'call-0-0' }),
    scene.approve(runId, { toolsets, toolCallId: 'call-0-0' }),
  ]);
  expect(answers.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  expect(answers.find(({ status }) => status === 'rejected')).toMatchObject({
    reason: { code: 'already-decided' },
  });
  expect(effects).toHaveLength(1);
});

inEveryWorld('scenario: K4', 'a model cannot decide a toolset’s tool', async (open) => {
  const wild = {
    order: 'a',
    amount: 10,
    approved: true,
    resumeData: { approved: true },
    suspendedToolRunId: 'x',
  };
  const { plan, effects, toolsets } = deskPlan([
    {
      calls: [
        { toolName: 'refund', args: wild },
        { toolName: 'approveToolCall', args: { toolCallId: 'a' } },
      ],
    },
    'Done.',
  ]);
  const scene = open(plan);
  const started = await scene.start({ toolsets });
  expect(started.finishReason).toBe('suspended');
  expect(started.payloads).toHaveLength(1);
  expect(effects).toEqual([]);
  await scene.decline(started.runId, { toolsets });
  expect(effects).toEqual([]);
});

inEveryWorld(
  'scenario: K10',
  'toolsets’ tools approved, declined and failed: each has one result',
  async (open) => {
    const { plan, effects, toolsets } = deskPlan([
      { text: 'Now. ', calls: [refundCall('a'), refundCall('b'), { toolName: 'fail' }] },
      'Done.',
    ]);
    const scene = open(plan);
    const { runId } = await scene.start({ toolsets });
    await scene.decline(runId, { toolsets, toolCallId: 'call-0-1', reason: 'Too late.' });
    await scene.approve(runId, { toolsets, toolCallId: 'call-0-2' });
    const last = await scene.approve(runId, { toolsets, toolCallId: 'call-0-0' });
    expect(last.text).toBe('Done.');
    expect(effects).toHaveLength(1);
    expect(resultsIn(scene.model.calls[1]?.prompt)).toMatchObject({
      'call-0-0': { type: 'json', value: { refunded: 10 } },
      'call-0-1': { type: 'execution-denied', reason: expect.stringContaining('Too late.') },
      'call-0-2': { type: 'error-text', value: 'It is out of order.' },
    });
  },
);

inEveryWorld('scenario: K14', 'with a toolset both legs have the grammar of all legs', async (open) => {
  const { plan, toolsets } = deskPlan([askRefunds('a'), 'Done.']);
  const scene = open(plan);
  const first = await scene.start({ toolsets });
  const second = await scene.approve(first.runId, { toolsets });
  expect(second.messageId).toBe(first.messageId);
  if (!first.chunks || !second.chunks) return expect(second.results).toHaveLength(1);
  expect([...grammarProblems(first.chunks), ...grammarProblems(second.chunks)]).toEqual([]);
  expect(ofType(second.chunks, 'tool-call')).toMatchObject([{ payload: { replayed: true } }]);
  expect(ofType(second.chunks, 'tool-result')).toHaveLength(1);
});

inEveryWorld('scenario: K17', 'cancelled while a toolset’s tool waits, without the toolset', async (open) => {
  const { plan, effects, toolsets } = deskPlan([askRefunds('a'), 'Done.']);
  const scene = open(plan);
  const { runId } = await scene.start({ toolsets });
  expect(await scene.cancel({ runId })).toEqual({ runId, status: 'cancelled' });
  expect(await codeOf(scene.approve(runId, { toolsets }))).toBe('run-ended');
  expect(effects).toEqual([]);
});

inEveryWorld('scenario: K19', 'nothing of a run with a toolset lingers', async (open) => {
  const { plan, toolsets } = deskPlan([askRefunds('linger-1'), 'Done.']);
  const scene = open(plan);
  const { runId } = await scene.start({ toolsets });
  await scene.approve(runId, { toolsets });
  expect((await scene.list({ status: 'all' })).runs).toEqual([]);
  expect(await scene.store.load(runId, 0)).toMatchObject({
    kind: 'ended',
    records: [{ verdict: 'approve' }],
  });
  const rows = (await scene.rowsWith(runId)) ?? {};
  const left = Object.keys(rows).filter((table) => rows[table]);
  expect(left.filter((table) => /events|calls|heads/.test(table))).toEqual([]);
});
