/** K2: a stale or wrong decision never hits another call. */
import { createTool } from 'countersign';
import { expect } from 'vitest';
import { z } from 'zod';
import { approveAndCarryOut, askRefunds, kinds, type Refund, refundCall } from '../support/kinds.ts';
import { codeOf, errorOf, type Scene } from '../support/scene.ts';
import { inEveryWorld, inOneWorld, type Open } from '../support/world.ts';

for (const kind of kinds) {
  for (const repeats of [false, true]) {
    const asB = repeats ? 'under the id of the declined one' : 'as another call';
    inEveryWorld(
      'scenario: K2',
      `a decision for a declined call, asked for again ${asB} (${kind.name})`,
      async (open) => {
        const effects: Refund[] = [];
        const scene = open({
          script: [
            { calls: [refundCall('a', 10, 'A')] },
            { calls: [refundCall('a', 10, repeats ? 'A' : 'B')] },
            'Done.',
          ],
          tools: kind.tools(effects, true),
        });
        const { runId } = await scene.start();
        const second = await scene.decline(runId, { toolCallId: 'A' });
        const held = second.payloads[0]?.toolCallId;
        expect(held).not.toBe('A');
        expect(await codeOf(scene.approve(runId, { toolCallId: 'A' }))).toBe('already-decided');
        expect(await codeOf(scene.approve(runId, { toolCallId: 'A', stop: 1 }))).toBe('already-decided');
        expect(await codeOf(scene.resume({ approved: true }, runId, { toolCallId: 'A' }))).toBe(
          'already-decided',
        );
        expect(effects).toEqual([]);
        expect(scene.model.calls).toHaveLength(2);
        expect((await scene.list()).runs[0]?.toolCalls.map(({ toolCallId }) => toolCallId)).toEqual([held]);
        await approveAndCarryOut(scene, kind, effects, runId, { toolCallId: held });
        expect(effects).toHaveLength(1);
      },
    );
  }

  inEveryWorld(
    'scenario: K2',
    `what names no waiting call is an error, and nothing runs (${kind.name})`,
    async (open) => {
      const effects: Refund[] = [];
      const scene = open({
        script: [askRefunds('a'), 'Done.'],
        tools: kind.tools(effects, true),
      });
      const { runId, payloads } = await scene.start();
      const { toolCallId, fingerprint, stop } = payloads[0];
      const choices: [string, () => Promise<unknown>][] = [
        ['call-not-found', () => scene.approve(runId, { toolCallId: 'B' })],
        ['call-not-found', () => scene.decline(runId, { toolCallId: 'B' })],
        ['call-not-found', () => scene.resume({ approved: true }, runId, { toolCallId: 'B' })],
        ['call-not-found', () => scene.approve(runId, { toolCallId: '' })],
        ['call-not-found', () => scene.approve(runId, { toolCallId: 'refund' })],
        ['call-not-found', () => scene.approve(runId, { toolCallId: `x~${toolCallId}` })],
        ['call-not-found', () => scene.approve(runId, { toolCallId: '__proto__' })],
        ['run-not-found', () => scene.approve('another-run', { toolCallId })],
        ['run-not-found', () => scene.decline('another-run')],
        ['run-not-found', () => scene.approve(toolCallId)],
        ['run-not-found', () => scene.cancel({ runId: 'another-run' })],
        ['run-not-found', () => scene.continueRun('another-run')],
        ['fingerprint-mismatch', () => scene.approve(runId, { fingerprint: '0'.repeat(64) })],
        ['fingerprint-mismatch', () => scene.approve(runId, { toolCallId, fingerprint: '' })],
        ['fingerprint-mismatch', () => scene.approve(runId, { fingerprint: fingerprint.toUpperCase() })],
        [
          'fingerprint-mismatch',
          () => scene.decline(runId, { toolCallId, fingerprint: fingerprint.slice(1) }),
        ],
        ['stop-mismatch', () => scene.approve(runId, { toolCallId, stop: stop + 1 })],
        ['stop-mismatch', () => scene.decline(runId, { stop: 99 })],
      ];
      for (const [code, choose] of choices) expect(await codeOf(choose())).toBe(code);
      expect(effects).toEqual([]);
      expect(scene.model.calls).toHaveLength(1);
      await approveAndCarryOut(scene, kind, effects, runId, { toolCallId, fingerprint, stop });
      expect(effects).toEqual([{ order: 'a', amount: 10 }]);
    },
  );
}

inEveryWorld('scenario: K2', 'two runs whose calls have one id', async (open) => {
  const effects: Refund[] = [];
  const scene = open({
    script: (_prompt, index) => (index < 2 ? { calls: [refundCall(`order ${index}`, 10, 'same')] } : 'Done.'),
    tools: kinds[0]!.tools(effects, true),
  });
  const one = await scene.start();
  const other = await scene.start();
  expect(one.payloads[0].toolCallId).toBe(other.payloads[0].toolCallId);
  const wrong = { toolCallId: 'same', fingerprint: one.payloads[0].fingerprint };
  expect(await codeOf(scene.approve(other.runId, wrong))).toBe('fingerprint-mismatch');
  await scene.approve(one.runId, { toolCallId: 'same' });
  expect(effects.map(({ order }) => order)).toEqual(['order 0']);
  expect((await scene.list()).runs.map(({ runId }) => runId)).toEqual([other.runId]);
  await scene.decline(other.runId, { toolCallId: 'same' });
  expect(effects).toHaveLength(1);
});

inEveryWorld('scenario: K2', 'the fingerprint of another call of the run', async (open) => {
  const effects: Refund[] = [];
  const scene = open({ script: [askRefunds('a', 'b'), 'Done.'], tools: kinds[0]!.tools(effects, true) });
  const { runId, payloads } = await scene.start();
  const [a, b] = payloads;
  const crossed = { toolCallId: a.toolCallId, fingerprint: b.fingerprint };
  expect(await codeOf(scene.approve(runId, crossed))).toBe('fingerprint-mismatch');
  // Unnamed, the last one is meant: a fingerprint of the other must not slip through.
  expect(await codeOf(scene.approve(runId, { fingerprint: a.fingerprint }))).toBe('fingerprint-mismatch');
  expect(effects).toEqual([]);
});

inEveryWorld('scenario: K2', 'another agent on the same store', async (open) => {
  const effects: Refund[] = [];
  const scene = open({ script: [askRefunds('a'), 'Done.'], tools: kinds[0]!.tools(effects, true) });
  const { runId, payloads } = await scene.start();
  const stranger = scene.another({ id: 'stranger' });
  const given = { runId, toolCallId: payloads[0].toolCallId };
  const unknown = await errorOf(stranger.approveToolCall({ ...given, runId: 'no such run' }));
  for (const attempt of [
    () => stranger.approveToolCall(given),
    () => stranger.declineToolCallGenerate(given),
    () => stranger.resumeStream({ approved: true }, given),
    () => stranger.continueRun({ runId }),
    () => stranger.cancelRun({ runId }),
  ]) {
    const error = await errorOf(attempt());
    expect(error.code).toBe('run-not-found');
    // Nothing tells that the run exists.
    expect(error.message.replaceAll(runId, '')).toBe(unknown.message.replaceAll('no such run', ''));
  }
  expect((await stranger.listSuspendedRuns({ status: 'all' })).total).toBe(0);
  expect(effects).toEqual([]);
  await scene.approve(runId);
  expect(effects).toHaveLength(1);
  expect(await codeOf(stranger.approveToolCall(given))).toBe('run-not-found');
});

/** Held, then, once approved, it suspends itself twice. */
function twiceSuspending(effects: unknown[]) {
  return createTool({
    id: 'book',
    inputSchema: z.object({ place: z.string() }),
    suspendSchema: z.object({ question: z.string() }),
    resumeSchema: z.object({ answer: z.string() }),
    requireApproval: true,
    execute: async ({ place }, { agent }) => {
      const answers = agent.resumeData?.answer ?? '';
      effects.push(`${place} ${answers}`);
      if (answers !== 'second') await agent.suspend({ question: `after "${answers}"?` });
      return { booked: place };
    },
  });
}

async function heldThenSuspended(open: Open): Promise<{ scene: Scene; effects: unknown[]; runId: string }> {
  const effects: unknown[] = [];
  const scene = open({
    script: [{ calls: [{ toolName: 'book', args: { place: 'Rome' } }] }, 'Booked.'],
    tools: { book: twiceSuspending(effects) },
  });
  const { runId } = await scene.start();
  await scene.approve(runId, { stop: 1 });
  return { scene, effects, runId };
}

inEveryWorld('scenario: K2', 'a decision for an earlier stop of the same call', async (open) => {
  const { scene, effects, runId } = await heldThenSuspended(open);
  expect((await scene.list()).runs[0]?.toolCalls[0]).toMatchObject({ stop: 2, state: 'suspended' });
  expect(await codeOf(scene.approve(runId, { stop: 1 }))).toBe('already-decided');
  expect(await codeOf(scene.decline(runId, { stop: 1, toolCallId: 'call-0-0' }))).toBe('already-decided');
  expect(await codeOf(scene.resume({ answer: 'x' }, runId, { stop: 1 }))).toBe('already-decided');
  expect(await codeOf(scene.resume({ answer: 'x' }, runId, { stop: 3 }))).toBe('stop-mismatch');
  expect(await codeOf(scene.approve(runId))).toBe('needs-data');
  expect(await codeOf(scene.approve(runId, { stop: 2 }))).toBe('needs-data');
  const third = await scene.resume({ answer: 'first' }, runId, { stop: 2 });
  expect(third.payloads[0]).toMatchObject({ stop: 3, suspendPayload: { question: 'after "first"?' } });
  expect(await codeOf(scene.resume({ answer: 'second' }, runId, { stop: 2 }))).toBe('already-decided');
  expect(effects).toEqual(['Rome ', 'Rome first']);
  expect((await scene.resume({ answer: 'second' }, runId, { stop: 3 })).text).toBe('Booked.');
  expect(effects).toEqual(['Rome ', 'Rome first', 'Rome second']);
});

for (const id of ['', 'a~b', '__proto__', 'constructor', 'a b', '"', 'é\u0000', 'x'.repeat(2000)]) {
  inEveryWorld(
    'scenario: K2',
    `a call that the model named ${JSON.stringify(id).slice(0, 20)}`,
    async (open) => {
      const effects: Refund[] = [];
      const scene = open({
        script: [{ calls: [refundCall('a', 1, id), refundCall('b', 2, id)] }, 'Done.'],
        tools: kinds[0]!.tools(effects, true),
      });
      const { runId, payloads } = await scene.start();
      const [a, b] = payloads.map(({ toolCallId }) => toolCallId);
      expect(a).not.toBe(b);
      expect(`${a}${b}`).not.toContain('~');
      await scene.decline(runId, { toolCallId: a });
      await scene.approve(runId, { toolCallId: b });
      expect(effects).toEqual([{ order: 'b', amount: 2 }]);
      const results = JSON.stringify(scene.model.calls[1]?.prompt);
      expect(results).toContain(JSON.stringify(a));
      expect(results).toContain(JSON.stringify(b));
    },
  );
}

inOneWorld(
  'scenario: K2',
  'without a call id the one announced last is meant, or none where several wait',
  async (open) => {
    const effects: Refund[] = [];
    const tools = kinds[0]!.tools(effects, true);
    const scene = open({ script: [askRefunds('a', 'b'), 'Done.'], tools });
    const { runId } = await scene.start();
    await scene.approve(runId);
    expect(effects.map(({ order }) => order)).toEqual(['b']);

    const strict = open({
      script: [askRefunds('a', 'b'), 'Done.'],
      tools,
      agent: { whenSeveralWait: 'refuse' },
    });
    const other = await strict.start();
    expect(await codeOf(strict.approve(other.runId))).toBe('call-required');
    await strict.decline(other.runId, { toolCallId: 'call-0-1' });
    await strict.approve(other.runId);
    expect(effects.map(({ order }) => order)).toEqual(['b', 'a']);
  },
);

inOneWorld(
  'scenario: K2',
  'the latest call is chosen once: the loser of a race does not fall upon another call',
  async (open) => {
    const effects: Refund[] = [];
    const scene = open({ script: [askRefunds('a', 'b'), 'Done.'], tools: kinds[0]!.tools(effects, true) });
    const { runId } = await scene.start();
    const other = scene.another();
    const decisions = await Promise.allSettled([
      scene.first.approveToolCall({ runId }),
      other.approveToolCall({ runId }),
    ]);
    expect(decisions.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    await Promise.all(
      decisions.map((decision) => decision.status === 'fulfilled' && decision.value.consumeStream()),
    );
    expect(effects.map(({ order }) => order)).toEqual(['b']);
  },
);
