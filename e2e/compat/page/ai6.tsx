import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from 'ai6';
import { useChat } from 'ai6-react';
import { type Sdk, showChat } from './chat-page.tsx';

const sdk: unknown = { useChat, DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses };
void showChat(sdk as Sdk);
