/** The threads of a store in memory: those of each resource in the order of their list, messages in that of their keys. */
import type {
  MessageQuery,
  MessageRow,
  ThreadPage,
  ThreadRow,
  ThreadStore,
  Transcript,
} from '../core/store.ts';
import { compareTexts, countLimit, type Position, startOf, threadPageOf } from './listing.ts';
import { compareKeys, keyOf } from './message-keys.ts';
import { countAfter, countWhile, sortedLists } from './sorted-lists.ts';

interface StoredThread {
  /** With the metadata as JSON: it shares nothing with callers. */
  row: Omit<ThreadRow, 'metadata'> & { readonly metadata?: string };
  /** In the order of their keys. */
  readonly messages: MessageRow[];
  readonly byId: Map<string, MessageRow>;
}

interface Entry extends Position {
  readonly thread: StoredThread;
}

export interface MemoryThreads {
  readonly store: ThreadStore;
  /** Messages of any threads, each as `ThreadStore.save` keeps it. */
  keep(messages: readonly MessageRow[], at: number): void;
  clear(): void;
}

/** @param assertOpen throws when the store is closed. */
export function memoryThreads(assertOpen: () => void): MemoryThreads {
  const threads = new Map<string, StoredThread>();
  const byResource = sortedLists<Entry>();

  function create({ threadId, resourceId, title, metadata, createdAt, updatedAt }: ThreadRow): ThreadRow {
    const known = threads.get(threadId);
    if (known) return rowFrom(known);
    const row = {
      threadId,
      resourceId,
      ...(title === undefined ? {} : { title }),
      ...(metadata === undefined ? {} : { metadata: JSON.stringify(metadata) }),
      createdAt,
      updatedAt,
    };
    const thread = { row, messages: [], byId: new Map() };
    threads.set(threadId, thread);
    byResource.add(resourceId, { since: updatedAt, id: threadId, thread });
    return rowFrom(thread);
  }

  function list(query: Parameters<ThreadStore['list']>[0]): ThreadPage {
    const start = startOf(query);
    const entries = byResource.of(query.resourceId);
    const first = (start ? countAfter(entries, start) : entries.length) - (query.offset ?? 0);
    const found = entries.slice(Math.max(0, first - query.limit - 1), Math.max(0, first)).reverse();
    const rows = found.map(({ thread }) => rowFrom(thread));
    return threadPageOf(query, rows, Math.min(entries.length, countLimit));
  }

  function remove(threadId: string): boolean {
    const thread = threads.get(threadId);
    if (thread === undefined) return false;
    threads.delete(threadId);
    byResource.drop(thread.row.resourceId, positionOf(thread));
    return true;
  }

  function save(threadId: string, messages: readonly MessageRow[], at: number): boolean {
    const thread = threads.get(threadId);
    if (thread === undefined) return false;
    for (const message of messages) put(thread, message);
    if (at > thread.row.updatedAt) {
      const { resourceId } = thread.row;
      byResource.drop(resourceId, positionOf(thread));
      thread.row = { ...thread.row, updatedAt: at };
      byResource.add(resourceId, { ...positionOf(thread), thread });
    }
    return true;
  }

  function found({ threadId, from, to, last }: MessageQuery): MessageRow[] {
    const messages = threads.get(threadId)?.messages ?? [];
    const start = from ? countWhile(messages, (message) => compareKeys(message, from) < 0) : 0;
    const end = to ? countWhile(messages, (message) => compareKeys(message, to) <= 0) : messages.length;
    const first = last === undefined ? start : Math.max(start, end - last);
    return messages.slice(first, Math.max(first, end));
  }

  return {
    store: {
      async create(thread) {
        assertOpen();
        return create(thread);
      },
      async get(threadId) {
        assertOpen();
        const thread = threads.get(threadId);
        return thread && rowFrom(thread);
      },
      async list(query) {
        assertOpen();
        return list(query);
      },
      async remove(threadId) {
        assertOpen();
        return remove(threadId);
      },
      async messages(query) {
        assertOpen();
        return found(query).map((message) => ({ ...message }));
      },
      async transcript(query) {
        assertOpen();
        return transcriptOf(found(query));
      },
      async save(threadId, messages, at) {
        assertOpen();
        return save(threadId, messages, at);
      },
    },
    keep(messages, at) {
      const byThread = Map.groupBy(messages, ({ threadId }) => threadId);
      for (const [threadId, ofThread] of byThread) save(threadId, ofThread, at);
    },
    clear() {
      threads.clear();
      byResource.clear();
    },
  };
}

function put({ row, messages, byId }: StoredThread, message: MessageRow): void {
  const { threadId } = row;
  const { messageId, at, runId, index, data } = message;
  const known = byId.get(messageId);
  const kept = { threadId, messageId, at, runId, index, ...known, data };
  byId.set(messageId, kept);
  messages.splice(countBefore(messages, kept), known ? 1 : 0, kept);
}

/** How many come before a message, those of the same key by their ids. */
function countBefore(messages: readonly MessageRow[], message: MessageRow): number {
  return countWhile(
    messages,
    (other) => (compareKeys(other, message) || compareTexts(other.messageId, message.messageId)) < 0,
  );
}

function transcriptOf(messages: readonly MessageRow[]): Transcript {
  const [first, last] = [messages[0], messages.at(-1)];
  if (!first || !last) return { texts: '[]' };
  const texts = messages.map(({ data }) => data).reverse();
  return { texts: `[${texts.join(',')}]`, from: keyOf(first), to: keyOf(last) };
}

function positionOf({ row: { updatedAt, threadId } }: StoredThread): Position {
  return { since: updatedAt, id: threadId };
}

function rowFrom({ row: { metadata, ...row } }: StoredThread): ThreadRow {
  return metadata === undefined ? row : { ...row, metadata: JSON.parse(metadata) };
}
