import { expect, test } from 'vitest';
import { Memory } from '../agent/memory.ts';
import { InMemoryStore } from '../store/memory.ts';
import { openDesk } from './test-support/desk.ts';

const threads = '/api/memory/threads';

test('threads and messages are read by those whose they are, and by reviewers', async () => {
  const desk = openDesk();
  const memory = { thread: { id: 't-1', title: 'Deletions' } };
  await desk.post('ada', '/api/agents/chat/generate', { messages: 'Hi', memory });
  await desk.post('ada', '/api/agents/chat/generate', { messages: 'delete a', memory: { thread: 't-1' } });
  const list = await desk.get('ada', `${threads}?agentId=chat&page=0&perPage=10`);
  expect(list.body).toMatchObject({
    threads: [{ id: 't-1', resourceId: 'ada', title: 'Deletions', createdAt: expect.any(String) }],
    total: 1,
    page: 0,
    perPage: 10,
    hasMore: false,
  });
  expect((await desk.get('ada', `${threads}/t-1`)).body).toMatchObject({ id: 't-1', title: 'Deletions' });
  const { body } = await desk.get('rita', `${threads}/t-1/messages?agentId=chat`);
  expect(body.messages.map(({ role }: { role: string }) => role)).toEqual([
    'user',
    'assistant',
    'user',
    'assistant',
  ]);
  expect(body.messages.at(-1).parts.at(-1)).toMatchObject({
    type: 'tool-delete',
    state: 'approval-requested',
  });
  const newest = await desk.get('ada', `${threads}/t-1/messages?perPage=1`);
  expect(newest.body).toMatchObject({ messages: [body.messages[3]], hasMore: true });
  const before = await desk.get('ada', `${threads}/t-1/messages?perPage=3&page=1`);
  expect(before.body).toMatchObject({ messages: [body.messages[0]], hasMore: false, page: 1 });
  expect((await desk.get('ada', `${threads}/t-1/messages?page=9`)).body.messages).toEqual([]);
  const named = `${threads}/t-1/messages?perPage=1&resourceId`;
  expect((await desk.get('rita', `${named}=ada`)).body).toEqual(newest.body);
  expect(await desk.get('rita', `${named}=ben`)).toMatchObject({
    status: 404,
    body: { code: 'thread-not-found' },
  });
  expect((await desk.get('rita', `${threads}?resourceId=ada`)).body.total).toBe(1);
  expect(await desk.get('rita', threads)).toMatchObject({ status: 400, body: { code: 'invalid-request' } });
});

test('another one’s thread is not there', async () => {
  const desk = openDesk();
  await desk.post('ada', '/api/agents/chat/generate', { messages: 'Hi', memory: { thread: 't-1' } });
  for (const who of ['ben', 'nobody'] as const) {
    for (const path of [`${threads}/t-1`, `${threads}/t-1/messages`]) {
      const there = await desk.get(who, path);
      const absent = await desk.get(who, path.replace('t-1', 't-2'));
      expect([there.status, there.body.code]).toEqual([404, 'thread-not-found']);
      expect(JSON.stringify(there.body)).toBe(JSON.stringify(absent.body).replaceAll('t-2', 't-1'));
    }
  }
  expect((await desk.get('ben', `${threads}?resourceId=ada`)).status).toBe(403);
  expect((await desk.get('ben', threads)).body.threads).toEqual([]);
  const joined = await desk.post('ben', '/api/agents/chat/generate', {
    messages: 'Hi',
    memory: { thread: 't-1' },
  });
  expect(joined).toMatchObject({ status: 404, body: { code: 'thread-not-found' } });
  const unnamed = await desk.post('ben', '/api/agents/chat/generate', { messages: 'Hi' });
  expect(unnamed).toMatchObject({ status: 422, body: { code: 'thread-required' } });
});

test('an agent whose memory has a storage of its own is asked there', async () => {
  const memory = new Memory({ storage: new InMemoryStore() });
  const desk = openDesk({ agent: { memory } });
  await desk.post('ada', '/api/agents/desk/generate', { messages: 'Hi', memory: { thread: 't-1' } });
  expect((await desk.get('ada', `${threads}/t-1?agentId=desk`)).status).toBe(200);
  expect((await desk.get('ada', `${threads}/t-1`)).status).toBe(404);
  expect((await desk.get('ada', `${threads}/t-1?agentId=none`)).body.code).toBe('agent-not-found');
});
