import { beforeEach, expect, test } from 'vitest';
import { openTraces } from '../agent/test-support/traces.ts';
import { openDesk, type Plan } from './test-support/desk.ts';

const traces = openTraces();
const { telemetry } = traces;
beforeEach(() => traces.reset());

const traceId = '0af7651916cd43dd8448eb211c80319c';
const spanId = 'b7ad6b7169203331';

function post(plan: Plan, path: string, body: object, headers: Record<string, string>) {
  const desk = openDesk(plan);
  const more = { 'content-type': 'application/json', authorization: 'Bearer ada', ...headers };
  return {
    desk,
    answer: desk.app.request(path, { method: 'POST', headers: more, body: JSON.stringify(body) }),
  };
}

test('a run that begins over HTTP goes on in the trace of its caller', async () => {
  const traceparent = `00-${traceId}-${spanId}-01`;
  const path = '/api/agents/desk/generate';
  const { desk, answer } = post({ registry: { telemetry } }, path, { messages: 'delete a' }, { traceparent });
  expect((await answer).status).toBe(200);
  await desk.countersign.stop();
  const run = traces.span('invoke_agent The desk');
  expect(run.spanContext().traceId).toBe(traceId);
  expect(run.parentSpanContext?.spanId).toBe(spanId);
});

test('a decision over HTTP stays in the trace of its run, and is linked to its caller', async () => {
  const desk = openDesk({ registry: { telemetry } });
  const { runId, toolCallId, stop } = await desk.hold('ada', 'delete a');
  const headers = {
    'content-type': 'application/json',
    authorization: 'Bearer ada',
    traceparent: `00-${traceId}-${spanId}-01`,
  };
  const body = JSON.stringify({ stop });
  const at = `/api/approvals/${runId}/${toolCallId}/approve`;
  expect((await desk.app.request(at, { method: 'POST', headers, body })).status).toBe(202);
  await desk.countersign.stop();
  const [began, went] = traces.spans('invoke_agent The desk');
  expect(went?.spanContext().traceId).toBe(began?.spanContext().traceId);
  expect(went?.links[0]?.context).toMatchObject({ traceId, spanId });
  expect(traces.span('decide delete').links[0]?.context).toMatchObject({ traceId, spanId });
});

test.each(['', 'x', `00-${'0'.repeat(32)}-${spanId}-01`, `00-${traceId}-${'0'.repeat(16)}-01`, '00-1-2-3'])(
  'a header that is no trace is none: %j',
  async (traceparent) => {
    const { desk, answer } = post(
      { registry: { telemetry } },
      '/api/agents/desk/generate',
      { messages: 'Hi' },
      { traceparent },
    );
    expect((await answer).status).toBe(200);
    await desk.countersign.stop();
    const run = traces.span('invoke_agent The desk');
    expect([run.parentSpanContext, run.spanContext().traceId]).toEqual([
      undefined,
      expect.not.stringMatching(traceId),
    ]);
  },
);

test('a span of the app that ours is in goes before the header', async () => {
  const traceparent = `00-${traceId}-${spanId}-01`;
  await traces.within('GET /', async () => {
    const { desk, answer } = post(
      { registry: { telemetry } },
      '/api/agents/desk/generate',
      { messages: 'Hi' },
      { traceparent },
    );
    await answer;
    await desk.countersign.stop();
  });
  expect(traces.tree()).toBe('GET /(invoke_agent The desk(chat scripted))');
});

test('a header that cannot be read is none', async () => {
  const { propagation, ...api } = telemetry.opentelemetry;
  const broken = {
    ...api,
    propagation: {
      ...propagation,
      extract: () => {
        throw new Error('broken');
      },
    },
  };
  const registry = { telemetry: { opentelemetry: broken } };
  const asked = { traceparent: `00-${traceId}-${spanId}-01` };
  const { answer } = post({ registry }, '/api/agents/desk/generate', { messages: 'Hi' }, asked);
  expect((await answer).status).toBe(200);
});

test('where nobody is told, the header means nothing', async () => {
  const { desk, answer } = post({}, '/api/agents/desk/generate', { messages: 'Hi' }, { traceparent: 'x' });
  expect((await answer).status).toBe(200);
  await desk.countersign.stop();
  expect(traces.all()).toEqual([]);
});
