/** A call whose worker died while it ran: nobody but a person says what became of it, once. */
import { type AgentStream, createTool, type DecisionRecord, isCountersignError } from 'countersign';
import { expect } from 'vitest';
import { z } from 'zod';
import { interrupt, mortalAgent, runningKinds } from '../support/interrupted.ts';
import {
  askRefunds,
  type Kind,
  kinds,
  type Refund,
  refundCall,
  resultsIn,
  withTools,
} from '../support/kinds.ts';
import { codeOf, errorOf, type Resolution, type Scene } from '../support/scene.ts';
import { readStream, type Told, toldByOutput } from '../support/told.ts';
import { inEveryWorld, type Open } from '../support/world.ts';

const toolCallId = 'call-0-0';

/** One call, approved, whose process died after the effect. */
async function oneInterrupted(
  open: Open,
  kind: Kind = kinds[0]!,
): Promise<{ scene: Scene; runId: string; effects: Refund[] }> {
  const effects: Refund[] = [];
  const scene = open({ script: [askRefunds('a'), 'Done.'], tools: kind.tools(effects, true) });
  const { runId } = await scene.start();
  await interrupt(scene, kind, effects, runId);
  return { scene, runId, effects };
}

const resolutions: Record<string, { resolution: Resolution; runs: number; result: object }> = {
  'run again': { resolution: { runAgain: true }, runs: 2, result: { type: 'json', value: { refunded: 10 } } },
  'its output': {
    resolution: { output: { refunded: 9 } },
    runs: 1,
    result: { type: 'json', value: { refunded: 9 } },
  },
  'its error': { resolution: { error: 'the bank was closed' }, runs: 1, result: { type: 'error-text' } },
};

for (const kind of runningKinds) {
  for (const [name, { resolution, runs, result }] of Object.entries(resolutions)) {
    inEveryWorld(
      'scenario: K8',
      `interrupted, listed, then resolved: ${name} (${kind.name})`,
      async (open) => {
        const { scene, runId, effects } = await oneInterrupted(open, kind);
        expect((await scene.list({ status: 'running' })).runs).toEqual([]);
        await scene.sweep();
        expect((await scene.list()).total).toBe(0);
        const { runs: listed, total } = await scene.list({ status: 'interrupted' });
        expect(total).toBe(1);
        expect(listed[0]?.suspendedAt).toBeInstanceOf(Date);
        expect(listed[0]).toMatchObject({ runId, status: 'interrupted' });
        expect(listed[0]?.toolCalls).toMatchObject([
          { toolCallId, stop: 2, state: 'interrupted', toolName: 'refund', args: { order: 'a', amount: 10 } },
        ]);
        const { fingerprint } = listed[0]!.toolCalls[0]!;
        expect(effects).toHaveLength(1);
        expect(scene.model.calls).toHaveLength(1);
        const told = await scene.resolveCall(runId, toolCallId, { ...resolution, stop: 2, fingerprint });
        expect(told.text).toBe('Done.');
        expect(effects).toHaveLength(runs);
        const given = resultsIn(scene.model.calls[1]?.prompt)[toolCallId];
        expect(given).toMatchObject(result);
        if (resolution.error) expect(JSON.stringify(given)).toContain(resolution.error);
        expect((await scene.list({ status: 'all' })).total).toBe(0);
      },
    );
  }
}

inEveryWorld('scenario: K8', 'interrupted, and resolved with no sweep before', async (open) => {
  const { scene, runId, effects } = await oneInterrupted(open);
  expect((await scene.resolveCall(runId, toolCallId, { output: { refunded: 10 } })).text).toBe('Done.');
  expect(effects).toHaveLength(1);
});

const malformed: unknown[] = [
  {},
  { runAgain: false },
  { runAgain: 'yes' },
  { runAgain: 1 },
  { runAgain: null },
  { error: 5 },
  { error: null },
  { error: { message: 'no' } },
  { output: undefined },
  { runAgain: true, output: 1 },
  { output: 1, error: 'no' },
  { runAgain: true, error: 'no' },
  { approved: true },
];

inEveryWorld('scenario: K1', 'interrupted: what says nothing of its fate executes nothing', async (open) => {
  const { scene, runId, effects } = await oneInterrupted(open);
  for (const resolution of malformed) {
    const code = await codeOf(scene.resolveCall(runId, toolCallId, resolution as Resolution));
    expect(code, JSON.stringify(resolution)).toBe('invalid-decision');
  }
  for (const attempt of [
    () => scene.approve(runId),
    () => scene.approve(runId, { toolCallId, stop: 2 }),
    () => scene.decline(runId, { toolCallId }),
    () => scene.resume({ approved: true }, runId, { toolCallId }),
  ]) {
    expect(await codeOf(attempt())).toBe('call-interrupted');
  }
  expect(effects).toHaveLength(1);
  expect(scene.model.calls).toHaveLength(1);
  expect((await scene.list({ status: 'interrupted' })).total).toBe(1);
});

inEveryWorld('scenario: K1', 'a declined call is never interrupted', async (open) => {
  const effects: Refund[] = [];
  const kind = kinds[0]!;
  const scene = open({ script: [askRefunds('a', 'b'), 'Done.'], tools: kind.tools(effects, true) });
  const { runId } = await scene.start();
  const { agent, died, bury } = mortalAgent(scene, (die) =>
    kind.tools(Object.assign([], { push: die as () => number }), true),
  );
  await agent.declineToolCallGenerate({ runId, toolCallId: 'call-0-0' });
  await agent.approveToolCall({ runId, toolCallId: 'call-0-1' });
  await died;
  await bury();
  await scene.sweep();
  const { runs } = await scene.list({ status: 'interrupted' });
  expect(runs[0]?.toolCalls.map((call) => call.toolCallId)).toEqual(['call-0-1']);
  expect(await codeOf(scene.resolveCall(runId, 'call-0-0', { runAgain: true }))).toBe('already-decided');
  await scene.resolveCall(runId, 'call-0-1', { runAgain: true });
  expect(effects.map(({ order }) => order)).toEqual(['b']);
  expect(resultsIn(scene.model.calls[1]?.prompt)['call-0-0']?.type).toBe('execution-denied');
});

inEveryWorld('scenario: K2', 'interrupted: what names another call or stop is an error', async (open) => {
  const { scene, runId, effects } = await oneInterrupted(open);
  const runAgain = { runAgain: true } as const;
  const choices: [string, () => Promise<unknown>][] = [
    ['run-not-found', () => scene.resolveCall('another-run', toolCallId, runAgain)],
    [
      'run-not-found',
      () => scene.another({ id: 'stranger' }).resolveInterruptedCall({ runId, toolCallId, ...runAgain }),
    ],
    ['call-not-found', () => scene.resolveCall(runId, 'call-0-1', runAgain)],
    ['call-not-found', () => scene.resolveCall(runId, '', runAgain)],
    ['already-decided', () => scene.resolveCall(runId, toolCallId, { ...runAgain, stop: 1 })],
    ['stop-mismatch', () => scene.resolveCall(runId, toolCallId, { ...runAgain, stop: 3 })],
    ['fingerprint-mismatch', () => scene.resolveCall(runId, toolCallId, { ...runAgain, fingerprint: '0' })],
    ['invalid-decision', () => scene.resolveCall('', toolCallId, runAgain)],
    ['invalid-decision', () => scene.resolveCall(runId, 5 as never, runAgain)],
    ['invalid-decision', () => scene.resolveCall(runId, toolCallId, { ...runAgain, by: 'ann' as never })],
    ['invalid-decision', () => scene.decider().resolveInterruptedCall(undefined as never)],
  ];
  for (const [code, choose] of choices) expect(await codeOf(choose()), String(choose)).toBe(code);
  expect(effects).toHaveLength(1);
  expect((await scene.list({ status: 'interrupted' })).total).toBe(1);
});

inEveryWorld('scenario: K2', 'what is not interrupted cannot be resolved', async (open) => {
  const effects: Refund[] = [];
  const ask = createTool({
    id: 'ask',
    inputSchema: z.object({}),
    execute: async (_input, { agent }) => agent.suspend({ question: '?' }),
  });
  const scene = open({
    script: [{ calls: [refundCall('a', 1, 'held'), { toolName: 'ask', toolCallId: 'suspended' }] }, 'Done.'],
    tools: withTools(kinds[0]!.tools(effects, true), { ask }),
  });
  const { runId } = await scene.start();
  for (const resolution of [{ runAgain: true }, { output: 1 }, { error: 'no' }] as const) {
    for (const id of ['held', 'suspended']) {
      const code = await codeOf(scene.resolveCall(runId, id, resolution));
      expect(['call-not-waiting', 'needs-verdict', 'needs-data']).toContain(code);
    }
  }
  expect(effects).toEqual([]);
  expect((await scene.list()).runs[0]?.toolCalls).toHaveLength(2);
});

inEveryWorld('scenario: K3', 'interrupted: resolved twice, at once and later', async (open, world) => {
  const { scene, runId, effects } = await oneInterrupted(open);
  const given = { runId, toolCallId, stop: 2, runAgain: true } as const;
  const told = async (agent = scene.decider()): Promise<Told> =>
    world.face === 'stream'
      ? readStream((await agent.resolveInterruptedCall(given)) as AgentStream)
      : toldByOutput(await agent.resolveInterruptedCallGenerate(given));
  const attempts = await Promise.allSettled([told(), told(), told()]);
  const won = attempts.filter((attempt) => attempt.status === 'fulfilled');
  expect(won.map(({ value }) => value.text)).toEqual(['Done.']);
  for (const attempt of attempts) {
    if (attempt.status === 'fulfilled') continue;
    if (!isCountersignError(attempt.reason, 'already-decided')) throw attempt.reason;
    expect(attempt.reason.decision as DecisionRecord).toMatchObject({ verdict: 'resolve', stop: 2 });
  }
  const error = await errorOf(scene.resolveCall(runId, toolCallId, { output: 1 }));
  expect(error.code).toBe('already-decided');
  expect(error.decision).toMatchObject({ verdict: 'resolve' });
  expect(effects).toHaveLength(2);
  expect(scene.model.calls).toHaveLength(2);
});

inEveryWorld('scenario: K4', 'interrupted: what the model wrote resolves nothing', async (open) => {
  const seen: unknown[] = [];
  const noteIn = (entries: unknown[], die = () => {}) =>
    createTool({
      id: 'note',
      inputSchema: z.looseObject({}),
      requireApproval: true,
      execute: async (input) => {
        entries.push(input);
        die();
      },
    });
  const args = { runAgain: true, output: 'ok', idempotent: true, resolution: 'run-again' };
  const scene = open({
    script: [{ calls: [{ toolName: 'note', args }] }, 'Done.'],
    tools: { note: noteIn(seen) },
  });
  const { runId } = await scene.start();
  const { agent, died, bury } = mortalAgent(scene, (die) => ({ note: noteIn(seen, die) }));
  await agent.approveToolCall({ runId });
  await died;
  await bury();
  for (let round = 0; round < 2; round++) await scene.sweep();
  expect((await scene.list({ status: 'interrupted' })).total).toBe(1);
  expect(seen).toEqual([args]);
});
