/** Slow workers that are thought dead: what no real freeze hits reliably. Real ones: e2e/sleepers. */
import { describe, expect, test } from 'vitest';
import type { EndedRun } from '../../src/core/store.ts';
import type { StreamPartV4 } from '../../src/models/ai-sdk-types.ts';
import { type Script, type ScriptedModel, scriptedModel } from '../../src/testing/scripted-model.ts';
import { asks, call, gate, openGround, openWorker, watched } from './frozen-desk.ts';

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

  test('keeps every late result of calls that ran side by side', async () => {
    const ground = openGround();
    const [first, second] = [gate(), gate()];
    const script = asks(['pay', 'a'], ['pay', 'b']);
    const one = openWorker(ground, {
      script,
      run: async (id) => {
        await (id === 'a' ? first : second).reach();
        return `late ${id}`;
      },
    });
    const other = openWorker(ground, { script, run: () => 'other' });
    const { runId } = await one.agent.generate('Go');
    for (const toolCallId of ['pay-a', 'pay-b']) await one.agent.approveToolCall({ runId, toolCallId });
    await Promise.all([first.reached, second.reached]);
    ground.pass(60_000);
    await other.countersign.sweep();
    for (const toolCallId of ['pay-a', 'pay-b']) {
      await other.agent.resolveInterruptedCallGenerate({ runId, toolCallId, output: 'by hand' });
    }
    first.open();
    second.open();
    await one.atRest();
    const ended = (await ground.store.load(runId, 0)) as EndedRun;
    const late = ended.records.filter(({ verdict }) => verdict === 'ran-twice');
    expect(late.map(({ outcome }) => outcome?.result).toSorted()).toEqual(['late a', 'late b']);
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
