/** Slow workers that are not dead, or are thought so: what no real freeze hits reliably. Real ones: e2e/sleepers. */
import { describe, expect, test } from 'vitest';
import type { EndedRun, Store } from '../../src/core/store.ts';
import type { StreamPartV4 } from '../../src/models/ai-sdk-types.ts';
import {
  type Script,
  type ScriptedCall,
  type ScriptedModel,
  scriptedModel,
} from '../../src/testing/scripted-model.ts';
import { type Ground, gate, openGround, openWorker, watched } from './frozen-desk.ts';

const call = (toolName: string, id: string): ScriptedCall => ({
  toolName,
  args: { id },
  toolCallId: `${toolName}-${id}`,
});

const asks =
  (...calls: [string, string][]): Script =>
  (prompt) =>
    prompt.at(-1)?.role === 'tool' ? 'Done.' : { calls: calls.map(([toolName, id]) => call(toolName, id)) };

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

describe('a worker that was thought dead', () => {
  test('keeps its late result beside the run that has ended without it, once', async () => {
    const ground = openGround();
    const inside = gate();
    const effects: string[] = [];
    const script = asks(['pay', 'a']);
    const one = openWorker(ground, {
      script,
      run: async () => {
        effects.push('one');
        await inside.reach();
        return 'late';
      },
    });
    const other = openWorker(ground, { script, run: () => effects.push('other') });
    const { runId } = await one.agent.generate('Go');
    const leg = await one.agent.approveToolCall({ runId });
    await inside.reached;
    ground.pass(60_000);
    await other.countersign.sweep();
    await other.agent.resolveInterruptedCallGenerate({ runId, toolCallId: 'pay-a', output: 'by hand' });
    inside.open();
    await one.atRest();
    expect(effects).toEqual(['one']);
    expect(await leg.text).toBe('Done.');
    const ended = (await ground.store.load(runId, 0)) as EndedRun;
    const late = ended.records.filter(({ verdict }) => verdict === 'ran-twice');
    expect(late).toMatchObject([{ toolCallId: 'pay-a', outcome: { state: 'finished', result: 'late' } }]);
    expect(one.warnings.filter((warning) => warning.includes('ran twice'))).toHaveLength(1);
  });

  test('does not enter execute after a hook that outlasts its lease', async () => {
    const ground = openGround();
    const inHook = gate();
    const effects: string[] = [];
    const script = asks(['pay', 'a']);
    const one = openWorker(ground, {
      script,
      hooks: { beforeToolCall: () => inHook.reach() },
      run: () => effects.push('one'),
    });
    const other = openWorker(ground, { script, run: () => effects.push('other') });
    const { runId } = await one.agent.generate('Go');
    const leg = await one.agent.approveToolCall({ runId });
    await inHook.reached;
    ground.pass(60_000);
    await other.countersign.sweep();
    const { runs } = await other.agent.listSuspendedRuns({ status: 'interrupted' });
    const toolCallId = runs[0]?.toolCalls[0]?.toolCallId as string;
    await other.agent.resolveInterruptedCallGenerate({ runId, toolCallId, runAgain: true });
    expect(effects).toEqual(['other']);
    inHook.open();
    await one.atRest();
    await leg.consumeStream();
    expect(effects).toEqual(['other']);
  });

  test('does not begin what was taken from it, though it beats again before the answer comes', async () => {
    const ground = openGround();
    const answer = gate();
    const effects: string[] = [];
    const script = asks(['pay', 'a']);
    const store = watched(ground.store, 'call-decided', { after: () => answer.reach() });
    const one = openWorker(ground, { script, store, run: () => effects.push('one') });
    const other = openWorker(ground, { script, run: () => effects.push('other') });
    const { runId } = await one.agent.generate('Go');
    const approving = one.agent.approveToolCall({ runId });
    await answer.reached;
    ground.pass(60_000);
    await other.countersign.sweep();
    const { runs } = await other.agent.listSuspendedRuns({ status: 'interrupted' });
    const toolCallId = runs[0]?.toolCalls[0]?.toolCallId as string;
    const again = await other.agent.resolveInterruptedCallGenerate({ runId, toolCallId, runAgain: true });
    expect(again.text).toBe('Done.');
    // It thaws: its regular heartbeat is due at once, and the answer of the database comes after that.
    await ground.clock.advance(5_000);
    answer.open();
    await approving.then(
      (leg) => leg.consumeStream(),
      () => {},
    );
    await one.atRest();
    expect(effects).toEqual(['other']);
  });

  test.each(['goes on', 'has ended'])(
    'ends its leg with taken-over when it had passed on parts, and the run %s',
    async (state) => {
      const ground = openGround();
      const inModel = gate();
      const goesOn = [call('pay', 'b')];
      const script: Script = (prompt) =>
        prompt.at(-1)?.role === 'tool'
          ? { text: 'The other.', calls: state === 'goes on' ? goesOn : [] }
          : { calls: [call('pay', 'a')] };
      const model = pausingModel(script, inModel.reach);
      const one = openWorker(ground, { script, model, run: () => 'ok' });
      const other = openWorker(ground, { script, run: () => 'ok' });
      const { runId } = await one.agent.generate('Go');
      const leg = await one.agent.approveToolCall({ runId });
      await inModel.reached;
      ground.pass(60_000);
      await other.countersign.sweep();
      await other.atRest();
      inModel.open();
      expect(await leg.error).toMatchObject({ code: 'taken-over' });
      const texts: string[] = [];
      for await (const chunk of leg.fullStream)
        if (chunk.type === 'text-delta') texts.push(chunk.payload.text);
      expect(texts.join('')).toBe('One');
    },
  );

  test('follows the run when nothing of its response had been passed on', async () => {
    const ground = openGround();
    const inModel = gate();
    const script = asks(['pay', 'a']);
    const one = openWorker(ground, {
      script: async (prompt) => {
        if (prompt.at(-1)?.role !== 'tool') return { calls: [call('pay', 'a')] };
        await inModel.reach();
        return { parts: [] };
      },
      run: () => 'ok',
    });
    const other = openWorker(ground, { script, run: () => 'ok' });
    const { runId } = await one.agent.generate('Go');
    const leg = await one.agent.approveToolCall({ runId });
    await inModel.reached;
    ground.pass(60_000);
    await other.countersign.sweep();
    await other.atRest();
    inModel.open();
    expect(await leg.error).toBeUndefined();
    expect(await leg.text).toBe('Done.');
  });
});

/** A model that says a word of its answer to a tool's result and then stands still. */
function pausingModel(script: Script, pause: () => Promise<void>): ScriptedModel {
  const model = scriptedModel(script);
  return {
    ...model,
    async doStream(call) {
      const { stream } = await model.doStream(call);
      if (call.prompt.at(-1)?.role !== 'tool') return { stream };
      const said = [
        { type: 'stream-start', warnings: [] },
        { type: 'text-start', id: 'own' },
        { type: 'text-delta', id: 'own', delta: 'One' },
      ] as const;
      const parts = said[Symbol.iterator]();
      return {
        stream: new ReadableStream<StreamPartV4>({
          async pull(controller) {
            const { value, done } = parts.next();
            if (!done) return controller.enqueue(value as StreamPartV4);
            await pause();
            controller.enqueue({ type: 'text-end', id: 'own' });
            for await (const part of stream) if (part.type === 'finish') controller.enqueue(part);
            controller.close();
          },
        }),
      };
    },
  };
}
