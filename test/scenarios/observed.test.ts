/** `observe`: who looks on is told what happened and happens, each thing once, and moves nothing. */
import { createTool } from 'countersign';
import { expect } from 'vitest';
import { z } from 'zod';
import {
  approveAndCarryOut,
  askRefunds,
  kinds,
  type Refund,
  refundCall,
  refundInput,
  withTools,
} from '../support/kinds.ts';
import { codeOf, type Scene } from '../support/scene.ts';
import { withoutFeed } from '../support/stages.ts';
import { grammarProblems, ofType, readStream, type Told } from '../support/told.ts';
import { inEveryWorld, inOneWorld } from '../support/world.ts';

const look = createTool({ id: 'look', inputSchema: z.object({}), execute: async () => ({ seen: true }) });

/** What the store has of the run: the same before and after, if nothing was moved. */
const stored = (scene: Scene, runId: string) => scene.store.load(runId, 0);

for (const kind of kinds) {
  inEveryWorld('scenario: K1', `observed: nothing is decided, nothing runs (${kind.name})`, async (open) => {
    const effects: Refund[] = [];
    const scene = open({ script: [askRefunds('a'), 'Done.'], tools: kind.tools(effects, true) });
    const started = await scene.start();
    const { runId } = started;
    const before = await stored(scene, runId);
    for (let round = 0; round < 2; round++) {
      const told = await scene.observe({ runId });
      expect(told.finishReason).toBe('suspended');
      expect(told.payloads).toEqual(started.payloads);
      expect(told.text).toBe(started.text);
    }
    expect(await stored(scene, runId)).toEqual(before);
    expect(effects).toEqual([]);
    expect(scene.model.calls).toHaveLength(1);
    await approveAndCarryOut(scene, kind, effects, runId);
    expect(effects).toHaveLength(1);
  });

  inEveryWorld(
    'scenario: K8',
    `observed by another after a restart, then decided (${kind.name})`,
    async (open) => {
      const effects: Refund[] = [];
      const scene = open({ script: [askRefunds('a'), 'Done.'], tools: kind.tools(effects, true) });
      const { runId } = await scene.start();
      const told = await readStream(await scene.another().observe({ runId }));
      const [announced] = ofType(told.chunks, 'tool-call-approval');
      const { toolCallId, fingerprint, stop, args } = announced!.payload;
      expect(args).toEqual({ order: 'a', amount: 10 });
      await approveAndCarryOut(scene, kind, effects, runId, { toolCallId, fingerprint, stop });
      expect(effects).toEqual([{ order: 'a', amount: 10 }]);
    },
  );
}

inEveryWorld('scenario: K2', 'observed: a run that is unknown, foreign or malformed', async (open) => {
  const scene = open({ script: [askRefunds('a')], tools: kinds[0]!.tools([], true) });
  const { runId } = await scene.start();
  expect(await codeOf(scene.observe({ runId: 'another-run' }))).toBe('run-not-found');
  expect(await codeOf(scene.another({ id: 'stranger' }).observe({ runId }))).toBe('run-not-found');
  for (const afterEvent of [-1, 0.5, Number.NaN, '1', null]) {
    expect(await codeOf(scene.observe({ runId, afterEvent: afterEvent as number }))).toBe('invalid-option');
  }
  for (const bad of ['', 5, null, undefined, {}]) {
    const code = await codeOf(scene.observe({ runId: bad as string }));
    expect(['invalid-option', 'invalid-decision'], JSON.stringify(bad)).toContain(code);
  }
  expect((await scene.list()).total).toBe(1);
});

inOneWorld('scenario: K2', 'observed: no options at all', async (open) => {
  const { first } = open({ script: ['Hello.'] });
  const code = await codeOf(first.observe(undefined as never));
  expect(['invalid-option', 'invalid-decision']).toContain(code);
});

/** A refund that waits to be let go. */
function slowRefund(effects: Refund[]) {
  const began = Promise.withResolvers<AbortSignal>();
  const letGo = Promise.withResolvers<void>();
  const refund = createTool({
    id: 'refund',
    inputSchema: refundInput,
    requireApproval: true,
    execute: async (input, { abortSignal }) => {
      effects.push(input);
      began.resolve(abortSignal);
      await letGo.promise;
      return { refunded: input.amount };
    },
  });
  return { refund, began: began.promise, letGo: letGo.resolve };
}

inEveryWorld(
  'scenario: K3',
  'observed while it runs: the outcome and the answer are told once',
  async (open) => {
    const effects: Refund[] = [];
    const { refund, began, letGo } = slowRefund(effects);
    const scene = open({ script: [askRefunds('a'), 'Done.'], tools: { refund } });
    const { runId } = await scene.start();
    const approving = scene.approve(runId);
    await began;
    expect(await codeOf(scene.approve(runId))).toBe('already-decided');
    const observers = [scene.decider(), scene.another(), scene.another()];
    const observing = await Promise.all(observers.map((agent) => agent.observe({ runId, afterEvent: 4 })));
    letGo();
    for (const stream of observing) {
      const told = await readStream(stream);
      expect(grammarProblems(told.chunks!)).toEqual([]);
      expect(ofType(told.chunks, 'tool-result')).toHaveLength(1);
      expect(told.text).toBe('Done.');
      expect(told.finishReason).toBe('stop');
    }
    expect((await approving).text).toBe('Done.');
    expect(effects).toHaveLength(1);
    expect(scene.model.calls).toHaveLength(2);
  },
);

inEveryWorld('scenario: K6', 'observed: all calls of the step, those that are decided too', async (open) => {
  const effects: Refund[] = [];
  const scene = open({ script: [askRefunds('a', 'b', 'c'), 'Done.'], tools: kinds[0]!.tools(effects, true) });
  const { runId, payloads } = await scene.start();
  expect((await scene.observe({ runId })).payloads).toEqual(payloads);
  await scene.approve(runId, { toolCallId: 'call-0-1' });
  const told = await scene.observe({ runId });
  expect(told.payloads.map(({ toolCallId }) => toolCallId)).toEqual(['call-0-0', 'call-0-2']);
  expect(ofType(told.chunks, 'tool-call').map(({ payload }) => payload.toolCallId)).toEqual(
    payloads.map(({ toolCallId }) => toolCallId),
  );
  expect(ofType(told.chunks, 'tool-result')).toMatchObject([
    { payload: { toolCallId: 'call-0-1', result: { refunded: 10 } } },
  ]);
  expect(effects).toHaveLength(1);
});

inEveryWorld('scenario: K7', 'observed: the free neighbour and its result', async (open) => {
  const scene = open({
    script: [{ calls: [{ toolName: 'look' }, refundCall('a')] }, 'Done.'],
    tools: withTools(kinds[0]!.tools([], true), { look }),
  });
  const { runId } = await scene.start();
  const { chunks, finishReason } = await scene.observe({ runId });
  expect(finishReason).toBe('suspended');
  expect(ofType(chunks, 'tool-result')).toMatchObject([{ payload: { result: { seen: true } } }]);
  expect(ofType(chunks, 'tool-call-approval')).toHaveLength(1);
});

for (const kind of kinds) {
  for (const verb of ['approve', 'decline'] as const) {
    inEveryWorld(
      'scenario: K14',
      `observed from its beginning at each stop, by ${verb} (${kind.name})`,
      async (open) => {
        const effects: Refund[] = [];
        const script = [{ reasoning: 'Think. ', ...askRefunds('a') }, askRefunds('b'), 'Done.'];
        const scene = open({ script, tools: kind.tools(effects, true) });
        const legs: Told[] = [await scene.start()];
        const { runId, messageId } = legs[0]!;
        let last = legs[0]!;
        for (let round = 0; round < 8 && last.finishReason === 'suspended'; round++) {
          const observed = await scene.observe({ runId });
          expect(grammarProblems(observed.chunks!)).toEqual([]);
          expect(observed.messageId).toBe(messageId);
          expect(observed.finishReason).toBe('suspended');
          expect(observed.payloads).toEqual(last.payloads);
          expect(observed.text).toBe(legs.map(({ text }) => text).join(''));
          expect(ofType(observed.chunks, 'finish')[0]?.payload.decided).toBeUndefined();
          const { toolCallId, suspendPayload } = last.payloads[0];
          last =
            suspendPayload === undefined
              ? await scene[verb](runId, { toolCallId })
              : await scene.resume({ refunded: 1 }, runId, { toolCallId });
          legs.push(last);
        }
        expect(last.text).toBe('Done.');
      },
    );
  }
}

inEveryWorld('scenario: K14', 'observed from a later event: nothing that came before it', async (open) => {
  const scene = open({
    script: [askRefunds('a'), askRefunds('b'), 'Done.'],
    tools: kinds[0]!.tools([], true),
  });
  const { runId } = await scene.start();
  const open1 = await stored(scene, runId);
  const known = open1?.kind === 'open' ? open1.events.length : 0;
  expect(known).toBeGreaterThan(2);
  await scene.approve(runId);
  const { chunks, payloads } = await scene.observe({ runId, afterEvent: known });
  expect(grammarProblems(chunks!)).toEqual([]);
  expect(payloads.map(({ toolCallId }) => toolCallId)).toEqual(['call-1-0']);
  expect(ofType(chunks, 'step-start').map(({ payload }) => payload.step)).toEqual([1]);
  expect(ofType(chunks, 'tool-call-approval')).toHaveLength(1);
  expect(ofType(chunks, 'tool-result').map(({ payload }) => payload.toolCallId)).toEqual(['call-0-0']);
});

inEveryWorld('scenario: K16', 'observed: a run that waits keeps no observer, however long', async (open) => {
  let now = Date.UTC(2026, 0, 1);
  const clock = { now: () => now, sleep: async () => {} };
  const scene = open({ script: [askRefunds('a')], tools: kinds[0]!.tools([], true), registry: { clock } });
  const { runId } = await scene.start();
  now = Date.UTC(2036, 0, 1);
  expect((await scene.observe({ runId })).finishReason).toBe('suspended');
  expect((await scene.list()).runs[0]?.suspendedAt).toEqual(new Date(Date.UTC(2026, 0, 1)));
});

inEveryWorld('scenario: K17', 'observed while it is cancelled', async (open) => {
  const effects: Refund[] = [];
  const { refund, began, letGo } = slowRefund(effects);
  const scene = open({ script: [askRefunds('a'), 'Never.'], tools: { refund } });
  const { runId } = await scene.start();
  const approving = scene.approve(runId);
  await began;
  const stream = await scene.decider().observe({ runId, afterEvent: 4 });
  await scene.cancel({ runId, reason: 'enough' });
  letGo();
  await approving;
  const told = await readStream(stream);
  expect(told.finishReason).toBe('cancelled');
  expect(grammarProblems(told.chunks!)).toEqual([]);
  expect(told.results).toMatchObject([{ toolCallId: 'call-0-0', result: { refunded: 10 } }]);
});

inEveryWorld('scenario: K19', 'observed after its end: told from the outcome that is kept', async (open) => {
  const scene = open({ script: [askRefunds('a'), 'Done.'], tools: kinds[0]!.tools([], true) });
  const { runId, messageId } = await scene.start();
  const ended = await scene.approve(runId);
  // On PostgreSQL the feed may number its events meanwhile.
  const rowsOf = async () => withoutFeed((await scene.rowsWith(runId)) ?? {});
  const before = await rowsOf();
  for (const afterEvent of [undefined, 0, 5, 1000]) {
    const told = await scene.observe({ runId, afterEvent });
    expect(grammarProblems(told.chunks!)).toEqual([]);
    expect([told.finishReason, told.text]).toEqual(['stop', 'Done.']);
    expect(told.runId).toBe(ended.runId);
    expect(messageId).not.toBe('');
  }
  expect(await rowsOf()).toEqual(before);
  expect((await scene.list({ status: 'all' })).total).toBe(0);
  expect(scene.model.calls).toHaveLength(2);
});

inEveryWorld('scenario: K20', 'observed: the decline with its reason', async (open) => {
  const scene = open({ script: [askRefunds('a', 'b'), 'Done.'], tools: kinds[0]!.tools([], true) });
  const { runId } = await scene.start();
  await scene.decline(runId, { toolCallId: 'call-0-0', reason: 'too much' });
  const { chunks } = await scene.observe({ runId });
  const [denied] = ofType(chunks, 'tool-output-denied');
  expect(denied?.payload).toMatchObject({ toolCallId: 'call-0-0', approval: { reason: 'too much' } });
  expect(ofType(chunks, 'tool-result')).toEqual([]);
});
