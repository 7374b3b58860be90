/** Interrupted calls beside others, and what follows when they were resolved. */
import { createTool, RequestContext } from 'countersign';
import { expect } from 'vitest';
import { z } from 'zod';
import { checkPrompt } from '../../src/testing/check-prompt.ts';
import { interrupt, mortalAgent, runningKinds } from '../support/interrupted.ts';
import { askRefunds, kinds, type Refund, refundCall, resultsIn, withTools } from '../support/kinds.ts';
import { codeOf, type Scene } from '../support/scene.ts';
import { withoutFeed } from '../support/stages.ts';
import { grammarProblems, ofType, typesOf } from '../support/told.ts';
import { inEveryWorld, inOneWorld, type Open } from '../support/world.ts';

const kind = kinds[0]!;
const look = createTool({ id: 'look', inputSchema: z.object({}), execute: async () => ({ seen: true }) });

async function openDesk(
  open: Open,
  ...orders: string[]
): Promise<{ scene: Scene; runId: string; effects: Refund[] }> {
  const effects: Refund[] = [];
  const calls = [
    { toolName: 'look', toolCallId: 'look' },
    ...orders.map((order) => refundCall(order, 1, order)),
  ];
  const scene = open({
    script: [{ text: 'Working. ', calls }, 'Done.'],
    tools: withTools(kind.tools(effects, true), { look }),
    options: { memory: { thread: 'thread 1', resource: 'user 1' } },
  });
  const { runId } = await scene.start();
  return { scene, runId, effects };
}

inEveryWorld('scenario: K6', 'two calls of a step, interrupted in two processes', async (open) => {
  const { scene, runId, effects } = await openDesk(open, 'a', 'b', 'c');
  for (const toolCallId of ['a', 'b']) await interrupt(scene, kind, effects, runId, { toolCallId });
  await scene.approve(runId, { toolCallId: 'c' });
  const { runs } = await scene.list({ status: 'interrupted' });
  expect(runs[0]?.toolCalls.map(({ toolCallId }) => toolCallId)).toEqual(['a', 'b']);
  expect(scene.model.calls).toHaveLength(1);
  const half = await scene.resolveCall(runId, 'b', { runAgain: true });
  expect(half.finishReason).toBe('suspended');
  expect(half.payloads.map(({ toolCallId }) => toolCallId)).toEqual(['a']);
  expect(scene.model.calls).toHaveLength(1);
  expect((await scene.resolveCall(runId, 'a', { output: { refunded: 1 } })).text).toBe('Done.');
  expect(effects.map(({ order }) => order)).toEqual(['a', 'b', 'c', 'b']);
  expect(Object.keys(resultsIn(scene.model.calls[1]?.prompt))).toEqual(['look', 'a', 'b', 'c']);
});

inEveryWorld('scenario: K7', 'the neighbours of an interrupted call stay as they are', async (open) => {
  const { scene, runId, effects } = await openDesk(open, 'a', 'b');
  await interrupt(scene, kind, effects, runId, { toolCallId: 'a' });
  await scene.sweep();
  const [held] = (await scene.list()).runs;
  expect(held?.toolCalls).toMatchObject([{ toolCallId: 'b', state: 'held', stop: 1 }]);
  const [interrupted] = (await scene.list({ status: 'interrupted' })).runs;
  expect(interrupted?.toolCalls).toMatchObject([{ toolCallId: 'a', state: 'interrupted', stop: 2 }]);
  // Unnamed, an approval means the one that it can move.
  await scene.approve(runId);
  expect(effects.map(({ order }) => order)).toEqual(['a', 'b']);
  expect((await scene.resolveCall(runId, 'a', { output: 'was done' })).text).toBe('Done.');
  const results = resultsIn(scene.model.calls[1]?.prompt);
  expect(results.look).toEqual({ type: 'json', value: { seen: true } });
  expect(results.a).toEqual({ type: 'text', value: 'was done' });
});

for (const resolution of [{ runAgain: true }, { output: { refunded: 1 } }, { error: 'it failed' }] as const) {
  const [name] = Object.keys(resolution);
  inEveryWorld('scenario: K10', `the prompt after an interrupted call, by ${name}`, async (open) => {
    const { scene, runId, effects } = await openDesk(open, 'a', 'b');
    await interrupt(scene, kind, effects, runId, { toolCallId: 'a' });
    await scene.decline(runId, { toolCallId: 'b' });
    await scene.resolveCall(runId, 'a', resolution);
    expect(scene.model.calls).toHaveLength(2);
    for (const { prompt } of scene.model.calls) expect(checkPrompt(prompt, 'all')).toEqual([]);
  });

  inEveryWorld('scenario: K19', `nothing of an interrupted call lingers, by ${name}`, async (open) => {
    const { scene, runId, effects } = await openDesk(open, 'a');
    await interrupt(scene, kind, effects, runId);
    await scene.resolveCall(runId, 'a', { ...resolution, by: { id: 'ann' }, reason: 'I looked' });
    for (const status of ['suspended', 'interrupted', 'stalled', 'running', 'all'] as const)
      expect(await scene.list({ status }), status).toEqual({ runs: [], total: 0 });
    const ended = await scene.store.load(runId, 0);
    if (ended?.kind !== 'ended') throw new Error('The run has not ended.');
    expect(ended.records.toSorted((one, other) => one.stop - other.stop)).toMatchObject([
      { toolCallId: 'a', stop: 1, verdict: 'approve' },
      { toolCallId: 'a', stop: 2, verdict: 'resolve', by: { id: 'ann' }, reason: 'I looked' },
    ]);
    const rows = await scene.rowsWith(runId);
    if (rows) expect(Object.values(withoutFeed(rows)).toSorted()).toEqual([1, 2]);
    expect(await codeOf(scene.resolveCall(runId, 'a', resolution))).toBe('already-decided');
    await scene.sweep();
    expect(scene.model.calls).toHaveLength(2);
  });
}

const notKept: Record<string, { output: unknown; codes: readonly string[] }> = {
  'a function': { output: () => 1, codes: ['not-json'] },
  'a BigInt': { output: { a: 10n }, codes: ['not-json'] },
  'a Map': { output: { a: new Map() }, codes: ['not-json'] },
  'more than is kept': { output: 'x'.repeat(4 * 1024 * 1024), codes: ['too-large'] },
};

for (const [name, { output, codes }] of Object.entries(notKept)) {
  inEveryWorld('scenario: K12', `an interrupted call's output that is or holds ${name}`, async (open) => {
    const { scene, runId, effects } = await openDesk(open, 'a');
    await interrupt(scene, kind, effects, runId);
    await scene.sweep();
    expect(codes).toContain(await codeOf(scene.resolveCall(runId, 'a', { output })));
    expect((await scene.list({ status: 'interrupted' })).total).toBe(1);
    expect((await scene.resolveCall(runId, 'a', { output: { at: '2026' } })).text).toBe('Done.');
    expect(resultsIn(scene.model.calls[1]?.prompt).a).toEqual({ type: 'json', value: { at: '2026' } });
  });
}

inEveryWorld('scenario: K13', 'run again with the same key, input and context', async (open) => {
  const seen: unknown[] = [];
  const payIn = (die = () => {}) =>
    createTool({
      id: 'pay',
      inputSchema: z.object({ order: z.string(), at: z.string().transform((text) => new Date(text)) }),
      requireApproval: true,
      execute: async (input, context) => {
        const { requestContext, idempotencyKey, runId, toolCallId, agent } = context;
        seen.push([input, requestContext.get('tenant'), idempotencyKey, runId, toolCallId, agent.threadId]);
        die();
      },
    });
  const scene = open({
    script: [{ calls: [{ toolName: 'pay', args: { order: 'a', at: '2026-01-02' } }] }, 'Done.'],
    tools: { pay: payIn() },
    options: {
      memory: { thread: 'thread 1', resource: 'user 1' },
      requestContext: new RequestContext([['tenant', { id: 'acme' }]]),
    },
  });
  const { runId } = await scene.start();
  const { agent, died, bury } = mortalAgent(scene, (die) => ({ pay: payIn(die) }));
  await agent.approveToolCall({ runId });
  await died;
  await bury();
  await scene.resolveCall(runId, 'call-0-0', { runAgain: true });
  expect(seen).toHaveLength(2);
  expect(seen[1]).toEqual(seen[0]);
  const [input, tenant, key] = seen[0] as unknown[];
  expect([input, tenant]).toEqual([{ order: 'a', at: new Date('2026-01-02') }, { id: 'acme' }]);
  expect(key).toEqual(expect.any(String));
});

for (const running of runningKinds) {
  inEveryWorld(
    'scenario: K14',
    `the stream of a resolved call (${running.name})`,
    async (open) => {
      const effects: Refund[] = [];
      const scene = open({ script: [askRefunds('a'), 'Done.'], tools: running.tools(effects, true) });
      const { runId, messageId } = await scene.start();
      await interrupt(scene, running, effects, runId);
      const told = await scene.resolveCall(runId, 'call-0-0', { runAgain: true });
      expect(grammarProblems(told.chunks!)).toEqual([]);
      expect(told.messageId).toBe(messageId);
      expect(typesOf(told.chunks!)).toEqual([
        'start',
        'tool-call',
        'tool-result',
        'step-finish',
        'step-start',
        'text-start',
        'text-delta',
        'text-end',
        'step-finish',
        'finish',
      ]);
      expect(ofType(told.chunks, 'tool-call')[0]?.payload.replayed).toBe(true);
    },
    ({ face }) => (face === 'generate' ? 'nothing is streamed' : undefined),
  );
}

inEveryWorld('scenario: K16', 'interrupted for ten years: no sweep touches it', async (open) => {
  const effects: Refund[] = [];
  let now = Date.UTC(2026, 0, 1);
  const scene = open({
    script: [askRefunds('a'), 'Done.'],
    tools: kind.tools(effects, true),
    registry: { clock: { now: () => now, sleep: async () => {} } },
  });
  const { runId } = await scene.start();
  await interrupt(scene, kind, effects, runId);
  await scene.sweep();
  const before = await scene.store.load(runId, 0);
  now = Date.UTC(2036, 0, 1);
  for (let round = 0; round < 3; round++) await scene.sweep();
  expect(await scene.store.load(runId, 0)).toEqual(before);
  expect((await scene.resolveCall(runId, 'call-0-0', { output: 1 })).text).toBe('Done.');
  expect(effects).toHaveLength(1);
});

inEveryWorld('scenario: K17', 'cancelRun on a run with an interrupted call', async (open) => {
  const { scene, runId, effects } = await openDesk(open, 'a', 'b');
  await interrupt(scene, kind, effects, runId, { toolCallId: 'a' });
  await scene.sweep();
  expect(await scene.cancel({ runId, reason: 'enough' })).toEqual({ runId, status: 'cancelled' });
  expect((await scene.list({ status: 'all' })).total).toBe(0);
  for (const toolCallId of ['a', 'b']) {
    expect(await codeOf(scene.resolveCall(runId, toolCallId, { runAgain: true }))).toBe('run-ended');
  }
  expect(effects).toHaveLength(1);
  expect(scene.model.calls).toHaveLength(1);
});

inOneWorld('scenario: K3', 'interrupted, and the result of the first attempt comes late', async (open) => {
  const { scene, runId, effects } = await openDesk(open, 'a');
  await interrupt(scene, kind, effects, runId);
  await scene.resolveCall(runId, 'a', { runAgain: true, decisionId: 'click 1' });
  const repeated = await scene.resolveCall(runId, 'a', { runAgain: true, decisionId: 'click 1' });
  expect(repeated.text).toBe('Done.');
  expect(effects).toHaveLength(2);
});
