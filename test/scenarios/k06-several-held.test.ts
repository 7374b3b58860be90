/** K6: several held calls in one step, each decided by itself, in any order. */
import { createTool } from 'countersign';
import { expect } from 'vitest';
import { z } from 'zod';
import { kinds, type Refund, refundCall, resultsIn } from '../support/kinds.ts';
import type { Plan, Scene } from '../support/scene.ts';
import { ofType, type Told } from '../support/told.ts';
import { inEveryWorld, inOneWorld, type Open, worlds } from '../support/world.ts';

/** All orders of the numbers below `count`. */
function orders(count: number): number[][] {
  if (count === 0) return [[]];
  return orders(count - 1).flatMap((shorter) =>
    Array.from({ length: count }, (_, position) => shorter.toSpliced(position, 0, count - 1)),
  );
}

interface Desk {
  readonly scene: Scene;
  readonly executed: string[];
  readonly started: Told;
}

/** Two free neighbours and `count` held calls of two tools, asked for in one step. */
async function openDesk(open: Open, count: number, whenCarriedOut?: () => Promise<void>): Promise<Desk> {
  const executed: string[] = [];
  const scene = open(deskPlan(executed, count, whenCarriedOut));
  const started = await scene.start();
  return { scene, executed, started };
}

function deskPlan(executed: string[], count: number, whenCarriedOut = async () => {}): Plan {
  const tools = Object.fromEntries(
    ['refund', 'mail', 'look'].map((id) => [
      id,
      createTool({
        id,
        inputSchema: z.object({ name: z.string() }),
        ...(id === 'look' ? {} : { requireApproval: true }),
        execute: async ({ name }) => {
          executed.push(name);
          if (name.startsWith('held')) await whenCarriedOut();
          return { did: name };
        },
      }),
    ]),
  );
  const held = Array.from({ length: count }, (_, index) => ({
    toolName: index % 2 === 0 ? 'refund' : 'mail',
    args: { name: `held ${index}` },
    toolCallId: `held-${index}`,
  }));
  const free = (name: string) => ({ toolName: 'look', args: { name }, toolCallId: name });
  const calls = [free('first'), ...held, free('last')];
  return { script: [{ text: 'Working. ', calls }, 'All settled.'], tools };
}

/** Decides in this order; every second call of the numbers in it is declined. */
async function decideInOrder({ scene, executed, started }: Desk, order: readonly number[]): Promise<void> {
  const { runId } = started;
  const count = order.length;
  const ids = Array.from({ length: count }, (_, index) => `held-${index}`);
  expect(started.payloads.map(({ toolCallId }) => toolCallId)).toEqual(ids);
  expect(executed.toSorted()).toEqual(['first', 'last']);
  const left = new Set(ids);
  for (const [position, index] of order.entries()) {
    const listed = (await scene.list()).runs[0]?.toolCalls.map(({ toolCallId }) => toolCallId);
    expect(listed).toEqual([...left]);
    const toolCallId = `held-${index}`;
    left.delete(toolCallId);
    const declines = index % 2 === 1;
    const told = declines
      ? await scene.decline(runId, { toolCallId, reason: `no to ${index}` })
      : await scene.approve(runId, { toolCallId });
    const isLast = position === count - 1;
    expect(told.finishReason).toBe(isLast ? 'stop' : 'suspended');
    expect(told.text).toBe(isLast ? 'All settled.' : '');
    expect(told.payloads.map((payload) => payload.toolCallId)).toEqual([...left]);
    expect(scene.model.calls).toHaveLength(isLast ? 2 : 1);
  }
  const approved = order.filter((index) => index % 2 === 0).map((index) => `held ${index}`);
  expect(executed.slice(2)).toEqual(approved);
  const results = resultsIn(scene.model.calls[1]?.prompt);
  expect(Object.keys(results)).toEqual(['first', ...ids, 'last']);
  for (const [index, id] of ids.entries()) {
    const output = results[id];
    if (index % 2 === 0) expect(output).toEqual({ type: 'json', value: { did: `held ${index}` } });
    else expect(output?.reason).toContain(`no to ${index}`);
  }
  expect((await scene.list({ status: 'all' })).total).toBe(0);
}

for (const order of orders(2)) {
  inEveryWorld('scenario: K6', `two held calls, decided in the order ${order.join(' ')}`, async (open) => {
    await decideInOrder(await openDesk(open, 2), order);
  });
}

const byStreamInMemory = worlds.filter(({ store, face }) => store === 'memory' && face === 'stream');
for (const world of byStreamInMemory) {
  inOneWorld(
    'scenario: K6',
    `five held calls, decided in all 120 orders (${world.name})`,
    async (open) => {
      const all = orders(5);
      expect(new Set(all.map(String)).size).toBe(120);
      for (const order of all) await decideInOrder(await openDesk(open, 5), order);
    },
    world,
  );
}

/** Forwards, backwards, outer first, inner first, and one without a pattern. */
const sample = ['01234', '43210', '04132', '21304', '30142'].map((order) => [...order].map(Number));
for (const order of sample) {
  inEveryWorld('scenario: K6', `five held calls, decided in the order ${order.join(' ')}`, async (open) => {
    await decideInOrder(await openDesk(open, 5), order);
  });
}

for (const kind of kinds) {
  inEveryWorld(
    'scenario: K6',
    `three calls of one tool, one id or many, are three calls (${kind.name})`,
    async (open) => {
      const effects: Refund[] = [];
      const scene = open({
        script: [
          { calls: [refundCall('a', 1, 'x'), refundCall('a', 1, 'x'), refundCall('a', 1, 'y')] },
          'Done.',
        ],
        tools: kind.tools(effects, true),
      });
      const { runId, payloads, chunks } = await scene.start();
      const ids = payloads.map(({ toolCallId }) => toolCallId);
      expect(new Set(ids).size).toBe(3);
      // The same arguments have the same fingerprint: only the id tells the calls apart.
      expect(new Set(payloads.map(({ fingerprint }) => fingerprint)).size).toBe(1);
      if (chunks)
        expect(ofType(chunks, 'tool-call-approval').map(({ payload }) => payload.toolCallId)).toEqual(ids);
      await scene.decline(runId, { toolCallId: ids[1] });
      await scene.decline(runId, { toolCallId: ids[2] });
      const told = await scene.approve(runId, { toolCallId: ids[0] });
      if (kind.clientSide) expect(told.payloads.map(({ toolCallId }) => toolCallId)).toEqual([ids[0]]);
      else expect(effects).toEqual([{ order: 'a', amount: 1 }]);
    },
  );
}

inEveryWorld('scenario: K6', 'two calls approved at once: both get the final text', async (open) => {
  let running = 0;
  const bothRun = Promise.withResolvers<void>();
  const whenCarriedOut = (): Promise<void> => {
    running++;
    if (running === 2) bothRun.resolve();
    return bothRun.promise;
  };
  const { scene, executed, started } = await openDesk(open, 2, whenCarriedOut);
  const told = await Promise.all(
    [0, 1].map((index) => scene.approve(started.runId, { toolCallId: `held-${index}` })),
  );
  for (const leg of told) expect([leg.finishReason, leg.text]).toEqual(['stop', 'All settled.']);
  expect(executed.slice(2).toSorted()).toEqual(['held 0', 'held 1']);
  expect(scene.model.calls).toHaveLength(2);
  expect((await scene.list({ status: 'all' })).total).toBe(0);
});

inEveryWorld(
  'scenario: K6',
  'one call declined while another runs: both get the final text',
  async (open) => {
    const runs = Promise.withResolvers<void>();
    const letGo = Promise.withResolvers<void>();
    const whenCarriedOut = (): Promise<void> => {
      runs.resolve();
      return letGo.promise;
    };
    const { scene, executed, started } = await openDesk(open, 2, whenCarriedOut);
    const approving = scene.approve(started.runId, { toolCallId: 'held-0' });
    await runs.promise;
    // The decline is stored when its leg is there, and is not the last word while the other call runs.
    const leg = await scene.decider().declineToolCall({ runId: started.runId, toolCallId: 'held-1' });
    letGo.resolve();
    expect(await leg.text).toBe('All settled.');
    expect(await leg.finishReason).toBe('stop');
    expect((await approving).text).toBe('All settled.');
    expect(executed.slice(2)).toEqual(['held 0']);
    expect(scene.model.calls).toHaveLength(2);
  },
);

for (const order of orders(3)) {
  inEveryWorld(
    'scenario: K6',
    `three calls that suspended themselves, resumed ${order.join(' ')}`,
    async (open) => {
      const ask = createTool({
        id: 'ask',
        inputSchema: z.object({ name: z.string() }),
        resumeSchema: z.object({ answer: z.string() }),
        execute: async ({ name }, { agent }) =>
          agent.resumeData ? `${name} ${agent.resumeData.answer}` : agent.suspend(null),
      });
      const calls = ['0', '1', '2'].map((name) => ({
        toolName: 'ask',
        args: { name },
        toolCallId: `ask-${name}`,
      }));
      const scene = open({ script: [{ calls }, 'Done.'], tools: { ask } });
      const { runId, payloads } = await scene.start();
      expect(payloads).toHaveLength(3);
      for (const [position, index] of order.entries()) {
        const told = await scene.resume({ answer: `${position}` }, runId, { toolCallId: `ask-${index}` });
        expect(told.payloads).toHaveLength(2 - position);
        expect(scene.model.calls).toHaveLength(position === 2 ? 2 : 1);
      }
      const results = resultsIn(scene.model.calls[1]?.prompt);
      for (const [position, index] of order.entries()) {
        expect(results[`ask-${index}`]).toEqual({ type: 'text', value: `${index} ${position}` });
      }
    },
  );
}

inEveryWorld('scenario: K6', 'cancelRun settles all that is left', async (open) => {
  const { scene, executed, started } = await openDesk(open, 5);
  await scene.approve(started.runId, { toolCallId: 'held-2' });
  await scene.cancel({ runId: started.runId });
  expect(executed.slice(2)).toEqual(['held 2']);
  const ended = await scene.store.load(started.runId, 0);
  if (ended?.kind !== 'ended') throw new Error('The run has not ended.');
  expect(ended.records.map(({ verdict }) => verdict).toSorted()).toEqual([
    'approve',
    'cancel',
    'cancel',
    'cancel',
    'cancel',
  ]);
});
