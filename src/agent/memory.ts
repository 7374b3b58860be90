/** `Memory`: the conversations of agents, kept in a store. */

import { type ConversationIds, openRunsOf, saidInThread, type ThreadPlaces } from '../conversation/thread.ts';
import { CountersignError, isCountersignError } from '../core/errors.ts';
import type { Store, ThreadStore } from '../core/store.ts';
import type { UIMessage } from '../models/ai-sdk-types.ts';
import { guarded } from './guarded-store.ts';
import { expectedId, isId } from './ids.ts';
import { checkKeys, type KeysOf } from './known-keys.ts';
import { ensureThread, ownThread, type Thread, threadFrom } from './own-thread.ts';
import { checkPage, refuseOption } from './refuse-option.ts';
import { requestCancel } from './request-cancel.ts';
import { type SavedMessage, uiMessagesOf } from './saved-messages.ts';
import { openWorker, systemClock, type Worker } from './worker.ts';

export interface MemoryOptions {
  /** How many of the thread's newest messages an agent is given before the input. Default 40; `false`: none. */
  readonly lastMessages?: number | false | undefined;
  /** Recalls, and writes nothing. */
  readonly readOnly?: boolean | undefined;
  /**
   * What a new turn does while calls of the thread wait for a person. Default 'continue': the model is told which calls
   * wait, and for what. 'refuse': it is `thread-waiting`.
   */
  readonly whenCallsWait?: 'continue' | 'refuse' | undefined;
}

export interface MemoryConfig {
  /** Where threads are kept. Left out: in the store of the agents that have this memory. */
  readonly storage?: Store | undefined;
  readonly options?: MemoryOptions | undefined;
}

export interface ThreadList {
  /** Those last spoken in first. */
  readonly threads: readonly Thread[];
  /** Exact up to 1,000. */
  readonly total: number;
  readonly totalIsAtLeast?: true;
  /** Given when there is another page. */
  readonly cursor?: string;
}

/** Lets agents find what they need. */
export const memoryInside: unique symbol = Symbol('countersign.memory');

/** What an agent knows of its memory. */
export interface MemoryInside {
  readonly options: MemoryOptions;
  /** Says that an agent has it, whose worker is known when it is asked for. */
  adopt(worker: () => Worker): void;
  /** Where the threads of an agent are. @throws `invalid-agent` when they are in another agent's store. */
  placesFor(worker: Worker): ThreadPlaces;
  /** Its own storage, if it has one. */
  readonly elsewhere: ThreadStore | undefined;
}

/** The default of `lastMessages`. */
export const defaultLastMessages = 40;

/**
 * The conversations of agents. Given to an agent as `memory`, it recalls the thread of each run and keeps what is said.
 * Messages are the AI SDK's `UIMessage`s: a chat page loads a thread as it is.
 * A thread belongs to its resource: with another one it is `thread-not-found`, as if it were not there.
 * @example new Agent({ id: 'desk', model, memory: new Memory({ options: { lastMessages: 20 } }) })
 */
export class Memory {
  readonly #storage: Store | undefined;
  readonly #workers = new Set<Worker>();
  #adopter: (() => Worker) | undefined;
  /** @internal */
  readonly [memoryInside]: MemoryInside;

  /** @throws `invalid-option`. */
  constructor(config: MemoryConfig = {}) {
    checkKeys(config, memoryKeys, 'Memory');
    const { storage, options = {} } = config;
    checkMemoryOptions(options);
    this.#storage = storage && guarded(storage);
    this[memoryInside] = {
      options,
      adopt: (worker) => {
        this.#adopter ??= worker;
      },
      placesFor: (worker) => this.#placesFor(worker),
      elsewhere: this.#storage?.threads,
    };
  }

  /** Makes a thread. One of this id that is there already is returned as it is. */
  async createThread(options: {
    readonly threadId?: string | undefined;
    readonly resourceId: string;
    readonly title?: string | undefined;
    readonly metadata?: Record<string, unknown> | undefined;
  }): Promise<Thread> {
    checkKeys(options, { ...idKeys, title: true, metadata: true }, 'createThread');
    const { threadId = crypto.randomUUID(), resourceId } = options;
    checkIds({ threadId, resourceId });
    const { threads } = this.#places();
    return threadFrom(await ensureThread(threads, { ...options, threadId }, this.#now()));
  }

  /** Adds messages after those that are there, in their order: for histories that you bring. */
  async saveMessages(options: {
    readonly threadId: string;
    readonly resourceId: string;
    readonly messages: SavedMessage | readonly SavedMessage[];
  }): Promise<{ messages: UIMessage[] }> {
    checkKeys(options, { ...idKeys, messages: true }, 'saveMessages');
    const { threadId, resourceId } = options;
    checkIds({ threadId, resourceId });
    const messages = uiMessagesOf(options.messages);
    const { threads } = this.#places();
    const now = this.#now();
    await ensureThread(threads, { threadId, resourceId }, now);
    const [last] = await threads.messages({ threadId, last: 1 });
    const at = Math.max(now, (last?.at ?? 0) + 1);
    const rows = messages.map((message, index) => ({
      threadId,
      messageId: message.id,
      at,
      runId: '',
      index,
      data: JSON.stringify(message),
    }));
    await threads.save(threadId, rows, now);
    return { messages };
  }

  /** The messages of a thread, in order, with what its open runs have said up to now. */
  async recall(
    options: ConversationIds & { /** The newest so many. */ readonly last?: number | undefined },
  ): Promise<{ messages: UIMessage[] }> {
    checkKeys(options, { ...idKeys, last: true }, 'recall');
    const { threadId, resourceId, last } = options;
    checkIds({ threadId, resourceId });
    if (last !== undefined && (!Number.isInteger(last) || last < 1))
      refuseOption('last', 'a whole number from 1');
    const places = this.#places();
    await ownThread(places.threads, options);
    const open = await openRunsOf(places, options);
    const { messages } = await saidInThread(places, threadId, { last }, open);
    return { messages: [...messages] };
  }

  /** The threads of a resource. */
  async listThreads(options: {
    readonly resourceId: string;
    /** 1 to 1,000. Default 100. */
    readonly perPage?: number | undefined;
    /** From 0. For deeper pages use `cursor`. */
    readonly page?: number | undefined;
    readonly cursor?: string | undefined;
  }): Promise<ThreadList> {
    checkKeys(options, { resourceId: true, perPage: true, page: true, cursor: true }, 'listThreads');
    const { resourceId, perPage = 100, page = 0, cursor } = options;
    checkIds({ resourceId });
    checkPage({ perPage, page });
    if (cursor !== undefined && typeof cursor !== 'string') refuseOption('cursor', 'a string');
    const { threads } = this.#places();
    const found = await threads.list({ resourceId, limit: perPage, offset: page * perPage, cursor });
    return { ...found, threads: found.threads.map(threadFrom) };
  }

  /** @throws `thread-not-found`. */
  async getThreadById(options: ConversationIds): Promise<Thread> {
    checkKeys(options, idKeys, 'getThreadById');
    const { threadId, resourceId } = options;
    checkIds({ threadId, resourceId });
    return threadFrom(await ownThread(this.#places().threads, options));
  }

  /**
   * Deletes a thread with its messages. Its open runs are cancelled first, and named: those too whose running calls, in
   * another process, are still awaited.
   */
  async deleteThread(options: ConversationIds): Promise<{ deleted: true; cancelledRuns: string[] }> {
    checkKeys(options, idKeys, 'deleteThread');
    const { threadId, resourceId } = options;
    checkIds({ threadId, resourceId });
    const { threads } = this.#places();
    await ownThread(threads, options);
    const cancelled = new Set<string>();
    for (const worker of this.#workers) {
      const open = await openRunsOf({ threads, runs: [worker.store] }, options);
      for (const { started } of open) {
        if (await this.#cancel(worker, started.runId)) cancelled.add(started.runId);
      }
    }
    await threads.remove(threadId);
    return { deleted: true, cancelledRuns: [...cancelled] };
  }

  async #cancel(worker: Worker, runId: string): Promise<boolean> {
    const found = await worker.acquire(runId);
    if (found?.kind !== 'lease') return false;
    found.log.elsewhere = this.#storage?.threads;
    try {
      await requestCancel(found.log, worker, 'Its conversation was deleted.');
      return true;
    } catch (error) {
      if (isCountersignError(error, 'run-ended')) return false;
      throw error;
    } finally {
      found.release();
    }
  }

  #placesFor(worker: Worker): ThreadPlaces {
    if (!this.#storage && this.#workers.size > 0 && !this.#workers.has(worker)) {
      throw new CountersignError('invalid-agent', 'This Memory keeps the threads of another store.', {
        expected: 'a Memory that is shared only by agents of one registry, or one with a storage of its own',
      });
    }
    this.#workers.add(worker);
    return { threads: this.#storage?.threads ?? worker.store.threads, runs: [worker.store] };
  }

  #places(): ThreadPlaces {
    if (this.#workers.size === 0) {
      if (this.#storage) this.#workers.add(openWorker(this.#storage, systemClock, warn));
      else if (this.#adopter) this.#workers.add(this.#adopter());
    }
    const workers = [...this.#workers];
    const threads = this.#storage?.threads ?? workers[0]?.store.threads;
    if (threads) return { threads, runs: workers.map(({ store }) => store) };
    throw new CountersignError('invalid-option', 'This Memory has no store yet.', {
      expected: 'new Memory({ storage }), or an agent that has it as its memory',
    });
  }

  #now(): number {
    const [worker] = this.#workers;
    return (worker?.clock ?? systemClock).now();
  }
}

const warn = (message: string): void => console.warn(`[countersign] ${message}`);

/** @throws `invalid-option`. */
function checkIds(ids: Readonly<Record<string, unknown>>): void {
  for (const [name, id] of Object.entries(ids)) {
    if (!isId(id)) refuseOption(name, expectedId);
  }
}

const idKeys = { threadId: true, resourceId: true } as const satisfies KeysOf<ConversationIds>;

const memoryOptionKeys = {
  lastMessages: true,
  readOnly: true,
  whenCallsWait: true,
} as const satisfies KeysOf<MemoryOptions>;

const memoryKeys = { storage: true, options: true } as const satisfies KeysOf<MemoryConfig>;

/** @throws `invalid-option`. */
export function checkMemoryOptions(options: MemoryOptions): void {
  checkKeys(options, memoryOptionKeys, 'a memory');
  const { lastMessages, readOnly, whenCallsWait } = options;
  if (
    lastMessages !== undefined &&
    lastMessages !== false &&
    (!Number.isInteger(lastMessages) || lastMessages < 1)
  ) {
    refuseOption('lastMessages', 'a whole number from 1, or false');
  }
  if (readOnly !== undefined && typeof readOnly !== 'boolean') refuseOption('readOnly', 'true or false');
  if (whenCallsWait !== undefined && whenCallsWait !== 'continue' && whenCallsWait !== 'refuse') {
    refuseOption('whenCallsWait', "'continue' or 'refuse'");
  }
}
