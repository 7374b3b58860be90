/** The trace of a run that is kept with it: what is stored, and who goes on from it. */
import * as opentelemetry from '@opentelemetry/api';
import { beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { Agent, Countersign, createTool, InMemoryStore, type Store } from '../index.ts';
import { crashStore } from '../testing/crash-store.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { storeAround } from '../testing/store-around.ts';
import { openTraces, type Traces } from './test-support/traces.ts';

const broken = (): never => {
  throw new Error('away');
};

/** The same, but for one method that throws. */
const brokenIn = <Api extends object>(api: Api, method: keyof Api): Api =>
  new Proxy(api, {
    get: (target, name) => {
      if (name === method) return broken;
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });

/** A registry in a process of its own, with the first events that its store was given. */
function open(storage: Store, run: () => Promise<unknown> = async () => 'paid', api = opentelemetry) {
  const kept: Record<string, unknown>[] = [];
  const create: Store['create'] = (batch) => {
    kept.push(JSON.parse(batch.events[0] ?? ''));
    return storage.create(batch);
  };
  const pay = createTool({ id: 'pay', inputSchema: z.object({}), requireApproval: true, execute: run });
  const model = scriptedModel((prompt) =>
    prompt.at(-1)?.role === 'tool' ? 'Done.' : { calls: [{ toolName: 'pay', toolCallId: 'pay-1' }] },
  );
  const desk = new Agent({ id: 'desk', model, tools: { pay } });
  const warnings: string[] = [];
  const countersign = new Countersign({
    agents: { desk },
    storage: storeAround(storage, { create }),
    telemetry: { opentelemetry: api },
    warn: (message) => warnings.push(message),
  });
  return { desk, countersign, kept, warnings };
}

test('with the package and no SDK nothing is kept, and everything works', async () => {
  const { desk, countersign, kept, warnings } = open(new InMemoryStore());
  const { runId } = await desk.generate('Go.');
  expect((await desk.approveToolCallGenerate({ runId })).text).toBe('Done.');
  await countersign.stop();
  expect(kept[0]).toMatchObject({ type: 'run-started' });
  expect(kept[0]).not.toHaveProperty('traceparent');
  expect(warnings).toEqual([]);
});

describe('with an SDK', () => {
  let traces: Traces;
  beforeAll(() => {
    traces = openTraces();
  });
  beforeEach(() => traces.reset());

  /** Begins a run for a caller whose trace is this. */
  const begun = async (flags: string, storage: Store) => {
    const headers = {
      traceparent: `00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-${flags}`,
      tracestate: 'vendor=1',
    };
    const caller = opentelemetry.propagation.extract(opentelemetry.ROOT_CONTEXT, headers);
    const process = open(storage);
    const { runId } = await opentelemetry.context.with(caller, () => process.desk.generate('Go.'));
    await process.countersign.stop();
    return { runId, kept: process.kept };
  };

  test('the span of the first leg is kept, and what the caller said of the trace goes on', async () => {
    const storage = new InMemoryStore();
    const { runId, kept } = await begun('01', storage);
    const first = traces.span('invoke_agent desk').spanContext();
    expect(kept[0]).toMatchObject({
      traceparent: `00-0af7651916cd43dd8448eb211c80319c-${first.spanId}-01`,
      tracestate: 'vendor=1',
    });
    const { desk, countersign } = open(storage);
    await desk.approveToolCallGenerate({ runId });
    await countersign.stop();
    const [, second] = traces.spans('invoke_agent desk');
    expect(second?.parentSpanContext?.spanId).toBe(first.spanId);
    expect(second?.spanContext().traceState?.serialize()).toBe('vendor=1');
  });

  test('a trace that nobody samples stays unsampled after the pause', async () => {
    const storage = new InMemoryStore();
    const { runId, kept } = await begun('00', storage);
    expect(kept[0]?.traceparent).toMatch(/-00$/);
    const { desk, countersign } = open(storage);
    await desk.approveToolCallGenerate({ runId });
    await countersign.stop();
    expect(traces.all()).toEqual([]);
  });

  test('an SDK that throws changes nothing', async () => {
    const effects: string[] = [];
    for (const method of ['onStart', 'onEnd'] as const) {
      const spy = vi.spyOn(traces.processor, method).mockImplementation(broken);
      const { desk, countersign } = open(new InMemoryStore(), async () => effects.push('paid'));
      const { runId } = await desk.generate('Go.');
      expect((await desk.approveToolCallGenerate({ runId })).text).toBe('Done.');
      await countersign.stop();
      expect(spy).toHaveBeenCalled();
      spy.mockRestore();
    }
    expect(effects).toEqual(['paid', 'paid']);
  });

  test.each([
    ['active', () => ({ ...opentelemetry, context: brokenIn(opentelemetry.context, 'active') })],
    ['getSpanContext', () => ({ ...opentelemetry, trace: brokenIn(opentelemetry.trace, 'getSpanContext') })],
    ['createTraceState', () => ({ ...opentelemetry, createTraceState: broken })],
  ])('one whose %s throws, changes nothing either', async (_, api) => {
    const storage = new InMemoryStore();
    const { runId } = await begun('01', storage);
    const { desk, countersign } = open(storage, undefined, api());
    expect((await desk.approveToolCallGenerate({ runId })).text).toBe('Done.');
    await desk.generate('Go.');
    await countersign.stop();
  });

  test('whoever takes a run over goes on in its trace, and so does what is said of an interrupted call', async () => {
    let now = 0;
    const shared = new InMemoryStore({ now: () => now });
    const dying = crashStore(shared);
    const inside = Promise.withResolvers<void>();
    const first = open(dying, async () => {
      dying.die();
      inside.resolve();
    });
    const { runId } = await first.desk.generate('Go.');
    void first.desk.approveToolCallGenerate({ runId });
    await inside.promise;
    now += 21_000;
    const { desk, countersign } = open(shared);
    await countersign.sweep();
    await desk.resolveInterruptedCallGenerate({ runId, toolCallId: 'pay-1', runAgain: true });
    await countersign.stop();
    // The leg of the dead process never ended its span.
    expect(traces.tree()).toBe(
      'invoke_agent desk(chat scripted, wait pay, decide pay, wait pay, decide pay, ' +
        'invoke_agent desk(execute_tool pay, chat scripted)), execute_tool pay',
    );
    const states = traces.spans('wait pay').map(({ attributes }) => attributes['countersign.call.state']);
    expect(states).toEqual(['held', 'interrupted']);
    const [, resolved] = traces.spans('decide pay');
    expect(resolved?.attributes['countersign.decision.verdict']).toBe('resolve');
  });
});
