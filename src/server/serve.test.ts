import { request } from 'node:http';
import { Hono } from 'hono';
import { afterEach, describe, expect, test } from 'vitest';
import { scriptedModel } from '../testing/scripted-model.ts';
import { isLoopback } from './loopback.ts';
import { type RunningServer, serve } from './serve.ts';
import { type Desk, eventsIn, openDesk } from './test-support/desk.ts';

const running: RunningServer[] = [];
afterEach(async () => {
  for (const server of running.splice(0)) await server.close();
});

async function served(desk: Desk): Promise<RunningServer> {
  const server = await serve(desk.app, { port: 0 });
  running.push(server);
  return server;
}

const headers = { 'content-type': 'application/json', authorization: 'Bearer ada' };
const begin = (url: string, messages: string, init: RequestInit = {}): Promise<Response> =>
  fetch(`${url}/api/agents/desk/stream`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ messages }),
    ...init,
  });

/** As `fetch`, which sets these headers itself. */
function statusOf(url: string, more: Record<string, string>): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { headers: more }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    asked.on('error', reject);
    asked.end();
  });
}

function held() {
  const gate = Promise.withResolvers<void>();
  const entered = Promise.withResolvers<void>();
  const model = scriptedModel(async (prompt) => {
    if (prompt.at(-1)?.role !== 'user') return 'Done.';
    entered.resolve();
    return { delayUntil: gate.promise, calls: [{ toolName: 'look', args: { what: 'a' } }] };
  });
  return { gate, entered, model };
}

describe('a real server', () => {
  test('streams over the wire', async () => {
    const { url } = await served(openDesk());
    const response = await begin(url, 'delete a');
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(eventsIn(await response.text()).map(({ type }) => type)).toContain('tool-call-approval');
  });

  test('a client that goes away changes nothing', async () => {
    const { gate, entered, model } = held();
    const desk = openDesk({ agent: { model } });
    const { url } = await served(desk);
    const leaving = new AbortController();
    const response = await begin(url, 'go', { signal: leaving.signal });
    await entered.promise;
    leaving.abort();
    await expect(response.text()).rejects.toThrow();
    gate.resolve();
    await desk.countersign.stop();
    expect(desk.done).toEqual(['look a']);
    expect(model.calls).toHaveLength(2);
  });

  test('a body that does not say how long it is is cut all the same', async () => {
    const desk = openDesk({ server: { limits: { bodyBytes: 1000 } } });
    const { url } = await served(desk);
    const part = new TextEncoder().encode('x'.repeat(600));
    const body = new ReadableStream({
      start(controller) {
        for (let count = 0; count < 3; count++) controller.enqueue(part);
        controller.close();
      },
    });
    const init = { method: 'POST', headers, body, duplex: 'half' } as RequestInit;
    const response = await fetch(`${url}/api/agents/desk/generate`, init);
    expect([response.status, await response.json()]).toEqual([
      413,
      expect.objectContaining({ code: 'too-large' }),
    ]);
    expect(desk.logged.filter(({ level }) => level === 'error')).toEqual([]);
  });

  test('a client that reads late gets everything, and slows nothing', async () => {
    const words = 'word '.repeat(20_000);
    const desk = openDesk({ agent: { model: scriptedModel([words]) } });
    const { url } = await served(desk);
    const response = await begin(url, 'Talk.');
    await desk.countersign.stop();
    const texts = eventsIn(await response.text()).map(({ payload }) => payload.text ?? '');
    expect(texts.join('')).toBe(words);
  });

  test('closing lets open legs end, and takes nothing new', async () => {
    const { gate, entered, model } = held();
    const desk = openDesk({ agent: { model } });
    const server = await serve(desk.app, { port: 0 });
    const response = await begin(server.url, 'go');
    await entered.promise;
    const closed = server.close();
    const refused = await desk.get('ada', '/api/agents');
    expect(refused).toMatchObject({ status: 503, body: { code: 'server-closing' } });
    expect(await desk.get(undefined, '/readyz')).toMatchObject({ status: 503 });
    expect((await desk.get(undefined, '/healthz')).status).toBe(200);
    gate.resolve();
    expect(eventsIn(await response.text()).at(-1)?.type).toBe('finish');
    await closed;
    await expect(fetch(server.url)).rejects.toThrow();
  });

  test('closing does not wait for what takes too long', async () => {
    const { gate, entered, model } = held();
    const desk = openDesk({ agent: { model } });
    const server = await serve(desk.app, { port: 0 });
    const response = await begin(server.url, 'go');
    await entered.promise;
    await server.close({ within: 1 });
    await expect(response.text()).rejects.toThrow();
    gate.resolve();
    await desk.countersign.stop();
  });
});

describe('without auth', () => {
  test.each(['0.0.0.0', '::', '192.168.1.5', 'example.com', ''])(
    'nothing is served at %s',
    async (hostname) => {
      const desk = openDesk({ auth: false });
      await expect(serve(desk.app, { port: 0, hostname })).rejects.toMatchObject({ code: 'invalid-option' });
      const config = { countersign: desk.countersign, logger: false } as const;
      await expect(serve(config, { port: 0, hostname })).rejects.toMatchObject({ code: 'invalid-option' });
    },
  );

  test('requests of other hosts and other origins are refused', async () => {
    const { url } = await served(openDesk({ auth: false }));
    for (const path of ['/api/agents', '/healthz']) {
      const at = url + path;
      expect(await statusOf(at, {})).toBe(200);
      expect(await statusOf(at, { host: 'localhost:9' })).toBe(200);
      expect(await statusOf(at, { host: 'evil.example' })).toBe(403);
      expect(await statusOf(at, { origin: 'https://evil.example' })).toBe(403);
      expect(await statusOf(at, { origin: 'null' })).toBe(403);
      expect(await statusOf(at, { origin: 'http://localhost:3000' })).toBe(200);
    }
  });

  test('a request from another address is refused, whatever it says', async () => {
    const { app } = openDesk({ auth: false });
    const from = (remoteAddress: string) =>
      app.request('/api/agents', {}, { incoming: { socket: { remoteAddress } } });
    expect((await from('10.0.0.7')).status).toBe(403);
    expect((await from('::ffff:127.0.0.1')).status).toBe(200);
    expect((await app.request('http://evil.example/api/agents')).status).toBe(403);
  });

  test('everything may be seen and decided on the machine itself, by nobody', async () => {
    const desk = openDesk({ auth: false });
    const { runId, toolCallId } = await desk.hold(undefined, 'pay a');
    await desk.events(undefined, '/api/agents/desk/approve-tool-call', { runId, toolCallId });
    expect(desk.done).toEqual(['pay a']);
  });
});

test.each([
  ['localhost', true],
  ['app.localhost', true],
  ['127.0.0.1', true],
  ['127.8.8.8', true],
  ['[::1]', true],
  ['::ffff:127.0.0.1', true],
  ['127.0.0.1.evil.example', false],
  ['localhost.evil.example', false],
  ['0.0.0.0', false],
  ['', false],
])('%s is loopback: %s', (name, expected) => expect(isLoopback(name)).toBe(expected));

test('with auth it may be served anywhere, and mounted into another app', async () => {
  const desk = openDesk({ server: { basePath: '/desk' } });
  const app = new Hono();
  app.get('/mine', (c) => c.text('mine'));
  app.route('/', desk.app);
  app.get('/later', (c) => c.text('later'));
  const server = await serve(app, { port: 0, hostname: '0.0.0.0' });
  running.push(server);
  const url = `http://127.0.0.1:${server.port}`;
  expect(await (await fetch(`${url}/mine`)).text()).toBe('mine');
  const later = await fetch(`${url}/later`);
  expect([await later.text(), later.headers.get('x-content-type-options')]).toEqual(['later', null]);
  expect((await fetch(`${url}/desk/agents`)).status).toBe(401);
  expect((await fetch(`${url}/desk/agents`, { headers })).status).toBe(200);
  expect((await fetch(`${url}/desk/agents/none`, { headers })).status).toBe(404);
});
