/** What people do on chat pages, and what these must show. */
import type { UIMessage } from 'ai';
import { expect } from 'vitest';
import { Memory } from '../../agent/memory.ts';
import { type ScriptStep, scriptedModel } from '../../testing/scripted-model.ts';
import { type Desk, openDesk, type Plan, type Who } from './desk.ts';
import { openPage, type Page } from './page.ts';

/** Says something, and shows what it is answered. */
export async function pageThatSaid(desk: Desk, text: string, who: Who = 'ada', id = 't-1'): Promise<Page> {
  const page = openPage(desk, who, id);
  await page.chat.sendMessage({ text });
  return page;
}

export const answering = (page: Page, approved = true, place = 0, reason?: string) => {
  const { id } = page.call(undefined, place).approval;
  return page.chat.addToolApprovalResponse({ id, approved, ...(reason ? { reason } : {}) });
};

/** The messages of the thread, as a page loads them. */
export async function stored(desk: Desk, agentId = 'chat', id = 't-1') {
  const { body } = await desk.get('ada', `/api/memory/threads/${id}/messages?agentId=${agentId}`);
  return body.messages;
}

/** What both the page that was told and the one that loads the thread must show. */
export function shown({ id, role, parts }: UIMessage) {
  const told = (parts as unknown as Record<string, unknown>[]).map((part) => {
    const { type, text, toolCallId, state, input, output, errorText, approval, data } = part;
    const { id: approvalId, descriptor } = (approval ?? {}) as Record<string, unknown>;
    return {
      ...{ type, text, toolCallId, input, output, errorText, data, approvalId },
      state: type === 'text' ? undefined : state,
      descriptor: state === 'approval-requested' ? descriptor : undefined,
    };
  });
  return { id, role, parts: JSON.parse(JSON.stringify(told)) };
}

export async function expectAsStored(desk: Desk, page: Page, agentId = 'chat'): Promise<void> {
  const messages = await stored(desk, agentId, page.chat.id);
  expect(page.chat.messages.map(shown)).toEqual(messages.map(shown));
}

/** A desk whose second model call is answered when it is let. */
export function slowDesk(first: ScriptStep, plan: Plan = {}) {
  const { tools, done } = openDesk();
  const asked = Promise.withResolvers<void>();
  const given = Promise.withResolvers<void>();
  const model = scriptedModel((_, index) => {
    if (index === 0) return first;
    asked.resolve();
    return { text: 'Second.', delayUntil: given.promise };
  });
  const desk = openDesk({ ...plan, agent: { memory: new Memory(), model, tools, ...plan.agent } });
  return { desk, done, model, asked: asked.promise, answer: given.resolve };
}
