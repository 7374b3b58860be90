import { SpanStatusCode, trace } from '@opentelemetry/api';
import { beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { temporaryFile } from '../../test/spec/temporary-file.ts';
import { Agent, type AgentConfig, Countersign, createTool, Memory, type Store } from '../index.ts';
import { SQLiteStore } from '../store/sqlite.ts';
import { type Script, scriptedModel } from '../testing/scripted-model.ts';
import { openTraces } from './test-support/traces.ts';

const traces = openTraces();
const { telemetry } = traces;
/** What goes on when a leg was returned: the last of it ends its span. */
const works: Promise<void>[] = [];
const waitUntil = (work: Promise<void>): void => void works.push(work);
const tree = async (): Promise<string> => {
  await Promise.all(works.splice(0));
  return traces.tree();
};
beforeEach(async () => {
  await Promise.all(works.splice(0));
  traces.reset();
});

const inputSchema = z.object({ what: z.string() });
const call = (toolName: string, what: string, toolCallId = `${toolName}-${what}`) => ({
  toolName,
  args: { what },
  toolCallId,
});

/** `pay` is held, `look` is free and traces its own work, `ask` suspends itself, `fail` throws. */
const tools = {
  pay: createTool({
    id: 'pay',
    inputSchema,
    requireApproval: true,
    execute: async ({ what }) => `paid ${what}`,
  }),
  look: createTool({
    id: 'look',
    inputSchema,
    execute: ({ what }) => traces.within(`http ${what}`, async () => `saw ${what}`),
  }),
  ask: createTool({
    id: 'ask',
    inputSchema,
    resumeSchema: z.object({ secret: z.string() }),
    execute: async (_, { agent }) => agent.resumeData ?? agent.suspend({ question: 'secret?' }),
  }),
  fail: createTool({
    id: 'fail',
    inputSchema,
    execute: async ({ what }) => {
      throw new RangeError(`secret ${what}`);
    },
  }),
};

const model = (script: Script) =>
  scriptedModel(script, { provider: 'openai.responses', modelId: 'gpt-5-mini' });
const answeredBy = { type: 'response-metadata', id: 'response-1', modelId: 'gpt-5-mini-2025' } as const;
const once =
  (...calls: ReturnType<typeof call>[]): Script =>
  (prompt) =>
    prompt.at(-1)?.role === 'tool' ? 'Done.' : { calls, parts: [answeredBy] };

function open(script: Script, storage?: Store, config: Partial<AgentConfig> = {}): Agent {
  const desk = new Agent({ id: 'desk', name: 'The desk', model: model(script), tools, ...config });
  new Countersign({
    agents: { desk },
    telemetry,
    waitUntil,
    ...(storage ? { storage } : {}),
    warn: () => {},
  });
  return desk;
}

const memory = { thread: 'thread-1', resource: 'ada' };

describe('a run that pauses', () => {
  test('is one trace, also when another process goes on with it', async () => {
    const path = temporaryFile('runs.db');
    const first = new SQLiteStore({ path });
    const begun = await traces.within('POST /chat', () =>
      open(once(call('pay', 'secret', 'pay-1')), first).stream('secret', { memory }),
    );
    const { runId } = begun;
    expect(await begun.finishReason).toBe('suspended');
    await first.close();
    const second = new SQLiteStore({ path });
    const desk = open(once(), second);
    await traces.within('POST /approve', () => desk.approveToolCallGenerate({ runId, reason: 'secret' }));
    await second.close();

    expect(await tree()).toBe(
      'POST /chat(invoke_agent The desk(chat gpt-5-mini, wait pay, decide pay, ' +
        'invoke_agent The desk(execute_tool pay, chat gpt-5-mini))), POST /approve',
    );
    const [came, went] = traces.spans('invoke_agent The desk');
    const approve = traces.span('POST /approve').spanContext();
    expect(went?.spanContext().traceId).toBe(traces.span('POST /chat').spanContext().traceId);
    expect(went?.spanContext().traceId).not.toBe(approve.traceId);
    expect(went?.links.map(({ context }) => context.spanId)).toEqual([approve.spanId]);
    expect(traces.span('decide pay').links.map(({ context }) => context.spanId)).toEqual([approve.spanId]);
    const ofRun = { 'gen_ai.conversation.id': 'thread-1', 'countersign.run.id': runId };
    const ofAgent = { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.id': 'desk' };
    expect(came?.attributes).toEqual({
      ...ofAgent,
      ...ofRun,
      'gen_ai.agent.name': 'The desk',
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'gpt-5-mini',
      'countersign.run.state': 'waiting',
    });
    expect(went?.attributes).toEqual({
      ...came?.attributes,
      'countersign.run.state': 'finished',
      'gen_ai.response.finish_reasons': ['stop'],
    });
    expect(traces.spans('chat gpt-5-mini')[0]?.attributes).toEqual({
      ...ofRun,
      'gen_ai.operation.name': 'chat',
      'gen_ai.agent.id': 'desk',
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'gpt-5-mini',
      'gen_ai.response.finish_reasons': ['tool-calls'],
      'gen_ai.response.id': 'response-1',
      'gen_ai.response.model': 'gpt-5-mini-2025',
      'gen_ai.usage.input_tokens': 10,
      'gen_ai.usage.output_tokens': 5,
    });
    const ofCall = { ...ofRun, 'gen_ai.tool.name': 'pay', 'gen_ai.tool.call.id': 'pay-1' };
    expect(traces.span('execute_tool pay').attributes).toEqual({
      ...ofCall,
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.type': 'function',
      'gen_ai.agent.id': 'desk',
    });
    const ofStop = { ...ofCall, 'countersign.stop': 1, 'countersign.call.state': 'held' };
    expect(traces.span('wait pay').attributes).toEqual(ofStop);
    expect(traces.span('decide pay').attributes).toEqual({
      ...ofStop,
      'countersign.decision.verdict': 'approve',
    });
    const told = JSON.stringify(
      traces.all().map(({ name, attributes, events, status }) => [name, attributes, events, status]),
    );
    expect(told).not.toContain('secret');
  });

  test('the wait is as long as the call waited', async () => {
    let now = Date.parse('2026-01-01T00:00:00Z');
    const clock = { now: () => now, sleep: () => new Promise<void>(() => {}) };
    const desk = new Agent({ id: 'desk', model: model(once(call('pay', 'a'))), tools });
    new Countersign({ agents: { desk }, telemetry, waitUntil, clock });
    const { runId } = await desk.generate('Go.');
    now += 3 * 24 * 3600_000;
    await desk.declineToolCallGenerate({ runId });
    expect(traces.span('wait pay').duration).toEqual([3 * 24 * 3600, 0]);
    expect(traces.span('decide pay').attributes['countersign.decision.verdict']).toBe('decline');
    expect(traces.spans('execute_tool pay')).toEqual([]);
  });

  test('an answer to what it asked is a decision too, and one that is repeated or refused is none', async () => {
    const desk = open(once(call('ask', 'a')));
    const { runId } = await desk.generate('Go.');
    await expect(desk.approveToolCallGenerate({ runId })).rejects.toMatchObject({ code: 'needs-data' });
    await desk.resumeGenerate({ secret: 'secret' }, { runId, decisionId: 'd' });
    await desk.resumeGenerate({ secret: 'secret' }, { runId, decisionId: 'd' });
    expect(await tree()).toBe(
      'invoke_agent The desk(chat gpt-5-mini, execute_tool ask, wait ask, decide ask, ' +
        'invoke_agent The desk(execute_tool ask, chat gpt-5-mini))',
    );
    expect(traces.span('wait ask').attributes['countersign.call.state']).toBe('suspended');
  });

  test('one that began untraced goes on in the trace of who decides', async () => {
    const path = temporaryFile('runs.db');
    const store = new SQLiteStore({ path });
    const desk = new Agent({ id: 'desk', model: model(once(call('pay', 'a'))), tools });
    new Countersign({ agents: { desk }, storage: store, waitUntil });
    const { runId } = await desk.generate('Go.');
    expect(await tree()).toBe('');
    await traces.within('POST /approve', () => open(once(), store).approveToolCallGenerate({ runId }));
    expect(await tree()).toBe(
      'POST /approve(wait pay, decide pay, invoke_agent The desk(execute_tool pay, chat gpt-5-mini))',
    );
    await store.close();
  });

  test('a decision without the code of the agent is told, too', async () => {
    const path = temporaryFile('runs.db');
    const store = new SQLiteStore({ path });
    const desk = open(once(call('pay', 'a')), store);
    const { runId } = await desk.generate('Go.');
    const other = new Countersign({ agents: {}, storage: new SQLiteStore({ path }), telemetry });
    await other.decideToolCall({ runId, toolCallId: 'pay-a', verdict: 'approve' });
    expect(await tree()).toBe('invoke_agent The desk(chat gpt-5-mini, wait pay, decide pay)');
  });
});

describe('what goes wrong', () => {
  const errorOf = async (name: string) => {
    await tree();
    const { status, attributes } = traces.span(name);
    return [status, attributes['error.type']];
  };
  const isError = { code: SpanStatusCode.ERROR };

  test('in a tool is an error of its span alone, by its kind', async () => {
    await open(once(call('fail', 'secret', 'fail-1'), call('look', 'a'))).generate('Go.');
    expect(await errorOf('execute_tool fail')).toEqual([isError, 'RangeError']);
    expect(await errorOf('execute_tool look')).toEqual([{ code: SpanStatusCode.UNSET }, undefined]);
    expect(await errorOf('invoke_agent The desk')).toEqual([{ code: SpanStatusCode.UNSET }, undefined]);
    expect(
      JSON.stringify(traces.all().map(({ attributes, events, status }) => [attributes, events, status])),
    ).not.toContain('secret');
  });

  test('in a model call is one of the run, also when it was stored and is stalled', async () => {
    const failing = (): never => {
      throw Object.assign(new Error('secret'), { name: 'TeapotError' });
    };
    await expect(open(failing).generate('Go.')).rejects.toMatchObject({ code: 'model-failed' });
    expect(await errorOf('chat gpt-5-mini')).toEqual([isError, 'TeapotError']);
    expect(await errorOf('invoke_agent The desk')).toEqual([isError, 'model-failed']);
    await tree();
    traces.reset();
    const desk = open(failing, undefined, { durable: true });
    await desk.generate('Go.');
    expect(await errorOf('invoke_agent The desk')).toEqual([isError, 'model-failed']);
    expect(traces.span('invoke_agent The desk').attributes['countersign.run.state']).toBe('stalled');
  });

  test('before a run begins is an error of the span that was to be its', async () => {
    await expect(open(once()).generate('Go.', { maxSteps: -1 })).rejects.toMatchObject({
      code: 'invalid-option',
    });
    expect(await errorOf('invoke_agent The desk')).toEqual([isError, 'invalid-option']);
  });
});

test('calls of one step are beside each other, and what a tool traces is in its span', async () => {
  await open(once(call('look', 'a'), call('look', 'b'))).generate('Go.');
  expect(await tree()).toBe(
    'invoke_agent The desk(chat gpt-5-mini, execute_tool look(http a), execute_tool look(http b), chat gpt-5-mini)',
  );
});

test('a tool that answers in parts is in its span until the last of them', async () => {
  const stream = createTool({
    id: 'stream',
    inputSchema,
    execute: async function* () {
      yield 1;
      await traces.within('http', async () => {});
      yield 2;
    } as never,
  });
  const { toolResults } = await open(once(call('stream', 'a')), undefined, { tools: { stream } }).generate(
    'Go.',
  );
  expect(toolResults[0]?.payload.result).toBe(2);
  expect(await tree()).toBe(
    'invoke_agent The desk(chat gpt-5-mini, execute_tool stream(http), chat gpt-5-mini)',
  );
});

test('runs that go on at the same time do not mix', async () => {
  const both = Promise.withResolvers<void>();
  let entered = 0;
  const meet = createTool({
    id: 'meet',
    inputSchema,
    execute: async ({ what }) => {
      if (++entered === 2) both.resolve();
      await both.promise;
      return traces.within(`http ${what}`, async () => trace.getActiveSpan()?.spanContext().traceId);
    },
  });
  const desk = open(
    (prompt) => {
      const name = JSON.stringify(prompt).includes('Meet as a') ? 'a' : 'b';
      return prompt.at(-1)?.role === 'tool' ? 'Done.' : { calls: [call('meet', name)] };
    },
    undefined,
    { tools: { meet } },
  );
  await Promise.all(
    ['a', 'b'].map((name) => traces.within(`POST ${name}`, () => desk.generate(`Meet as ${name}.`))),
  );
  const of = (name: string) =>
    `POST ${name}(invoke_agent The desk(chat gpt-5-mini, execute_tool meet(http ${name}), chat gpt-5-mini))`;
  expect(await tree()).toBe(`${of('a')}, ${of('b')}`);
});

test('a run of a sub-agent is below that of its supervisor, in each leg', async () => {
  const money = new Agent({ id: 'money', model: model(once(call('look', 'a'), call('pay', 'b'))), tools });
  const boss = new Agent({
    id: 'boss',
    model: model((prompt) =>
      prompt.at(-1)?.role === 'tool'
        ? 'Done.'
        : { calls: [{ toolName: 'agent-money', args: { prompt: 'Pay.' }, toolCallId: 'to-money' }] },
    ),
    agents: { money },
  });
  new Countersign({ agents: { boss }, telemetry, waitUntil });
  const { runId } = await boss.generate('Go.');
  await boss.approveToolCallGenerate({ runId, toolCallId: 'to-money~pay-b' });
  expect(await tree()).toBe(
    'invoke_agent boss(chat gpt-5-mini, invoke_agent money(chat gpt-5-mini, execute_tool look(http a)), ' +
      'wait pay, decide pay, ' +
      'invoke_agent boss(invoke_agent money(execute_tool pay, chat gpt-5-mini), chat gpt-5-mini))',
  );
  const [first, second] = traces.spans('invoke_agent money');
  expect(first?.attributes).toMatchObject({
    'gen_ai.tool.call.id': 'to-money',
    'countersign.run.id': `${runId}~to-money`,
    'countersign.run.state': 'waiting',
  });
  expect(second?.attributes).toMatchObject({ 'countersign.run.state': 'finished' });
  expect(traces.span('wait pay').attributes).toMatchObject({
    'gen_ai.tool.call.id': 'to-money~pay-b',
    'countersign.run.id': runId,
  });
});

test('a message that answers what an earlier turn asked is a decision of its trace, linked to the turn', async () => {
  const script: Script = (prompt) => {
    if (prompt.at(-1)?.role === 'tool') return 'Done.';
    return JSON.stringify(prompt.at(-1)).includes('It is x.')
      ? { calls: [{ toolName: 'resume-ask', args: { secret: 'x' } }] }
      : { calls: [call('ask', 'a')] };
  };
  const defaultOptions = { autoResumeSuspendedTools: true };
  const desk = open(script, undefined, { memory: new Memory(), defaultOptions });
  await desk.generate('Ask.', { memory });
  await desk.generate('It is x.', { memory });
  expect(await tree()).toBe(
    'invoke_agent The desk(chat gpt-5-mini, execute_tool ask, wait ask, decide ask, ' +
      'invoke_agent The desk(execute_tool ask)), ' +
      'invoke_agent The desk(chat gpt-5-mini, execute_tool resume-ask, chat gpt-5-mini)',
  );
  const turn = traces.span('execute_tool resume-ask').spanContext();
  expect(traces.span('decide ask').links.map(({ context }) => context.spanId)).toEqual([turn.spanId]);
});

test('an agent in no registry says it itself', async () => {
  const desk = new Agent({ id: 'desk', model: model(once()), telemetry });
  await desk.generate('Go.', { waitUntil });
  expect(await tree()).toBe('invoke_agent desk(chat gpt-5-mini)');
});

test.each([
  {},
  { opentelemetry: undefined },
  { opentelemetry: trace.getTracer('mine') },
  { tracer: {} },
  null,
])('%j is refused', (given) => {
  const config = { telemetry: given as never };
  const refused = expect.objectContaining({ code: 'invalid-option' });
  expect(() => new Agent({ id: 'desk', model: 'openai/gpt-5-mini', ...config })).toThrow(refused);
  expect(() => new Countersign({ agents: {}, ...config })).toThrow(refused);
});
