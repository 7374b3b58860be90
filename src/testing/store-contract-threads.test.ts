import { describe, expect, test } from 'vitest';
import type { Batch, MessageRow, Store, ThreadRow, ThreadStore } from '../core/store.ts';
import { InMemoryStore } from '../store/memory.ts';
import { leftChecks } from './store-contract-left.ts';
import { messageChecks } from './store-contract-messages.ts';
import { sampleThread } from './store-contract-sample.ts';
import { threadChecks } from './store-contract-threads.ts';
import { brokenSentences, worse, worseThreads } from './test-support/worse-store.ts';

type Case<Of, Methods> = readonly [change: (of: Of) => Partial<Methods>, ...sentences: string[]];

const threadCases: Record<string, Case<ThreadStore, ThreadStore>> = {
  'loses titles': [
    (threads) => ({ create: ({ title: _, ...thread }) => threads.create(thread) }),
    'a thread comes back as it was made, with its title and metadata or without',
  ],
  'finds threads whatever their case': [
    (threads) => ({
      get: async (threadId) => (await threads.get(threadId)) ?? threads.get(threadId.toLowerCase()),
    }),
    'there is no thread that nobody made',
  ],
  'tells whoever makes a thread that it is theirs': [
    (threads) => ({ create: async (thread) => threads.create(thread).then(() => thread) }),
    'create of an id that is taken gives what is kept, whosever it is, and changes nothing',
    'of creates of one thread at once one wins, and all are told of it',
  ],
  'looks whether a thread is there before it makes it, and not with it': [
    (threads) => ({
      async create(thread) {
        const known = await threads.get(thread.threadId);
        if (known) return known;
        await threads.create(thread);
        return thread;
      },
    }),
    'of creates of one thread at once one wins, and all are told of it',
  ],
  'trims ids': [
    (threads) => ({
      create: (thread) => threads.create({ ...thread, threadId: thread.threadId.trim() }),
      get: (threadId) => threads.get(threadId.trim()),
    }),
    'thread ids and resource ids that look alike are different',
  ],
  'lists the oldest first': [
    (threads) => ({
      async list(query) {
        const page = await threads.list(query);
        return { ...page, threads: page.threads.toReversed() };
      },
    }),
    'a list of threads shows those last spoken in first, then the lower id, by its bytes',
  ],
  'takes resources of another case for the same': [
    (threads) => ({
      create: (thread) => threads.create({ ...thread, resourceId: thread.resourceId.toLowerCase() }),
    }),
    'a list of threads never shows those of others',
  ],
  'ignores the offset': [
    (threads) => ({ list: ({ offset: _, ...query }) => threads.list(query) }),
    'pages of threads go by offset and by cursor, and meet all once',
  ],
  'counts places instead of keeping one': [
    (threads) => ({
      async list({ cursor = '0', ...query }) {
        const offset = Number(cursor) + (query.offset ?? 0);
        const page = await threads.list({ ...query, offset });
        return page.cursor === undefined ? page : { ...page, cursor: `${offset + query.limit}` };
      },
    }),
    'a cursor of threads stays where it is when threads come, go and are spoken in',
    'a limit, offset or cursor of threads that is none is refused as an invalid option',
  ],
  'counts only the page': [
    (threads) => ({
      async list(query) {
        const page = await threads.list(query);
        return { ...page, total: page.threads.length };
      },
    }),
    'the total of threads is exact up to 1,000, and then says that there are more',
  ],
  'leaves the messages of a thread that is removed': [
    (threads) => {
      const left = new Map<string, readonly MessageRow[]>();
      return {
        async remove(threadId) {
          left.set(threadId, await threads.messages({ threadId }));
          return threads.remove(threadId);
        },
        messages: async (query) => left.get(query.threadId) ?? threads.messages(query),
      };
    },
    'a thread is removed with its messages, and only with its own',
    'when a thread is removed and spoken in at once, no message remains',
  ],
  'says of every thread that it was there': [
    (threads) => ({ remove: (threadId) => threads.remove(threadId).then(() => true) }),
    'remove says false when there is no thread',
  ],
  'keeps the thread that it is given': [
    (threads) => {
      const given = new Map<string, ThreadRow>();
      return {
        create(thread) {
          if (!given.has(thread.threadId)) given.set(thread.threadId, thread);
          return threads.create(thread);
        },
        get: async (threadId) => given.get(threadId),
      };
    },
    'of a thread that is given nothing is kept or changed',
  ],
  'gives messages in another order': [
    (threads) => ({ messages: async (query) => (await threads.messages(query)).toReversed() }),
    'messages come in the order of their keys: by time, by run, by index',
  ],
  'orders runs by UTF-16': [
    (threads) => ({
      messages: async (query) =>
        [...(await threads.messages(query))].sort(
          (a, b) => a.at - b.at || Number(a.runId > b.runId) - Number(a.runId < b.runId) || a.index - b.index,
        ),
    }),
    'messages come in the order of their keys: by time, by run, by index',
  ],
  'leaves the last one of a range out': [
    (threads) => ({
      messages: async ({ to, ...query }) =>
        (await threads.messages({ ...query, to })).filter(
          ({ at, runId, index }) => at !== to?.at || runId !== to.runId || index !== to.index,
        ),
    }),
    'messages are read from a key and to a key, both included',
  ],
  'gives the oldest instead of the newest': [
    (threads) => ({
      messages: async ({ last, ...query }) => (await threads.messages(query)).slice(0, last),
    }),
    'the newest so many of the messages that are asked for come, in order',
  ],
  'tells a transcript in the order of messages': [
    (threads) => ({
      async transcript(query) {
        const { texts, ...places } = await threads.transcript(query);
        return { texts: JSON.stringify(JSON.parse(texts).toReversed()), ...places };
      },
    }),
    'a transcript has what messages say, the newest first, and the places of the first and the last',
  ],
  'places the first of a transcript at the first of the thread': [
    (threads) => ({
      async transcript(query) {
        const { from } = await threads.transcript({ ...query, last: undefined });
        return { ...(await threads.transcript(query)), from };
      },
    }),
    'a transcript has what messages say, the newest first, and the places of the first and the last',
  ],
  'keeps what was said first': [
    (threads) => ({
      async save(threadId, messages, at) {
        const known = new Set((await threads.messages({ threadId })).map(({ messageId }) => messageId));
        return threads.save(
          threadId,
          messages.filter(({ messageId }) => !known.has(messageId)),
          at,
        );
      },
    }),
    'a message whose id is in the thread replaces what is said and keeps its place',
  ],
  'moves a message that is said again': [
    (threads) => {
      const places = new Map<string, MessageRow>();
      return {
        save(threadId, messages, at) {
          for (const message of messages) places.set(message.messageId, message);
          return threads.save(threadId, messages, at);
        },
        messages: async (query) =>
          (await threads.messages(query))
            .map((message) => ({ ...message, at: places.get(message.messageId)?.at ?? message.at }))
            .sort((a, b) => a.at - b.at),
      };
    },
    'a message whose id is in the thread replaces what is said and keeps its place',
  ],
  'never moves a thread on': [
    (threads) => ({ save: (threadId, messages) => threads.save(threadId, messages, 0) }),
    'what is saved moves the thread on, and never back',
    'a list of threads shows those last spoken in first, then the lower id, by its bytes',
  ],
  'moves a thread back': [
    (threads) => {
      const times = new Map<string, number>();
      return {
        save(threadId, messages, at) {
          times.set(threadId, at);
          return threads.save(threadId, messages, at);
        },
        async get(threadId) {
          const thread = await threads.get(threadId);
          return thread && { ...thread, updatedAt: times.get(threadId) ?? thread.updatedAt };
        },
      };
    },
    'what is saved moves the thread on, and never back',
  ],
  'makes a thread that is spoken in': [
    (threads) => ({
      async save(threadId, messages, at) {
        await threads.create(sampleThread(threadId));
        return threads.save(threadId, messages, at);
      },
    }),
    'messages of a thread that is not there are dropped, and save says false',
    'when a thread is removed and spoken in at once, no message remains',
  ],
  'says of dropped messages that they are kept': [
    (threads) => ({ save: (...given) => threads.save(...given).then(() => true) }),
    'messages of a thread that is not there are dropped, and save says false',
  ],
  'keeps one message of an id': [
    (threads) => {
      const texts = new Map<string, string>();
      return {
        save(threadId, messages, at) {
          for (const { messageId, data } of messages) texts.set(messageId, data);
          return threads.save(threadId, messages, at);
        },
        messages: async (query) =>
          (await threads.messages(query)).map((message) => ({
            ...message,
            data: texts.get(message.messageId) as string,
          })),
      };
    },
    'messages of the same ids in different threads do not mix',
  ],
  'cuts texts at NUL': [
    (threads) => ({
      save: (threadId, messages, at) =>
        threads.save(
          threadId,
          messages.map((message) => ({ ...message, data: message.data.split('\\u0000')[0] as string })),
          at,
        ),
    }),
    'messages come back to the letter, however odd or large',
  ],
  'keeps the messages that it is given': [
    (threads) => {
      const given = new Map<string, MessageRow>();
      return {
        save(threadId, messages, at) {
          for (const message of messages) given.set(message.messageId, message);
          return threads.save(threadId, messages, at);
        },
        messages: async (query) =>
          (await threads.messages(query)).map((message) => given.get(message.messageId) ?? message),
      };
    },
    'of messages that are given nothing is kept or changed',
  ],
  'reads a thread, and then writes all of it': [
    (threads) => {
      const kept = new Map<string, readonly MessageRow[]>();
      return {
        async save(threadId, messages, at) {
          const before = kept.get(threadId) ?? [];
          const isThere = await threads.save(threadId, messages, at);
          kept.set(threadId, [...before, ...messages]);
          return isThere;
        },
        messages: async ({ threadId }) => kept.get(threadId) ?? [],
      };
    },
    'messages that are saved at once are all kept',
  ],
  'looks for the thread before it saves, and not with it': [
    (threads) => {
      const orphans = new Map<string, readonly MessageRow[]>();
      return {
        async save(threadId, messages, at) {
          if ((await threads.get(threadId)) === undefined) return false;
          if (!(await threads.save(threadId, messages, at))) orphans.set(threadId, messages);
          return true;
        },
        messages: async (query) => orphans.get(query.threadId) ?? threads.messages(query),
      };
    },
    'when a thread is removed and spoken in at once, no message remains',
  ],
  'remembers what it once read': [
    (threads) => {
      const seen = new Map<string, readonly MessageRow[]>();
      return {
        async messages(query) {
          const messages = seen.get(query.threadId) ?? (await threads.messages(query));
          seen.set(query.threadId, messages);
          return messages;
        },
      };
    },
    'what one handle says in a thread, the other reads at once',
  ],
};

async function saveAll(store: Store, { messages = [] }: Batch, at: number): Promise<void> {
  for (const message of messages) await store.threads.save(message.threadId, [message], at);
}

const storeCases: Record<string, Case<Store, Store>> = {
  'loses the messages of a removal': [
    (store) => ({
      remove: ({ messages: _, ...batch }, outcome, at) => store.remove(batch, outcome, at),
    }),
    'a removal keeps its messages as save would',
  ],
  'makes the threads that a removal speaks in': [
    (store) => ({
      async remove(batch, outcome, at) {
        for (const { threadId } of batch.messages ?? []) await store.threads.create(sampleThread(threadId));
        return store.remove(batch, outcome, at);
      },
    }),
    'a removal drops messages of a thread that is not there, and removes the run',
  ],
  'says what a run leaves before it is removed': [
    (store) => ({
      async remove(batch, outcome, at) {
        await saveAll(store, batch, at);
        return store.remove(batch, outcome, at);
      },
    }),
    'a removal that is refused says nothing in a thread',
    'messages and the end of their run are kept together or not at all',
  ],
  'says what a run leaves each time it is removed': [
    (store) => ({
      async remove(batch, outcome, at) {
        const answer = await store.remove(batch, outcome, at);
        if (answer.ok) await saveAll(store, batch, at);
        return answer;
      },
    }),
    'a removal that is repeated says nothing twice',
  ],
  'loses the delegations that lead to a call': [
    (store) => ({
      create: (batch) => store.create({ ...batch, opened: batch.opened.map(({ path: _, ...call }) => call) }),
    }),
    'a listed call comes with the delegations that lead to it',
  ],
};

const opened = {
  ...Object.fromEntries(Object.entries(threadCases).map(([name, [change]]) => [name, worseThreads(change)])),
  ...Object.fromEntries(Object.entries(storeCases).map(([name, [change]]) => [name, worse(change)])),
};

const sentencesOf: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  Object.entries({ ...threadCases, ...storeCases }).map(([name, [, ...sentences]]) => [name, sentences]),
);

describe('the contract reports a store that', () => {
  test.each(Object.entries(opened))('%s', async (name, open) => {
    expect(await brokenSentences({ open })).toEqual(expect.arrayContaining(sentencesOf[name] as string[]));
  });

  test('forgets its threads when it is closed', async () => {
    const broken = await brokenSentences({
      open: () => new InMemoryStore(),
      openAgain: () => new InMemoryStore(),
    });
    expect(broken).toContain(
      'a database that was closed and opened again holds its threads and their messages',
    );
  });

  test('breaks any sentence about threads', () => {
    const sentences = [...threadChecks, ...messageChecks, ...leftChecks].filter(
      (check) => !check.needsSecond,
    );
    const noticed = new Set(Object.values(sentencesOf).flat());
    expect(sentences.map(({ sentence }) => sentence).filter((sentence) => !noticed.has(sentence))).toEqual(
      [],
    );
  });
});
