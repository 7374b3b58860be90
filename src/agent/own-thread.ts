/** Owns that a thread is its resource's alone: another resource learns nothing of it. */
import type { ConversationIds } from '../conversation/thread.ts';
import { CountersignError } from '../core/errors.ts';
import { type JsonObject, toJson } from '../core/json.ts';
import type { ThreadRow, ThreadStore } from '../core/store.ts';

/** A conversation. It belongs to its resource: a user, a tenant, whatever your ids mean. */
export interface Thread {
  readonly id: string;
  readonly resourceId: string;
  readonly title?: string;
  readonly metadata?: JsonObject;
  readonly createdAt: Date;
  /** When something was last said in it. */
  readonly updatedAt: Date;
}

/** The thread, made if it is not there. @throws `thread-not-found` when it is another resource's. */
export async function ensureThread(
  threads: ThreadStore,
  options: ConversationIds & { readonly title?: string | undefined; readonly metadata?: object | undefined },
  now: number,
): Promise<ThreadRow> {
  const { threadId, resourceId, title, metadata } = options;
  const row =
    (await threads.get(threadId)) ??
    (await threads.create({
      threadId,
      resourceId,
      ...(title === undefined ? {} : { title }),
      ...(metadata === undefined ? {} : { metadata: toJson(metadata, 'metadata') as JsonObject }),
      createdAt: now,
      updatedAt: now,
    }));
  if (row.resourceId !== resourceId) throw threadNotFound(threadId);
  return row;
}

/** The thread. @throws `thread-not-found` when there is none, or it is another resource's. */
export async function ownThread(
  threads: ThreadStore,
  { threadId, resourceId }: ConversationIds,
): Promise<ThreadRow> {
  const row = await threads.get(threadId);
  if (row === undefined || row.resourceId !== resourceId) throw threadNotFound(threadId);
  return row;
}

/** The same whether there is none, or it is another resource's: nothing is told. */
export function threadNotFound(threadId: string): CountersignError {
  return new CountersignError('thread-not-found', `There is no thread "${threadId}" of this resource.`, {
    threadId,
    expected: 'the threadId and the resourceId that the thread was made with',
  });
}

/** As callers see it. */
export function threadFrom({
  threadId,
  resourceId,
  title,
  metadata,
  createdAt,
  updatedAt,
}: ThreadRow): Thread {
  return {
    id: threadId,
    resourceId,
    ...(title === undefined ? {} : { title }),
    ...(metadata === undefined ? {} : { metadata }),
    createdAt: new Date(createdAt),
    updatedAt: new Date(updatedAt),
  };
}
