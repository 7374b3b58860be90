import { describe, expect, test } from 'vitest';
import { InMemoryStore } from '../store/memory.ts';
import { storeAround } from '../testing/store-around.ts';
import { createServer } from './create-server.ts';
import { openDesk } from './test-support/desk.ts';

test('the store is asked whether the server is ready', async () => {
  const desk = openDesk();
  expect(await desk.get(undefined, '/readyz')).toMatchObject({ status: 200, body: { status: 'ok' } });
  const inner = new InMemoryStore();
  const away = storeAround(inner, {
    workers: { ...inner.workers, dead: () => Promise.reject(new Error('password=1234')) },
  } as never);
  const broken = openDesk({ registry: { storage: away } });
  const answer = await broken.get(undefined, '/readyz');
  expect(answer).toMatchObject({ status: 503, body: { code: 'store-failed' } });
  expect(JSON.stringify(answer.body)).not.toContain('password');
  expect((await broken.get(undefined, '/healthz')).status).toBe(200);
});

test('held tools are logged at start, with who approves them', () => {
  const { logged } = openDesk();
  const held = logged.filter(({ message }) => message === 'held tool').map(({ facts }) => facts);
  expect(held).toContainEqual({ agentId: 'desk', toolName: 'delete', held: 'always', approver: 'owner' });
  expect(held).toContainEqual({ agentId: 'desk', toolName: 'pay', held: 'always', approver: 'reviewer' });
  expect(JSON.stringify(held)).not.toContain('look');
});

test('requests are logged without anything that was said in them', async () => {
  const desk = openDesk();
  const { runId, toolCallId } = await desk.hold('ada', 'delete secret-record');
  await desk.post('ada', '/api/agents/desk/approve-tool-call-generate', {
    runId,
    toolCallId,
    reason: 'secret-reason',
  });
  await desk.get('ada', '/api/agents/desk/suspended-runs?threadId=secret-thread');
  const requests = desk.logged.filter(({ message }) => message === 'request').map(({ facts }) => facts);
  expect(requests).toContainEqual({
    method: 'POST',
    route: '/api/agents/:agentId/stream',
    status: 200,
    ms: expect.any(Number),
    by: 'ada',
    runId: undefined,
  });
  await desk.get('ada', `/api/approvals/${runId}/${toolCallId}`);
  expect(desk.logged.at(-1)?.facts).toMatchObject({ route: '/api/approvals/:runId/:toolCallId', runId });
  expect(JSON.stringify(desk.logged)).not.toMatch(/secret|Bearer/);
});

describe('errors', () => {
  test('of the store are 503, without what the driver said', async () => {
    const away = storeAround(new InMemoryStore(), { list: () => Promise.reject(new Error('password=1234')) });
    const desk = openDesk({ registry: { storage: away } });
    const { status, body } = await desk.get('ada', '/api/agents/desk/suspended-runs');
    expect([status, body.code]).toEqual([503, 'store-failed']);
    expect(JSON.stringify(body)).not.toContain('password');
  });

  test('that nobody foresaw are 500 without details, and logged', async () => {
    const instructions = () => {
      throw new Error('password=1234');
    };
    const desk = openDesk({ agent: { instructions } });
    const { status, body } = await desk.post('ada', '/api/agents/desk/generate', { messages: 'Hi' });
    expect([status, body]).toEqual([
      500,
      { error: 'Something went wrong here.', code: 'internal', status: 500 },
    ]);
    expect(desk.logged.filter(({ level }) => level === 'error')).not.toEqual([]);
  });

  test.each([
    ['get', '/api/agents/desk/suspended-runs?perPage=0'],
    ['get', '/api/agents/desk/suspended-runs?perPage=x'],
    ['get', '/api/agents/desk/suspended-runs?page=-1'],
    ['get', '/api/agents/desk/suspended-runs?page=1&page=2'],
    ['get', '/api/agents/desk/suspended-runs?fromDate=soon'],
    ['get', '/api/agents/desk/suspended-runs?status=any'],
    ['get', '/api/agents/desk/suspended-runs?cursor=x'],
    ['get', '/api/agents/desk/suspended-runs?by=boss'],
  ] as const)('%s %s is 400', async (_, path) => {
    expect((await openDesk().get('ada', path)).status).toBe(400);
  });
});

test('pages of other origins may call it where it says so', async () => {
  const origin = 'https://app.example';
  const { app } = openDesk({ server: { cors: { origin: [origin] } } });
  const preflight = (from: string) =>
    app.request('/api/agents', {
      method: 'OPTIONS',
      headers: { origin: from, 'access-control-request-method': 'GET' },
    });
  expect((await preflight(origin)).headers.get('access-control-allow-origin')).toBe(origin);
  expect((await preflight('https://evil.example')).headers.get('access-control-allow-origin')).toBeNull();
});

test.each([
  { basePath: '' },
  { basePath: 'api' },
  { basePath: '/api/' },
  { auth: {} },
  { limits: { streams: 0 } },
])('malformed options are refused: %j', (config) => {
  const { countersign } = openDesk();
  expect(() => createServer({ countersign, logger: false, ...config } as never)).toThrow(
    expect.objectContaining({ code: 'invalid-option' }),
  );
});
