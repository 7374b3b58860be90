/** Threads and their messages, to read. */
import type { Thread, ThreadMessages, Threads } from './answers.ts';
import { pathOf, type RequestOptions, type Transport } from './transport.ts';

export interface ListMemoryThreadsOptions extends RequestOptions {
  /** Default: your own. */
  readonly resourceId?: string | undefined;
  /** Whose memory is asked. Left out: the registry's store. */
  readonly agentId?: string | undefined;
  readonly perPage?: number | undefined;
  readonly page?: number | undefined;
  readonly cursor?: string | undefined;
}

export interface ListMessagesOptions extends RequestOptions {
  readonly agentId?: string | undefined;
  /** Whose it is meant to be: of anybody else it is not found. */
  readonly resourceId?: string | undefined;
  readonly perPage?: number | undefined;
  /** Page 0 has the newest. */
  readonly page?: number | undefined;
}

export function listThreads(
  transport: Transport,
  { abortSignal, ...query }: ListMemoryThreadsOptions,
): Promise<Threads> {
  return transport.json({ path: '/memory/threads', query, abortSignal, isRepeatable: true });
}

export async function listMessages(
  transport: Transport,
  threadId: string,
  { abortSignal, ...query }: ListMessagesOptions,
): Promise<ThreadMessages> {
  const path = pathOf`/memory/threads/${threadId}/messages`;
  return transport.json({ path, query, abortSignal, isRepeatable: true });
}

/** Made by `client.getMemoryThread({ threadId, agentId })`. */
export class MemoryThread {
  readonly threadId: string;
  readonly agentId: string | undefined;
  readonly #transport: Transport;

  /** @internal */
  constructor(transport: Transport, threadId: string, agentId: string | undefined) {
    this.#transport = transport;
    this.threadId = threadId;
    this.agentId = agentId;
  }

  async get({ abortSignal }: RequestOptions = {}): Promise<Thread> {
    const { threadId, agentId } = this;
    const path = pathOf`/memory/threads/${threadId}`;
    return this.#transport.json({ path, query: { agentId }, abortSignal, isRepeatable: true });
  }

  listMessages(options: ListMessagesOptions = {}): Promise<ThreadMessages> {
    return listMessages(this.#transport, this.threadId, { agentId: this.agentId, ...options });
  }
}
