import { Hono } from 'hono';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { describe, expect, test } from 'vitest';
import { sha256 } from '../core/json.ts';
import { bearerTokens } from './bearer-tokens.ts';
import { type Authenticate, checkedIdentity } from './identity.ts';
import { jwt } from './jwt.ts';
import { serve } from './serve.ts';
import { openDesk, people } from './test-support/desk.ts';

const ask = (authenticate: Authenticate, token?: string) =>
  authenticate(
    new Request('http://localhost/', { headers: token === undefined ? {} : { authorization: token } }),
  );

describe('bearer tokens', () => {
  test('are known as they are, or by their hash', async () => {
    const { ada, ben } = people;
    const authenticate = bearerTokens({
      'token-of-ada': ada,
      [`sha256:${await sha256('token-of-ben')}`]: ben,
    });
    expect(await ask(authenticate, 'Bearer token-of-ada')).toEqual(ada);
    expect(await ask(authenticate, 'bearer  token-of-ben')).toEqual(ben);
    const hash = `sha256:${await sha256('token-of-ben')}`;
    for (const token of [undefined, '', 'Bearer', 'Bearer token', 'Basic token-of-ada', `Bearer ${hash}`]) {
      expect(await ask(authenticate, token)).toBeNull();
    }
  });

  test.each([{ '': people.ada }, { undefined: people.ada }, { token: {} }, { token: null }])(
    'are refused when they are none, or nobody’s: %j',
    (tokens) => {
      expect(() => bearerTokens(tokens as never)).toThrow(
        expect.objectContaining({ code: 'invalid-option' }),
      );
    },
  );
});

describe('JSON Web Tokens', async () => {
  const { privateKey, publicKey } = await generateKeyPair('ES256');
  const other = await generateKeyPair('ES256');
  const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid: 'k', alg: 'ES256' }] };
  const base = { issuer: 'https://id.example', audience: 'desk' };
  const identityOf = ({ sub }: { sub?: string }) =>
    sub === 'gone' ? null : { id: sub ?? '', resourceId: 'r' };
  const authenticate = jwt({ jwks, ...base, identityOf });
  const signed = (
    claims: { iss?: string; aud?: string; exp?: number | false; sub?: string },
    key = privateKey,
  ) => {
    const { iss = base.issuer, aud = base.audience, exp, sub = 'ada' } = claims;
    const token = new SignJWT({}).setProtectedHeader({ alg: 'ES256', kid: 'k' });
    token.setIssuer(iss).setAudience(aud).setSubject(sub);
    if (exp !== false) token.setExpirationTime(exp ?? '1h');
    return token.sign(key);
  };

  test('let in whom their claims stand for', async () => {
    expect(await ask(authenticate, `Bearer ${await signed({})}`)).toEqual({ id: 'ada', resourceId: 'r' });
  });

  test('are refused when they are expired, for others, unsigned, or nobody’s', async () => {
    const unsigned = `${btoa('{"alg":"none"}')}.${btoa('{"sub":"ada"}')}.`.replaceAll('=', '');
    const shared = new SignJWT({}).setProtectedHeader({ alg: 'HS256', kid: 'k' });
    const bad = [
      signed({ exp: 1000 }),
      signed({ exp: false }),
      signed({ iss: 'https://evil.example' }),
      signed({ aud: 'other' }),
      signed({}, other.privateKey),
      signed({ sub: 'gone' }),
      unsigned,
      shared.setIssuer(base.issuer).setAudience('desk').setExpirationTime('1h').sign(new Uint8Array(32)),
      'x.y.z',
    ];
    for (const token of await Promise.all(bad)) expect(await ask(authenticate, `Bearer ${token}`)).toBeNull();
    expect(await ask(authenticate)).toBeNull();
  });

  test('of a shared secret', async () => {
    const secret = 's'.repeat(32);
    const local = jwt({ secret, ...base, identityOf });
    const token = await new SignJWT({})
      .setProtectedHeader({ alg: 'HS256' })
      .setIssuer(base.issuer)
      .setAudience('desk')
      .setSubject('ben')
      .setExpirationTime('1h')
      .sign(new TextEncoder().encode(secret));
    expect(await ask(local, `Bearer ${token}`)).toMatchObject({ id: 'ben' });
    expect(await ask(local, `Bearer ${await signed({})}`)).toBeNull();
  });

  test('whose claims do not say who it is are nobody’s', async () => {
    const bySub = jwt({ jwks, ...base, identityOf: ({ sub = '' }) => ({ id: sub, resourceId: sub }) });
    const token = await new SignJWT({})
      .setProtectedHeader({ alg: 'ES256', kid: 'k' })
      .setIssuer(base.issuer)
      .setAudience('desk')
      .setExpirationTime('1h')
      .sign(privateKey);
    expect(await ask(bySub, `Bearer ${token}`)).toBeNull();
    const careless = jwt({ jwks, ...base, identityOf: ({ sub }) => ({ id: sub as string }) });
    expect(await ask(careless, `Bearer ${token}`)).toBeNull();
    expect(await ask(careless, `Bearer ${await signed({})}`)).toEqual({ id: 'ada' });
  });

  test('of a provider whose keys are fetched; while they cannot be, nobody is let in', async () => {
    const provider = await serve(
      new Hono().get('/jwks', (c) => c.json(jwks)),
      { port: 0 },
    );
    const authenticated = jwt({ jwksUrl: `${provider.url}/jwks`, ...base, identityOf });
    const away = jwt({ jwksUrl: `${provider.url}/none`, ...base, identityOf });
    const token = await signed({});
    expect(await ask(authenticated, `Bearer ${token}`)).toMatchObject({ id: 'ada' });
    const desk = openDesk({ auth: { authenticate: away } });
    const headers = { authorization: `Bearer ${token}` };
    expect((await desk.app.request('/api/agents', { headers })).status).toBe(500);
    await provider.close();
  });

  test.each([
    { ...base, identityOf },
    { jwks, secret: 's'.repeat(32), ...base, identityOf },
    { secret: 'short', ...base, identityOf },
    { jwks, issuer: '', audience: 'desk', identityOf },
    { jwks, issuer: 'i', identityOf },
    { jwks, ...base },
  ])('malformed options %# are refused', (options) => {
    expect(() => jwt(options as never)).toThrow(expect.objectContaining({ code: 'invalid-option' }));
  });
});

test.each([
  {},
  { id: '' },
  { id: 5 },
  { id: 'a', roles: 'reviewer' },
  { id: 'a', resourceId: '' },
  { id: 'a', resourceId: 'a\0' },
  'ada',
  true,
])('%j is no identity', (given) => expect(() => checkedIdentity(given)).toThrow(TypeError));

describe('a server with auth', () => {
  test('answers nobody', async () => {
    const server = openDesk();
    for (const path of ['/api/agents', '/api/approvals', '/api/nothing', '/api/openapi.json']) {
      const answer = await server.get(undefined, path);
      expect(answer).toMatchObject({ status: 401, body: { code: 'unauthenticated' } });
      expect(answer.headers.get('www-authenticate')).toBe('Bearer');
    }
    const started = await server.post(undefined, '/api/agents/desk/stream', { messages: 'Hi' });
    expect([started.status, server.model.calls.length]).toEqual([401, 0]);
  });

  test('counts those whom it does not know by their address, and lets in who is known', async () => {
    const { app } = openDesk({ server: { limits: { requestsPerMinute: 2 } } });
    const ask = async (remoteAddress: string | undefined, authorization: string) => {
      const env = remoteAddress === undefined ? {} : { incoming: { socket: { remoteAddress } } };
      return app.request('/api/agents', { headers: { authorization } }, env);
    };
    const guessed = async (address?: string) => (await ask(address, 'Bearer guess')).status;
    expect([await guessed('10.0.0.7'), await guessed('10.0.0.7')]).toEqual([401, 401]);
    const refused = await ask('10.0.0.7', 'Bearer guess');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([
      429,
      expect.stringMatching(/^\d+$/),
    ]);
    expect((await ask('10.0.0.7', 'Bearer ada')).status).toBe(200);
    expect((await ask('10.0.0.7', 'Bearer ada')).status).toBe(200);
    expect(await guessed('10.0.0.8')).toBe(401);
    expect([await guessed(), await guessed(), await guessed()]).toEqual([401, 401, 429]);
  });

  test('lets nobody in when it cannot tell who asks, and says no more', async () => {
    for (const authenticate of [
      () => ({ name: 'Ada' }) as never,
      () => {
        throw new Error('password=1234');
      },
    ]) {
      const server = openDesk({ auth: { authenticate } });
      const { status, body } = await server.get('ada', '/api/agents');
      expect([status, body]).toEqual([
        500,
        { error: 'Something went wrong here.', code: 'internal', status: 500 },
      ]);
      expect(server.logged.some(({ level }) => level === 'error')).toBe(true);
    }
  });
});
