/** The chat of the AI SDK's pages: `useChat` with its default transport, as it is. */
import type { Context, Hono } from 'hono';
import { servedAgent, streamed } from './agent-routes.ts';
import { bodyOf } from './body.ts';
import { answer, type Chat, checkMemory, decideBefore, look, regenerate, say } from './chat.ts';
import { chatFields, postedIn } from './chat-body.ts';
import { liveAnswers } from './chat-live.ts';
import { described } from './describe.ts';
import type { ServerEnv } from './env.ts';
import { invalid } from './field.ts';
import type { ServerParts } from './parts.ts';
import { threadsOf } from './threads.ts';

export function chatRoutes(app: Hono<ServerEnv>, parts: ServerParts): void {
  const at = `${parts.basePath}/agents/:agentId/chat`;
  const fields = chatFields(parts.accept);
  const live = liveAnswers();
  const chatOf = async (c: Context<ServerEnv>, threadId: string): Promise<Chat> => {
    const chat = { parts, live, agent: servedAgent(parts, c), identity: c.get('identity'), threadId };
    const { isOwn } = await threadsOf(parts, chat.agent.id);
    checkMemory(chat, isOwn);
    return chat;
  };
  app.post(
    at,
    described({
      summary: "A chat page's message, or its answers to what waits, as the AI SDK's useChat sends them",
      tag: 'agents',
      path: ['agentId'],
      body: fields,
      answer: 'events',
    }),
    (c) =>
      streamed(parts, c, async () => {
        servedAgent(parts, c);
        const body = await bodyOf(c, fields);
        const { id, trigger, messageId: _, messages: __, ...options } = body;
        const chat = await chatOf(c, id as string);
        if ((body.memory as { thread?: unknown } | undefined)?.thread !== undefined) {
          throw invalid('body', ['memory.thread: is not taken from a body: id names the thread']);
        }
        if (trigger === 'regenerate-message') return regenerate(chat);
        const posted = postedIn(body);
        if (posted.said === undefined) return answer(chat, posted);
        await decideBefore(chat, posted);
        return say(chat, posted.said, options);
      }),
  );
  app.get(
    `${at}/:threadId/stream`,
    described({
      summary:
        "Follows the thread's answer from its beginning, as the AI SDK's resumeStream asks; 204 when none is written",
      tag: 'agents',
      path: ['agentId', 'threadId'],
      answer: 'events',
    }),
    async (c) => {
      const told = await look(await chatOf(c, c.req.param('threadId')));
      return told ? streamed(parts, c, async () => told) : c.body(null, 204);
    },
  );
}
