/** A chat page of the AI SDK at a server that was not there when the run began, and the grammar of what it is told. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, InMemoryStore, Memory, type Store } from 'countersign';
import { SQLiteStore } from 'countersign/sqlite';
import { scriptedModel } from 'countersign/testing';
import { describe, expect, test } from 'vitest';
import { answering, pageThatSaid, stored } from '../../src/server/test-support/chat.ts';
import { type Desk, openDesk } from '../../src/server/test-support/desk.ts';
import { openPage } from '../../src/server/test-support/page.ts';

/** Two stores that have the same in them, for two processes. */
const stores: readonly (readonly [string, () => readonly [Store, Store]])[] = [
  [
    'in memory',
    () => {
      const store = new InMemoryStore();
      return [store, store];
    },
  ],
  [
    'SQLite',
    () => {
      const path = join(mkdtempSync(join(tmpdir(), 'countersign-')), 'chat.db');
      return [new SQLiteStore({ path }), new SQLiteStore({ path })];
    },
  ],
];

describe.each(stores)('%s', (_, open) => {
  test('scenario: K8 a new server shows a page what waits, and each answer moves it', async () => {
    const [before, after] = open();
    const first = openDesk({ registry: { storage: before } });
    const threads = ['delete a', 'delete b', 'book c'] as const;
    for (const text of threads) await pageThatSaid(first, text, 'ada', text);
    await first.app.close();

    const second = openDesk({ registry: { storage: after } });
    const pages = [];
    for (const id of threads) {
      const page = openPage(second, 'ada', id, { messages: await stored(second, 'chat', id) });
      await page.chat.resumeStream();
      expect(page.sent.at(-1)?.status).toBe(204);
      pages.push(page);
    }
    const [approve, decline, ask] = pages;
    await approve?.during(() => answering(approve));
    await decline?.during(() => answering(decline, false, 0, 'no'));
    await ask?.during(() => {
      const { toolCallId } = ask.call('book');
      return ask.chat.addToolOutput({ tool: 'book', toolCallId, output: { seats: 2 } as never });
    });
    expect(second.done.toSorted()).toEqual(['book c for 2', 'delete a']);
    expect(pages.map((page) => page.call().state)).toEqual([
      'output-available',
      'output-denied',
      'output-available',
    ]);
    for (const page of pages) expect(page.texts()).toEqual(['Let me. ', 'Done.']);
    expect(first.done).toEqual([]);
  });

  test('scenario: K9 what waits two runs below is on the page at the top, before and after a restart', async () => {
    const opened = (
      storage: Store,
    ): { server: Desk; done: string[]; model: ReturnType<typeof scriptedModel> } => {
      const inner = openDesk();
      const delegate = (to: string) => ({
        calls: [{ toolName: `agent-${to}`, args: { prompt: `for ${to}` } }],
      });
      const model = scriptedModel((prompt) => {
        const last = prompt.at(-1);
        const said = JSON.stringify(last?.content);
        if (last?.role !== 'user') return 'Done.';
        if (said.includes('for middle')) return delegate('bottom');
        return said.includes('for bottom')
          ? {
              calls: [
                { toolName: 'delete', args: { what: 'a' } },
                { toolName: 'book', args: { what: 'b' } },
              ],
            }
          : delegate('middle');
      });
      const bottom = new Agent({ id: 'bottom', model, tools: inner.tools });
      const middle = new Agent({ id: 'middle', model, agents: { bottom } });
      const agent = { model, agents: { middle }, tools: {}, memory: new Memory() };
      return { server: openDesk({ registry: { storage }, agent }), done: inner.done, model };
    };
    const [before, after] = open();
    const first = opened(before);
    const page = openPage(first.server, 'ada', 't-1', { agent: 'desk' });
    await page.chat.sendMessage({ text: 'Please.' });
    const held = page.call('delete');
    expect(held.state).toBe('approval-requested');
    expect(held.toolCallId.split('~')).toHaveLength(3);
    await first.server.app.close();

    const { server, done, model } = opened(after);
    const messages = await stored(server, 'desk');
    const back = openPage(server, 'ada', 't-1', { agent: 'desk', messages });
    expect(back.call('delete').approval).toEqual(held.approval);
    const { toolCallId } = back.call('book');
    await back.chat.addToolApprovalResponse({ id: held.approval.id, approved: true });
    await back.during(() =>
      back.chat.addToolOutput({ tool: 'book', toolCallId, output: { seats: 3 } as never }),
    );
    expect(back.chat.error).toBeUndefined();
    expect(done.toSorted()).toEqual(['book b for 3', 'delete a']);
    expect([back.call('delete').state, back.call('book').state, back.call('agent-middle').state]).toEqual([
      'output-available',
      'output-available',
      'output-available',
    ]);
    expect(back.texts()).toEqual(['Done.']);
    // None of the three models was asked again what it had said before.
    expect(model.calls).toHaveLength(3);
    expect(first.done).toEqual([]);
  });
});

describe('scenario: K14 every answer has one grammar', () => {
  interface UiChunk {
    readonly type: string;
    readonly [field: string]: unknown;
  }

  const chunksIn = (text = ''): UiChunk[] => {
    const events = text.split('\n\n');
    expect(events.slice(-2)).toEqual(['data: [DONE]', '']);
    return events.slice(0, -2).map((event) => JSON.parse(event.slice('data: '.length)));
  };

  /** start … finish, each text and step closed, each outcome after its call, here or on the page before. */
  function expectGrammar(chunks: readonly UiChunk[], calls: Set<unknown>, id: string): void {
    const types = chunks.map(({ type }) => type);
    expect([types[0], types.at(-1)]).toEqual(['start', 'finish']);
    expect(types.filter((type) => type === 'start' || type === 'finish')).toHaveLength(2);
    expect(chunks[0]?.messageId).toBe(id);
    const open = new Set<unknown>();
    const told: unknown[] = [];
    for (const { type, toolCallId, id: text } of chunks) {
      if (type === 'tool-input-available') calls.add(toolCallId);
      else if (toolCallId !== undefined) expect(calls).toContain(toolCallId);
      if (/^tool-output/.test(type)) told.push(toolCallId);
      if (type === 'text-start') open.add(text);
      if (type === 'text-delta') expect(open).toContain(text);
      if (type === 'text-end') open.delete(text);
    }
    expect(open.size).toBe(0);
    expect(types).not.toContain('tool-approval-response');
    expect(told.length).toBeLessThanOrEqual(new Set(told).size * 2);
  }

  test.each(['delete a', 'book a', 'delete a and book b and look c'])('%s: each of them', async (text) => {
    const desk = openDesk();
    const page = await pageThatSaid(desk, text);
    const asked = page.answer.parts.filter(({ type }) => type === 'tool-book');
    for (const part of page.answer.parts) {
      if (part.type !== 'tool-delete') continue;
      if (asked.length > 0) await answering(page);
      else await page.during(() => answering(page));
    }
    for (const part of asked) {
      const { toolCallId } = part as unknown as { toolCallId: string };
      await page.during(() =>
        page.chat.addToolOutput({ tool: 'book', toolCallId, output: { seats: 1 } as never }),
      );
    }
    expect(page.texts().at(-1)).toBe('Done.');
    const calls = new Set<unknown>();
    expect(page.sent).toHaveLength(2);
    for (const { text: told } of page.sent) expectGrammar(chunksIn(told), calls, page.answer.id);
  });
});
