/** Threads and their messages, to read. */
import type { Hono } from 'hono';
import { threadNotFound } from '../agent/own-thread.ts';
import { CountersignError } from '../core/errors.ts';
import { queryOf } from './body.ts';
import { described } from './describe.ts';
import type { ServerEnv } from './env.ts';
import { digits, type Fields, id } from './field.ts';
import type { Identity } from './identity.ts';
import type { ServerParts } from './parts.ts';
import { pageFields, pageOf } from './suspended-runs.ts';
import { threadsOf } from './threads.ts';

const threadFields: Fields = { agentId: id };
const messageFields: Fields = { ...threadFields, resourceId: id, perPage: digits, page: digits };
const listFields: Fields = { ...threadFields, resourceId: id, ...pageFields };

export function threadRoutes(app: Hono<ServerEnv>, parts: ServerParts): void {
  const { access, basePath } = parts;
  /** @throws `thread-not-found`, the same for one that is not there, of somebody else, and of another resource than asked. */
  const found = async (
    identity: Identity | undefined,
    threadId: string,
    { agentId, resourceId }: Readonly<Record<string, string>>,
  ) => {
    const { memory, places } = await threadsOf(parts, agentId);
    const row = await places.threads.get(threadId);
    const facts = { threadId, resourceId: row?.resourceId, ...(agentId ? { agentId } : {}) };
    const isMeant = row !== undefined && [undefined, row.resourceId].includes(resourceId);
    if (!isMeant || !(await access.mayRead(identity, facts))) throw threadNotFound(threadId);
    return { memory, ids: { threadId, resourceId: row.resourceId } };
  };

  const at = `${basePath}/memory/threads`;
  app.get(
    at,
    described({ summary: 'The threads of a resource', tag: 'memory', query: listFields }),
    async (c) => {
      const identity = c.get('identity');
      const { agentId, cursor, ...query } = queryOf(c, listFields);
      const { memory } = await threadsOf(parts, agentId);
      const { resourceId } = {
        resourceId: identity?.resourceId,
        ...resourceIn(access.scopeOf(identity, query.resourceId)),
      };
      if (resourceId === undefined) {
        throw new CountersignError('invalid-request', 'It is not said whose threads are meant.', {
          issues: ['resourceId: is missing'],
        });
      }
      const { page = 0, perPage = 100 } = pageOf(query);
      const list = await memory.listThreads({ resourceId, page, perPage, cursor });
      const threads = [];
      for (const thread of list.threads) {
        const facts = { threadId: thread.id, resourceId, ...(agentId ? { agentId } : {}) };
        if (!access.looksAtEach || (await access.mayRead(identity, facts))) threads.push(thread);
      }
      const total = access.looksAtEach ? threads.length : list.total;
      return c.json({ ...list, threads, total, page, perPage, hasMore: list.cursor !== undefined });
    },
  );
  const path = ['threadId'];
  app.get(
    `${at}/:threadId`,
    described({ summary: 'A thread', tag: 'memory', path, query: threadFields }),
    async (c) => {
      const { memory, ids } = await found(
        c.get('identity'),
        c.req.param('threadId'),
        queryOf(c, threadFields),
      );
      return c.json(await memory.getThreadById(ids));
    },
  );
  app.get(
    `${at}/:threadId/messages`,
    described({
      summary: 'The messages of a thread, the newest ones last; page 0 has the newest',
      tag: 'memory',
      path,
      query: messageFields,
    }),
    async (c) => {
      const query = queryOf(c, messageFields);
      const { page = 0, perPage = 100 } = pageOf(query);
      const { memory, ids } = await found(c.get('identity'), c.req.param('threadId'), query);
      const end = page * perPage;
      // One more than asked for tells whether there are more.
      const { messages } = await memory.recall({ ...ids, last: end + perPage + 1 });
      const newest = messages.length - end;
      return c.json({
        messages: messages.slice(Math.max(newest - perPage, 0), Math.max(newest, 0)),
        page,
        perPage,
        hasMore: newest > perPage,
      });
    },
  );
}

function resourceIn(scope: ReturnType<ServerParts['access']['scopeOf']>): { resourceId?: string } {
  return scope === 'nothing' ? {} : scope;
}
