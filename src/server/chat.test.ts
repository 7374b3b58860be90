import { expect, test } from 'vitest';
import { openDesk } from './test-support/desk.ts';
import { openPage } from './test-support/page.ts';

test('a page talks, approves, and is told what came of it in one message', async () => {
  const desk = openDesk();
  const page = openPage(desk, 'ada', 't-1');
  await page.chat.sendMessage({ text: 'delete a' });
  expect(page.chat.status).toBe('ready');
  expect(page.texts()).toEqual(['Let me. ']);
  expect(page.call('delete')).toMatchObject({ state: 'approval-requested', input: { what: 'a' } });
  expect(desk.done).toEqual([]);
  const { id } = page.answer;
  await page.during(() => page.chat.addToolApprovalResponse({ id: page.call().approval.id, approved: true }));
  expect(page.chat.error).toBeUndefined();
  expect(desk.done).toEqual(['delete a']);
  expect(page.call('delete')).toMatchObject({ state: 'output-available', output: { did: 'a' } });
  expect(page.texts()).toEqual(['Let me. ', 'Done.']);
  expect(page.answer.id).toBe(id);
  expect(page.chat.messages).toHaveLength(2);
  expect(page.sent).toHaveLength(2);
});
