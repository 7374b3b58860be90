/** Who is let in: tokens of a provider, pages of other origins, and a machine that has no auth. */

import { createHmac, createPublicKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, exportSPKI, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { requestText } from './raw.ts';
import { methodOf, pathOf, routes } from './routes.ts';
import { startVictim, type Victim, type Waiting } from './victim.ts';
import { tokenOf } from './world.ts';

describe('JSON Web Tokens', async () => {
  const [{ privateKey, publicKey }, elliptic, stranger] = await Promise.all([
    generateKeyPair('RS256', { extractable: true }),
    generateKeyPair('ES256', { extractable: true }),
    generateKeyPair('RS256', { extractable: true }),
  ]);
  const keys = [
    { ...(await exportJWK(publicKey)), kid: 'rsa', alg: 'RS256', use: 'sig' },
    { ...(await exportJWK(elliptic.publicKey)), kid: 'ec', alg: 'ES256', use: 'sig' },
  ];
  let fetched = 0;
  let provider: Server;
  let victim: Victim;
  let issuer = '';
  const now = () => Math.floor(Date.now() / 1000);

  beforeAll(async () => {
    provider = createServer((request, response) => {
      if (request.url === '/jwks') fetched++;
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ keys: request.url === '/jwks' ? keys : [] }));
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => provider.once('listening', resolve));
    issuer = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
    victim = await startVictim({ auth: { jwksUrl: `${issuer}/jwks`, issuer } });
  });
  afterEach(() => victim.health());
  afterAll(async () => {
    await victim.stop();
    provider.close();
  });

  const good = (): JWTPayload => ({ iss: issuer, aud: 'desk', sub: 'ada', exp: now() + 60, iat: now() });
  const signed = (claims: JWTPayload, header: object = {}, key = privateKey): Promise<string> =>
    new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'rsa', ...header }).sign(key);
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const statusFor = async (token: string): Promise<number> => {
    const { statuses } = await victim.raw(requestText({ path: '/api/approvals', token }));
    return statuses[0] ?? 0;
  };

  test('let in whom the provider names', async () => {
    expect(await statusFor(await signed(good()))).toBe(200);
    expect(await statusFor(await signed(good(), { alg: 'ES256', kid: 'ec' }, elliptic.privateKey))).toBe(200);
  });

  test('of which a claim is wrong let nobody in', async () => {
    const { exp: _, ...endless } = good();
    const wrong: JWTPayload[] = [
      endless,
      { ...good(), exp: now() - 1 },
      { ...good(), exp: 0 },
      { ...good(), exp: '9999999999' as never },
      { ...good(), nbf: now() + 60 },
      { ...good(), aud: 'other' },
      { ...good(), aud: [] },
      { ...good(), aud: ['Desk', 'desk '] },
      { ...good(), iss: `${issuer}/` },
      { ...good(), iss: 'https://evil.example' },
      { ...good(), iss: [issuer] as never },
      { sub: 'ada' },
    ];
    for (const claims of wrong) {
      const token =
        claims.exp === undefined || typeof claims.exp === 'number' ? await signed(claims) : undefined;
      const raw = token ?? (await rawSigned(claims));
      expect([claims, await statusFor(raw)]).toEqual([claims, 401]);
    }
  });

  /** Signed by the right key, with claims that the library would not write. */
  async function rawSigned(claims: object): Promise<string> {
    const text = `${part({ alg: 'RS256', kid: 'rsa' })}.${part(claims)}`;
    const signature = await crypto.subtle.sign('RSASSA-PKCS1-v1_5', privateKey, Buffer.from(text));
    return `${text}.${Buffer.from(signature).toString('base64url')}`;
  }

  test('of which the signature is wrong let nobody in', async () => {
    const claims = good();
    const [head = '', body = '', signature = ''] = (await signed(claims)).split('.');
    const unsigned = ['none', 'None', 'NONE', 'nOnE', ''].flatMap((alg) =>
      ['', signature].map((end) => `${part({ alg, kid: 'rsa' })}.${part(claims)}.${end}`),
    );
    // The public key, which everybody has, as the secret of an HMAC.
    const pem = await exportSPKI(publicKey);
    const der = createPublicKey(pem).export({ type: 'spki', format: 'der' });
    const confused = [pem, pem.trim(), der, JSON.stringify(keys[0]), keys[0]?.n ?? ''].map((secret) => {
      const text = `${part({ alg: 'HS256', kid: 'rsa' })}.${part(claims)}`;
      return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`;
    });
    const theirs = await exportJWK(stranger.publicKey);
    const foreign = await Promise.all([
      signed(claims, {}, stranger.privateKey),
      signed(claims, { jwk: theirs }, stranger.privateKey),
      signed(claims, { jku: 'http://127.0.0.1:1/jwks' }, stranger.privateKey),
      signed(claims, { x5u: 'http://127.0.0.1:1/cert' }, stranger.privateKey),
      signed(claims, { kid: '../../../dev/null' }, stranger.privateKey),
      signed(claims, { kid: "' OR 1=1" }, stranger.privateKey),
      signed(claims, { kid: '__proto__' }, stranger.privateKey),
      // The other kind of key, under the name of the first.
      signed(claims, { alg: 'ES256' }, elliptic.privateKey),
    ]);
    const twisted = [
      `${head}.${part({ ...claims, sub: 'rita', roles: ['reviewer'] })}.${signature}`,
      `${head}.${body}.`,
      `${head}.${body}`,
      `${head}.${body}.${signature.slice(0, -4)}`,
      `${head}.${body}.${signature}.${signature}`,
      `.${body}.${signature}`,
      '..',
      'x.y.z',
      `${part({ alg: 'RS256', kid: 'rsa', crit: ['x'], x: 1 })}.${body}.${signature}`,
      `${part({ alg: 'RS256', kid: 'rsa', b64: false, crit: ['b64'] })}.${body}.${signature}`,
      `${'a'.repeat(5000)}.${body}.${signature}`,
      `${Buffer.from('['.repeat(3000)).toString('base64url')}.${body}.${signature}`,
    ];
    for (const token of [...unsigned, ...confused, ...foreign, ...twisted]) {
      expect([token.slice(0, 60), await statusFor(token)]).toEqual([token.slice(0, 60), 401]);
    }
  });

  test('with keys that are not known do not make the server ask without end', async () => {
    const before = fetched;
    for (let time = 0; time < 50; time++) {
      expect(await statusFor(await signed(good(), { kid: `k${time}` }, stranger.privateKey))).toBe(401);
    }
    expect(fetched - before).toBeLessThanOrEqual(1);
  });
});

test('tokens are compared by hash, each digit of each, whatever comes', () => {
  const source = readFileSync(new URL('../../src/server/bearer-tokens.ts', import.meta.url), 'utf8');
  const [, compared = ''] = /function isSame[^{]*\{(.*?)\n\}/s.exec(source) ?? [];
  expect(compared).toContain('charCodeAt');
  expect(compared.match(/return|break|if \(/g)).toEqual(['return']);
  const [, loop = ''] = /return async \(request\) => \{(.*?)\n {2}\};/s.exec(source) ?? [];
  expect(loop).toContain('sha256(token)');
  expect(loop).not.toMatch(/break|continue|\bget\(|\bhas\(|for .*return/);
});

describe('pages of other origins', () => {
  let victim: Victim;
  let call: Waiting;
  beforeAll(async () => {
    victim = await startVictim({ cors: 'https://app.example' });
    call = await victim.hold('ada', 'delete a');
  });
  afterEach(() => victim.health());
  afterAll(() => victim.stop());

  test.each(['https://evil.example', 'https://app.example.evil.example', 'http://app.example', 'null', '*'])(
    'are not let in: %s',
    async (origin) => {
      for (const route of routes.filter(({ kind }) => kind !== 'open')) {
        for (const method of ['OPTIONS', methodOf(route)]) {
          const headers = [
            `origin: ${origin}`,
            'access-control-request-method: POST',
            'access-control-request-headers: authorization',
          ];
          const text = requestText({ method, path: pathOf(route, call), headers });
          const { text: answer } = await victim.raw(text);
          const allowed = /^access-control-allow-origin: (.*?)\r$/im.exec(answer)?.[1];
          expect([route.name, method, ['https://app.example', undefined].includes(allowed)]).toEqual([
            route.name,
            method,
            true,
          ]);
        }
      }
    },
  );

  test('a form, which asks nobody first, decides nothing', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
      const body = `{"runId":"${call.runId}","toolCallId":"${call.toolCallId}","x":"="}`;
      const path = '/api/agents/chat/approve-tool-call-generate';
      const headers = [
        'origin: https://evil.example',
        `content-type: ${type}`,
        `content-length: ${body.length}`,
      ];
      const { statuses } = await victim.raw(
        `${requestText({ method: 'POST', path, token: tokenOf('ada'), headers })}${body}`,
      );
      expect([type, statuses]).toEqual([type, [400]]);
    }
    expect(victim.effects()).toEqual([]);
  });
});

describe('a server without auth', () => {
  let victim: Victim;
  beforeAll(async () => {
    victim = await startVictim({ auth: 'none', limits: { requestsPerMinute: 100_000 } });
  });
  afterEach(() => victim.health());
  afterAll(() => victim.stop());

  const nothing: Waiting = {
    agentId: 'desk',
    runId: 'r',
    toolCallId: 'c',
    threadId: 't',
    stop: 1,
    fingerprint: '',
  };
  const statusesOf = async (headers: readonly string[]): Promise<number[]> => {
    const answers = routes.map(async (route) => {
      const text = requestText({ method: methodOf(route), path: pathOf(route, nothing), headers });
      return (await victim.raw(text)).statuses[0] ?? 0;
    });
    return [...new Set(await Promise.all(answers))];
  };

  test('serves its own machine', async () => {
    for (const host of ['127.0.0.1', 'localhost', 'localhost:4111', '[::1]', '127.0.0.1:80']) {
      const headers = [`host: ${host}`, 'origin: http://localhost:3000'];
      const { statuses } = await victim.raw(requestText({ path: '/api/agents', headers }));
      expect([host, statuses]).toEqual([host, [200]]);
    }
  });

  test.each([
    ['host: evil.example'],
    ['host: evil.example:4111'],
    ['host: 127.0.0.1.evil.example'],
    ['host: localhost.evil.example'],
    ['host: localhost.'],
    ['host: xlocalhost'],
    ['host: 127.0.0.1@evil.example'],
    ['host: evil.example#127.0.0.1'],
    ['host: 0.0.0.0'],
    ['host: 192.168.0.1'],
    ['host: [::ffff:10.0.0.1]'],
    ['host: [::]'],
    ['host: \u0131ocalhost'],
    ['host: '],
    ['host: localhost', 'host: evil.example'],
    ['host: localhost', 'origin: https://evil.example'],
    ['host: localhost', 'origin: http://localhost.evil.example'],
    ['host: localhost', 'origin: http://127.0.0.1.evil.example:4111'],
    ['host: localhost', 'origin: null'],
    ['host: localhost', 'origin: file://'],
    ['host: localhost', 'origin: '],
    ['host: localhost', 'origin: http://localhost, http://evil.example'],
    ['host: localhost', 'origin: http://localhost', 'origin: https://evil.example'],
  ])('serves no name that points to it, and no page of another: %s', async (...headers) => {
    const refused = (await statusesOf(headers)).filter((status) => ![400, 403].includes(status));
    expect(refused).toEqual([]);
  });

  test('an absolute target counts as the name that it has', async () => {
    for (const [path, status] of [
      ['http://evil.example/api/agents', 403],
      ['http://localhost/api/agents', 200],
      ['https://evil.example@localhost/api/agents', 400],
    ] as const) {
      const { statuses } = await victim.raw(requestText({ path, headers: ['host: localhost'] }));
      expect([path, statuses]).toEqual([path, [status === 400 ? expect.any(Number) : status]]);
    }
  });

  test('a decision of a page of another origin is none', async () => {
    const started = await victim.ask(undefined, 'POST', '/api/agents/desk/generate', { messages: 'pay a' });
    const { runId, suspendPayload } = started.body;
    const listed = await victim.ask(undefined, 'GET', '/api/approvals');
    const [call] = listed.body.approvals;
    expect([call.runId, suspendPayload !== undefined]).toEqual([runId, true]);
    const body = '{"stop":1}';
    for (const headers of [['host: evil.example'], ['host: localhost', 'origin: https://evil.example']]) {
      const path = `/api/approvals/${runId}/${call.toolCallId}/approve`;
      const { statuses } = await victim.raw(requestText({ method: 'POST', path, headers, body }));
      expect(statuses).toEqual([403]);
    }
    expect(victim.effects()).toEqual([]);
  });
});
