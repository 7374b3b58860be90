import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { newSchemaName, postgresUrl } from '../../test/support/postgres-schema.ts';
import type { Store } from '../core/store.ts';
import { InMemoryStore } from '../store/memory.ts';
import { PostgresStore } from '../store/postgres.ts';
import { SQLiteStore } from '../store/sqlite.ts';
import { storeAround } from '../testing/store-around.ts';
import { bearerTokens } from './bearer-tokens.ts';
import { type Desk, openDesk, people, type Who } from './test-support/desk.ts';
import { type Listener, listenTo } from './test-support/listen.ts';

/** @param after the id of the last event that the listener has */
async function listen(desk: Desk, who: Who, query = '', after?: string): Promise<Listener> {
  const headers = { authorization: `Bearer ${who}`, ...(after ? { 'last-event-id': after } : {}) };
  const response = await desk.app.request(`/api/approvals/events${query}`, { headers });
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
  const listener = listenTo(response);
  onTestFinished(() => listener.leave());
  return listener;
}

/** One that has been told that it is ready. */
async function listening(desk: Desk, who: Who, query = ''): Promise<Listener> {
  const listener = await listen(desk, who, query);
  expect(await listener.next()).toMatchObject({ event: 'ready', data: {}, id: expect.any(String) });
  return listener;
}

const approve = (desk: Desk, who: Who, { runId, toolCallId }: { runId: string; toolCallId: string }) =>
  desk.post(who, `/api/approvals/${runId}/${encodeURIComponent(toolCallId)}/approve`, {
    stop: 1,
    reason: 'fine',
  });

describe('the events of approvals', () => {
  test('tell what is opened, decided and settled', async () => {
    const desk = openDesk();
    const rita = await listening(desk, 'rita');
    const { runId, toolCallId } = await desk.hold('ada', 'delete a');
    await approve(desk, 'ada', { runId, toolCallId });
    const facts = { runId, toolCallId, stop: 1, agentId: 'desk', toolName: 'delete', resourceId: 'ada' };
    expect((await rita.next())?.data).toEqual({ ...facts, at: expect.any(Number), kind: 'held' });
    const by = { id: 'ada', name: 'Ada' };
    expect(await rita.next()).toEqual({
      id: expect.any(String),
      event: 'decided',
      data: { ...facts, at: expect.any(Number), decision: { verdict: 'approve', by, reason: 'fine' } },
    });
    expect(await rita.next()).toMatchObject({ event: 'settled', data: { ...facts, state: 'finished' } });
  });

  test('are those that one may see, and that are asked for', async () => {
    const desk = openDesk();
    const ada = await listening(desk, 'ada');
    const all = await listening(desk, 'rita');
    const ofTool = await listening(desk, 'rita', '?toolName=delete');
    const ofBen = await listening(desk, 'rita', '?resourceId=ben');
    const nobody = await listening(desk, 'nobody');
    await desk.hold('ben', 'pay a');
    await desk.hold('ada', 'delete b');
    await desk.hold('ben', 'delete c');
    await desk.hold('ada', 'pay d');
    expect(await ada.words(2)).toEqual(['opened delete', 'opened pay']);
    expect(await all.words(4)).toEqual(['opened pay', 'opened delete', 'opened delete', 'opened pay']);
    expect(await ofTool.words(2)).toEqual(['opened delete', 'opened delete']);
    expect(await ofBen.words(2)).toEqual(['opened pay', 'opened delete']);
    expect((await desk.get('ada', '/api/approvals/events?resourceId=ben')).status).toBe(403);
    // Not even how much there is.
    const late = await listen(desk, 'nobody', '?lastEventId=3');
    expect(await late.next()).toEqual({ id: '0', event: 'ready', data: {} });
    await desk.app.close();
    expect(await nobody.next()).toBeUndefined();
    expect(await late.next()).toBeUndefined();
  });

  test('ask canRead about each', async () => {
    const canRead = (_: unknown, { agentId }: { agentId?: string | undefined }) => agentId === 'chat';
    const desk = openDesk({ auth: { authenticate: bearerTokens(people), canRead } });
    const ben = await listening(desk, 'ben');
    await desk.hold('ada', 'delete a');
    const memory = { thread: 't' };
    await desk.post('ada', '/api/agents/chat/generate', { messages: 'pay b', memory });
    expect((await ben.next())?.data).toMatchObject({ agentId: 'chat', toolName: 'pay', threadId: 't' });
  });

  test('go on after the last that the client has', async () => {
    const desk = openDesk();
    const first = await listen(desk, 'ada');
    const ready = await first.next();
    await desk.hold('ada', 'delete a');
    await desk.hold('ada', 'pay b');
    const { id } = (await first.next()) ?? {};
    await first.leave();
    await desk.hold('ada', 'delete c');
    const again = await listen(desk, 'ada', '', id);
    expect(await again.words(2)).toEqual(['opened pay', 'opened delete']);
    const whole = await listen(desk, 'ada', `?lastEventId=${ready?.id}`);
    expect(await whole.words(3)).toEqual(['opened delete', 'opened pay', 'opened delete']);
    await desk.hold('ada', 'pay d');
    expect([await again.words(1), await whole.words(1)]).toEqual([['opened pay'], ['opened pay']]);
  });

  test('say that what came in between is not kept, and then go on', async () => {
    let time = 1000;
    const storage = new InMemoryStore({ retentionMs: 10, now: () => time });
    const desk = openDesk({ registry: { storage } });
    const first = await listen(desk, 'ada');
    const { id } = (await first.next()) ?? {};
    for (const what of ['a', 'b']) await desk.hold('ada', `delete ${what}`);
    time = Date.now() + 24 * 60 * 60 * 1000;
    const { runId, toolCallId } = await desk.hold('ada', 'delete c');
    const headers = { authorization: 'Bearer ada' };
    await approve(desk, 'ada', { runId, toolCallId });
    await (await desk.app.request(`/api/runs/${runId}/events`, { headers })).text();
    const again = await listen(desk, 'ada', '', id);
    const reset = await again.next();
    expect(reset).toMatchObject({ event: 'reset', data: {}, id: expect.any(String) });
    await desk.hold('ada', 'pay d');
    expect(await again.words(1)).toEqual(['opened pay']);
  });

  test('refuse an id that is none, before anything is answered', async () => {
    const desk = openDesk();
    const { status, body } = await desk.get('ada', '/api/approvals/events?lastEventId=x');
    expect([status, body.code]).toEqual([400, 'invalid-option']);
    expect((await desk.get('ada', '/api/approvals/events?status=all')).status).toBe(400);
  });

  test('take a place of the streams, and give it back', async () => {
    const desk = openDesk({ server: { limits: { streams: 1 } } });
    const first = await listening(desk, 'ada');
    expect((await desk.get('ada', '/api/approvals/events')).status).toBe(429);
    await listening(desk, 'ben');
    await first.leave();
    await listening(desk, 'ada');
  });

  test('end when the server closes, and when the store fails', async () => {
    const desk = openDesk();
    const first = await listening(desk, 'ada');
    const told = first.next();
    await desk.app.close();
    expect(await told).toBeUndefined();

    const storage = new InMemoryStore();
    const asked = Promise.withResolvers<void>();
    const lose = Promise.withResolvers<void>();
    const feed: Store['feed'] = {
      read: (query) => storage.feed.read(query),
      changed() {
        asked.resolve();
        return lose.promise;
      },
    };
    const lost = openDesk({ registry: { storage: storeAround(storage, { feed }) } });
    const second = await listening(lost, 'ada');
    const end = second.next();
    await asked.promise;
    lose.reject(new Error('lost'));
    expect(await end).toBeUndefined();
    expect(lost.logged.filter(({ level }) => level === 'error')).toEqual([
      {
        level: 'error',
        message: 'the feed of approvals ended',
        facts: {
          error: expect.stringMatching(/^CountersignError: The store did not answer.*\n +at /),
          cause: 'lost',
        },
      },
    ]);
  });

  test('are not looked for any more on behalf of one for whom canRead has failed', async () => {
    const storage = new InMemoryStore();
    const looks: PromiseWithResolvers<void>[] = [];
    const looked = Promise.withResolvers<void>();
    const feed: Store['feed'] = {
      read: (query) => storage.feed.read(query),
      changed() {
        looks.push(Promise.withResolvers());
        looked.resolve();
        return looks.at(-1)?.promise ?? Promise.resolve();
      },
    };
    const canRead = (): never => {
      throw new Error('lost');
    };
    const auth = { authenticate: bearerTokens(people), canRead };
    const desk = openDesk({ auth, registry: { storage: storeAround(storage, { feed }) } });
    const { cursor } = await storage.feed.read({ limit: 1 });
    await desk.hold('ada', 'delete a');
    const ben = await listen(desk, 'ben', '', cursor);
    expect(await ben.next()).toBeUndefined();
    const rita = await listening(desk, 'rita');
    const end = rita.next();
    await looked.promise;
    await rita.leave();
    await end;
    looks[0]?.resolve();
    await new Promise(setImmediate); // Everything here is promises: they have come to rest.
    expect(looks).toHaveLength(1);
  });

  test('end after a quarter of an hour, so that who comes back is asked again who they are', async () => {
    const hour = new AbortController();
    const timeout = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(hour.signal);
    onTestFinished(() => timeout.mockRestore());
    const desk = openDesk({ server: { limits: { streams: 1 } } });
    const first = await listen(desk, 'ada');
    const { id } = (await first.next()) ?? {};
    const end = first.next();
    expect(timeout.mock.calls).toEqual([[15 * 60 * 1000]]);
    timeout.mockRestore();
    hour.abort();
    expect(await end).toBeUndefined();
    await desk.hold('ada', 'delete a');
    const again = await listen(desk, 'ada', '', id);
    expect(await again.words(1)).toEqual(['opened delete']);
  });

  test('read no further than a slow listener has taken', async () => {
    const storage = new InMemoryStore();
    let reads = 0;
    const feed: Store['feed'] = {
      read(query) {
        if (query.resourceId === 'ada') reads++;
        return storage.feed.read(query);
      },
      changed: (milliseconds) => storage.feed.changed(milliseconds),
    };
    const desk = openDesk({ registry: { storage: storeAround(storage, { feed }) } });
    const slow = await listening(desk, 'ada');
    const quick = await listening(desk, 'rita');
    const before = reads;
    for (let count = 0; count < 120; count++) await desk.hold('ada', 'delete a');
    await quick.words(120);
    expect(reads).toBe(before);
    expect(await slow.words(120)).toHaveLength(120);
    expect(reads).toBeGreaterThan(before);
  });
});

const places: Readonly<Record<string, () => Promise<() => Store>>> = {
  async SQLite() {
    const folder = mkdtempSync(join(tmpdir(), 'countersign-events-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    return () => new SQLiteStore({ path: join(folder, 'runs.db') });
  },
  async PostgreSQL() {
    const [connectionString, schemaName] = [await postgresUrl(), newSchemaName()];
    return () => new PostgresStore({ connectionString, schemaName });
  },
};

test.each(Object.entries(places))(
  'what happens at one server is told by another one on the same %s',
  async (_, place) => {
    const open = await place();
    const stores = [open(), open()] as const;
    onTestFinished(async () => {
      for (const store of stores) await store.close();
    });
    const [one, other] = stores.map((storage) => openDesk({ registry: { storage } })) as [Desk, Desk];
    const rita = await listen(other, 'rita');
    const ready = await rita.next();
    const held = await one.hold('ada', 'delete a');
    const opened = await rita.next();
    expect(opened).toMatchObject({ event: 'opened', data: { runId: held.runId, toolName: 'delete' } });
    const { approvals } = (await other.get('rita', '/api/approvals')).body;
    expect(approvals).toMatchObject([{ runId: held.runId }]);
    await approve(one, 'ada', held);
    expect(await rita.words(2)).toEqual(['decided delete', 'settled delete']);
    await rita.leave();
    await one.hold('ben', 'pay b');
    const again = await listen(one, 'rita', '', opened?.id);
    expect(await again.words(3)).toEqual(['decided delete', 'settled delete', 'opened pay']);
    const whole = await listen(one, 'rita', '', ready?.id);
    expect(await whole.words(4)).toHaveLength(4);
  },
);
