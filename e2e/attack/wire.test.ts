/** HTTP itself: heads, methods and paths that no well-behaved client sends, on connections made by hand. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { requestText } from './raw.ts';
import { methodOf, pathOf, posts, routes, routesThat, said } from './routes.ts';
import { startVictim, type Victim, type Waiting } from './victim.ts';
import { tokenOf } from './world.ts';

let victim: Victim;
let call: Waiting;
beforeAll(async () => {
  victim = await startVictim({ limits: { requestsPerMinute: 100_000 } });
  call = await victim.hold('ada', 'delete a');
});
afterAll(() => victim.stop());
afterEach(async () => {
  await victim.health();
  const { body } = await victim.ask('ada', 'GET', `/api/approvals/${call.runId}/${call.toolCallId}`);
  expect([body.state, victim.effects()]).toEqual(['held', []]);
});

const token = tokenOf('ada');
const approve = () => `/api/approvals/${call.runId}/${call.toolCallId}/approve`;
const body = '{"stop":1}';

describe('heads', () => {
  test.each([
    ['none', []],
    ['two', [`authorization: Bearer ${token}`, 'authorization: Bearer x']],
    ['two of one person', [`authorization: Bearer ${token}`, `authorization: Bearer ${token}`]],
    ['two in one', [`authorization: Bearer ${token}, Bearer ${token}`]],
    ['another scheme', [`authorization: Basic ${token}`]],
    ['no scheme', [`authorization: ${token}`]],
    ['a part of one', [`authorization: Bearer ${token.slice(0, -1)}`]],
    ['more than one', [`authorization: Bearer ${token}x`]],
    ['another case', [`authorization: Bearer ${token.toUpperCase()}`]],
    ['of a proxy', [`proxy-authorization: Bearer ${token}`, `x-authorization: Bearer ${token}`]],
    ['in a cookie', [`cookie: authorization=Bearer ${token}; token=${token}`]],
    ['of somebody who says so', ['x-user-id: rita', 'x-forwarded-user: rita', 'x-mastra-resource-id: ada']],
    ['folded', ['authorization: Bearer', ` ${token}`]],
    ['with a letter that looks like another', [`authorization: Bearer ${token.replace('a', '\u00e0')}`]],
  ])('a token that is %s opens nothing', async (_, headers) => {
    for (const route of routesThat('list', 'decide', 'start')) {
      const path = pathOf(route, call);
      const text = requestText({ method: methodOf(route), path, headers, ...(route.body ? { body } : {}) });
      const { statuses } = await victim.raw(Buffer.from(text, 'latin1'));
      expect([route.name, [400, 401].includes(statuses[0] ?? 0), statuses.length]).toEqual([
        route.name,
        true,
        1,
      ]);
    }
  });

  test.each([
    'x-http-method-override: POST',
    'x-method-override: POST',
    'x-http-method: POST',
    'x-original-url: /healthz',
    'x-rewrite-url: /healthz',
    'x-forwarded-prefix: /api',
    'traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    'traceparent: x',
    'baggage: roles=reviewer',
  ])('%s is not minded', async (header) => {
    const read = requestText({ path: approve(), token, headers: [header, `content-length: ${body.length}`] });
    expect((await victim.raw(`${read}${body}`)).statuses).toEqual([404]);
    const nobody = requestText({ path: '/api/agents', headers: [header] });
    expect((await victim.raw(nobody)).statuses).toEqual([401]);
  });

  test('names of the machine say nothing where there is auth', async () => {
    for (const headers of [
      ['host: evil.example'],
      [
        'host: 127.0.0.1',
        'x-forwarded-host: evil.example',
        'x-forwarded-for: 127.0.0.1',
        'forwarded: for=127.0.0.1',
      ],
      ['host: 127.0.0.1', 'origin: https://evil.example'],
    ]) {
      const known = await victim.raw(requestText({ path: '/api/agents', token, headers }));
      expect(known.statuses).toEqual([200]);
      expect(known.text).not.toMatch(/access-control|evil/i);
      expect((await victim.raw(requestText({ path: '/api/agents', headers }))).statuses).toEqual([401]);
    }
  });

  test.each([
    ['no host', 'GET /api/agents HTTP/1.1\r\n\r\n'],
    ['two hosts', 'GET /api/agents HTTP/1.1\r\nhost: a\r\nhost: b\r\nconnection: close\r\n\r\n'],
    ['a bad host', 'GET /api/agents HTTP/1.1\r\nhost: a b\r\nconnection: close\r\n\r\n'],
    ['a host with a user', 'GET /api/agents HTTP/1.1\r\nhost: a@b\r\nconnection: close\r\n\r\n'],
    ['a host with a path', 'GET /api/agents HTTP/1.1\r\nhost: a/healthz?\r\nconnection: close\r\n\r\n'],
    ['no version', 'GET /api/agents\r\n\r\n'],
    ['an older protocol', 'GET /api/agents HTTP/0.9\r\n\r\n'],
    ['a newer protocol', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['another protocol', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
    ['a space before the colon', 'GET /api/agents HTTP/1.1\r\nhost : a\r\n\r\n'],
    ['a bare line feed', 'GET /api/agents HTTP/1.1\nhost: a\nauthorization: x\n\n'],
    ['NUL in the head', 'GET /api/agents HTTP/1.1\r\nhost: a\r\nx: \0\r\n\r\n'],
    ['NUL in the path', 'GET /api/\0 HTTP/1.1\r\nhost: a\r\n\r\n'],
    ['a bare return', 'GET /api/agents HTTP/1.1\r\nhost: a\r\nx: a\rauthorization: x\r\n\r\n'],
    ['a made-up method', 'STEAL /api/agents HTTP/1.1\r\nhost: a\r\n\r\n'],
    ['CONNECT', 'CONNECT 127.0.0.1:22 HTTP/1.1\r\nhost: 127.0.0.1:22\r\n\r\n'],
    [
      'an upgrade',
      'GET /api/agents HTTP/1.1\r\nhost: a\r\nconnection: upgrade, close\r\nupgrade: h2c\r\n\r\n',
    ],
    ['an expectation', 'POST /api/agents HTTP/1.1\r\nhost: a\r\nexpect: 200-ok\r\nconnection: close\r\n\r\n'],
  ])('%s is refused', async (_, text) => {
    const { statuses } = await victim.raw(text);
    expect(statuses.every((status) => status >= 400 && status < 500)).toBe(true);
    expect(statuses.length).toBeLessThanOrEqual(1);
  });

  test('are not longer than they may be', async () => {
    const long = requestText({ path: '/api/agents', token, headers: [`x: ${'x'.repeat(20_000)}`] });
    expect((await victim.raw(long)).statuses).toEqual([431]);
    const many = Array.from({ length: 3000 }, (_, index) => `x${index}: y`);
    expect((await victim.raw(requestText({ path: '/api/agents', token, headers: many }))).statuses).toEqual([
      431,
    ]);
    const path = `/api/agents/${'x'.repeat(20_000)}`;
    expect((await victim.raw(requestText({ path, token }))).statuses).toEqual([431]);
  });
});

describe('a request within a request', () => {
  const hidden = () => requestText({ method: 'POST', path: approve(), token, body });
  const lengths: readonly (readonly [string, readonly string[], (text: string) => string])[] = [
    [
      'a length and chunks',
      ['content-length: 4', 'transfer-encoding: chunked'],
      (text) => `0\r\n\r\n${text}`,
    ],
    [
      'chunks and a length',
      ['transfer-encoding: chunked', 'content-length: 4'],
      (text) => `0\r\n\r\n${text}`,
    ],
    ['two lengths', ['content-length: 0', 'content-length: 5'], (text) => text],
    ['a list of lengths', ['content-length: 0, 5'], (text) => text],
    ['a signed length', ['content-length: +0'], (text) => text],
    ['a hexadecimal length', ['content-length: 0x0'], (text) => text],
    ['a negative length', ['content-length: -1'], (text) => text],
    ['an unknown coding', ['transfer-encoding: xchunked'], (text) => text],
    ['chunked, but not last', ['transfer-encoding: chunked, identity'], (text) => `0\r\n\r\n${text}`],
    ['a coding behind a space', ['transfer-encoding : chunked'], (text) => `0\r\n\r\n${text}`],
    [
      'a coding behind a tab',
      ['transfer-encoding:\tchunked', 'content-length: 1'],
      (text) => `0\r\n\r\n${text}`,
    ],
    ['a bad chunk', ['transfer-encoding: chunked'], (text) => `0x0\r\n\r\n${text}`],
    ['a huge chunk', ['transfer-encoding: chunked'], (text) => `ffffffffffffffffff\r\n${text}`],
    ['a chunk with a bare line feed', ['transfer-encoding: chunked'], (text) => `0\n\n${text}`],
  ];

  test.each(lengths)('by %s is none', async (_, headers, smuggled) => {
    for (const path of ['/healthz', '/api/agents/desk/generate']) {
      // Nobody asks; what is hidden has a token.
      const outer = [
        `POST ${path} HTTP/1.1`,
        'host: 127.0.0.1',
        'content-type: application/json',
        ...headers,
      ];
      const { statuses } = await victim.raw(`${outer.join('\r\n')}\r\n\r\n${smuggled(hidden())}`);
      expect([path, statuses.filter((status) => status < 400)]).toEqual([path, []]);
      expect(statuses.length).toBeLessThanOrEqual(2);
    }
  });

  test('behind a body that is not read is a request of its own, or none', async () => {
    // The token of the first is none, its body is long, and looks like a request.
    const inner = hidden();
    const outer = requestText({
      method: 'POST',
      path: approve(),
      token: 'none',
      headers: ['content-type: application/json', `content-length: ${Buffer.byteLength(inner)}`],
    }).replace('connection: close\r\n', '');
    const { statuses } = await victim.raw(`${outer}${inner}${requestText({ path: '/healthz' })}`);
    expect(statuses[0]).toBe(401);
    expect(statuses).not.toContain(202);
  });
});

describe('paths', () => {
  const twisted = (path: string): string[] => [
    `/${path}`,
    path.replaceAll('/', '//'),
    `/healthz/..${path}`,
    `/healthz/%2e%2e${path}`,
    `/healthz/..%2f${path.slice(1)}`,
    `/healthz;/..${path}`,
    `/healthz\\..${path.replaceAll('/', '\\')}`,
    `/.${path}`,
    `/x/..${path}`,
    path.replace('/api', '/API'),
    path.replace('/api', '/%61pi'),
    path.replace('/api', '/api;x=y'),
    path.replace('/api/', '/api/./'),
    path.replace('/api/', '/api/x/../'),
    path.replace('/api/', '/api%2F'),
    `${path}/`,
    `${path}?`,
    `${path}#/healthz`,
    `${path}%00`,
    `${path}.json`,
    `${path}/healthz`,
    `${path}?/healthz`,
    `http://127.0.0.1${path}`,
    `http://evil.example${path}`,
    `https://healthz${path}`,
  ];

  test('that are twisted lead nowhere without a token', async () => {
    for (const route of routes.filter(({ kind }) => kind !== 'open' && kind !== 'feed')) {
      for (const path of twisted(pathOf(route, call))) {
        const text = requestText({ method: methodOf(route), path, ...(route.body ? { body } : {}) });
        const { statuses } = await victim.raw(text);
        expect([path, [400, 401, 404].includes(statuses[0] ?? 0), statuses.length]).toEqual([path, true, 1]);
      }
    }
  });

  test('that are twisted decide nothing that the same person may not', async () => {
    const pay = await victim.hold('ada', 'pay a');
    for (const route of routesThat('decide')) {
      for (const path of twisted(pathOf(route, pay))) {
        const text = requestText({
          method: 'POST',
          path,
          token,
          body: JSON.stringify(route.body?.(pay, 'ada')),
        });
        const { statuses } = await victim.raw(text);
        expect([path, [400, 403, 404].includes(statuses[0] ?? 0)]).toEqual([path, true]);
      }
    }
    expect(victim.effects(pay.runId)).toEqual([]);
  });

  test('that are no text are nothing', async () => {
    for (const path of [
      '/api/agents/%',
      '/api/agents/%ff',
      '/api/agents/%c0%ae%c0%ae',
      '/api/agents/%E0%A4%A/stream',
      '/api/agents/%ed%a0%80',
      '/api/agents/\u00e4',
      '/api/approvals/%/%',
      '/api/approvals/%ff/%ff',
      '/api/runs/%00/events',
      '/api/memory/threads/%fe',
      '/api/memory/threads/t?agentId=%ff',
      '/api/approvals?threadId=%00',
      '/api/approvals?%',
      '/api/approvals?=',
      '/api/approvals?&&&=&',
      `/api/approvals?${'a&'.repeat(3000)}`,
    ]) {
      const { statuses } = await victim.raw(Buffer.from(requestText({ path, token }), 'latin1'));
      expect([path, statuses.length, [400, 404].includes(statuses[0] ?? 0)]).toEqual([path, 1, true]);
    }
  });

  test('that others have are not there', async () => {
    for (const path of [
      '/',
      '/api',
      '/metrics',
      '/.env',
      '/api/agents/desk/tools',
      '/api/agents/desk/tools/delete/execute',
      '/api/tools/delete/execute',
      '/api/agents/desk/network',
      '/api/agents/desk/approve-network-tool-call',
      '/api/agents/desk/resume-stream-until-idle',
      '/api/agents/desk/observe',
      '/api/agents/desk/recover',
      '/api/agents/desk/send-message',
      '/api/memory/save-messages',
      `/api/memory/threads/${call.threadId}`,
      `/api/runs/${call.runId}/approve`,
      `/api/approvals/${call.runId}/${call.toolCallId}/cancel`,
      '/api/workflows',
    ]) {
      const body = { data: { what: 'a' }, runId: call.runId, toolCallId: call.toolCallId };
      const answer = await victim.ask('rita', 'POST', path, body);
      expect([path, said(answer)]).toEqual([path, '404 route-not-found']);
    }
  });
});

describe('methods', () => {
  test('that a route does not have are no route', async () => {
    for (const route of routes) {
      const path = pathOf(route, call);
      const own = routes.filter((other) => pathOf(other, call) === path).map(methodOf);
      for (const method of [
        'GET',
        'POST',
        'PUT',
        'PATCH',
        'DELETE',
        'OPTIONS',
        'QUERY',
        'PROPFIND',
        'TRACE',
      ]) {
        if (own.includes(method)) continue;
        const { statuses } = await victim.raw(
          requestText({ method, path, token, headers: ['content-length: 0'] }),
        );
        expect([route.name, method, statuses]).toEqual([route.name, method, [404]]);
      }
    }
  });

  test('HEAD is GET without its words, and holds nothing', async () => {
    for (let time = 0; time < 30; time++) {
      for (const route of routes) {
        const text = requestText({ method: 'HEAD', path: pathOf(route, call), token });
        const { statuses, text: answer } = await victim.raw(text);
        const isPost = methodOf(route) === 'POST';
        // Of a thread in which nothing goes on there is nothing to follow.
        const status = isPost ? 404 : expect.toBeOneOf([200, 204]);
        expect([route.name, time, statuses]).toEqual([route.name, time, [status]]);
        expect(answer.split('\r\n\r\n')[1]).toBe('');
      }
    }
    // The places for streams are those of who reads.
    const events = await victim.ask('ada', 'GET', `/api/runs/${call.runId}/events`);
    expect(events.status).toBe(200);
  });
});

test('every answer says that no page may frame it, guess its type, or keep it', async () => {
  for (const route of routes.filter(({ kind }) => kind !== 'feed')) {
    for (const who of ['ada', undefined] as const) {
      const given = posts.includes(route) ? { x: 1 } : undefined;
      const { headers, status } = await victim.ask(who, methodOf(route), pathOf(route, call), given);
      expect([
        route.name,
        status,
        headers.get('x-content-type-options'),
        headers.get('x-frame-options'),
      ]).toEqual([route.name, status, 'nosniff', 'SAMEORIGIN']);
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.get('access-control-allow-origin')).toBe(null);
    }
  }
});
