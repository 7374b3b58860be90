/** The first half of the load: chats of many customers, begun at once, each with calls that wait. */
import { type Browser, browserAt, type Chunk } from './browser.ts';
import type { Person } from './messages.ts';

export const customers: readonly Person[] = Array.from({ length: 20 }, (_, index) => ({
  id: `customer-${index}`,
  resourceId: `customer-${index}`,
}));

/** A call as a page shows it. */
export interface Shown {
  readonly runId: string;
  readonly toolCallId: string;
  readonly toolName: string;
  readonly args: object;
  readonly stop: number;
  readonly fingerprint: string;
  /** Of the chat. */
  readonly owner: string;
  readonly thread: string;
}

export interface Chat {
  readonly runId: string;
  readonly calls: readonly Shown[];
  /** Nobody is to decide it. */
  readonly isLeft: boolean;
}

const kinds = [['refund'], ['compensate'], ['book'], ['refund', 'refund'], ['refund', 'compensate', 'book']];

/** Chats of one customer share threads, two each. */
function chatOf(index: number, chats: number) {
  const owner = (customers[index % customers.length] as Person).id;
  const half = Math.ceil(chats / 2 / customers.length) * customers.length;
  const tools = kinds[index % kinds.length] ?? [];
  return { owner, thread: `thread-${index % half}`, tools };
}

/** @throws when a chat does not stop where it must. */
export async function beginChat(index: number, chats: number, url: string): Promise<Chat> {
  const { owner, thread, tools } = chatOf(index, chats);
  const browser = browserAt(url, owner);
  const messages = tools.map((tool, place) => `${tool} order-${index}-${place}`).join(', ');
  const chunks = await (await browser.open('/agents/desk/stream', { messages, memory: { thread } })).all();
  const { type, runId, payload } = chunks.at(-1) ?? {};
  if (type !== 'finish' || payload.finishReason !== 'suspended') {
    throw new Error(`Chat ${index} ended as ${JSON.stringify(chunks.at(-1))}`);
  }
  const calls = chunks.filter(isStop).map((chunk) => shownIn(chunk, owner, thread));
  if (runId === undefined || calls.length !== tools.length) {
    throw new Error(
      `Chat ${index} shows ${calls.length} calls, not ${tools.length}: ${JSON.stringify(payload)}`,
    );
  }
  if (index % 7 === 0) await talk(browser, thread);
  return { runId, calls, isLeft: index % 10 === 9 };
}

function isStop({ type }: Chunk): boolean {
  return type === 'tool-call-approval' || type === 'tool-call-suspended';
}

function shownIn({ runId, payload }: Chunk, owner: string, thread: string): Shown {
  const { toolCallId, toolName, args, stop, fingerprint } = payload;
  return { runId, toolCallId, toolName, args, stop, fingerprint, owner, thread };
}

/** Somebody goes on to talk while something waits. */
async function talk(browser: Browser, thread: string): Promise<void> {
  const body = { messages: 'What is the weather like?', memory: { thread } };
  const { status, body: answer } = await browser.post('/agents/desk/generate', body);
  if (status !== 200 || answer.finishReason !== 'stop') {
    throw new Error(`Talk in ${thread} is ${status}: ${JSON.stringify(answer)}`);
  }
}
