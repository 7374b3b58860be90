/** Too much and too slowly: open streams, readers that do not read, heads and bodies without end. */
import type { Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { headOf, opened, requestText, statusesIn } from './raw.ts';
import { said } from './routes.ts';
import { startVictim, type Victim } from './victim.ts';
import { type Footprint, tokenOf, type Who } from './world.ts';

const megabyte = 1024 * 1024;

const streamText = (who: Who, messages: string): string =>
  requestText({
    method: 'POST',
    path: '/api/agents/desk/stream',
    token: tokenOf(who),
    body: JSON.stringify({ messages }),
  });

/** Opens so many streams whose answers wait. Nothing of them is read but the head. */
async function streams(victim: Victim, who: Who, count: number, messages = 'wait') {
  const sockets = await Promise.all(
    Array.from({ length: count }, () => opened(victim.port, streamText(who, messages))),
  );
  const heads = await Promise.all(sockets.map(headOf));
  return { sockets, statuses: heads.flatMap((head) => statusesIn(head).slice(0, 1)) };
}

async function gone(sockets: readonly Socket[]): Promise<void> {
  const open = sockets.filter(({ closed }) => !closed);
  const closed = open.map((socket) => new Promise((resolve) => socket.once('close', resolve)));
  for (const socket of open) socket.destroy();
  await Promise.all(closed);
}

/** Reads what is left, to the end. */
function restOf(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    socket.on('data', (more: Buffer) => {
      text += more.toString('latin1');
    });
    socket.once('close', () => resolve(text));
    socket.resume();
  });
}

/** The server notices by itself who is gone. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (let time = 0; time < 500; time++) if (await isSo()) return;
  throw new Error('It does not come to be.');
}

const footprint = (victim: Victim) => victim.operator<Footprint>({ ask: 'memory' });

describe('with the limits that nobody set', () => {
  let victim: Victim;
  beforeAll(async () => {
    victim = await startVictim();
  });
  afterAll(() => victim.stop());
  afterEach(() => victim.health());

  test('one person holds twenty streams, others are served, and who leaves makes room', async () => {
    const { sockets, statuses } = await streams(victim, 'ada', 40);
    expect(statuses.filter((status) => status === 200)).toHaveLength(20);
    expect(statuses.filter((status) => status === 429)).toHaveLength(20);
    const refused = await victim.ask('ada', 'POST', '/api/agents/desk/stream', { messages: 'Hi' });
    expect([said(refused), refused.headers.get('retry-after')]).toEqual(['429 too-many-requests', '1']);
    expect((await victim.ask('ben', 'POST', '/api/agents/desk/stream', { messages: 'Hi' })).status).toBe(200);
    expect((await victim.ask('ada', 'GET', '/api/approvals')).status).toBe(200);
    await gone(sockets);
    await until(async () => {
      const again = await victim.ask('ada', 'POST', '/api/agents/desk/stream', { messages: 'Hi' });
      return again.status === 200;
    });
    await victim.operator({ ask: 'answer' });
  });

  test('one person sends six hundred requests a minute, whoever else asks', async () => {
    const ask = (who: Who | undefined) => victim.ask(who, 'GET', '/api/agents');
    const unknown = await Promise.all(Array.from({ length: 700 }, () => ask(undefined)));
    expect([...new Set(unknown.map(({ status }) => status))].sort()).toEqual([401, 429]);
    const answers = await Promise.all(Array.from({ length: 700 }, () => ask('paul')));
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThan(50);
    expect(refused.length).toBeLessThanOrEqual(100);
    expect(Number(refused[0]?.headers.get('retry-after'))).toBeGreaterThan(0);
    for (const who of ['ben', 'rita', 'cleo'] as const) expect((await ask(who)).status).toBe(200);
  });

  test('what takes too long to be said is not waited for without end', async () => {
    const { headers, request } = await victim.operator<{ headers: number; request: number }>({
      ask: 'timeouts',
    });
    expect([headers, request]).toEqual([20_000, 60_000]);
  });
});

describe('with wide limits', () => {
  let victim: Victim;
  let before: Footprint;
  beforeAll(async () => {
    victim = await startVictim({ limits: { streams: 2000, requestsPerMinute: 1_000_000 } });
    // What is loaded with the first run is no leak.
    await victim.ask('ada', 'POST', '/api/agents/desk/generate', { messages: 'look a' });
    before = await footprint(victim);
  });
  afterAll(() => victim.stop());
  afterEach(async () => {
    await victim.health();
    const { heap, outside } = await footprint(victim);
    expect(heap - before.heap).toBeLessThan(20 * megabyte);
    expect(outside - before.outside).toBeLessThan(20 * megabyte);
  });

  test('a thousand streams are open at once, others decide meanwhile, and each ends', async () => {
    const { sockets, statuses } = await streams(victim, 'ada', 1000);
    expect(statuses.filter((status) => status === 200)).toHaveLength(1000);
    const open = await footprint(victim);
    expect(open.heap - before.heap).toBeLessThan(150 * megabyte);
    const call = await victim.hold('ada', 'delete a');
    const { runId, toolCallId } = call;
    const path = '/api/agents/chat/approve-tool-call-generate';
    expect((await victim.ask('ada', 'POST', path, { runId, toolCallId })).status).toBe(200);
    expect(victim.effects(runId)).toHaveLength(1);
    const ends = sockets.map(restOf);
    await victim.operator({ ask: 'answer' });
    const whole = await Promise.all(ends);
    expect(whole.filter((text) => text.includes('There.') && text.includes('data: [DONE]'))).toHaveLength(
      1000,
    );
  });

  test('many who leave without a word leave nothing', async () => {
    const { sockets, statuses } = await streams(victim, 'ada', 200);
    expect(statuses.filter((status) => status === 200)).toHaveLength(200);
    await gone(sockets);
    await victim.operator({ ask: 'answer' });
  });

  test('who does not read holds up no run, and not more than its words', async () => {
    const held = await opened(victim.port, streamText('ada', 'delete a'));
    await headOf(held);
    const { sockets } = await streams(victim, 'ada', 10, 'pour 8');
    await victim.operator({ ask: 'answer' });
    // Answers pass the ones that nobody reads.
    const { body } = await victim.ask('ada', 'GET', '/api/approvals');
    const { runId, toolCallId, stop } = body.approvals[0];
    const decided = await victim.ask('ada', 'POST', `/api/approvals/${runId}/${toolCallId}/approve`, {
      stop,
    });
    expect(decided.status).toBe(202);
    await victim.ask('ada', 'GET', `/api/runs/${runId}/events`);
    expect(victim.effects(runId)).toHaveLength(1);
    const full = await footprint(victim);
    expect(full.heap + full.outside - before.heap - before.outside).toBeLessThan(10 * 8 * 3 * megabyte);
    await gone([...sockets, held]);
  });

  test('a thousand requests in one breath are a thousand answers', async () => {
    const one = requestText({ path: '/api/agents/none', token: tokenOf('ada') });
    const open = one.replace('connection: close\r\n', '');
    const { statuses } = await victim.raw(open.repeat(999) + one);
    expect([statuses.length, new Set(statuses)]).toEqual([1000, new Set([404])]);
  });

  test('heads and bodies that never end keep nobody from being served', async () => {
    const begun = [
      ...Array.from({ length: 200 }, () => 'GET /api/agents HTTP/1.1\r\nhost: 127.0.0.1\r\nx: '),
      ...Array.from({ length: 200 }, () => streamText('ada', 'Hi').slice(0, -5)),
      ...Array.from({ length: 100 }, () =>
        requestText({
          method: 'POST',
          path: '/api/agents/desk/generate',
          token: tokenOf('ada'),
          headers: ['content-type: application/json', 'transfer-encoding: chunked'],
        }).concat('5\r\n{"mes'),
      ),
    ];
    const sockets = await Promise.all(begun.map((text) => opened(victim.port, text)));
    // A letter at a time.
    for (let letter = 0; letter < 20; letter++) {
      for (const socket of sockets.slice(0, 200)) socket.write('x');
      expect((await victim.ask('ada', 'GET', '/api/approvals')).status).toBe(200);
    }
    expect((await victim.ask('ben', 'POST', '/api/agents/desk/stream', { messages: 'Hi' })).status).toBe(200);
    await gone(sockets);
    // Who goes away in the middle of a word has said nothing, and that is no fault of the server.
    await until(async () => {
      await victim.operator({ ask: 'polluted' });
      return (victim.log().match(/"route":"[^"]*","status":400/g) ?? []).length >= 300;
    });
    expect(victim.log()).not.toMatch(/"status":5|UnhandledPromise|uncaught/i);
  });
});
