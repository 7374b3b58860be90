/** A chat as a page without a framework would have it: the AI SDK's own chat and transport, unchanged, and a state. */
import * as ai7 from 'ai';
import * as ai6 from 'ai6';
import { type Desk, headersOf, type Who } from './desk.ts';

/** The tests use the two alike; where their types differ they are of no matter here. */
export const sdks = { 'ai@7': ai7, 'ai@6': ai6 as unknown as typeof ai7 };

export type Sdk = typeof ai7;
export type Message = ai7.UIMessage;

/** The part of a tool call, with whatever its state brings. */
export interface Card {
  readonly type: string;
  readonly toolCallId: string;
  readonly state: string;
  readonly input?: { readonly what: string };
  readonly output?: unknown;
  readonly errorText?: string;
  readonly approval?: { readonly id: string; readonly approved?: boolean; readonly reason?: string };
}

export interface Chat extends ai7.AbstractChat<Message> {
  /** Method and path of each request, in order. */
  readonly requests: string[];
  /** The call with this argument. */
  card(what: string): Card;
  /** What the assistant said in its last message. */
  said(): string;
  /** Resolves when it is so. Fails with what the page would show as an error. */
  until(isSo: () => boolean): Promise<void>;
  /** Answers a card, and resolves when it stands so and nothing is on its way. */
  answer(what: string, answer: { approved: boolean; reason?: string }, state: string): Promise<void>;
}

export interface ChatPlan {
  /** The conversation: what the server knows as the thread. */
  readonly id: string;
  readonly who?: Who;
  readonly messages?: Message[];
  readonly agent?: string;
}

export function openChat(
  sdk: Sdk,
  desk: Desk,
  { id, who = 'ada', messages = [], agent = 'chat' }: ChatPlan,
): Chat {
  const requests: string[] = [];
  const watchers = new Set<() => void>();
  const state = new Proxy(stateWith(messages), {
    set(target, key, value) {
      Reflect.set(target, key, value);
      for (const watcher of [...watchers]) watcher();
      return true;
    },
  });
  const transport = new sdk.DefaultChatTransport<Message>({
    api: `${desk.url}/api/agents/${agent}/chat`,
    headers: headersOf(who),
    fetch: (url, init) => {
      requests.push(`${init?.method} ${new URL(String(url)).pathname}`);
      return fetch(url, init);
    },
  });
  const sendAutomaticallyWhen = sdk.lastAssistantMessageIsCompleteWithApprovalResponses;
  const chat = new (class extends sdk.AbstractChat<Message> {})({
    id,
    state,
    transport,
    sendAutomaticallyWhen,
  });

  const card = (what: string): Card => {
    const parts = chat.messages.flatMap((message) => message.parts) as unknown as Card[];
    const found = parts.findLast((part) => part.input?.what === what);
    if (found === undefined) throw new Error(`There is no card of ${what}: ${JSON.stringify(chat.messages)}`);
    return found;
  };
  const until = (isSo: () => boolean): Promise<void> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        try {
          if (isSo()) resolve();
          else if (chat.error) reject(chat.error);
          else return;
        } catch (error) {
          reject(error);
        }
        watchers.delete(look);
      };
      watchers.add(look);
      look();
    });
  return Object.assign(chat, {
    requests,
    card,
    until,
    said: () =>
      (chat.lastMessage?.parts ?? []).flatMap((part) => (part.type === 'text' ? part.text : [])).join('|'),
    async answer(what: string, answer: { approved: boolean; reason?: string }, wanted: string) {
      await chat.addToolApprovalResponse({ id: card(what).approval?.id ?? '', ...answer });
      await until(() => chat.status === 'ready' && card(what).state === wanted);
    },
  });
}

function stateWith(messages: Message[]): ai7.ChatState<Message> {
  return {
    status: 'ready',
    error: undefined,
    messages,
    pushMessage(message) {
      this.messages = this.messages.concat(message);
    },
    popMessage() {
      this.messages = this.messages.slice(0, -1);
    },
    replaceMessage(index, message) {
      // What is streamed is one object that changes: a page copies it, too.
      this.messages = this.messages.with(index, structuredClone(message));
    },
    snapshot: (thing) => structuredClone(thing),
  };
}

/** What a person sees of messages. */
export function seen(messages: Message[]) {
  return messages.map(({ id, role, parts }) => ({
    id,
    role,
    parts: (parts as unknown as (Card & { text?: string })[])
      .filter(({ type }) => type !== 'step-start')
      .map(({ type, text, toolCallId, state, input, output, approval }) =>
        toolCallId === undefined
          ? { type, text }
          : { type, toolCallId, state, input, output, reason: approval?.reason },
      ),
  }));
}

/** What a page loads when it is opened. */
export async function historyOf(desk: Desk, threadId: string, who: Who = 'ada'): Promise<Message[]> {
  const url = `${desk.url}/api/memory/threads/${threadId}/messages?agentId=chat`;
  const response = await fetch(url, { headers: headersOf(who) });
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  return ((await response.json()) as { messages: Message[] }).messages;
}
