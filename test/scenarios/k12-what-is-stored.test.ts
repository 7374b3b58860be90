/** K12: what is stored is small, faithful, and there before it is announced. */

import { type Batch, createTool, type Store } from 'countersign';
import { storeAround } from 'countersign/testing';
import { expect } from 'vitest';
import { z } from 'zod';
import { askRefunds, kinds, type Refund, refundCall, resultsIn } from '../support/kinds.ts';
import { ofType } from '../support/told.ts';
import { inEveryWorld, inOneWorld } from '../support/world.ts';

/** A store that says how many characters each write brought. */
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

inEveryWorld('scenario: K12', 'a pause costs what it adds, not what came before', async (open) => {
  const sizes: number[] = [];
  const history = Array.from({ length: 100 }, (_, index) => ({
    role: index % 2 === 0 ? ('user' as const) : ('assistant' as const),
    content: `message ${index} ${'x'.repeat(200)}`,
  }));
  const steps = 12;
  const scene = open({
    script: (_prompt, index) => (index < steps ? askRefunds(`order ${index}`) : 'Done.'),
    tools: kinds[0]!.tools([], true),
    around: (store) => measured(store, sizes),
  });
  const { runId } = await scene.start({}, [...history, { role: 'user', content: 'Please do it.' }]);
  const [pause = 0] = sizes;
  const content = JSON.stringify(history).length;
  expect(pause).toBeGreaterThan(content);
  expect(pause).toBeLessThan(content * 1.2 + 3000);
  for (let step = 0; step < steps; step++) await scene.approve(runId);
  expect(scene.model.calls).toHaveLength(steps + 1);
  const later = sizes.slice(1);
  expect(later.length).toBeLessThanOrEqual(steps * 3 + 1);
  expect(Math.max(...later)).toBeLessThan(4000);
});

inOneWorld('scenario: K12', 'a run that never pauses writes nothing', async (open) => {
  const sizes: number[] = [];
  const scene = open({
    script: [askRefunds('a', 'b'), 'Done.'],
    tools: kinds[0]!.tools([], false),
    around: (store) => measured(store, sizes),
  });
  const { runId } = await scene.start();
  expect(sizes).toEqual([]);
  expect(await scene.store.load(runId, 0)).toBeUndefined();
});

inOneWorld('scenario: K12', 'a megabyte of arguments is stored once', async (open) => {
  const sizes: number[] = [];
  const scene = open({
    script: [{ calls: [refundCall('x'.repeat(1024 * 1024))] }, 'Done.'],
    tools: kinds[0]!.tools([], true),
    around: (store) => measured(store, sizes),
  });
  const { runId } = await scene.start();
  await scene.approve(runId);
  expect(sizes.reduce((sum, size) => sum + size)).toBeLessThan(1.3 * 1024 * 1024);
});

/** A held tool that gives back what it was given, and what it made of it. */
function echo(seen: unknown[], output: (input: unknown) => unknown = (input) => input) {
  return createTool({
    id: 'echo',
    inputSchema: z.looseObject({}),
    requireApproval: true,
    execute: async (input) => {
      seen.push(input);
      return output(input);
    },
  });
}

const faithful: Record<string, unknown> = {
  NUL: { text: 'a\u0000b', '\u0000key': 1 },
  'keys in their own order': { b: 1, a: 2, 10: 'ten', 9: 'nine' },
  'numbers at the edge': {
    tiny: 5e-324,
    large: 1.7976931348623157e308,
    whole: 9007199254740991,
    zero: -0,
    e: 1e21,
  },
  'letters beyond the plane': { text: '👍🏽 𝒳 ﷽ \u2028\u2029', 𝒳: true },
  'deep and empty': { a: [[], {}, [[[{ b: null }]]]], c: '' },
  'words that mean something elsewhere': {
    constructor: 1,
    toString: 'x',
    v: 1,
    type: 'run-ended',
    $ref: '#/a',
  },
};

for (const [name, args] of Object.entries(faithful)) {
  inEveryWorld('scenario: K12', `arguments with ${name} come back as they were`, async (open) => {
    const seen: unknown[] = [];
    const text = JSON.stringify(args);
    const scene = open({
      script: [{ calls: [{ toolName: 'echo', argsText: text }] }, 'Done.'],
      tools: { echo: echo(seen) },
    });
    const { runId, payloads } = await scene.start();
    const asWritten = JSON.stringify(JSON.parse(text));
    expect(JSON.stringify(payloads[0].args)).toBe(asWritten);
    const listed = (await scene.list()).runs[0]!.toolCalls[0]!;
    expect(JSON.stringify(listed.args)).toBe(asWritten);
    const { results } = await scene.approve(runId, { fingerprint: listed.fingerprint });
    expect(seen.map((input) => JSON.stringify(input))).toEqual([asWritten]);
    expect(JSON.stringify(results[0].result)).toBe(asWritten);
    expect(JSON.stringify(resultsIn(scene.model.calls[1]?.prompt)['call-0-0']?.value)).toBe(asWritten);
  });
}

const results: Record<string, { output: () => unknown; kept: unknown }> = {
  'a Date': { output: () => ({ at: new Date(0) }), kept: { at: '1970-01-01T00:00:00.000Z' } },
  undefined: { output: () => undefined, kept: null },
  'properties that are undefined': { output: () => ({ a: undefined, b: [undefined] }), kept: { b: [null] } },
  'a class instance': {
    output: () =>
      new (class Order {
        id = 1;
        get secret() {
          return 2;
        }
      })(),
    kept: { id: 1 },
  },
  'something with toJSON': { output: () => ({ toJSON: () => ({ a: 1 }) }), kept: { a: 1 } },
  bytes: { output: () => ({ bytes: new Uint8Array([0, 255]) }), kept: { bytes: 'AP8=' } },
  'a URL': { output: () => ({ at: new URL('https://a.example/b') }), kept: { at: 'https://a.example/b' } },
  'a lone surrogate': { output: () => ({ text: '\ud800' }), kept: { text: '\ud800' } },
  'one value twice': {
    output: () => {
      const shared = { a: 1 };
      return [shared, shared];
    },
    kept: [{ a: 1 }, { a: 1 }],
  },
  'the key __proto__': {
    output: () => JSON.parse('{"__proto__":{"a":1},"b":2}'),
    kept: JSON.parse('{"__proto__":{"a":1},"b":2}'),
  },
};

for (const [name, { output, kept }] of Object.entries(results)) {
  inEveryWorld(
    'scenario: K12',
    `a result with ${name} is the same in chunk, prompt and record`,
    async (open) => {
      const scene = open({
        script: [{ calls: [{ toolName: 'echo' }, { toolName: 'echo' }] }, 'Done.'],
        tools: { echo: echo([], output) },
      });
      const { runId } = await scene.start();
      const text = JSON.stringify(kept);
      const told = await scene.approve(runId, { toolCallId: 'call-0-0' });
      expect(JSON.stringify(told.results[0].result)).toBe(text);
      if (told.chunks)
        expect(JSON.stringify(ofType(told.chunks, 'tool-result')[0]?.payload.result)).toBe(text);
      // The other is decided after a restart: the prompt is made from what was stored.
      await scene.approve(runId);
      const prompt = resultsIn(scene.model.calls[1]?.prompt);
      expect(JSON.stringify(prompt['call-0-0']?.value)).toBe(text);
      const ended = await scene.store.load(runId, 0);
      if (ended?.kind !== 'ended') throw new Error('The run has not ended.');
      expect(ended.records).toHaveLength(2);
      for (const { outcome } of ended.records) expect(JSON.stringify(outcome?.result)).toBe(text);
    },
  );
}

inEveryWorld(
  'scenario: K12',
  'an input schema that makes something else of the same text each time',
  async (open) => {
    const seen: unknown[] = [];
    let made = 0;
    const unstable = createTool({
      id: 'unstable',
      inputSchema: z.object({ id: z.string().default(() => `made ${++made}`) }),
      requireApproval: true,
      execute: async (input) => void seen.push(input),
    });
    const scene = open({ script: [{ calls: [{ toolName: 'unstable' }] }, 'Done.'], tools: { unstable } });
    const { runId, payloads } = await scene.start();
    expect(payloads[0].args).toEqual({ id: `made ${made}` });
    await scene.approve(runId);
    // It would have run with an id that nobody saw.
    expect(seen).toEqual([]);
    expect(resultsIn(scene.model.calls[1]?.prompt)['call-0-0']?.type).toBe('error-text');
  },
);

inEveryWorld('scenario: K12', 'what execute and hooks do to the input changes no record', async (open) => {
  const effects: Refund[] = [];
  const seen: unknown[] = [];
  const change = ({ input }: { input: unknown }): void => {
    seen.push(structuredClone(input));
    (input as Refund).amount = 1_000_000;
  };
  const scene = open({
    script: [askRefunds('a'), 'Done.'],
    tools: kinds[0]!.tools(effects, true),
    agent: { hooks: { beforeToolCall: change, afterToolCall: change } },
  });
  const { runId } = await scene.start();
  const told = await scene.approve(runId);
  expect(effects).toEqual([{ order: 'a', amount: 10 }]);
  expect(seen).toEqual([
    { order: 'a', amount: 10 },
    { order: 'a', amount: 10 },
  ]);
  expect(told.results[0].args.amount).toBe(10);
});
