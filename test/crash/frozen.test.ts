/** Slow workers that are not dead: what no real freeze hits reliably. Real ones: e2e/sleepers. */
import { describe, expect, test } from 'vitest';
import type { Store } from '../../src/core/store.ts';
import { asks, type Ground, gate, openGround, openWorker, watched } from './frozen-desk.ts';

describe('a worker that lives', () => {
  test('is not thought dead when the first pause stores what its neighbours had claimed', async () => {
    const ground = openGround();
    const inside = gate();
    const effects: string[] = [];
    const script = asks(['ask', 'a'], ['look', 'b']);
    const one = openWorker(ground, {
      script,
      run: async (id) => {
        effects.push(id);
        await inside.reach();
        return 'ok';
      },
    });
    const other = openWorker(ground, { script, run: (id) => effects.push(id) });
    const leg = await one.agent.stream('Go');
    await inside.reached;
    for await (const chunk of leg.fullStream) if (chunk.type === 'tool-call-suspended') break;
    await other.countersign.sweep();
    await other.atRest();
    expect(effects).toEqual(['b']);
    expect((await other.agent.listSuspendedRuns({ status: 'interrupted' })).total).toBe(0);
    inside.open();
    expect(await leg.finishReason).toBe('suspended');
  });

  test('gives back only what it has not begun, when it may not begin a call', async () => {
    const ground = openGround();
    const inside = gate();
    const effects: string[] = [];
    let slow = false;
    const slowClaim = watched(ground.store, 'call-started', {
      after: () => {
        if (slow) ground.pass(15_000);
        slow = false;
      },
    });
    const store = watched(slowClaim, 'call-released', { after: inside.open });
    const one = openWorker(ground, {
      script: asks(['free', 'a'], ['free', 'b'], ['free', 'c']),
      store,
      run: async (id) => {
        effects.push(id);
        if (id === 'a') await inside.reach();
        // The claim of the third call rides in the append of this result, which takes most of a lease.
        if (id === 'b') slow = true;
        if (id === 'c') inside.open();
        return 'ok';
      },
    });
    const output = await one.agent.generate('Go', { durable: true, toolCallConcurrency: 2 });
    expect(output.text).toBe('Done.');
    expect(effects.toSorted()).toEqual(['a', 'b', 'c']);
    expect(one.warnings.filter((warning) => warning.includes('twice'))).toEqual([]);
  });

  test('is still not thought dead when it goes on after stop()', async () => {
    const ground = openGround();
    const inside = gate();
    const script = asks(['pay', 'a']);
    let isFirst = true;
    const one = openWorker(ground, {
      script,
      run: () => (isFirst ? 'first' : inside.reach().then(() => 'second')),
    });
    const first = await one.agent.generate('Go');
    await one.agent.approveToolCallGenerate({ runId: first.runId });
    isFirst = false;
    const { runId } = await one.agent.generate('Go');
    await one.countersign.stop();
    const leg = await one.agent.approveToolCall({ runId });
    await inside.reached;
    const other = openWorker(ground, { script, run: () => 'other' });
    await other.countersign.sweep();
    expect((await other.agent.listSuspendedRuns({ status: 'interrupted' })).total).toBe(0);
    inside.open();
    expect(await leg.text).toBe('Done.');
  });
});

describe('a heartbeat that is not stored', () => {
  const failing = (ground: Ground, failures: number): Store => {
    let left = 0;
    const { workers } = ground.store;
    const beat = async (worker: string): Promise<void> => {
      await workers.beat(worker);
      if (left-- > 0) throw new Error('The answer was lost.');
    };
    const store = watched(ground.store, 'call-decided', {
      after: () => {
        left = failures;
      },
    });
    return new Proxy(store, {
      get: (target, key) => (key === 'workers' ? { ...workers, beat } : Reflect.get(target, key)),
    });
  };

  test.each([1, 5])('loses no result, when %i answers are lost as it is stored', async (failures) => {
    const ground = openGround();
    const effects: string[] = [];
    const script = asks(['pay', 'a']);
    const one = openWorker(ground, {
      script,
      store: failing(ground, failures),
      run: (id) => {
        // Longer than between two heartbeats, shorter than half a lease.
        ground.pass(6_000);
        effects.push(id);
        return 'ok';
      },
    });
    const { runId } = await one.agent.generate('Go');
    const leg = await one.agent.approveToolCall({ runId });
    const end = leg.consumeStream();
    for (let turn = 0; turn < 20; turn++) await ground.clock.advance(1_000);
    await Promise.race([end, one.atRest()]);
    // Somebody looks at the run in this process, and then it is swept.
    await one.agent.observe({ runId }).catch(() => {});
    for (let sweeps = 0; sweeps < 5; sweeps++) {
      await one.countersign.sweep();
      await one.atRest();
    }
    expect(effects).toEqual(['a']);
    expect(await leg.error).toBeUndefined();
    expect(await ground.store.load(runId, 0)).toMatchObject({ kind: 'ended', outcome: { text: 'Done.' } });
  });
});
