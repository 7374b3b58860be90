import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { Agent, Countersign, createTool, InMemoryStore, type Store } from '../index.ts';
import { type Script, scriptedModel } from '../testing/scripted-model.ts';
import { storeAround } from '../testing/store-around.ts';

/** A store whose process dies: from then on it never answers. */
function mortal(store: Store): { store: Store; die(): void } {
  let dead = false;
  const guard = <T extends object>(target: T): T =>
    new Proxy(target, {
      get(object, key) {
        const value: unknown = Reflect.get(object, key);
        if (key === 'workers') return guard(value as object);
        if (typeof value !== 'function') return value;
        return (...given: unknown[]) => (dead ? new Promise(() => {}) : Reflect.apply(value, object, given));
      },
    });
  return {
    store: guard(store),
    die() {
      dead = true;
    },
  };
}

function deskAgent(
  script: Script,
  run: (id: string) => unknown,
  flags: { idempotent?: boolean } = {},
): Agent {
  const tool = createTool({
    id: 'refund',
    inputSchema: z.object({ id: z.string() }),
    requireApproval: true,
    ...flags,
    execute: async ({ id }) => run(id),
  });
  return new Agent({ id: 'desk', model: scriptedModel(script), tools: { tool } });
}

function open(
  script: Script,
  store: Store,
  run: (id: string) => unknown,
  flags: { idempotent?: boolean } = {},
) {
  const agent = deskAgent(script, run, flags);
  const countersign = new Countersign({ agents: { agent }, storage: store, warn: () => {} });
  return { agent, countersign };
}

const asks: Script = (prompt) =>
  prompt.at(-1)?.role === 'tool' ? 'Done.' : { calls: [{ toolName: 'refund', args: { id: 'o-1' } }] };

describe('a worker that dies', () => {
  test('during execute leaves the call interrupted, and a person says what happened', async () => {
    let now = 0;
    const shared = new InMemoryStore({ now: () => now });
    const first = mortal(shared);
    const effects: string[] = [];
    let entered: () => void = () => {};
    const inside = new Promise<void>((resolve) => {
      entered = resolve;
    });
    const dying = open(asks, first.store, (id) => {
      effects.push(id);
      first.die();
      entered();
      return { ok: true };
    });
    const { runId } = await dying.agent.generate('Refund o-1');
    void dying.agent.approveToolCallGenerate({ runId });
    await inside;

    const next = open(asks, shared, (id) => effects.push(id));
    expect((await next.agent.listSuspendedRuns({ status: 'running' })).total).toBe(1);
    now += 21_000;
    await next.countersign.sweep();
    await next.countersign.stop();
    const { runs } = await next.agent.listSuspendedRuns({ status: 'interrupted' });
    expect(runs[0]).toMatchObject({ runId, status: 'interrupted' });
    expect(runs[0]?.toolCalls[0]).toMatchObject({ state: 'interrupted', toolName: 'refund', stop: 2 });
    const toolCallId = runs[0]?.toolCalls[0]?.toolCallId as string;
    await expect(next.agent.approveToolCall({ runId })).rejects.toMatchObject({ code: 'call-interrupted' });
    const output = await next.agent.resolveInterruptedCallGenerate({
      runId,
      toolCallId,
      output: { ok: true },
    });
    expect(output.text).toBe('Done.');
    expect(effects).toEqual(['o-1']);
  });

  test('during execute of an idempotent tool is followed by a second run with the same key', async () => {
    let now = 0;
    const shared = new InMemoryStore({ now: () => now });
    const first = mortal(shared);
    const effects: string[] = [];
    let entered: () => void = () => {};
    const inside = new Promise<void>((resolve) => {
      entered = resolve;
    });
    const dying = open(
      asks,
      first.store,
      (id) => {
        effects.push(id);
        first.die();
        entered();
      },
      { idempotent: true },
    );
    const { runId } = await dying.agent.generate('Refund o-1');
    void dying.agent.approveToolCallGenerate({ runId });
    await inside;
    now += 21_000;
    const next = open(asks, shared, (id) => effects.push(id), { idempotent: true });
    await next.countersign.sweep();
    await next.countersign.stop();
    expect(effects).toEqual(['o-1', 'o-1']);
    expect((await next.agent.listSuspendedRuns({ status: 'all' })).total).toBe(0);
    expect((await shared.load(runId, 0))?.kind).toBe('ended');
  });

  test('and whose run ends elsewhere in the meantime, is told to everyone who comes late', async () => {
    let now = 0;
    const shared = new InMemoryStore({ now: () => now });
    const first = mortal(shared);
    const entered = Promise.withResolvers<void>();
    const dying = open(
      asks,
      first.store,
      () => {
        first.die();
        entered.resolve();
      },
      { idempotent: true },
    );
    const { runId } = await dying.agent.generate('Refund o-1');
    void dying.agent.approveToolCallGenerate({ runId });
    await entered.promise;
    now += 21_000;

    const bothAsk = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<void>();
    let asking = 0;
    const dead: Store['workers']['dead'] = async (...asked) => {
      const found = await shared.workers.dead(...asked);
      if (++asking === 2) bothAsk.resolve();
      await ended.promise;
      return found;
    };
    const workers = { ...shared.workers, dead };
    const late = open(asks, storeAround(shared, { workers }), () => 'never', { idempotent: true });
    const answers = Promise.allSettled([1, 2].map(() => late.agent.approveToolCall({ runId })));
    await bothAsk.promise;
    const next = open(asks, shared, () => 'ok', { idempotent: true });
    await next.countersign.sweep();
    await next.countersign.stop();
    ended.resolve();
    const reasons = (await answers).map((answer) => (answer as PromiseRejectedResult).reason.code);
    expect(reasons).toEqual(['already-decided', 'already-decided']);
    await late.countersign.stop();
  });
});

test('a decision without the code of the agent is driven where the code is', async () => {
  const shared = new InMemoryStore();
  const effects: string[] = [];
  const desk = open(asks, shared, (id) => effects.push(id));
  const { runId } = await desk.agent.generate('Refund o-1');
  const front = new Countersign({ agents: {}, storage: shared });
  const { runs } = await desk.agent.listSuspendedRuns();
  const toolCallId = runs[0]?.toolCalls[0]?.toolCallId as string;
  expect(await front.decideToolCall({ verdict: 'approve', runId, toolCallId })).toMatchObject({
    driven: false,
  });
  expect(effects).toEqual([]);
  await desk.countersign.sweep();
  await desk.countersign.stop();
  expect(effects).toEqual(['o-1']);
});

test('an observer is told the same as the leg, from another registry', async () => {
  const shared = new InMemoryStore();
  const desk = open(asks, shared, () => 'ok');
  const { runId } = await desk.agent.generate('Refund o-1');
  const other = open(asks, shared, () => 'ok');
  const observed = await other.agent.observe({ runId });
  const types: string[] = [];
  for await (const { type } of observed.fullStream) types.push(type);
  expect(types).toEqual(['start', 'step-start', 'tool-call', 'tool-call-approval', 'finish']);
});

test('a run is moved by the agent of its id, also where another agent has that id as its key', async () => {
  const shared = new InMemoryStore();
  const effects: string[] = [];
  const { agent: front } = open(asks, shared, () => {});
  const { runId } = await front.generate('Refund o-1');
  const { runs } = await front.listSuspendedRuns();
  const toolCallId = runs[0]?.toolCalls[0]?.toolCallId as string;

  const mine = deskAgent(asks, (id) => effects.push(id));
  const desk = new Agent({ id: 'other', model: scriptedModel([]) });
  const registry = new Countersign({ agents: { mine, desk }, storage: shared, warn: () => {} });
  await new Countersign({ agents: {}, storage: shared }).decideToolCall({
    verdict: 'approve',
    runId,
    toolCallId,
  });
  await registry.sweep();
  await registry.stop();
  expect(effects).toEqual(['o-1']);
});
