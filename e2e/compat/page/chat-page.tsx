/** A chat page as people write them with `useChat`: it loads the conversation, follows what is on its way, asks. */
import type { UIMessage, useChat } from '@ai-sdk/react';
import type { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from 'ai';
import { useState } from 'react';
import { createRoot } from 'react-dom/client';

export interface Sdk {
  readonly useChat: typeof useChat;
  readonly DefaultChatTransport: typeof DefaultChatTransport;
  readonly lastAssistantMessageIsCompleteWithApprovalResponses: typeof lastAssistantMessageIsCompleteWithApprovalResponses;
}

interface Conversation {
  readonly server: string;
  readonly thread: string;
  readonly headers: Record<string, string>;
}

interface Card {
  readonly type: string;
  readonly toolCallId: string;
  readonly state: string;
  readonly input?: { readonly what: string };
  readonly approval?: { readonly id: string; readonly reason?: string };
}

type Answer = (answer: { approved: boolean; reason?: string }) => unknown;

/** Which conversation, of which server and whose, is in the page's address. */
export async function showChat(sdk: Sdk): Promise<void> {
  const asked = new URLSearchParams(location.search);
  const server = asked.get('server') ?? '';
  const thread = asked.get('thread') ?? '';
  const headers = { authorization: `Bearer ${asked.get('token')}` };
  const at = `${server}/api/memory/threads/${thread}/messages?agentId=chat`;
  const response = await fetch(at, { headers });
  const history: UIMessage[] = response.ok ? (await response.json()).messages : [];
  const root = createRoot(document.getElementById('root') as HTMLElement);
  root.render(<ChatPage sdk={sdk} conversation={{ server, thread, headers }} history={history} />);
}

function ChatPage({
  sdk,
  conversation: { server, thread, headers },
  history,
}: {
  readonly sdk: Sdk;
  readonly conversation: Conversation;
  readonly history: UIMessage[];
}) {
  const [transport] = useState(
    () => new sdk.DefaultChatTransport<UIMessage>({ api: `${server}/api/agents/chat/chat`, headers }),
  );
  const { messages, sendMessage, addToolApprovalResponse, status, error } = sdk.useChat({
    id: thread,
    messages: history,
    resume: true,
    transport,
    sendAutomaticallyWhen: sdk.lastAssistantMessageIsCompleteWithApprovalResponses,
  });
  const [text, setText] = useState('');
  return (
    <main>
      {messages.flatMap(({ id, role, parts }) =>
        parts.map((part, index) =>
          part.type === 'text' ? (
            // biome-ignore lint/suspicious/noArrayIndexKey: texts have no ids, and keep their order
            <p key={`${id}-${index}`}>{`${role}: ${part.text}`}</p>
          ) : 'toolCallId' in part ? (
            <CallCard
              key={part.toolCallId}
              card={part as Card}
              answer={(answer) =>
                void addToolApprovalResponse({ id: (part as Card).approval?.id ?? '', ...answer })
              }
            />
          ) : null,
        ),
      )}
      {error ? <p role="alert">{error.message}</p> : null}
      <p role="status">{status}</p>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void sendMessage({ text });
          setText('');
        }}
      >
        <input aria-label="Message" value={text} onChange={(event) => setText(event.target.value)} />
        <button type="submit">Send</button>
      </form>
    </main>
  );
}

function CallCard({ card, answer }: { readonly card: Card; readonly answer: Answer }) {
  const [reason, setReason] = useState('');
  const { type, state, input, approval } = card;
  return (
    <article aria-label={input?.what}>
      <p>{`${type} ${state} ${approval?.reason ?? ''}`}</p>
      {state === 'approval-requested' ? (
        <>
          <input aria-label="Reason" value={reason} onChange={(event) => setReason(event.target.value)} />
          <button type="button" onClick={() => answer({ approved: true })}>
            Approve
          </button>
          <button type="button" onClick={() => answer({ approved: false, reason })}>
            Decline
          </button>
        </>
      ) : null}
    </article>
  );
}
