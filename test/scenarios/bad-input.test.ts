/** Bad input from models and tools: each has its typed outcome, and the run goes on. */
import { createTool } from 'countersign';
import { expect } from 'vitest';
import { z } from 'zod';
import type { ScriptedCall } from '../../src/testing/scripted-model.ts';
import { afterApproval, expectCode, failureOf } from '../support/failing-call.ts';
import { kinds, type Refund, refundCall } from '../support/kinds.ts';
import { codeOf } from '../support/scene.ts';
import { inBothFaces, inEveryWorld, inOneWorld } from '../support/world.ts';

const deep = (levels: number): string => `${'[['.repeat(levels / 2)}${']]'.repeat(levels / 2)}`;

const badArguments: Record<string, Omit<ScriptedCall, 'toolName'>> = {
  'of another type': { args: { order: 5, amount: 1 } },
  'that are missing': { args: {} },
  'that are no object': { args: 'refund a' },
  'that are a list': { args: [{ order: 'a', amount: 1 }] },
  'that are null': { args: null },
  'that are cut off': { argsText: '{"order":"a"' },
  'that are no JSON': { argsText: 'order=a&amount=1' },
  'with two values': { argsText: '{"order":"a","amount":1}{"order":"b","amount":1}' },
  'with a lone surrogate': { argsText: '{"order":"\\ud800","amount":1}' },
  'with an endless number': { argsText: '{"order":"a","amount":1e999}' },
  'with the key __proto__': { argsText: '{"__proto__":{"order":"a"},"amount":1}' },
};

for (const kind of kinds) {
  for (const [name, call] of Object.entries(badArguments)) {
    // They are refused before a store or a restart matters: one kind goes through all worlds all the same.
    const inWorlds = kind === kinds[0] ? inEveryWorld : inBothFaces;
    inWorlds(
      'scenario: K12',
      `bad input: arguments ${name}: no person is asked (${kind.name})`,
      async (open) => {
        const effects: Refund[] = [];
        const scene = open({
          script: [{ calls: [{ toolName: 'refund', ...call }] }, 'Sorry.'],
          tools: kind.tools(effects, true),
        });
        const told = await scene.start();
        const { code } = failureOf(scene, told);
        expectCode(code, 'invalid-arguments');
        expect(effects).toEqual([]);
        expect((await scene.list({ status: 'all' })).total).toBe(0);
        expect(await codeOf(scene.approve(told.runId))).toBe('run-not-found');
      },
    );
  }
}

for (const levels of [1000, 5000, 50_000]) {
  inOneWorld(
    'scenario: K12',
    `bad input: arguments of ${levels} levels are kept or refused, and the run goes on`,
    async (open) => {
      const seen: string[] = [];
      const anything = createTool({
        id: 'anything',
        inputSchema: z.object({ nested: z.any() }),
        requireApproval: true,
        execute: async (input) => void seen.push(JSON.stringify(input)),
      });
      const argsText = `{"nested":${deep(levels)}}`;
      const scene = open({
        script: [{ calls: [{ toolName: 'anything', argsText }] }, 'Done.'],
        tools: { anything },
      });
      let told = await scene.start();
      if (told.finishReason === 'suspended') {
        told = await scene.approve(told.runId);
        expect(seen).toEqual([argsText]);
      }
      expect(told.finishReason).toBe('stop');
      expect(told.text).toBe('Done.');
    },
  );
}

inEveryWorld('scenario: K12', 'bad input: arguments above the limit', async (open) => {
  const effects: Refund[] = [];
  const scene = open({
    script: [{ calls: [refundCall('x'.repeat(4 * 1024 * 1024))] }, 'Sorry.'],
    tools: kinds[0]!.tools(effects, true),
  });
  expectCode(failureOf(scene, await scene.start()).code, 'too-large');
  expect(effects).toEqual([]);
});

const thrown: Record<string, unknown> = {
  'an Error': new TypeError('it broke'),
  'a string': 'it broke',
  undefined,
  null: null,
  'a number': 0,
  'an object': { code: 1 },
  'a symbol': Symbol('x'),
  'a BigInt': 10n,
  'an Error without a message': new Error(),
  'an Error whose message is no text': Object.assign(new Error(), { message: { secret: 1 } }),
  'an Error that throws when it is read': Object.defineProperty(new Error(), 'message', {
    get() {
      throw new Error('no');
    },
  }),
  'something without a prototype': Object.create(null),
  'a Proxy that refuses': new Proxy(
    {},
    {
      get() {
        throw new Error('no');
      },
      getPrototypeOf() {
        throw new Error('no');
      },
    },
  ),
};

for (const [name, value] of Object.entries(thrown)) {
  inEveryWorld('scenario: K10', `bad input: a tool that throws ${name}`, async (open) => {
    let entered = 0;
    const { scene, told } = await afterApproval(open, () => {
      entered++;
      throw value;
    });
    const { code, message } = failureOf(scene, told);
    expectCode(code, 'tool-failed');
    expect(message.length).toBeGreaterThan(0);
    expect(entered).toBe(1);
    expect((await scene.list({ status: 'all' })).total).toBe(0);
  });
}

const cyclic: Record<string, unknown> = {};
cyclic.self = { again: [cyclic] };
const badOutput: Record<string, { value: () => unknown; path?: string }> = {
  'a BigInt': { value: () => ({ a: { b: [1, 10n] } }), path: 'a.b[1]' },
  'a cycle': { value: () => cyclic, path: 'self.again[0]' },
  'a Map': { value: () => ({ map: new Map([['a', 1]]) }), path: 'map' },
  'a Set': { value: () => ({ set: new Set() }), path: 'set' },
  'a function': { value: () => ({ f: () => 1 }), path: 'f' },
  'a symbol': { value: () => Symbol('x') },
  NaN: { value: () => ({ a: Number.NaN }), path: 'a' },
  Infinity: { value: () => -Infinity },
  'a Promise inside': { value: () => ({ later: Promise.resolve(1) }), path: 'later' },
  'an invalid Date': { value: () => ({ toJSON: () => 10n }) },
  'a getter that throws': {
    value: () => ({
      get a(): number {
        throw new Error('no');
      },
    }),
  },
  'fifty thousand levels': { value: () => JSON.parse(deep(50_000)) },
  'more than is kept': { value: () => 'x'.repeat(4 * 1024 * 1024) },
};

for (const [name, { value, path }] of Object.entries(badOutput)) {
  inEveryWorld('scenario: K12', `bad input: an output that is or holds ${name}`, async (open) => {
    const { scene, told } = await afterApproval(open, value);
    const { code, message } = failureOf(scene, told);
    expectCode(code, name === 'more than is kept' ? 'too-large' : 'invalid-output');
    // The model must not believe that nothing happened.
    expect(message).toContain('The tool ran');
    if (path !== undefined) expect(message).toContain(`"${path}"`);
    const ended = await scene.store.load(told.runId, 0);
    expect(ended).toMatchObject({ kind: 'ended', records: [{ outcome: { state: 'failed' } }] });
  });
}

inEveryWorld('scenario: K12', 'bad input: an output that fails its schema', async (open) => {
  const outputSchema = z.object({ refunded: z.number() });
  const { scene, told } = await afterApproval(open, () => ({ refunded: 'secret-text' }), { outputSchema });
  const { code, message } = failureOf(scene, told);
  expectCode(code, 'invalid-output');
  expect(message).toContain('refunded');
  expect(message).not.toContain('secret-text');
});
