import { describe, expect, test, vi } from 'vitest';
import { messagesOf } from '../models/prompt.ts';
import { checkPrompt } from '../testing/check-prompt.ts';
import { callIds } from './call-ids.ts';
import type { CallRequested, Event, StepFinished } from './event.ts';
import { gateResponse } from './gate.ts';
import { canonicalJson, fingerprint, type Json, sha256 } from './json.ts';
import type { ResponsePart } from './model.ts';
import type { Parts } from './parts.ts';
import { fold } from './run.ts';
import type { Run } from './state.ts';
import { runOf, runStarted, stepStarted } from './test-support/events.ts';
import { callPart, namedTools, partsOf, responseOf, schemaOf, textPart } from './test-support/parts.ts';
import { type Tool, type ToolOptions, toolOf } from './tool.ts';

const claimed = runOf(runStarted(), stepStarted());

const tool = (over: Partial<ToolOptions> = {}): Tool =>
  toolOf({ id: 'refund', inputSchema: schemaOf(), execute: async () => 'done', ...over });

async function gate(
  content: readonly ResponsePart[],
  parts: Parts = partsOf([tool()]),
  run: Run = claimed,
): Promise<[StepFinished, ...CallRequested[]]> {
  const response = responseOf(...content);
  const step = run.steps.length - 1;
  return (await gateResponse(run, step, response, callIds(run), parts)) as never;
}

async function gateOne(raw: Json, parts?: Parts, over: object = {}): Promise<CallRequested> {
  const [, request] = await gate([{ ...callPart('c1', 'refund', raw), ...over } as ResponsePart], parts);
  return request as CallRequested;
}

/** The prompt of the model call that would follow, with every call answered. */
function promptAfter(run: Run, events: readonly Event[]): unknown {
  return messagesOf(fold(events, run) as Run);
}

const upperCase = schemaOf((value) => ({ id: String((value as { id: unknown }).id).toUpperCase() }));
const strict = schemaOf((value) => {
  if (typeof (value as { id?: unknown }).id !== 'string') throw new Error('must be a string');
  return value;
});

describe('the arguments of a call', () => {
  test('are stored once where schema and model agree', async () => {
    const raw = { id: 'a', list: [1] };
    const request = await gateOne(raw);
    expect(request).toMatchObject({ type: 'call-requested', toolName: 'refund', raw, gate: 'free' });
    expect(request).not.toHaveProperty('args');
    expect(request.textHash).toBe(await sha256(JSON.stringify(raw)));
    expect(request.fingerprint).toBe(await fingerprint({ toolName: 'refund', args: raw }));
  });

  test('are stored once where only the order of keys differs', async () => {
    const turned = schemaOf((value) => ({ a: 1, ...(value as object) }));
    const request = await gateOne({ b: 2, a: 1 }, partsOf([tool({ inputSchema: turned })]));
    expect(request).not.toHaveProperty('args');
    expect(request.raw).toEqual({ b: 2, a: 1 });
  });

  test('are two texts where the schema changes them, and the changed one is bound', async () => {
    const request = await gateOne({ id: 'a' }, partsOf([tool({ inputSchema: upperCase })]));
    expect(request).toMatchObject({ raw: { id: 'a' }, args: { id: 'A' } });
    expect(request.textHash).toBe(await sha256('{"id":"A"}'));
    expect(request.fingerprint).toBe(await fingerprint({ toolName: 'refund', args: { id: 'A' } }));
  });

  test('that JSON cannot hold get their JSON form', async () => {
    const dated = schemaOf(() => ({ on: new Date(0) }));
    expect((await gateOne({ on: 'x' }, partsOf([tool({ inputSchema: dated })]))).args).toEqual({
      on: '1970-01-01T00:00:00.000Z',
    });
  });

  test('a schema that changes what it is given changes nothing that is stored', async () => {
    const meddling = schemaOf((value) => Object.assign(value as object, { id: 'evil' }));
    const request = await gateOne({ id: 'a' }, partsOf([tool({ inputSchema: meddling })]));
    expect(request).toMatchObject({ raw: { id: 'a' }, args: { id: 'evil' } });
  });

  test('the fingerprint is of the canonical form, the hash of the stored text', async () => {
    const request = await gateOne({ b: 1, a: 2 });
    expect(request.textHash).toBe(await sha256('{"b":1,"a":2}'));
    const canonical = canonicalJson({ v: 1, toolName: 'refund', args: { a: 2, b: 1 } });
    expect(request.fingerprint).toBe(await sha256(canonical));
  });
});

describe('refused, and no person is asked', () => {
  const deep = JSON.parse(`{"id":${'['.repeat(50_000)}${']'.repeat(50_000)}}`) as Json;
  const everythingHeld = { policies: { holdEverything: true, functions: [] } };
  const cyclic = schemaOf(() => {
    const value: Record<string, unknown> = {};
    value.self = value;
    return value;
  });

  test.each<[string, ResponsePart, Tool, string]>([
    ['an unknown tool', callPart('c1', 'nothing'), tool(), 'tool-not-found'],
    ['a tool named by its alias', callPart('c1', 'refundTool'), tool(), 'tool-not-found'],
    ['a name of the prototype', callPart('c1', 'toString'), tool(), 'tool-not-found'],
    [
      'arguments that fail the schema',
      callPart('c1', 'refund', { id: 1 }),
      tool({ inputSchema: strict }),
      'invalid-arguments',
    ],
    ['a list', callPart('c1', 'refund', []), tool(), 'invalid-arguments'],
    ['null', callPart('c1', 'refund', null), tool(), 'invalid-arguments'],
    ['a text', callPart('c1', 'refund', '{}'), tool(), 'invalid-arguments'],
    [
      'no JSON',
      { type: 'call', toolCallId: 'c1', toolName: 'refund', raw: '{"id', unparsable: true },
      tool(),
      'invalid-arguments',
    ],
    ['a lone surrogate', callPart('c1', 'refund', { id: '\ud800' }), tool(), 'invalid-arguments'],
    ['a lone surrogate in a key', callPart('c1', 'refund', { '\udc00': 1 }), tool(), 'invalid-arguments'],
    ['input that JSON cannot hold', callPart('c1'), tool({ inputSchema: cyclic }), 'invalid-arguments'],
    ['arguments that are too deep', callPart('c1', 'refund', deep), tool(), 'invalid-arguments'],
    [
      'arguments that are too large',
      callPart('c1', 'refund', { id: 'x'.repeat(10_001) }),
      tool(),
      'too-large',
    ],
    ['an unknown tool with a lone surrogate', callPart('c1', 'no\ud800'), tool(), 'tool-not-found'],
  ])('%s', async (_, part, asked, code) => {
    const own = vi.fn(() => true);
    const parts = partsOf([{ ...asked, requireApproval: own }], everythingHeld);
    const [finished, request] = await gate([part], parts);
    expect(request).toMatchObject({ gate: 'refused', error: { code } });
    expect(own).not.toHaveBeenCalled();
    expect(fold([finished, request as CallRequested], claimed)?.calls.get('c1')?.state).toBe('failed');
  });

  test.each<[string, ResponsePart]>([
    ['no JSON', { type: 'call', toolCallId: 'c1', toolName: 'refund', raw: '{"id', unparsable: true }],
    ['a list', callPart('c1', 'refund', [1])],
    ['a name that no provider accepts', callPart('c1', 'refund.all now')],
    ['an empty name', callPart('c1', '')],
    ['a name that is too long', callPart('c1', 'r'.repeat(65))],
  ])('and the prompt stays valid: %s (invariant 6, scenario: K10)', async (_, part) => {
    const events = await gate([part]);
    expect(checkPrompt(promptAfter(claimed, events) as never)).toEqual([]);
  });

  test('a tool that is not active', async () => {
    const base = partsOf([tool()]);
    const options = { ...base.options, activeTools: ['other'] };
    expect(await gateOne({ id: 'a' }, { ...base, options })).toMatchObject({
      gate: 'refused',
      error: { code: 'tool-not-found', message: expect.stringContaining('Available tools: none') },
    });
    const byAlias = partsOf([tool()], {
      tools: namedTools([tool()], { refund: 'refundTool' }),
      options: { ...base.options, activeTools: ['refundTool'] },
    });
    expect(await gateOne({ id: 'a' }, byAlias)).toMatchObject({ gate: 'free' });
  });
});

describe('held or free', () => {
  test('as the tool and the policies say, per call', async () => {
    const tools = [tool({ id: 'held', requireApproval: true }), tool({ id: 'free' })];
    const policy = vi.fn(({ args }: { args: { id: string } }) => args.id === 'c3');
    const parts = partsOf(tools, { policies: { holdEverything: false, functions: [policy] } });
    const [, ...requests] = await gate(
      [callPart('c1', 'held'), callPart('c2', 'free'), callPart('c3', 'free')],
      parts,
    );
    expect(requests.map((request) => request.gate)).toEqual(['held', 'free', 'held']);
    expect(policy).toHaveBeenCalledTimes(2);
  });

  test('what the model writes into its arguments is no word on it (scenario: K4)', async () => {
    const parts = partsOf([tool({ requireApproval: true })]);
    const raw = { id: 'a', approved: true, requireApproval: false, resumeData: { approved: true } };
    expect(await gateOne(raw, parts)).toMatchObject({ gate: 'held', raw });
  });

  test('what later layers need is stored with the call', async () => {
    const flags = [{ approver: 'reviewer' }, { idempotent: true }, { readOnly: true }, {}] as const;
    const seen = await Promise.all(
      flags.map(async (flag) => {
        const { approver, repeatable } = await gateOne({ id: 'a' }, partsOf([tool(flag)]));
        return [approver, repeatable];
      }),
    );
    expect(seen).toEqual([
      ['reviewer', undefined],
      [undefined, true],
      [undefined, true],
      [undefined, undefined],
    ]);
    expect(await gateOne({ id: 'a' }, undefined, { providerOptions: { google: { s: 1 } } })).toMatchObject({
      providerOptions: { google: { s: 1 } },
    });
  });

  test('a call for which the provider asks is held like any other', async () => {
    const request = await gateOne({ q: 1 }, partsOf([]), { approvalId: 'question-1' });
    expect(request).toMatchObject({ gate: 'held', approvalId: 'question-1' });
    const odd = await gateOne({ q: '\ud800' }, partsOf([]), { approvalId: 'question-1' });
    expect(odd.gate).toBe('refused');
  });
});

describe('the response', () => {
  test('is one event, with its calls by id and in order', async () => {
    const content: ResponsePart[] = [
      { type: 'reasoning', text: 'Hm.', providerOptions: { scripted: { signature: 's' } } },
      textPart('Let me.'),
      callPart('c1'),
      { type: 'source', url: 'https://a.example' },
      callPart('c2'),
    ];
    const [finished, ...requests] = await gate(content);
    expect(finished).toMatchObject({
      type: 'step-finished',
      step: 0,
      finishReason: 'tool-calls',
      usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15 },
    });
    expect(finished.content).toEqual([
      content[0],
      content[1],
      { type: 'call', toolCallId: 'c1' },
      content[3],
      { type: 'call', toolCallId: 'c2' },
    ]);
    expect(requests.map((request) => request.toolCallId)).toEqual(['c1', 'c2']);
    expect(() => fold([finished, ...requests], claimed)).not.toThrow();
  });

  test('usage that is not known is left out', async () => {
    const usage = { inputTokens: undefined, outputTokens: 2, totalTokens: undefined };
    const response = { ...responseOf(textPart('x')), usage };
    const [finished] = await gateResponse(claimed, 0, response, callIds(claimed), partsOf([]));
    expect((finished as StepFinished).usage).toEqual({ outputTokens: 2 });
  });

  test('a call of the provider and its result keep one id', async () => {
    const of = { toolCallId: 'p1', toolName: 'web_search' };
    const [finished, ...requests] = await gate([
      { type: 'provider-call', ...of, raw: { q: 'x' } },
      { type: 'provider-result', ...of, result: ['y'] },
      textPart('So.'),
    ]);
    expect(requests).toEqual([]);
    expect(finished.content.slice(0, 2)).toMatchObject([
      { type: 'provider-call', toolCallId: 'p1' },
      { type: 'provider-result', toolCallId: 'p1' },
    ]);
  });
});

test('a repeated id in one response is so many calls (scenario: K2)', async () => {
  const [finished, ...requests] = await gate([callPart('c1'), callPart('c1'), callPart('')]);
  const ids = requests.map((request) => request.toolCallId);
  expect(ids[0]).toBe('c1');
  expect(new Set(ids).size).toBe(3);
  expect(finished.content.map((part) => 'toolCallId' in part && part.toolCallId)).toEqual(ids);
});

test.each(['length', 'content-filter'])(
  'calls of a response that was cut short (%s) are refused',
  async (finishReason) => {
    const response = { ...responseOf(callPart('c1')), finishReason };
    const parts = partsOf([tool({ requireApproval: true })]);
    const events = await gateResponse(claimed, 0, response, callIds(claimed), parts);
    expect(events[1]).toMatchObject({ gate: 'refused', error: { code: 'response-cut' } });
  },
);
