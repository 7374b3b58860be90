import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { Agent } from '../agent/agent.ts';
import { createTool } from '../agent/create-tool.ts';
import { Memory } from '../agent/memory.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { answering, expectAsStored, pageThatSaid, stored } from './test-support/chat.ts';
import { openDesk } from './test-support/desk.ts';
import { openPage } from './test-support/page.ts';

test('a page talks, approves, and is told what came of it in one message', async () => {
  const desk = openDesk();
  const page = await pageThatSaid(desk, 'delete a');
  expect(page.chat.status).toBe('ready');
  expect(page.texts()).toEqual(['Let me. ']);
  expect(page.call('delete')).toMatchObject({
    state: 'approval-requested',
    input: { what: 'a' },
    approval: { descriptor: { stop: 1, fingerprint: expect.any(String) } },
  });
  await expectAsStored(desk, page);
  expect(desk.done).toEqual([]);
  await page.during(() => answering(page));
  expect(page.chat.error).toBeUndefined();
  expect(desk.done).toEqual(['delete a']);
  expect(page.call('delete')).toMatchObject({ state: 'output-available', output: { did: 'a' } });
  expect(page.texts()).toEqual(['Let me. ', 'Done.']);
  expect(page.sent).toHaveLength(2);
  await expectAsStored(desk, page);
});

test('scenario: K20 what is declined is shown as denied, and the model is told the reason', async () => {
  const desk = openDesk();
  const page = await pageThatSaid(desk, 'delete a');
  await page.during(() => answering(page, false, 0, 'not this one'));
  expect(page.call()).toMatchObject({ state: 'output-denied', approval: { approved: false } });
  expect(JSON.stringify(desk.model.calls.at(-1)?.prompt)).toContain('not this one');
  expect(desk.done).toEqual([]);
  await expectAsStored(desk, page);
});

test('scenario: K6 several answers of one request are all decided, and one stream tells of all', async () => {
  const desk = openDesk();
  const page = await pageThatSaid(desk, 'delete a and look b and delete c and delete d');
  const { id } = page.answer;
  await answering(page, true, 0);
  await answering(page, false, 2);
  await page.during(() => answering(page, true, 3));
  expect(desk.done.toSorted()).toEqual(['delete a', 'delete d', 'look b']);
  expect(page.answer.parts.flatMap((part) => ('state' in part ? [part.state] : []))).toEqual([
    'done',
    'output-available',
    'output-available',
    'output-denied',
    'output-available',
    'done',
  ]);
  expect(page.answer.id).toBe(id);
  expect(page.sent).toHaveLength(2);
  await expectAsStored(desk, page);
});

test('scenario: K7 what somebody else decided meanwhile is no second time, and the page is told all that followed', async () => {
  const desk = openDesk();
  const page = await pageThatSaid(desk, 'delete a and delete b');
  const [{ runId, toolCallId, stop }] = (await desk.get('rita', '/api/approvals')).body.approvals;
  await desk.post('rita', `/api/approvals/${runId}/${toolCallId}/decline`, { stop });
  await answering(page, true, 0);
  await page.during(() => answering(page, true, 1));
  expect(desk.done).toEqual(['delete b']);
  expect(page.call('delete', 0).state).toBe('output-denied');
  expect(page.call('delete', 1).state).toBe('output-available');
  expect(page.texts().at(-1)).toBe('Done.');
  await expectAsStored(desk, page);
});

test('a page that comes too late for everything is shown how it ended', async () => {
  const desk = openDesk();
  const page = await pageThatSaid(desk, 'delete a');
  const other = openPage(desk, 'ada', 't-1', { messages: page.chat.messages });
  await other.during(() => answering(other));
  await page.during(() => answering(page, false));
  expect(page.chat.error).toBeUndefined();
  expect(desk.done).toEqual(['delete a']);
  expect(page.call().state).toBe('output-available');
  await expectAsStored(desk, page);
});

test('a page that comes too late for one stop is shown the next', async () => {
  const script = ['a', 'b'].map((what) => ({ calls: [{ toolName: 'delete', args: { what } }] }));
  const { tools } = openDesk();
  const model = scriptedModel([...script, 'Done.']);
  const desk = openDesk({ agent: { memory: new Memory(), model, tools } });
  const page = openPage(desk, 'ada', 't-1', { agent: 'desk' });
  await page.chat.sendMessage({ text: 'Go.' });
  const other = openPage(desk, 'ada', 't-1', { agent: 'desk', messages: page.chat.messages });
  await other.during(() => answering(other));
  await page.during(() => answering(page));
  expect([page.call('', 0).state, page.call('', 1).state]).toEqual([
    'output-available',
    'approval-requested',
  ]);
  await expectAsStored(desk, page, 'desk');
});

test('what waits in the run and in one below is answered together, in the order of the person', async () => {
  const { tools, done } = openDesk();
  const remove = (what: string) => ({ toolName: 'delete', args: { what } });
  const below = new Agent({ id: 'below', model: scriptedModel([{ calls: [remove('b')] }, 'Below.']), tools });
  const delegation = { toolName: 'agent-below', args: { prompt: 'Go.' } };
  const model = scriptedModel([{ calls: [remove('a'), delegation] }, 'Done.']);
  const desk = openDesk({ agent: { memory: new Memory(), model, tools, agents: { below } } });
  const page = openPage(desk, 'ada', 't-1', { agent: 'desk' });
  await page.chat.sendMessage({ text: 'Go.' });
  await expectAsStored(desk, page, 'desk');
  await answering(page, true, 1);
  await page.during(() => answering(page, true, 0));
  expect(done.toSorted()).toEqual(['delete a', 'delete b']);
  const states = ['', '', ''].map((_, place) => [page.call('', place).type, page.call('', place).state]);
  expect(Object.fromEntries(states)).toEqual({
    'tool-delete': 'output-available',
    'tool-agent-below': 'output-available',
  });
  expect(page.texts()).toEqual(['Done.']);
  expect(page.sent).toHaveLength(2);
});

test('what only a reviewer may decide is refused to its owner, and its card stays', async () => {
  const desk = openDesk();
  const page = await pageThatSaid(desk, 'delete a and pay b');
  await answering(page, true, 1);
  await page.during(() => answering(page, true, 0));
  expect(page.chat.status).toBe('error');
  expect(page.chat.error?.message).toContain('a reviewer who does not own the run');
  expect(page.call('pay').state).toBe('approval-requested');
  expect(page.call('delete').state).toBe('output-available');
  expect(desk.done).toEqual(['delete a']);
  await expectAsStored(desk, page);

  const reviewer = openPage(desk, 'rita', 't-1', { messages: await stored(desk) });
  await reviewer.during(() => answering(reviewer, true, 1));
  expect(desk.done).toEqual(['delete a', 'pay b']);
  // The owner's card is still there to be answered, and shows what was decided.
  await page.during(() => answering(page, false, 1));
  expect(page.call('pay').state).toBe('output-available');
  await expectAsStored(desk, page);
});

describe('calls that ask', () => {
  test('are answered with their output, which is checked, and shown with what the tool returned', async () => {
    const desk = openDesk();
    const page = await pageThatSaid(desk, 'book a');
    const { toolCallId, state } = page.call('book');
    expect(state).toBe('input-available');
    expect(page.answer.parts.at(-1)).toMatchObject({
      type: 'data-tool-call-suspended',
      data: { toolCallId, stop: 1, suspendPayload: { question: 'How many seats for a?' }, resumeSchema: {} },
    });
    await expectAsStored(desk, page);
    const answer = (output: unknown) =>
      page.during(() => page.chat.addToolOutput({ tool: 'book', toolCallId, output: output as never }));
    await answer({ seats: 'many' });
    expect(page.chat.error?.message).toContain('resumeSchema');
    expect(page.call('book').state).toBe('input-available');
    await answer({ seats: 2 });
    expect(desk.done).toEqual(['book a for 2']);
    expect(page.call('book')).toMatchObject({ state: 'output-available', output: { booked: 'a' } });
    expect(page.sent).toHaveLength(3);
  });

  test('a tool of the page is one: its output is the result, its error a decline', async () => {
    const where = createTool({ id: 'where', inputSchema: z.object({}) });
    const script = [{ calls: [{ toolName: 'where' }, { toolName: 'where' }] }, 'There.'];
    const desk = openDesk({
      agent: { memory: new Memory(), model: scriptedModel(script), tools: { where } },
    });
    const page = openPage(desk, 'ada', 't-1', { agent: 'desk' });
    await page.chat.sendMessage({ text: 'Where am I?' });
    const [first, second] = [page.call('where', 0).toolCallId, page.call('where', 1).toolCallId];
    await page.chat.addToolOutput({ tool: 'where', toolCallId: first, output: { city: 'Rome' } as never });
    await page.during(() =>
      page.chat.addToolOutput({
        tool: 'where',
        toolCallId: second,
        state: 'output-error',
        errorText: 'no signal',
      }),
    );
    expect(page.call('where', 0)).toMatchObject({ state: 'output-available', output: { city: 'Rome' } });
    expect(page.call('where', 1).state).toBe('output-denied');
    expect(page.texts()).toEqual(['There.']);
    // Nothing waits any more: a page that sends the same again is told so, and stops.
    const again = await desk.post('ada', '/api/agents/desk/chat', JSON.parse(page.sent[1]!.body!));
    expect([again.status, again.body.code]).toEqual([409, 'call-not-waiting']);
  });

  test('what is held has no output', async () => {
    const desk = openDesk();
    const page = await pageThatSaid(desk, 'delete a');
    const { toolCallId, approval } = page.call();
    const [runId] = approval.id.split('::');
    const body = {
      id: 't-1',
      messages: [
        {
          role: 'assistant',
          parts: [
            { type: 'tool-delete', toolCallId, state: 'output-available', output: { approved: true } },
            { type: 'data-tool-call-suspended', id: toolCallId, data: { runId, stop: 1 } },
          ],
        },
      ],
    };
    expect((await desk.post('ada', '/api/agents/chat/chat', body)).body.code).toBe('call-not-waiting');
    expect(desk.done).toEqual([]);
  });
});

describe('while a call waits', () => {
  test('scenario: K17 the conversation goes on, and what was answered before a message counts', async () => {
    const desk = openDesk();
    const page = openPage(desk, 'ada', 't-1', { sendAutomaticallyWhen: () => false });
    await page.chat.sendMessage({ text: 'delete a' });
    await page.chat.sendMessage({ text: 'Hi' });
    expect(page.texts()).toEqual(['Hello.']);
    expect(JSON.stringify(desk.model.calls.at(-1)?.prompt)).toContain('waits for a person to approve it');
    const held = page.chat.messages[1];
    const other = openPage(desk, 'ada', 't-2', { sendAutomaticallyWhen: () => false });
    await other.chat.sendMessage({ text: 'delete b' });
    await answering(other);
    await other.chat.sendMessage({ text: 'Hi' });
    await desk.countersign.stop();
    expect(desk.done).toEqual(['delete b']);
    expect(other.texts()).toEqual(['Hello.']);
    expect(held?.parts.at(-1)).toMatchObject({ state: 'approval-requested' });
  });

  test('an earlier message of the page is answered in its place', async () => {
    const desk = openDesk();
    const page = await pageThatSaid(desk, 'delete a');
    await page.chat.sendMessage({ text: 'Hi' });
    const { approval } = page.chat.messages[1]!.parts.at(-1) as unknown as { approval: { id: string } };
    await page.chat.addToolApprovalResponse({ id: approval.id, approved: true });
    await page.chat.sendMessage();
    expect(desk.done).toEqual(['delete a']);
    expect(page.chat.messages).toHaveLength(4);
    await expectAsStored(desk, page);
  });

  test('a memory that refuses does so here', async () => {
    const memory = new Memory({ options: { whenCallsWait: 'refuse' } });
    const { tools, model } = openDesk();
    const desk = openDesk({ agent: { memory, tools, model } });
    const page = openPage(desk, 'ada', 't-1', { agent: 'desk' });
    await page.chat.sendMessage({ text: 'delete a' });
    await page.chat.sendMessage({ text: 'Hi' });
    expect(page.chat.error?.message).toContain('thread-waiting');
  });
});
