/** The feed of approvals and the record of decisions: what is nobody's business, in streams that do not end. */
import type { Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { headOf, opened, requestText, statusesIn } from './raw.ts';
import { said } from './routes.ts';
import { startVictim, type Victim } from './victim.ts';
import { tokenOf, type Who } from './world.ts';

let victim: Victim;
beforeAll(async () => {
  victim = await startVictim({ limits: { requestsPerMinute: 100_000 } });
});
afterAll(() => victim.stop());
afterEach(() => victim.health());

const path = '/api/approvals/events';

interface Feed {
  readonly socket: Socket;
  /** All that it told, once that has a text in it. */
  until(text: string): Promise<string>;
}

async function feedOf(who: Who, query = '', headers: readonly string[] = []): Promise<Feed> {
  const socket = await opened(
    victim.port,
    requestText({ path: `${path}${query}`, token: tokenOf(who), headers }),
  );
  let told = await headOf(socket);
  if (statusesIn(told)[0] !== 200) throw new Error(told);
  return {
    socket,
    until: (text) =>
      new Promise((resolve, refuse) => {
        const look = (more: Buffer): void => {
          told += more.toString('latin1');
          if (!told.includes(text)) return;
          socket.pause();
          socket.off('data', look);
          resolve(told);
        };
        socket.on('data', look);
        socket.once('close', () => refuse(new Error(`Closed after: ${told}`)));
        socket.resume();
        // What came with the head may have it already, and then the rest stays unread.
        look(Buffer.alloc(0));
      }),
  };
}

test('a feed tells a stranger nothing of others, from now on and from the beginning', async () => {
  const ben = await feedOf('ben');
  const first = await ben.until('event: ready');
  const [, start = ''] = /^id: (.*)$/m.exec(first) ?? [];
  const ada = await feedOf('ada', '', [`last-event-id: ${start}`]);
  const call = await victim.hold('ada', 'delete canary');
  const approve = `/api/approvals/${call.runId}/${call.toolCallId}/approve`;
  expect((await victim.ask('ada', 'POST', approve, { stop: 1, reason: 'canary' })).status).toBe(202);
  expect(await ada.until('settled')).toContain(call.runId);
  const own = await victim.hold('ben', 'delete b');
  for (const feed of [
    ben,
    await feedOf('ben', '', [`last-event-id: ${start}`]),
    await feedOf('ben', `?lastEventId=${encodeURIComponent(start)}`),
  ]) {
    const told = await feed.until(own.runId);
    expect([told.includes(call.runId), told.includes('canary'), told.includes('"ada"')]).toEqual([
      false,
      false,
      false,
    ]);
    feed.socket.destroy();
  }
  ada.socket.destroy();
});

test.each(['?resourceId=ada', '?resourceId=ada&threadId=x'])(
  'a filter by the resource of somebody else is refused: %s',
  async (query) => {
    for (const who of ['ben', 'paul'] as const) {
      expect(said(await victim.ask(who, 'GET', `${path}${query}`))).toBe('403 forbidden');
      expect(said(await victim.ask(who, 'GET', `/api/decisions${query}`))).toBe('403 forbidden');
    }
  },
);

test.each(['x', '-1', '1e9', '0x10', '99999999999999999999', '__proto__', "1' OR '1'='1", 'x'.repeat(400)])(
  'a place that is none is the fault of who asks: %s',
  async (place) => {
    const answer = await victim.ask('ada', 'GET', `${path}?lastEventId=${encodeURIComponent(place)}`);
    expect([answer.status, answer.body.code]).toEqual([400, expect.stringMatching(/^invalid-/)]);
    const text = requestText({ path, token: tokenOf('ada'), headers: [`last-event-id: ${place}`] });
    expect((await victim.raw(text)).statuses).toEqual([400]);
  },
);

test('feeds hold the places of streams, and who leaves makes room', async () => {
  const text = requestText({ path, token: tokenOf('ada') });
  const sockets = await Promise.all(Array.from({ length: 40 }, () => opened(victim.port, text)));
  const heads = await Promise.all(sockets.map(headOf));
  const statuses = heads.map((head) => statusesIn(head)[0]);
  expect([200, 429].map((status) => statuses.filter((one) => one === status).length)).toEqual([20, 20]);
  for (let time = 0; time < 30; time++) {
    const head = requestText({ method: 'HEAD', path, token: tokenOf('ben') });
    expect((await victim.raw(head)).statuses).toEqual([200]);
  }
  (await feedOf('ben')).socket.destroy();
  for (const socket of sockets) socket.destroy();
});

test('the record of decisions is that of who asks', async () => {
  const call = await victim.hold('ada', 'pay canary');
  const approve = `/api/approvals/${call.runId}/${call.toolCallId}/approve`;
  expect((await victim.ask('rita', 'POST', approve, { stop: 1, reason: 'canary' })).status).toBe(202);
  await victim.ask('rita', 'GET', `/api/runs/${call.runId}/events`);
  for (const who of ['ben', 'paul'] as const) {
    for (const query of [
      '',
      `?runId=${call.runId}`,
      '?by=rita',
      `?threadId=${call.threadId}`,
      '?verdict=approve',
    ]) {
      const { status, text } = await victim.ask(who, 'GET', `/api/decisions${query}`);
      expect([query, status, text.includes(call.runId), text.includes('canary')]).toEqual([
        query,
        200,
        false,
        false,
      ]);
    }
  }
  const { body } = await victim.ask('ada', 'GET', `/api/decisions?runId=${call.runId}`);
  expect(body.decisions).toMatchObject([{ verdict: 'approve', by: { id: 'rita' } }]);
  // After the end it is still not the owner's to decide.
  for (const verb of ['approve', 'decline']) {
    const late = await victim.ask('ada', 'POST', approve.replace('approve', verb), { stop: 1 });
    expect([verb, said(late)]).toEqual([verb, '403 forbidden']);
  }
  for (const query of [
    '?cursor=x',
    '?perPage=0',
    '?perPage=999999999',
    '?order=random',
    '?verdict=none',
    '?fromDate=x',
    '?x=1',
  ]) {
    const answer = await victim.ask('ada', 'GET', `/api/decisions${query}`);
    expect([query, answer.status, answer.body.code]).toEqual([
      query,
      400,
      expect.stringMatching(/^invalid-/),
    ]);
  }
});
