/** The store is away for a moment when a result is to be kept: the result is kept, and the call is not run again. */
import { Agent, Countersign, createTool, InMemoryStore, type Store } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';

type Method = 'append' | 'remove' | 'load' | 'beat';

/** A store of which some methods fail for as long as they are named. */
function moody(store: Store): { store: Store; failing: Map<Method, number> } {
  const failing = new Map<Method, number>();
  const guard = <T extends object>(target: T): T =>
    new Proxy(target, {
      get(object, key) {
        const value: unknown = Reflect.get(object, key);
        if (key === 'workers') return guard(value as object);
        if (typeof value !== 'function') return value;
        return async (...given: unknown[]) => {
          const left = failing.get(key as Method) ?? 0;
          if (left > 0) {
            failing.set(key as Method, left - 1);
            throw new Error(`the database is away (${String(key)})`);
          }
          return Reflect.apply(value, object, given) as unknown;
        };
      },
    });
  return { store: guard(store), failing };
}

describe('the store fails after execute and comes back', () => {
  const cases: readonly { readonly away: Partial<Record<Method, number>>; readonly race: boolean }[] = [
    { away: { append: 5 }, race: false },
    { away: { beat: 3 }, race: false },
    { away: { load: 2 }, race: true },
    { away: { append: 2, beat: 3, load: 2 }, race: true },
  ];
  test.each(cases)('$away, raced by another decision: $race', async ({ away, race }) => {
    const memory = new InMemoryStore();
    const { store, failing } = moody(memory);
    const effects: string[] = [];
    let entered: () => void = () => {};
    const inside = new Promise<void>((resolve) => {
      entered = resolve;
    });
    let leave: () => void = () => {};
    const released = new Promise<void>((resolve) => {
      leave = resolve;
    });
    const open = (over: Store) => {
      const tool = createTool({
        id: 'refund',
        inputSchema: z.object({ id: z.string() }),
        requireApproval: true,
        execute: async ({ id }) => {
          effects.push(id);
          entered();
          await released;
          return { ok: true };
        },
      });
      const agent = new Agent({
        id: 'desk',
        model: scriptedModel((prompt) =>
          prompt.at(-1)?.role === 'tool'
            ? 'Done.'
            : {
                calls: ['one', 'two'].map((id) => ({
                  toolName: 'refund',
                  toolCallId: id,
                  args: { id },
                })),
              },
        ),
        tools: { tool },
      });
      const countersign = new Countersign({
        agents: { agent },
        storage: over,
        warn: () => {},
        heartbeat: { every: 1, lease: 60_000 },
      });
      return { agent, countersign };
    };
    const desk = open(store);
    const { runId } = await desk.agent.generate('Refund both');
    if (!race) {
      const declined = await desk.agent.declineToolCallGenerate({ runId, toolCallId: 'two' });
      expect(declined.finishReason).toBe('suspended');
    }
    const leg = await desk.agent.approveToolCall({ runId, toolCallId: 'one' });
    await inside;
    if (race) {
      // Another process takes a decision meanwhile, so that the result loses its first append.
      const other = open(memory);
      await other.agent.declineToolCall({ runId, toolCallId: 'two' });
    }
    for (const [method, times] of Object.entries(away)) failing.set(method as Method, times);
    // The last heartbeat is older than `every`, so that a claim needs a new one.
    for (const start = performance.now(); performance.now() < start + 3; );
    leave();
    await leg.consumeStream();
    failing.clear();
    // Whoever touches the run recovers it: nothing of what has begun may begin again.
    await desk.agent.approveToolCall({ runId, toolCallId: 'one' }).catch(() => {});
    await desk.countersign.sweep();
    await desk.countersign.stop();
    expect(effects).toEqual(['one']);
    const ended = await memory.load(runId, 0);
    expect(ended).toMatchObject({ kind: 'ended', outcome: { status: 'finished' } });
  });
});
