/** Threads and their messages, to read. */
import type { Hono } from 'hono';
import { Memory, memoryInside } from '../agent/memory.ts';
import { threadNotFound } from '../agent/own-thread.ts';
import { subAgent } from '../agent/types.ts';
import { RequestContext } from '../core/context.ts';
import { CountersignError } from '../core/errors.ts';
import type { ThreadStore } from '../core/store.ts';
import { queryOf } from './body.ts';
import { described } from './describe.ts';
import type { ServerEnv } from './env.ts';
import { digits, type Fields, id } from './field.ts';
import type { Identity } from './identity.ts';
import type { ServerParts } from './parts.ts';
import { pageFields, pageOf } from './suspended-runs.ts';

const threadFields: Fields = { agentId: id };
const messageFields: Fields = { ...threadFields, perPage: digits, page: digits };
const listFields: Fields = { ...threadFields, resourceId: id, ...pageFields };

/** Where threads are, and what reads them. */
interface Threads {
  readonly memory: Memory;
  readonly store: ThreadStore;
}

export function threadRoutes(app: Hono<ServerEnv>, parts: ServerParts): void {
  const { countersign, worker, access, basePath } = parts;
  const shared: Threads = {
    memory: new Memory({ storage: worker.store }),
    store: worker.store.threads,
  };

  /** The threads of an agent whose memory has a storage of its own, or those of the registry's store. */
  const threadsOf = async (agentId: string | undefined): Promise<Threads> => {
    const core = agentId === undefined ? undefined : countersign.getAgent(agentId)[subAgent];
    const given = core?.config.memory;
    const requestContext = new RequestContext();
    const memory: unknown = typeof given === 'function' ? await given({ requestContext }) : given;
    if (!(memory instanceof Memory)) return shared;
    return { memory, store: memory[memoryInside].placesFor(worker).threads };
  };

  /** @throws `thread-not-found`, the same for one that is not there and one of somebody else. */
  const found = async (identity: Identity | undefined, threadId: string, agentId: string | undefined) => {
    const { memory, store } = await threadsOf(agentId);
    const row = await store.get(threadId);
    const facts = { threadId, resourceId: row?.resourceId, ...(agentId ? { agentId } : {}) };
    if (row === undefined || !(await access.mayRead(identity, facts))) throw threadNotFound(threadId);
    return { memory, ids: { threadId, resourceId: row.resourceId } };
  };

  const at = `${basePath}/memory/threads`;
  app.get(
    at,
    described({
      summary: 'The threads of a resource',
      tag: 'memory',
      query: listFields,
      schema: 'Threads',
      errors: ['agent-not-found', 'forbidden', 'invalid-option'],
    }),
    async (c) => {
      const identity = c.get('identity');
      const { agentId, cursor, ...query } = queryOf(c, listFields);
      const { memory } = await threadsOf(agentId);
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
  const errors = ['agent-not-found', 'thread-not-found'] as const;
  app.get(
    `${at}/:threadId`,
    described({
      summary: 'A thread',
      tag: 'memory',
      path,
      query: threadFields,
      schema: 'Thread',
      errors,
    }),
    async (c) => {
      const { agentId } = queryOf(c, threadFields);
      const { memory, ids } = await found(c.get('identity'), c.req.param('threadId'), agentId);
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
      schema: 'Messages',
      errors,
    }),
    async (c) => {
      const query = queryOf(c, messageFields);
      const { page = 0, perPage = 100 } = pageOf(query);
      const { memory, ids } = await found(c.get('identity'), c.req.param('threadId'), query.agentId);
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
