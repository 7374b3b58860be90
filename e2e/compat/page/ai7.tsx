import { useChat } from '@ai-sdk/react';
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from 'ai';
import { showChat } from './chat-page.tsx';

void showChat({ useChat, DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses });
