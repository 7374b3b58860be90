/** Questions that a chat page must hear of though it did not answer the call, or answered another one. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { Agent } from '../agent/agent.ts';
import { createTool } from '../agent/create-tool.ts';
import { Memory } from '../agent/memory.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { answering } from './test-support/chat.ts';
import { openDesk } from './test-support/desk.ts';
import { openPage, type Page } from './test-support/page.ts';

/** Held; what is approved asks for seats, but for those that need none. */
function seats(done: string[]) {
  return createTool({
    id: 'seat',
    inputSchema: z.object({ what: z.string() }),
    resumeSchema: z.object({ seats: z.number() }),
    requireApproval: true,
    execute: async ({ what }, { agent: { resumeData, suspend } }) => {
      if (what === 'a' && !resumeData) return suspend({ question: 'How many?' });
      done.push(what);
      return { seated: what };
    },
  });
}

const seat = (...whats: string[]) => ({ calls: whats.map((what) => ({ toolName: 'seat', args: { what } })) });
const ofDesk = { agent: 'desk' };

function seatDesk(...whats: string[]) {
  const done: string[] = [];
  const model = scriptedModel([seat(...whats), 'Done.']);
  const desk = openDesk({ agent: { memory: new Memory(), model, tools: { seat: seats(done) } } });
  return { desk, done };
}

const states = (page: Page) =>
  page.answer.parts.flatMap((part) => ('toolCallId' in part && 'state' in part ? [part.state] : []));

const question = (page: Page) => page.answer.parts.find(({ type }) => type === 'data-tool-call-suspended');

const answer = (page: Page, toolCallId: string) =>
  page.during(() => page.chat.addToolOutput({ tool: 'seat', toolCallId, output: { seats: 2 } as never }));

test('one of several calls that were approved together asks', async () => {
  const { desk, done } = seatDesk('a', 'b', 'c', 'd');
  const page = openPage(desk, 'ada', 't-1', ofDesk);
  await page.chat.sendMessage({ text: 'Go.' });
  for (const place of [0, 1, 2]) await answering(page, true, place);
  await page.during(() => answering(page, true, 3));
  expect(states(page)).toEqual(['input-available', ...Array(3).fill('output-available')]);
  const { toolCallId } = page.call('seat');
  expect(question(page)).toMatchObject({ data: { toolCallId, stop: 2 } });
  await answer(page, toolCallId);
  expect(done.toSorted()).toEqual(['a', 'b', 'c', 'd']);
  expect(page.texts()).toEqual(['Done.']);
});

test('a page approves what another page approved, and it asks by now', async () => {
  const { desk, done } = seatDesk('a');
  const page = openPage(desk, 'ada', 't-1', ofDesk);
  await page.chat.sendMessage({ text: 'Go.' });
  const late = openPage(desk, 'ada', 't-1', { ...ofDesk, messages: page.chat.messages });
  await page.during(() => answering(page));
  await late.during(() => answering(late));
  expect(states(late)).toEqual(['input-available']);
  expect(question(late)).toMatchObject({ data: { stop: 2 } });
  await answer(late, late.call('seat').toolCallId);
  expect(done).toEqual(['a']);
});

test('a call that the page shows as held was approved elsewhere, and asks when another is approved', async () => {
  const { desk, done } = seatDesk('a', 'b');
  const at = { ...ofDesk, sendAutomaticallyWhen: () => false };
  const page = openPage(desk, 'ada', 't-1', at);
  await page.chat.sendMessage({ text: 'Go.' });
  const other = openPage(desk, 'ada', 't-1', { ...at, messages: page.chat.messages });
  await answering(other, true, 0);
  await other.chat.sendMessage();
  await answering(page, true, 1);
  await page.chat.sendMessage();
  expect(states(page)).toEqual(['input-available', 'output-available']);
  expect(question(page)).toMatchObject({ data: { stop: 2 } });
  expect(done).toEqual(['b']);
});

test('what somebody else approves while the stream is open asks in it', async () => {
  const done: string[] = [];
  const gate = Promise.withResolvers<string>();
  const wait = createTool({ id: 'wait', inputSchema: z.object({}), execute: () => gate.promise });
  const model = scriptedModel([{ calls: [...seat('a').calls, { toolName: 'wait' }] }, 'Done.']);
  const desk = openDesk({ agent: { memory: new Memory(), model, tools: { seat: seats(done), wait } } });
  const page = openPage(desk, 'ada', 't-1', ofDesk);
  const saying = page.chat.sendMessage({ text: 'Go.' });
  await page.shows(() => page.answer && page.call('seat')?.state === 'approval-requested');
  const [{ runId, toolCallId, stop }] = (await desk.get('rita', '/api/approvals')).body.approvals;
  await desk.post('rita', `/api/approvals/${runId}/${toolCallId}/approve`, { stop });
  gate.resolve('waited');
  await saying;
  expect(page.call('seat').state).toBe('input-available');
  expect(question(page)).toMatchObject({ data: { stop: 2 } });
  await answer(page, toolCallId);
  expect(page.texts()).toEqual(['Done.']);
});

test('a call of a sub-agent, of which the page has not heard, asks in the step that it shows', async () => {
  const { tools } = openDesk();
  const below = new Agent({
    id: 'below',
    model: scriptedModel([
      { calls: ['a', 'b'].map((what) => ({ toolName: 'delete', args: { what } })) },
      { calls: [{ toolName: 'book', args: { what: 'c' } }] },
      'Below.',
    ]),
    tools,
  });
  const delegation = { toolName: 'agent-below', args: { prompt: 'Go.' } };
  const model = scriptedModel([{ calls: [delegation] }, 'Done.']);
  const desk = openDesk({ agent: { memory: new Memory(), model, tools, agents: { below } } });
  const page = openPage(desk, 'ada', 't-1', ofDesk);
  await page.chat.sendMessage({ text: 'Go.' });
  const late = openPage(desk, 'ada', 't-1', { ...ofDesk, messages: page.chat.messages });
  await answering(page, true, 0);
  await page.during(() => answering(page, true, 1));
  await answering(late, true, 0);
  await late.during(() => answering(late, true, 1));
  for (const one of [page, late]) {
    expect(one.call('book')).toMatchObject({ state: 'input-available' });
    expect(question(one)).toMatchObject({ data: { toolName: 'book', stop: 1 } });
  }
  expect(states(late)).toEqual(states(page));
});

test('a tool of the page is carried out once', async () => {
  const where = createTool({ id: 'where', inputSchema: z.object({}) });
  const model = scriptedModel([{ calls: [{ toolName: 'where' }] }, 'There.']);
  const desk = openDesk({ agent: { memory: new Memory(), model, tools: { where } } });
  const carried: string[] = [];
  const page = openPage(desk, 'ada', 't-1', {
    ...ofDesk,
    onToolCall: ({ toolCall: { toolCallId } }) => {
      carried.push(toolCallId);
      void page.chat.addToolOutput({ tool: 'where', toolCallId, output: { city: 'Rome' } as never });
    },
  });
  await page.during(() => page.chat.sendMessage({ text: 'Where am I?' }), 2);
  expect(carried).toHaveLength(1);
  expect(page.call('where')).toMatchObject({ state: 'output-available', output: { city: 'Rome' } });
  expect(page.texts()).toEqual(['There.']);
});
