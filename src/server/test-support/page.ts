/** A chat page: the AI SDK's own client, as it is, against a server in this process. */
import {
  AbstractChat,
  type ChatInit,
  type ChatState,
  type ChatStatus,
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
  type UIMessage,
} from 'ai';
import type { Desk, Who } from './desk.ts';

export interface Page {
  readonly chat: PageChat;
  /** What the page sent and was answered, the oldest first. */
  readonly sent: readonly {
    readonly body: string | undefined;
    readonly status: number;
    readonly text: string;
  }[];
  /** The newest message of the assistant. */
  readonly answer: UIMessage;
  /** A tool part of it. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read parts of every kind
  call(tool?: string, place?: number): any;
  texts(): string[];
  /** Resolves when the next answer begins. */
  answering(): Promise<void>;
  /** Does something, and resolves when the page has read the answers to so many requests that come of it. */
  during(act: () => unknown, answers?: number): Promise<void>;
}

export class PageChat extends AbstractChat<UIMessage> {}

/** @param given more for the client, and what it shows first. */
export function openPage(
  { app }: Pick<Desk, 'app'>,
  who: Who | undefined,
  id: string,
  given: Partial<ChatInit<UIMessage>> & { readonly agent?: string; readonly body?: object } = {},
): Page {
  const { agent = 'chat', body, messages = [], ...init } = given;
  const sent: { body: string | undefined; status: number; text: string }[] = [];
  const begun: (() => void)[] = [];
  let finished = 0;
  let heard: () => void = () => {};
  const state: ChatState<UIMessage> = {
    status: 'ready' as ChatStatus,
    error: undefined,
    messages: structuredClone(messages),
    pushMessage(message) {
      state.messages = [...state.messages, message];
    },
    popMessage() {
      state.messages = state.messages.slice(0, -1);
    },
    replaceMessage(index, message) {
      state.messages = state.messages.map((one, place) => (place === index ? structuredClone(message) : one));
    },
    snapshot: (thing) => structuredClone(thing),
  };
  const chat = new PageChat({
    id,
    state,
    transport: new DefaultChatTransport({
      api: `/api/agents/${agent}/chat`,
      ...(body ? { body } : {}),
      headers: who ? { authorization: `Bearer ${who}` } : {},
      fetch: async (url, request) => {
        const response = await app.request(String(url), request);
        const place = sent.push({
          body: request?.body as string | undefined,
          status: response.status,
          text: '',
        });
        void response
          .clone()
          .text()
          .then((text) => Object.assign(sent[place - 1] as object, { text }));
        for (const tell of begun.splice(0)) tell();
        return response;
      },
    }),
    sendAutomaticallyWhen: (seen) =>
      lastAssistantMessageIsCompleteWithApprovalResponses(seen) ||
      lastAssistantMessageIsCompleteWithToolCalls(seen),
    ...init,
    onFinish: () => {
      finished++;
      heard();
    },
  });
  const page: Page = {
    chat,
    sent,
    get answer() {
      return state.messages.findLast(({ role }) => role === 'assistant') as UIMessage;
    },
    call(tool, place = 0) {
      const calls = page.answer.parts.filter(({ type }) => type.startsWith(`tool-${tool ?? ''}`));
      return calls[place];
    },
    texts: () => page.answer.parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])),
    answering: () => new Promise((resolve) => void begun.push(resolve)),
    async during(act, answers = 1) {
      const enough = finished + answers;
      const heardEnough = new Promise<void>((resolve) => {
        heard = () => finished === enough && resolve();
      });
      await act();
      await heardEnough;
    },
  };
  return page;
}
