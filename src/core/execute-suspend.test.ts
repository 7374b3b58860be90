import { describe, expect, test, vi } from 'vitest';
import { callIds } from './call-ids.ts';
import type { Event } from './event.ts';
import { executeCall } from './execute.ts';
import { gateResponse } from './gate.ts';
import type { Parts, ToolHookContext } from './parts.ts';
import { fold } from './run.ts';
import type { Call, Run } from './state.ts';
import {
  callStarted,
  decided,
  me,
  runId,
  runOf,
  runStarted,
  stepStarted,
  suspended,
} from './test-support/events.ts';
import { callPart, partsOf, responseOf, schemaOf } from './test-support/parts.ts';
import { type Tool, type ToolContext, type ToolOptions, toolOf } from './tool.ts';

const tool = (over: Partial<ToolOptions>): Tool =>
  toolOf({ id: 'refund', inputSchema: schemaOf(), ...over } as ToolOptions);

async function executeAfter(parts: Parts, ...more: readonly Event[]) {
  const claimed = runOf(runStarted(), stepStarted());
  const gated = await gateResponse(claimed, 0, responseOf(callPart('c1')), callIds(claimed), parts);
  const run = fold([...gated, ...more], claimed) as Run;
  const call = run.calls.get('c1') as Call;
  return executeCall({
    run,
    call,
    parts,
    abortSignal: new AbortController().signal,
    mayBegin: () => true,
    pass: () => {},
  });
}

const first = [callStarted('c1')];
const resumedWith = (data: unknown): Event[] => [
  callStarted('c1'),
  suspended('c1'),
  { ...decided('c1', 'resume'), data } as Event,
  callStarted('c1', me, 2),
];

const suspending =
  (payload: unknown, then: () => unknown = () => 'dropped') =>
  async (_input: unknown, { agent }: ToolContext<never>) => {
    await agent.suspend(payload as never);
    return then() as never;
  };

describe('suspend()', () => {
  test('becomes the call’s next stop; what execute returned is dropped', async () => {
    const parts = partsOf([tool({ execute: suspending({ question: 'Which?' }), resumeSchema: schemaOf() })]);
    expect(await executeAfter(parts, ...first)).toEqual({
      type: 'call-suspended',
      runId,
      toolCallId: 'c1',
      at: expect.any(Number),
      stop: 1,
      payload: { question: 'Which?' },
      resumeSchema: { type: 'object' },
      autoResume: true,
    });
    expect(await executeAfter(parts, ...resumedWith(1))).toMatchObject({ stop: 2 });
  });

  test('notes the first payload; the code after it runs', async () => {
    const after = vi.fn();
    const parts = partsOf([
      tool({
        async execute(_input, { agent }) {
          const { suspend } = agent as { suspend(payload: unknown): Promise<void> };
          await suspend({ n: 1 });
          await suspend({ n: 2 });
          after();
        },
      }),
    ]);
    expect(await executeAfter(parts, ...first)).toMatchObject({ payload: { n: 1 } });
    expect(after).toHaveBeenCalledTimes(1);
  });

  test('notes the payload as it was then', async () => {
    const payload = { n: 1 };
    const parts = partsOf([
      tool({
        execute: suspending(payload, () => {
          payload.n = 2;
        }),
      }),
    ]);
    expect(await executeAfter(parts, ...first)).toMatchObject({ payload: { n: 1 } });
  });

  test('of nothing is null', async () => {
    const parts = partsOf([tool({ execute: suspending(undefined) })]);
    expect(await executeAfter(parts, ...first)).toMatchObject({ type: 'call-suspended', payload: null });
  });

  const refusing = schemaOf(() => {
    throw new Error('no');
  });

  test.each<[string, Partial<ToolOptions>, string]>([
    ['does not match', { execute: suspending({}), suspendSchema: refusing }, 'invalid-suspend-payload'],
    ['is no JSON', { execute: suspending({ m: new Map() }) }, 'invalid-suspend-payload'],
    ['is too large', { execute: suspending('x'.repeat(10_000)) }, 'too-large'],
  ])('with a payload that %s fails the call', async (_, options, code) => {
    expect(await executeAfter(partsOf([tool(options)]), ...first)).toMatchObject({
      type: 'call-failed',
      error: { code },
    });
  });
});

describe('a resumed call', () => {
  test.each([{ a: 1 }, null, 0, '', false])('is given %j, and the same input', async (data) => {
    const body = vi.fn((_input: unknown, { agent }: ToolContext) => ({ resumed: agent.resumeData }));
    const outcome = await executeAfter(partsOf([tool({ execute: body })]), ...resumedWith(data));
    expect(outcome).toMatchObject({ type: 'call-finished', result: { resumed: data } });
    expect(body.mock.calls[0]?.[0]).toEqual({ id: 'c1' });
  });

  test('is given what the resumeSchema makes of it, of the last answer', async () => {
    const resumeSchema = schemaOf((value) => `read ${value}`);
    const parts = partsOf([tool({ resumeSchema, execute: (_, { agent }) => agent.resumeData as never })]);
    const twice: Event[] = [
      ...resumedWith('one'),
      suspended('c1', 2),
      { ...decided('c1', 'resume', { stop: 2 }), data: 'two' },
      callStarted('c1', me, 3),
    ];
    expect(await executeAfter(parts, ...twice)).toMatchObject({ result: 'read two' });
  });
});

describe('a tool without execute', () => {
  const asking = partsOf([tool({ outputSchema: schemaOf() })]);

  test('waits for its output', async () => {
    expect(await executeAfter(asking, ...first)).toMatchObject({
      type: 'call-suspended',
      payload: null,
      resumeSchema: { type: 'object' },
    });
  });

  test.each([{ a: 1 }, null, 0, '', false])('and takes %j as its output', async (data) => {
    expect(await executeAfter(asking, ...resumedWith(data))).toMatchObject({
      type: 'call-finished',
      result: data,
    });
  });
});

describe('hooks (scenario: K13)', () => {
  const hooked = (hooks: Parts['hooks'], execute: ToolOptions['execute'] = () => 'done' as never) =>
    executeAfter(partsOf([tool({ execute })], { hooks }), ...first);

  test('run around execute, in order, and are told of the call', async () => {
    const order: string[] = [];
    const hook = (name: string) => ({
      beforeToolCall: (context: ToolHookContext) => {
        expect(context).toMatchObject({
          runId,
          agentId: 'agent-1',
          toolCallId: 'c1',
          toolName: 'refund',
          input: { id: 'c1' },
        });
        expect(context.requestContext.get('tenant')).toBe('acme');
        (context.input as { id: string }).id = 'evil';
        order.push(`before ${name}`);
      },
      afterToolCall: ({ output }: { output?: unknown }) => {
        order.push(`after ${name} ${output}`);
      },
    });
    const outcome = await hooked([hook('agent'), hook('run')], (input) => {
      order.push(`execute ${(input as { id: string }).id}`);
      return 'done' as never;
    });
    expect(order).toEqual(['before agent', 'before run', 'execute c1', 'after agent done', 'after run done']);
    expect(outcome).toMatchObject({ type: 'call-finished', result: 'done' });
    expect(outcome).not.toHaveProperty('blocked');
  });

  test('may answer in place of the tool', async () => {
    const body = vi.fn();
    const second = vi.fn();
    const outcome = await hooked(
      [
        { beforeToolCall: async () => ({ proceed: false, output: { blocked: new Date(0) } }) },
        { beforeToolCall: second },
      ],
      body,
    );
    expect(outcome).toMatchObject({
      type: 'call-finished',
      blocked: true,
      result: { blocked: '1970-01-01T00:00:00.000Z' },
    });
    expect(body).not.toHaveBeenCalled();
    expect(second).not.toHaveBeenCalled();
  });

  test.each([
    [
      'throws',
      () => {
        throw new Error('hook broke');
      },
    ],
    ['answers what is no JSON', () => ({ proceed: false as const, output: 1n })],
    ['answers too much', () => ({ proceed: false as const, output: 'x'.repeat(10_000) })],
  ])('a beforeToolCall that %s fails the call, which does not run', async (_, beforeToolCall) => {
    const body = vi.fn();
    expect(await hooked([{ beforeToolCall }], body)).toMatchObject({ type: 'call-failed' });
    expect(body).not.toHaveBeenCalled();
  });

  test('afterToolCall hears of an error, and its own is only warned of then', async () => {
    const afterToolCall = vi.fn(() => {
      throw new Error('hook broke');
    });
    const parts = partsOf(
      [
        tool({
          execute: () => {
            throw new Error('tool broke');
          },
        }),
      ],
      { hooks: [{ afterToolCall }] },
    );
    expect(await executeAfter(parts, ...first)).toMatchObject({ error: { message: 'tool broke' } });
    expect(afterToolCall).toHaveBeenCalledWith(expect.objectContaining({ error: new Error('tool broke') }));
    expect(parts.warnings).toEqual(['afterToolCall threw: hook broke']);
  });

  test('afterToolCall that throws fails the call, and says that the tool ran', async () => {
    const outcome = await hooked([
      {
        afterToolCall: () => {
          throw new Error('hook broke');
        },
      },
    ]);
    expect(outcome).toMatchObject({
      type: 'call-failed',
      error: { code: 'tool-failed', message: 'The tool ran, but afterToolCall failed: hook broke' },
    });
  });

  test('afterToolCall is not called when the call suspended itself', async () => {
    const afterToolCall = vi.fn();
    expect(await hooked([{ afterToolCall }], suspending(1))).toMatchObject({ type: 'call-suspended' });
    expect(afterToolCall).not.toHaveBeenCalled();
  });
});
