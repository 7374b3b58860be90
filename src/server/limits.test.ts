import { expect, test } from 'vitest';
import { limitsOf, places, rateLimit } from './limits.ts';
import { openDesk } from './test-support/desk.ts';

const tooMany = expect.objectContaining({ code: 'too-many-requests', status: 429 });

test('so many at once, and so many a minute, for each', () => {
  let now = 0;
  const rate = rateLimit(2, () => now);
  rate.take('ada');
  rate.take('ada');
  expect(() => rate.take('ada')).toThrow(tooMany);
  rate.take('ben');
  now = 29_000;
  expect(() => rate.take('ada')).toThrow(
    expect.objectContaining({ details: expect.objectContaining({ retryAfter: 1 }) }),
  );
  now = 30_000;
  rate.take('ada');
  expect(() => rate.take('ada')).toThrow(tooMany);
});

test('only so many are remembered, and who asked least recently is forgotten', () => {
  const rate = rateLimit(1, () => 0);
  for (const key of ['early', 'late']) rate.take(key);
  for (let other = 0; other < 9_998; other++) rate.take(String(other));
  expect(() => rate.take('early')).toThrow(tooMany);
  rate.take('one more');
  rate.take('early');
  expect(() => rate.take('late')).not.toThrow();
  expect(() => rate.take('9997')).toThrow(tooMany);
});

test('a place is given back once', () => {
  const { take } = places(1);
  const leave = take('ada');
  expect(() => take('ada')).toThrow(tooMany);
  take('ben')();
  leave();
  take('ada');
  leave();
  expect(() => take('ada')).toThrow(tooMany);
});

test.each([{ streams: 0 }, { bodyBytes: 1.5 }, { maxStepz: 1 }])('%j is refused', (limits) => {
  expect(() => limitsOf(limits)).toThrow(expect.objectContaining({ code: 'invalid-option' }));
});

test('a server answers 429 with the time to wait, and 413 for a large body', async () => {
  const server = openDesk({ server: { limits: { requestsPerMinute: 2, bodyBytes: 100 } } });
  const large = await server.post('ada', '/api/agents/desk/stream', { messages: 'x'.repeat(100) });
  expect(large).toMatchObject({ status: 413, body: { code: 'too-large' } });
  await server.get('ada', '/api/agents');
  const refused = await server.get('ada', '/api/agents');
  expect(refused).toMatchObject({ status: 429, body: { code: 'too-many-requests' } });
  const wait = Number(refused.headers.get('retry-after'));
  expect(wait).toBeGreaterThan(0);
  expect(wait).toBeLessThanOrEqual(30);
  expect((await server.get('ben', '/api/agents')).status).toBe(200);
});

test('a stream that is not read holds a place, and begins nothing beyond the last one', async () => {
  const server = openDesk({ server: { limits: { streams: 1 } } });
  const headers = { 'content-type': 'application/json', authorization: 'Bearer ada' };
  const begin = () =>
    server.app.request('/api/agents/desk/stream', { method: 'POST', headers, body: '{"messages":"Hi"}' });
  const first = await begin();
  expect((await begin()).status).toBe(429);
  await server.countersign.stop();
  expect(server.model.calls).toHaveLength(1);
  await first.body?.cancel();
  const third = await begin();
  expect(third.status).toBe(200);
  await third.text();
  expect((await server.post('ada', '/api/agents/desk/stream', { messages: 7 })).status).toBe(400);
  await (await begin()).text();
});

test('who asks for the head of a stream alone holds no place', async () => {
  const server = openDesk({ server: { limits: { streams: 1 } } });
  const { runId } = await server.hold('ada', 'delete a');
  const headers = { authorization: 'Bearer ada' };
  for (let time = 0; time < 3; time++) {
    const head = await server.app.request(`/api/runs/${runId}/events`, { method: 'HEAD', headers });
    expect([head.status, head.headers.get('content-type'), head.body]).toEqual([
      200,
      'text/event-stream',
      null,
    ]);
  }
});
