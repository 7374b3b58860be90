import { describe, expect, test, vi } from 'vitest';
import { callIds } from './call-ids.ts';
import type { CallDecided, Event } from './event.ts';
import { executeCall } from './execute.ts';
import { gateResponse } from './gate.ts';
import type { Json } from './json.ts';
import type { Passing } from './log.ts';
import type { Parts } from './parts.ts';
import { fold } from './run.ts';
import type { Call, Run } from './state.ts';
import {
  callStarted,
  decided,
  runId,
  runOf,
  runStarted,
  stepStarted,
  suspended,
} from './test-support/events.ts';
import { callPart, partsOf, responseOf, schemaOf, textPart } from './test-support/parts.ts';
import { type Tool, type ToolContext, type ToolOptions, toolOf } from './tool.ts';

const anything = schemaOf();
const refusing = schemaOf(() => {
  throw new Error('not accepted');
});

const tool = (over: Partial<ToolOptions> = {}): Tool =>
  toolOf({ id: 'refund', inputSchema: anything, execute: async () => 'done', ...over } as ToolOptions);

/** A run whose only call went through the real gate, then these events. */
async function runUpTo(parts: Parts, raw: Json, ...more: readonly Event[]): Promise<Run> {
  const claimed = runOf(runStarted({ threadId: 'thread-1', resourceId: 'user-1' }), stepStarted());
  const response = responseOf(textPart('Let me.'), callPart('c1', 'refund', raw));
  const gated = await gateResponse(claimed, 0, response, callIds(claimed), parts);
  const { fingerprint } = gated[1] as { fingerprint: string };
  const bound = more.map((event) => (event.type === 'call-decided' ? { ...event, fingerprint } : event));
  return fold([...gated, ...bound], claimed) as Run;
}

function execute(run: Run, parts: Parts, over: Partial<Call> = {}, passed: Passing[] = []) {
  const call = { ...(run.calls.get('c1') as Call), ...over };
  const abortSignal = new AbortController().signal;
  return executeCall({
    run,
    call,
    parts,
    abortSignal,
    mayBegin: () => true,
    pass: (passing) => passed.push(passing),
  });
}

/** The outcome of a free call of this tool. */
async function outcomeOf(options: Partial<ToolOptions>, over: Partial<Parts> = {}, raw: Json = { id: 'a' }) {
  const parts = partsOf([tool(options)], over);
  return execute(await runUpTo(parts, raw, callStarted('c1')), parts);
}

describe('a call that runs', () => {
  test('is given its input and what it may know', async () => {
    const run = vi.fn((_input: unknown, _context: ToolContext) => ({ ok: true }));
    const workspace = {};
    const read = schemaOf((value) => ({ date: new Date((value as { at: string }).at) }));
    const outcome = await outcomeOf({ execute: run, inputSchema: read }, { workspace }, { at: '2020-01-01' });
    expect(outcome).toMatchObject({ type: 'call-finished', runId, toolCallId: 'c1', result: { ok: true } });
    const [input, context] = run.mock.calls[0]!;
    expect(input).toEqual({ date: new Date('2020-01-01') });
    expect(context).toMatchObject({
      runId,
      toolCallId: 'c1',
      idempotencyKey: `${runId}:c1`,
      abortSignal: expect.any(AbortSignal),
      agent: { agentId: 'agent-1', toolCallId: 'c1', threadId: 'thread-1', resourceId: 'user-1' },
    });
    expect(context.workspace).toBe(workspace);
    expect(context.requestContext.get('tenant')).toBe('acme');
    expect(context.agent.resumeData).toBeUndefined();
    expect(context.agent.messages).toHaveLength(1);
  });

  test('also when only the order of keys differs between model and schema', async () => {
    const ordered = schemaOf((value) => {
      const { a, b } = value as { a: number; b: number };
      return { a, b };
    });
    const outcome = await outcomeOf({ inputSchema: ordered }, {}, { b: 2, a: 1 });
    expect(outcome).toMatchObject({ type: 'call-finished', result: 'done' });
  });

  test('cannot change what is stored by changing its input', async () => {
    const parts = partsOf([tool({ execute: (input) => Object.assign(input as object, { id: 'evil' }) })]);
    const run = await runUpTo(parts, { id: 'a' }, callStarted('c1'));
    await execute(run, parts);
    expect(run.calls.get('c1')?.args).toEqual({ id: 'a' });
  });

  test.each<[string, unknown, Json]>([
    ['nothing', undefined, null],
    ['null', null, null],
    ['a Date', new Date(0), '1970-01-01T00:00:00.000Z'],
    ['false', false, false],
  ])('and returns %s', async (_, output, result) => {
    expect(await outcomeOf({ execute: () => output as never })).toMatchObject({
      type: 'call-finished',
      result,
    });
  });

  test('as a generator: its values are progress, the last one is the output', async () => {
    const parts = partsOf([
      tool({
        async *execute() {
          yield 'half';
          yield { all: true };
        },
      } as never),
    ]);
    const passed: Passing[] = [];
    const outcome = await execute(await runUpTo(parts, {}, callStarted('c1')), parts, {}, passed);
    expect(outcome).toMatchObject({ type: 'call-finished', result: { all: true } });
    expect(passed).toEqual([
      { type: 'tool-output', payload: { toolCallId: 'c1', output: 'half' } },
      { type: 'tool-output', payload: { toolCallId: 'c1', output: { all: true } } },
    ]);
  });

  test('can say what it does, in JSON and under its own names', async () => {
    const refused: unknown[] = [];
    const passed: Passing[] = [];
    const parts = partsOf([
      tool({
        async execute(_input, { writer }) {
          await writer.write({ at: new Date(0) });
          await writer.custom({ type: 'data-map', data: [1], id: 'x' });
          for (const wrong of [
            () => writer.custom({ type: 'finish', data: 1 } as never),
            () => writer.write(1n),
          ]) {
            await wrong().catch((error) => refused.push(error.code));
          }
        },
      }),
    ]);
    await execute(await runUpTo(parts, {}, callStarted('c1')), parts, {}, passed);
    expect(refused).toEqual(['invalid-option', 'not-json']);
    expect(passed).toEqual([
      { type: 'tool-output', payload: { toolCallId: 'c1', output: { at: '1970-01-01T00:00:00.000Z' } } },
      { type: 'data-map', data: [1], id: 'x' },
    ]);
  });

  test('has its output checked, and what the model reads of it made once', async () => {
    const asText = vi.fn(() => ({ type: 'text', value: 'In short.' }) as const);
    const outputSchema = schemaOf((value) => ({ read: value }));
    const outcome = await outcomeOf({ outputSchema, toModelOutput: asText as never });
    expect(outcome).toMatchObject({
      result: { read: 'done' },
      modelOutput: { type: 'text', value: 'In short.' },
    });
    expect(asText).toHaveBeenCalledExactlyOnceWith(
      { read: 'done' },
      { toolCallId: 'c1', input: { id: 'a' } },
    );
  });
});

describe('a call that fails', () => {
  const broken = () => {
    throw new TypeError('bad order');
  };

  test.each<[string, Partial<ToolOptions>, string, string]>([
    ['it throws', { execute: broken }, 'tool-failed', 'bad order'],
    ['it rejects', { execute: async () => broken() }, 'tool-failed', 'bad order'],
    ['it throws no error', { execute: () => Promise.reject(7) }, 'tool-failed', 'an error without a message'],
    ['its output does not match', { outputSchema: refusing }, 'invalid-output', 'id: not accepted'],
    ['its output is no JSON', { execute: () => new Map() as never }, 'invalid-output', 'holds a Map'],
    [
      'its output is a cycle',
      { execute: () => ((o: { o?: unknown }) => Object.assign(o, { o }))({}) as never },
      'invalid-output',
      'at "o" holds a cycle',
    ],
    [
      'its output is too large',
      { execute: () => 'x'.repeat(10_000) as never },
      'too-large',
      '10002 characters',
    ],
    ['toModelOutput throws', { toModelOutput: broken }, 'invalid-output', 'bad order'],
  ])('when %s', async (_, options, code, message) => {
    expect(await outcomeOf(options)).toMatchObject({
      type: 'call-failed',
      runId,
      toolCallId: 'c1',
      error: { code, message: expect.stringContaining(message) },
    });
  });

  test('keeps the name of the error', async () => {
    expect(await outcomeOf({ execute: broken })).toMatchObject({ error: { name: 'TypeError' } });
  });

  test('and after suspend() is still a failure', async () => {
    const outcome = await outcomeOf({
      async execute(_input, { agent }) {
        await agent.suspend({ question: 1 });
        broken();
      },
    });
    expect(outcome).toMatchObject({ type: 'call-failed', error: { code: 'tool-failed' } });
  });
});

/** Each makes a stored call another than the one that is deployed, or was approved. `execute` must not be entered. */
describe('a call that is not what was stored does not run (invariant 1, scenario: K2)', () => {
  const held = { requireApproval: true } as const;
  const approve = decided('c1', 'approve');

  async function changed(
    change: (run: Run, parts: Parts) => { over?: Partial<Call>; parts?: Partial<Parts> },
    ...events: readonly Event[]
  ) {
    const body = vi.fn(() => 'done');
    const parts = partsOf([tool({ ...held, execute: body })]);
    const run = await runUpTo(parts, { id: 'a' }, ...events);
    const { over = {}, parts: others = {} } = change(run, parts);
    const outcome = await execute(run, { ...parts, ...others }, over);
    expect(outcome.type).toBe('call-failed');
    expect(body).not.toHaveBeenCalled();
    return (outcome as { error: { code: string } }).error.code;
  }
  const decisionOf = (run: Run) => run.calls.get('c1')?.decisions[0] as CallDecided;

  test('unchanged it runs', async () => {
    const parts = partsOf([tool(held)]);
    const run = await runUpTo(parts, { id: 'a' }, approve, callStarted('c1'));
    expect(await execute(run, parts)).toMatchObject({ type: 'call-finished' });
  });

  test('no decision', async () => {
    expect(await changed(() => ({}))).toBe('tool-changed');
  });

  test.each(['decline', 'resume', 'resolve'] as const)('only %s was decided', async (verdict) => {
    const code = await changed(
      (run) => ({ over: { decisions: [{ ...decisionOf(run), verdict }] } }),
      approve,
    );
    expect(code).toBe('tool-changed');
  });

  test('the approval is for other arguments', async () => {
    const code = await changed(
      (run) => ({ over: { decisions: [{ ...decisionOf(run), fingerprint: 'f'.repeat(64) }] } }),
      approve,
    );
    expect(code).toBe('tool-changed');
  });

  test('the stored arguments were tampered with', async () => {
    const code = await changed((run) => {
      const { request } = run.calls.get('c1') as Call;
      return { over: { args: { id: 'b' }, request: { ...request, raw: { id: 'b' } } } };
    }, approve);
    expect(code).toBe('tool-changed');
  });

  test('what the model wrote was tampered with, beside other arguments that were shown', async () => {
    const body = vi.fn(() => 'done');
    const upper = schemaOf((value) => ({ id: (value as { id: string }).id.toUpperCase() }));
    const parts = partsOf([tool({ inputSchema: upper, execute: body })]);
    const run = await runUpTo(parts, { id: 'a' }, callStarted('c1'));
    const { request } = run.calls.get('c1') as Call;
    expect(await execute(run, parts, { request: { ...request, raw: { id: 'b' } } })).toMatchObject({
      error: { code: 'tool-changed' },
    });
    expect(body).not.toHaveBeenCalled();
  });

  test.each([
    ['refuses the arguments', refusing],
    ['reads them differently', schemaOf(() => ({ id: 'b' }))],
    ['adds a default', schemaOf((value) => ({ ...(value as object), notify: true }))],
    ['drops a key', schemaOf(() => ({}))],
  ])('the schema of today %s', async (_, inputSchema) => {
    const body = vi.fn();
    const today = partsOf([tool({ ...held, inputSchema, execute: body })]);
    expect(await changed(() => ({ parts: { tools: today.tools } }), approve)).toBe('tool-changed');
    expect(body).not.toHaveBeenCalled();
  });

  test('the tool is gone', async () => {
    expect(await changed(() => ({ parts: { tools: new Map() } }), approve)).toBe('tool-not-found');
  });

  test('the schema of today refuses the data that it was resumed with', async () => {
    const body = vi.fn(() => 'done');
    const parts = partsOf([tool({ resumeSchema: anything, execute: body })]);
    const events = [
      callStarted('c1'),
      suspended('c1'),
      decided('c1', 'resume'),
      callStarted('c1', undefined, 2),
    ];
    const run = await runUpTo(parts, { id: 'a' }, ...events);
    const today = partsOf([tool({ resumeSchema: refusing, execute: body })]);
    expect(await execute(run, today)).toMatchObject({ error: { code: 'tool-changed' } });
    expect(body).not.toHaveBeenCalled();
    expect(await execute(run, parts)).toMatchObject({ type: 'call-finished' });
  });
});

test('what the provider runs itself is not run here', async () => {
  const parts = partsOf([]);
  const claimed = runOf(runStarted(), stepStarted());
  const response = responseOf({ ...callPart('c1'), approvalId: 'q' } as never);
  const gated = await gateResponse(claimed, 0, response, callIds(claimed), parts);
  const { fingerprint } = gated[1] as { fingerprint: string };
  const run = fold(
    [...gated, { ...decided('c1', 'approve'), fingerprint }, callStarted('c1')],
    claimed,
  ) as Run;
  expect(await execute(run, parts)).toMatchObject({ type: 'call-finished', result: null });
});
