import { describe, expect, test, vi } from 'vitest';
import { RequestContext } from './context.ts';
import { type GatedCall, isHeld, needsPerson, type PolicyCall, policiesOf } from './policy.ts';
import { schemaOf } from './test-support/parts.ts';
import { toolOf } from './tool.ts';

describe('needsPerson: the whole table of SPEC.md', () => {
  const rows = [true, false].flatMap((holdEverything) =>
    [true, false, undefined].flatMap((own) =>
      [[], [false], [true], [false, true], [true, false], [false, false]].map((policies) => ({
        holdEverything,
        own,
        policies,
      })),
    ),
  );
  const heldRows = new Set<string>([
    ...rows.filter(({ holdEverything }) => holdEverything).map((row) => JSON.stringify(row)),
    ...rows.filter(({ own }) => own === true).map((row) => JSON.stringify(row)),
    '{"holdEverything":false,"policies":[true]}',
    '{"holdEverything":false,"policies":[false,true]}',
    '{"holdEverything":false,"policies":[true,false]}',
  ]);

  test('has 36 rows, of which 27 hold', () => {
    expect(rows).toHaveLength(36);
    expect(heldRows.size).toBe(27);
  });

  test.each(rows)('$holdEverything, own $own, policies $policies', (row) => {
    expect(needsPerson(row)).toBe(heldRows.has(JSON.stringify(row)));
  });
});

describe('policiesOf', () => {
  const policy = () => false;

  test('true anywhere holds everything; false and nothing are no policy', () => {
    expect(policiesOf([undefined, true, policy])).toEqual({ holdEverything: true, functions: [policy] });
    expect(policiesOf([false, undefined])).toEqual({ holdEverything: false, functions: [] });
    expect(policiesOf([policy, false, policy]).functions).toHaveLength(2);
  });

  test.each([null, 'true', 1, 0, '', {}, []])('%j is refused (scenario: K1)', (option) => {
    expect(() => policiesOf([option as never])).toThrow(expect.objectContaining({ code: 'invalid-option' }));
  });
});

type Own = boolean | ((...given: unknown[]) => unknown);

function gated(own: Own | undefined, alias = 'refund'): GatedCall {
  const tool = toolOf({ id: 'refund', inputSchema: schemaOf(), requireApproval: own as never });
  return {
    runId: 'run-1',
    toolCallId: 'c1',
    messages: () => [{ role: 'user', content: 'Go.' }],
    tool,
    alias,
    input: new Date(0),
    args: { id: 1 },
  };
}

const ask = (call: GatedCall, functions: readonly unknown[] = [], holdEverything = false) =>
  isHeld(
    call,
    { holdEverything, functions: functions as never },
    () => new RequestContext([['tenant', 'acme']]),
    'workspace',
  );

const unclear: readonly [string, () => unknown][] = [
  [
    'throws',
    () => {
      throw new Error('x');
    },
  ],
  ['rejects', () => Promise.reject(new Error('x'))],
  ['undefined', () => undefined],
  ['null', () => null],
  ['0', () => 0],
  ['an empty string', () => ''],
  ["'false'", () => 'false'],
  ['a promise of undefined', async () => undefined],
  ['a Boolean object', () => new Boolean(false)],
];

describe('isHeld', () => {
  test('nobody asked: free', async () => {
    expect(await ask(gated(undefined))).toBe(false);
    expect(await ask(gated(false))).toBe(false);
  });

  test.each([
    [true, true],
    [false, false],
    [() => true, true],
    [() => false, false],
    [async () => true, true],
    [async () => false, false],
  ])("the tool's word %s: %s", async (own, expected) => {
    expect(await ask(gated(own))).toBe(expected);
  });

  test("the tool's own function is given the input, and what led to the call", async () => {
    const own = vi.fn(() => false);
    await ask(gated(own));
    expect(own).toHaveBeenCalledExactlyOnceWith(new Date(0), {
      runId: 'run-1',
      toolCallId: 'c1',
      messages: [{ role: 'user', content: 'Go.' }],
      requestContext: { tenant: 'acme' },
      workspace: 'workspace',
    });
  });

  test('a policy is given name, arguments, context and workspace', async () => {
    const policy = vi.fn(() => false);
    expect(await ask(gated(undefined), [policy])).toBe(false);
    expect(policy).toHaveBeenCalledExactlyOnceWith({
      toolName: 'refund',
      args: { id: 1 },
      requestContext: { tenant: 'acme' },
      workspace: 'workspace',
    });
  });

  test('with an alias it is asked with each name, and any yes holds', async () => {
    for (const name of ['refund', 'refundTool']) {
      const policy = vi.fn(({ toolName }: PolicyCall) => toolName === name);
      expect(await ask(gated(undefined, 'refundTool'), [policy])).toBe(true);
      expect(policy.mock.calls.map(([given]) => given.toolName)).toEqual(['refund', 'refundTool']);
    }
    expect(await ask(gated(undefined, 'refundTool'), [() => false])).toBe(false);
  });

  test('of several policies any yes holds', async () => {
    expect(await ask(gated(undefined), [() => false, async () => true, () => false])).toBe(true);
    expect(await ask(gated(undefined), [() => false, async () => false])).toBe(false);
  });

  test('nobody is asked more than needed', async () => {
    const own = vi.fn(() => false);
    const policy = vi.fn(() => true);
    expect(await ask(gated(own), [policy], true)).toBe(true);
    expect(own).not.toHaveBeenCalled();
    expect(await ask(gated(own), [policy])).toBe(false);
    expect(await ask(gated(true), [policy])).toBe(true);
    expect(await ask(gated(false), [policy])).toBe(false);
    expect(policy).not.toHaveBeenCalled();
    expect(own).toHaveBeenCalledTimes(1);
  });

  test.each(unclear)('an own function that gives: %s, holds (scenario: K1)', async (_, answer) => {
    expect(await ask(gated(answer))).toBe(true);
  });

  test.each(unclear)('a policy that gives: %s, holds (scenario: K1)', async (_, answer) => {
    expect(await ask(gated(undefined), [() => false, answer])).toBe(true);
  });

  test('a policy that changes what it is given changes nothing for the next one', async () => {
    const meddle = (given: { args: { id: number }; requestContext: Record<string, unknown> }) => {
      given.args.id = 2;
      given.requestContext.tenant = 'evil';
      return false;
    };
    const seen: unknown[] = [];
    const look = ({ args, requestContext }: PolicyCall) => {
      seen.push({ args, requestContext });
      return false;
    };
    const call = gated(undefined);
    await ask(call, [meddle, look]);
    expect(call.args).toEqual({ id: 1 });
    expect(seen).toEqual([{ args: { id: 1 }, requestContext: { tenant: 'acme' } }]);
  });
});
