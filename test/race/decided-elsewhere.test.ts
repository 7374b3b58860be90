/** What somebody is told whose decision, or whose observation, meets what another process did meanwhile. */
import { Agent, Countersign, createTool, InMemoryStore, type Store } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';

function open(storage: Store) {
  const tool = createTool({
    id: 'refund',
    inputSchema: z.looseObject({}),
    requireApproval: true,
    execute: async () => ({ ok: true }),
  });
  const agent = new Agent({
    id: 'desk',
    model: scriptedModel((prompt) =>
      prompt.at(-1)?.role === 'tool'
        ? 'Done.'
        : { calls: [{ toolName: 'refund', toolCallId: 'one', args: {} }] },
    ),
    tools: { tool },
  });
  return { agent, countersign: new Countersign({ agents: { agent }, storage, warn: () => {} }) };
}

/** A store whose writes, once armed, do something else first: as if another process came before. */
function overtaken(store: Store): { store: Store; overtake(work: () => Promise<void>): void } {
  let first: (() => Promise<void>) | undefined;
  const wrapped = new Proxy(store, {
    get(object, key) {
      const value: unknown = Reflect.get(object, key);
      if (key !== 'append') return typeof value === 'function' ? value.bind(object) : value;
      return async (...given: unknown[]) => {
        const work = first;
        first = undefined;
        await work?.();
        return Reflect.apply(value as (...given: unknown[]) => unknown, object, given);
      };
    },
  });
  return {
    store: wrapped,
    overtake(work) {
      first = work;
    },
  };
}

describe('another process decides and ends the run, between my look at it and my append', () => {
  const winner = { code: 'already-decided', decision: { verdict: 'approve', by: { id: 'other' } } };

  async function raced() {
    const memory = new InMemoryStore();
    const { store, overtake } = overtaken(memory);
    const [mine, other] = [open(store), open(memory)];
    const { runId } = await mine.agent.generate('Refund');
    overtake(async () => {
      const decision = { runId, toolCallId: 'one', by: { id: 'other' }, decisionId: 'click' };
      expect((await other.agent.approveToolCallGenerate(decision)).text).toBe('Done.');
    });
    return { ...mine, runId };
  }

  test('scenario: K3 — my decision is told who won', async () => {
    const { agent, runId } = await raced();
    await expect(agent.declineToolCall({ runId, toolCallId: 'one' })).rejects.toMatchObject(winner);
  });

  test('scenario: K3 — so is one by the registry', async () => {
    const { countersign, runId } = await raced();
    await expect(
      countersign.decideToolCall({ verdict: 'decline', runId, toolCallId: 'one' }),
    ).rejects.toMatchObject(winner);
  });

  test('scenario: K3 — so is one by a registry without the agent', async () => {
    const memory = new InMemoryStore();
    const { store, overtake } = overtaken(memory);
    const other = open(memory);
    const front = new Countersign({ agents: {}, storage: store, warn: () => {} });
    const { runId } = await other.agent.generate('Refund');
    overtake(async () => {
      await other.agent.approveToolCallGenerate({ runId, toolCallId: 'one', by: { id: 'other' } });
    });
    await expect(
      front.decideToolCall({ verdict: 'decline', runId, toolCallId: 'one' }),
    ).rejects.toMatchObject(winner);
  });

  test('the same decisionId gets the recorded outcome', async () => {
    const { agent, runId } = await raced();
    const output = await agent.approveToolCallGenerate({ runId, toolCallId: 'one', decisionId: 'click' });
    expect(output).toMatchObject({ text: 'Done.', finishReason: 'stop' });
  });
});

test('an observer who begins after a decision is told what follows it', async () => {
  const memory = new InMemoryStore();
  const [desk, front] = [open(memory), new Countersign({ agents: {}, storage: memory, warn: () => {} })];
  const { runId } = await desk.agent.generate('Refund');
  await front.decideToolCall({ verdict: 'approve', runId, toolCallId: 'one' });
  const observed = await desk.agent.observe({ runId });
  await desk.countersign.sweep();
  expect(await observed.text).toBe('Done.');
  expect(await observed.finishReason).toBe('stop');
});

test('a sweep takes what is its own, however many runs of others wait before it', async () => {
  const memory = new InMemoryStore();
  const { agent, countersign } = open(memory);
  const front = new Countersign({ agents: {}, storage: memory, warn: () => {} });
  const stranger = new Agent({
    id: 'stranger',
    model: scriptedModel((prompt) =>
      prompt.at(-1)?.role === 'tool' ? 'Done.' : { calls: [{ toolName: 'mail', toolCallId: 'one' }] },
    ),
    tools: {
      mail: createTool({
        id: 'mail',
        inputSchema: z.object({}),
        requireApproval: true,
        execute: async () => 1,
      }),
    },
  });
  new Countersign({ agents: { stranger }, storage: memory, warn: () => {} });
  const runIds: string[] = [];
  for (let index = 0; index < 120; index++) {
    runIds.push((await stranger.generate('Mail', { runId: `a-${String(index).padStart(3, '0')}` })).runId);
  }
  const { runId } = await agent.generate('Refund', { runId: 'b' });
  for (const decided of [...runIds, runId]) {
    await front.decideToolCall({ verdict: 'approve', runId: decided, toolCallId: 'one' });
  }
  await countersign.sweep();
  await countersign.stop();
  expect(await memory.load(runId, 0)).toMatchObject({ kind: 'ended' });
});
