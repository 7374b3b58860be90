/** `useChat` of AI SDK 6 and 7, unchanged, in a page of another origin than the server, in a real browser. */
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Desk, headersOf, openDesk, type Who } from './desk.ts';
import { type PageServer, servePages } from './page-server.ts';

const executablePath = process.env.CHROMIUM_PATH;
const args = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

describe.skipIf(!executablePath)('in a browser', () => {
  let desk: Desk;
  let pages: PageServer;
  let browser: Browser;
  let context: BrowserContext;

  beforeAll(async () => {
    pages = await servePages();
    desk = await openDesk({ origin: pages.origin });
    browser = await chromium.launch({ executablePath: executablePath as string, args });
  });
  afterAll(async () => {
    await browser?.close();
    await desk?.close();
    await pages?.close();
  });
  beforeEach(async () => {
    context = await browser.newContext();
    context.setDefaultTimeout(10_000);
  });
  afterEach(async ({ task }) => {
    if (task.result?.state === 'fail') {
      for (const page of context.pages()) console.log(await page.locator('body').textContent());
    }
    await context.close();
  });

  const times = (what: string): number => desk.done.filter((one) => one.endsWith(` ${what}`)).length;

  test('our client runs as it is published, without a bundler', async () => {
    const page = await context.newPage();
    await page.goto(`${pages.origin}/ai7.html`);
    const content =
      "import { CountersignClient } from '/dist/client/index.js'; Object.assign(window, { CountersignClient });";
    await page.addScriptTag({ type: 'module', content });
    await page.waitForFunction(() => 'CountersignClient' in window);
    const text = await page.evaluate(
      async ({ baseUrl, headers }) => {
        const { CountersignClient } = window as unknown as typeof import('countersign/client');
        const agent = new CountersignClient({ baseUrl, headers }).getAgent('desk');
        const { runId, suspendPayload } = await agent.generate('refund ours');
        const toolCallId = suspendPayload?.toolCallId ?? '';
        let text = '';
        for await (const chunk of await agent.approveToolCall({ runId, toolCallId })) {
          if (chunk.type === 'text-delta') text += chunk.payload.text;
        }
        return text;
      },
      { baseUrl: desk.url, headers: headersOf('ada') },
    );
    expect(text).toBe('All done.');
    expect(times('ours')).toBe(1);
  });

  describe.each(['ai7', 'ai6'])('%s', (sdk) => {
    const open = async (thread: string, token: Who = 'ada'): Promise<Page> => {
      const page = await context.newPage();
      const query = new URLSearchParams({ server: desk.url, thread: `${sdk}-${thread}`, token });
      await page.goto(`${pages.origin}/${sdk}.html?${query}`);
      return page;
    };
    const say = async (page: Page, text: string): Promise<void> => {
      await page.getByLabel('Message').fill(text);
      await page.getByRole('button', { name: 'Send' }).click();
    };
    const card = (page: Page, what: string) => page.getByRole('article', { name: what });
    const shows = (page: Page, what: string, state: string): Promise<void> =>
      card(page, what).getByText(state).waitFor();

    test('asks, and does what was approved', async () => {
      const what = `${sdk}-approve`;
      const page = await open('approve');
      await say(page, `refund ${what}`);
      await card(page, what).getByRole('button', { name: 'Approve' }).click();
      await shows(page, what, 'output-available');
      await page.getByText('assistant: All done.').waitFor();
      expect(times(what)).toBe(1);
      expect(await page.getByRole('alert').count()).toBe(0);
      await page.reload();
      await page.getByText('assistant: All done.').waitFor();
      expect(await page.getByRole('article').count()).toBe(1);
      expect(await page.getByText('assistant:').count()).toBe(2);
    });

    test('shows the card again in a page that was loaded anew, after a restart, and declines with a reason', async () => {
      const what = `${sdk}-decline`;
      const page = await open('decline');
      await say(page, `refund ${what}`);
      await shows(page, what, 'approval-requested');
      await desk.restart();
      await page.reload();
      await card(page, what).getByLabel('Reason').fill('Paid twice.');
      await card(page, what).getByRole('button', { name: 'Decline' }).click();
      await shows(page, what, 'output-denied Paid twice.');
      await page.getByText('assistant: All done.').waitFor();
      expect(desk.lastPrompt()).toContain('Paid twice.');
      expect(times(what)).toBe(0);
      expect(await page.getByRole('alert').count()).toBe(0);
    });

    test('is decided in one of two tabs', async () => {
      const what = `${sdk}-tabs`;
      const first = await open('tabs');
      await say(first, `refund ${what}`);
      await shows(first, what, 'approval-requested');
      const second = await open('tabs');
      await shows(second, what, 'approval-requested');
      await card(first, what).getByRole('button', { name: 'Approve' }).click();
      await shows(first, what, 'output-available');
      await card(second, what).getByRole('button', { name: 'Decline' }).click();
      await shows(second, what, 'output-available');
      await second.getByText('assistant: All done.').waitFor();
      expect(times(what)).toBe(1);
    });

    test('shows what the server refuses', async () => {
      const what = `${sdk}-reviewed`;
      const page = await open('reviewed');
      await say(page, `compensate ${what}`);
      await card(page, what).getByRole('button', { name: 'Approve' }).click();
      await page.getByRole('alert').getByText('You may not decide this call.').waitFor();
      expect(times(what)).toBe(0);
      await page.reload();
      await shows(page, what, 'approval-requested');
    });
  });
});
