import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createTool } from '../agent/create-tool.ts';
import { Memory } from '../agent/memory.ts';
import { InMemoryStore } from '../store/memory.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { bearerTokens } from './bearer-tokens.ts';
import { answering, expectAsStored, pageThatSaid, shown, slowDesk, stored } from './test-support/chat.ts';
import { openDesk, people } from './test-support/desk.ts';
import { openPage } from './test-support/page.ts';

const look = { text: 'First.', calls: [{ toolName: 'look', args: { what: 'a' } }] };
const remove = { text: 'First.', calls: [{ toolName: 'delete', args: { what: 'a' } }] };
const ofDesk = { agent: 'desk' };

describe('a model that failed', () => {
  test('is asked again by regenerate, and nothing else is done again', async () => {
    const { tools, done } = openDesk();
    const model = scriptedModel([
      { text: 'So.', calls: [{ toolName: 'delete', args: { what: 'a' } }] },
      { error: new Error('overloaded') },
      'Done.',
    ]);
    const desk = openDesk({
      agent: { memory: new Memory(), model, tools, defaultOptions: { maxRetries: 0 } },
      auth: { authenticate: bearerTokens(people), canRead: () => true },
    });
    const page = openPage(desk, 'ada', 't-1', { agent: 'desk' });
    await page.chat.sendMessage({ text: 'Go.' });
    await page.during(() => answering(page));
    expect(page.chat.status).toBe('error');
    expect(page.chat.error?.message).toContain('The run is stalled');
    // Not by who may only see it.
    const { messages } = page.chat;
    const body = { id: 't-1', messages, trigger: 'regenerate-message' };
    const refused = await desk.post('ben', '/api/agents/desk/chat', body);
    expect([refused.status, refused.body.code]).toEqual([403, 'forbidden']);
    await page.chat.regenerate();
    expect(page.chat.error).toBeUndefined();
    expect(page.texts()).toEqual(['So.', 'Done.']);
    expect(page.call('delete').state).toBe('output-available');
    expect(done).toEqual(['delete a']);
    await expectAsStored(desk, page, 'desk');
  });

  test('is asked again by nobody else, and by whoever comes late', async () => {
    const { tools } = openDesk();
    const failing = { error: new Error('overloaded') };
    const model = scriptedModel([remove, failing, 'Done.']);
    const agent = { memory: new Memory(), model, tools, defaultOptions: { maxRetries: 0 } };
    const desk = openDesk({ agent });
    const page = openPage(desk, 'ada', 't-1', ofDesk);
    await page.chat.sendMessage({ text: 'Go.' });
    const late = openPage(desk, 'ada', 't-1', { ...ofDesk, messages: page.chat.messages });
    await page.during(() => answering(page));
    const { messages } = page.chat;
    const body = { id: 't-1', messages, trigger: 'regenerate-message' };
    expect((await desk.post('ben', '/api/agents/desk/chat', body)).status).toBe(409);
    expect(model.calls).toHaveLength(2);
    // Who comes late is told that it failed, and can try again, too.
    await late.during(() => answering(late));
    expect(late.chat.error?.message).toContain('The run is stalled');
    expect(late.call('delete').state).toBe('output-available');
    await late.chat.regenerate();
    expect(late.texts()).toEqual(['First.', 'Done.']);
  });

  test('before it said anything is asked again: nothing came of the message', async () => {
    const { tools } = openDesk();
    const failing = { error: new Error('overloaded') };
    const model = scriptedModel([failing, failing, look, failing]);
    const agent = { memory: new Memory(), model, tools, defaultOptions: { maxRetries: 0 } };
    const desk = openDesk({ agent });
    const page = openPage(desk, 'ada', 't-1', ofDesk);
    await page.chat.sendMessage({ text: 'Go.' });
    expect(page.chat.error).toBeDefined();
    await page.chat.regenerate();
    expect(page.chat.error).toBeDefined();
    await page.chat.regenerate();
    expect([page.texts(), page.call('look').state]).toEqual([['First.'], 'output-available']);
    expect(page.chat.error).toBeDefined();
    // Now a tool has run.
    await page.chat.regenerate();
    expect(page.chat.error?.message).toContain('run-not-stalled');
    const again = openPage(desk, 'ada', 't-1', { ...ofDesk, messages: page.chat.messages.slice(0, 1) });
    await again.chat.sendMessage();
    expect(again.chat.error?.message).toContain('Send a new message');
    expect(again.texts()).toEqual(['First.']);
    expect(model.calls).toHaveLength(4);
  });

  test('an answer that stands is not made anew', async () => {
    const desk = openDesk();
    const page = await pageThatSaid(desk, 'look a');
    await page.chat.regenerate();
    expect(page.chat.error?.message).toContain('run-not-stalled');
    expect(desk.done).toEqual(['look a']);
  });
});

describe('a page that comes back', () => {
  test('while an answer is written is told it from the beginning', async () => {
    const { desk, done, asked, answer } = slowDesk(look);
    const page = openPage(desk, 'ada', 't-1', ofDesk);
    const saying = page.chat.sendMessage({ text: 'Go.' });
    await asked;
    const back = openPage(desk, 'ada', 't-1', { ...ofDesk, messages: page.chat.messages.slice(0, 1) });
    // Its message again is no second run.
    const again = openPage(desk, 'ada', 't-1', { ...ofDesk, messages: page.chat.messages.slice(0, 1) });
    const begun = [back.answering(), again.answering()];
    const following = [back.chat.resumeStream(), again.chat.sendMessage()];
    await Promise.all(begun);
    answer();
    await Promise.all([saying, ...following]);
    for (const one of [page, back, again]) {
      expect(one.texts()).toEqual(['First.', 'Second.']);
      await expectAsStored(desk, one, 'desk');
    }
    expect(done).toEqual(['look a']);
  });

  test('after a decision is told what was said before it, too', async () => {
    const { desk, asked, answer } = slowDesk(remove);
    const page = openPage(desk, 'ada', 't-1', ofDesk);
    await page.chat.sendMessage({ text: 'Go.' });
    const deciding = page.during(() => answering(page));
    await asked;
    const back = openPage(desk, 'ada', 't-1', { ...ofDesk, messages: await stored(desk, 'desk') });
    const begun = back.answering();
    const following = back.chat.resumeStream();
    await begun;
    answer();
    await Promise.all([deciding, following]);
    expect(back.texts()).toEqual(['First.', 'Second.']);
    expect(back.call('delete')).toMatchObject({ state: 'output-available', output: { did: 'a' } });
    expect(back.answer.id).toBe(page.answer.id);
    await expectAsStored(desk, page, 'desk');
  });

  test('at another instance is told from the store', async () => {
    const storage = new InMemoryStore();
    const { desk, asked, answer } = slowDesk(remove, { registry: { storage } });
    const page = openPage(desk, 'ada', 't-1', ofDesk);
    await page.chat.sendMessage({ text: 'Go.' });
    const deciding = page.during(() => answering(page));
    await asked;
    const other = openDesk({ agent: { memory: new Memory() }, registry: { storage } });
    const back = openPage(other, 'ada', 't-1', { ...ofDesk, messages: await stored(other, 'desk') });
    const begun = back.answering();
    const following = back.chat.resumeStream();
    await begun;
    answer();
    await Promise.all([deciding, following]);
    expect(back.texts()).toEqual(['First.', 'Second.']);
    await expectAsStored(other, back, 'desk');
  });

  test('scenario: K11 while a call waits has all from the messages of the thread', async () => {
    const desk = openDesk();
    const page = await pageThatSaid(desk, 'delete a');
    const back = openPage(desk, 'ada', 't-1', { messages: await stored(desk) });
    await back.chat.resumeStream();
    expect(back.sent).toMatchObject([{ status: 204 }]);
    expect(back.chat.status).toBe('ready');
    expect(back.chat.messages.map(shown)).toEqual(page.chat.messages.map(shown));
    await back.during(() => answering(back));
    expect(desk.done).toEqual(['delete a']);
  });

  test.each(['ben', 'nobody'] as const)(
    'is told nothing of a thread that is not there or not its own: %s',
    async (who) => {
      const { desk, asked, answer } = slowDesk(look);
      const saying = openPage(desk, 'ada', 't-1', ofDesk).chat.sendMessage({ text: 'Go.' });
      await asked;
      for (const id of ['t-1', 't-2', '\0']) {
        const page = openPage(desk, who, id, ofDesk);
        await page.chat.resumeStream();
        expect(page.sent).toMatchObject([{ status: 204, text: '' }]);
      }
      answer();
      await saying;
    },
  );
});

test('an answer that is being written is not told to whose the thread is since', async () => {
  const storage = new InMemoryStore();
  const { desk, asked, answer } = slowDesk(look, { registry: { storage } });
  const saying = openPage(desk, 'ada', 't-1', ofDesk).chat.sendMessage({ text: 'Go.' });
  await asked;
  await storage.threads.remove('t-1');
  await storage.threads.create({ threadId: 't-1', resourceId: 'ben', createdAt: 1, updatedAt: 1 });
  const back = openPage(desk, 'ben', 't-1', ofDesk);
  const looking = back.chat.resumeStream();
  await back.answering();
  answer();
  await Promise.all([looking, saying]);
  expect(back.sent).toMatchObject([{ status: 204, text: '' }]);
});

test.each([
  ['of those before it none is read', -1],
  ['however much was said since', 1],
])('a page that comes after the end of the run is told how it ended: %s', async (_, age) => {
  const storage = new InMemoryStore();
  const desk = openDesk({ registry: { storage } });
  const page = await pageThatSaid(desk, 'delete a');
  const late = openPage(desk, 'ada', 't-1', { messages: page.chat.messages });
  await page.during(() => answering(page));
  const others = Array.from({ length: 100 }, (_, index) => ({
    ...{ threadId: 't-1', runId: 'r', index, at: age < 0 ? 0 : Date.now() + 1 },
    messageId: `m-${index}`,
    data: JSON.stringify({ id: `m-${index}`, role: 'user', parts: [{ type: 'text', text: 'Hi' }] }),
  }));
  await storage.threads.save('t-1', others, Date.now());
  const { messages } = storage.threads;
  const read: number[] = [];
  storage.threads.messages = async (query) => {
    const rows = await messages(query);
    read.push(rows.length);
    return rows;
  };
  await late.during(() => answering(late));
  expect(late.call()).toMatchObject({ state: 'output-available', output: { did: 'a' } });
  expect(late.texts()).toEqual(['Let me. ', 'Done.']);
  if (age < 0) expect(Math.max(...read)).toBe(40);
});

test('a page whose stream is open is told on when somebody else decides', async () => {
  const { tools, model, done } = openDesk();
  const gate = Promise.withResolvers<void>();
  const slow = createTool({
    id: 'look',
    inputSchema: z.object({ what: z.string() }),
    execute: async () => {
      await gate.promise;
      return 'seen';
    },
  });
  const desk = openDesk({ agent: { memory: new Memory(), model, tools: { ...tools, look: slow } } });
  const page = openPage(desk, 'ada', 't-1', ofDesk);
  const saying = page.chat.sendMessage({ text: 'delete a and look b' });
  await page.shows(() => page.answer && page.call('delete')?.state === 'approval-requested');
  const [{ runId, toolCallId, stop }] = (await desk.get('rita', '/api/approvals')).body.approvals;
  await desk.post('rita', `/api/approvals/${runId}/${toolCallId}/approve`, { stop });
  gate.resolve();
  await saying;
  expect(done).toEqual(['delete a']);
  expect(page.texts()).toEqual(['Let me. ', 'Done.']);
  expect([page.call('delete').state, page.call('look').output]).toEqual(['output-available', 'seen']);
  expect(page.sent).toHaveLength(1);
  await expectAsStored(desk, page, 'desk');
});

test('who goes away stops nothing', async () => {
  const { desk, done, asked, answer } = slowDesk(look);
  const page = openPage(desk, 'ada', 't-1', ofDesk);
  const saying = page.chat.sendMessage({ text: 'Go.' });
  await asked;
  await page.chat.stop();
  await saying;
  answer();
  await desk.countersign.stop();
  expect(done).toEqual(['look a']);
  expect((await stored(desk, 'desk')).at(-1).parts.at(-1)).toMatchObject({ text: 'Second.' });
});

test('an agent without a memory has no chat', async () => {
  const desk = openDesk();
  for (const [agent, status, code] of [
    ['desk', 422, 'memory-required'],
    ['none', 404, 'agent-not-found'],
  ] as const) {
    const body = { id: 't-1', messages: [{ role: 'user', parts: [{ type: 'text', text: 'Hi' }] }] };
    const answer = await desk.post('ada', `/api/agents/${agent}/chat`, body);
    expect([answer.status, answer.body.code]).toEqual([status, code]);
    expect((await desk.get('ada', `/api/agents/${agent}/chat/t-1/stream`)).body.code).toBe(code);
  }
});

test('without auth the page says whose the conversation is', async () => {
  const desk = openDesk({ auth: false });
  const unsaid = openPage(desk, undefined, 't-1');
  await unsaid.chat.sendMessage({ text: 'Hi' });
  expect(unsaid.sent[0]?.status).toBe(422);
  expect(unsaid.chat.error?.message).toContain('thread-required');
  const page = openPage(desk, undefined, 't-1', { body: { memory: { resource: 'me' } } });
  await page.chat.sendMessage({ text: 'delete a' });
  await page.during(() => answering(page));
  expect(desk.done).toEqual(['delete a']);
  expect((await desk.get(undefined, '/api/memory/threads?resourceId=me')).body.threads).toHaveLength(1);
});

test('what a tool says while it runs is told, and only what it names is kept on the page', async () => {
  const tell = createTool({
    id: 'tell',
    inputSchema: z.object({}),
    execute: async (_, { writer }) => {
      await writer.write({ half: true });
      await writer.custom({ type: 'data-progress', id: 'p', data: { percent: 50 } });
      await writer.custom({ type: 'data-progress', id: 'p', data: { percent: 100 } });
      return 'told';
    },
  });
  const model = scriptedModel([{ calls: [{ toolName: 'tell' }] }, 'Done.']);
  const desk = openDesk({ agent: { memory: new Memory(), model, tools: { tell } } });
  const heard: unknown[] = [];
  const page = openPage(desk, 'ada', 't-1', {
    ...ofDesk,
    onData: ({ type, data }) => heard.push([type, data]),
  });
  await page.chat.sendMessage({ text: 'Go.' });
  const { toolCallId } = page.call('tell');
  expect(heard).toEqual([
    ['data-tool-output', { toolCallId, toolName: 'tell', output: { half: true } }],
    ['data-progress', { percent: 50 }],
    ['data-progress', { percent: 100 }],
  ]);
  const data = page.answer.parts.filter(({ type }) => type.startsWith('data-'));
  expect(data).toMatchObject([{ type: 'data-progress', id: 'p', data: { percent: 100 } }]);
});

test('a stream takes one of the places of its reader', async () => {
  const { desk, asked, answer } = slowDesk(look, { server: { limits: { streams: 1 } } });
  const saying = openPage(desk, 'ada', 't-1', ofDesk).chat.sendMessage({ text: 'Go.' });
  await asked;
  const back = await desk.get('ada', '/api/agents/desk/chat/t-1/stream');
  expect([back.status, back.body.code]).toEqual([429, 'too-many-requests']);
  answer();
  await saying;
  expect((await desk.get('ada', '/api/agents/desk/chat/t-1/stream')).status).toBe(204);
});
