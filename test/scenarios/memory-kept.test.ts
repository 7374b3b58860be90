/** K12, K13 and K19: what a run with a memory stores, what it is given again, and what is left of it. */
import { type Batch, createTool, type RunOptions, type Store } from 'countersign';
import { storeAround } from 'countersign/testing';
import { expect } from 'vitest';
import { z } from 'zod';
import { thread } from '../support/by-thread.ts';
import { expectValidPrompts, loaded, openConversation, spoken } from '../support/conversation.ts';
import { askRefunds, kinds, refundCall } from '../support/kinds.ts';
import { codeOf, type Scene } from '../support/scene.ts';
import { inEveryWorld, inOneWorld } from '../support/world.ts';

function measured(store: Store, sizes: number[]): Store {
  const sized = <Rest extends unknown[], Result>(write: (batch: Batch, ...rest: Rest) => Result) => {
    return (batch: Batch, ...rest: Rest): Result => {
      sizes.push(JSON.stringify([batch, rest]).length);
      return write(batch, ...rest);
    };
  };
  return storeAround(store, {
    create: sized((batch) => store.create(batch)),
    append: sized((batch) => store.append(batch)),
    remove: sized((batch, outcome, at) => store.remove(batch, outcome, at)),
  });
}

const history = Array.from({ length: 100 }, (_, index) => ({
  role: index % 2 === 0 ? ('user' as const) : ('assistant' as const),
  content: `message ${index} ${'x'.repeat(500)}`,
}));

inEveryWorld('scenario: K12', 'what a pause stores does not depend on what was said before', async (open) => {
  const sizes: number[] = [];
  const steps = 3;
  const scene = openConversation(open, {
    script: (_prompt, index) => (index < steps ? askRefunds(`order ${index}`) : 'Done.'),
    tools: kinds[0]!.tools([], true),
    memory: { lastMessages: 100 },
    around: (store) => measured(store, sizes),
  });
  await scene.memory().saveMessages({ ...thread, messages: history });
  const { runId } = await scene.start();
  for (let step = 0; step < steps; step++) await scene.approve(runId);
  expect(Math.max(...sizes)).toBeLessThan(4000);
  for (const { prompt } of scene.model.calls) {
    expect(JSON.stringify(prompt).match(/message \d+ x/g)).toHaveLength(100);
  }
  expect(await loaded(scene)).toHaveLength(102);
  expectValidPrompts(scene, steps + 1);
});

inOneWorld('scenario: K12', 'a run that never pauses writes its messages and nothing else', async (open) => {
  const sizes: number[] = [];
  const scene = openConversation(open, {
    script: ['Hello.'],
    around: (store) => measured(store, sizes),
  });
  const { runId } = await scene.start({}, 'Hi.');
  expect(sizes).toEqual([]);
  expect(await scene.store.load(runId, 0)).toBeUndefined();
  expect(spoken(await loaded(scene))).toEqual(['user: Hi.', 'assistant: Hello.']);
});

/** A tool that notes what it is told of its conversation. */
function noting(notes: object[]) {
  return createTool({
    id: 'refund',
    inputSchema: z.object({ order: z.string(), amount: z.number() }),
    requireApproval: true,
    execute: async (_input, { agent: { threadId, resourceId, messages } }) => {
      const texts = JSON.stringify(messages).match(/say \d/g);
      notes.push({ threadId, resourceId, texts });
      return { refunded: 1 };
    },
  });
}

inEveryWorld('scenario: K13', 'a run recalls what it recalled when it began', async (open) => {
  const notes: object[] = [];
  const scene = openConversation(open, {
    script: ['Yes 1.', askRefunds('a'), 'Yes 3.', askRefunds('b'), 'Done.'],
    tools: { refund: noting(notes) },
  });
  await scene.start({}, 'say 1');
  const { runId } = await scene.turn('say 2');
  await scene.turn('say 3');
  await scene.approve(runId);
  await scene.approve(runId);
  const mine = { ...thread, texts: ['say 1', 'say 2'] };
  expect(notes).toEqual([mine, mine]);
  for (const call of [1, 3, 4]) {
    expect(JSON.stringify(scene.model.calls[call]?.prompt).match(/say \d/g)).toEqual(['say 1', 'say 2']);
  }
  expectValidPrompts(scene, 5);
});

inEveryWorld('scenario: K13', 'a decision in the name of another conversation finds no run', async (open) => {
  const scene = openConversation(open, {
    script: [askRefunds('a'), 'Done.'],
    tools: kinds[0]!.tools([], true),
  });
  const { runId } = await scene.start();
  for (const memory of [
    { thread: thread.threadId, resource: 'somebody else' },
    { thread: 'another', resource: thread.resourceId },
    { resource: 'somebody else' },
    { thread: { id: 'another' } },
  ]) {
    expect(await codeOf(scene.approve(runId, { memory }))).toBe('run-not-found');
  }
  const memory = { thread: { id: thread.threadId }, resource: thread.resourceId };
  expect((await scene.approve(runId, { memory })).text).toBe('Done.');
  expect(await codeOf(scene.approve(runId, { memory: { resource: 'somebody else' } }))).toBe('run-not-found');
});

inEveryWorld('scenario: K13', 'a run that may only read leaves nothing behind, also later', async (open) => {
  const options: RunOptions = {
    memory: { thread: thread.threadId, resource: thread.resourceId, options: { readOnly: true } },
  };
  const scene = openConversation(open, {
    script: ['Yes.', { calls: [refundCall('a')] }, 'Done.'],
    tools: kinds[0]!.tools([], true),
  });
  await scene.start({}, 'Kept.');
  const { runId } = await scene.turn('Secret.', options);
  const kept = ['user: Kept.', 'assistant: Yes.'];
  expect(spoken(await loaded(scene))).toEqual(kept);
  await scene.approve(runId);
  expect(spoken(await loaded(scene))).toEqual(kept);
  expect(JSON.stringify(scene.model.calls[2]?.prompt)).toContain('Kept.');
  expect((await scene.rowsWith('Secret.')) ?? {}).toEqual({});
});

async function settledRun(scene: Scene): Promise<string> {
  const { runId } = await scene.start({}, 'Please.');
  await scene.approve(runId);
  return runId;
}

inEveryWorld(
  'scenario: K19',
  'when the run has ended its thread is settled and nothing else is left',
  async (open) => {
    const scene = openConversation(open, {
      script: [askRefunds('a'), 'Done.'],
      tools: kinds[0]!.tools([], true),
    });
    const runId = await settledRun(scene);
    expect((await scene.list({ ...thread, status: 'all' })).runs).toEqual([]);
    expect(await scene.store.load(runId, 0)).toMatchObject({
      kind: 'ended',
      records: [{ verdict: 'approve' }],
    });
    const states = (await loaded(scene)).flatMap(({ parts }) =>
      parts.flatMap((part) => ('state' in part ? [part.state] : [])),
    );
    expect(states).toEqual(['output-available']);
  },
);
