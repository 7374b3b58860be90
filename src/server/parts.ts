/** What the routes of one server share. */
import type { Agent } from '../agent/agent.ts';
import type { Countersign } from '../agent/countersign.ts';
import type { Memory } from '../agent/memory.ts';
import type { Worker } from '../agent/worker.ts';
import type { Access } from './access.ts';
import type { FeedTail } from './feed-tail.ts';
import type { places, SetLimits } from './limits.ts';
import type { ServerLogger } from './log.ts';

/** What a body may say beside what every body may. */
export interface Accept {
  /** Names of options of `stream` and `generate`. */
  readonly options?: readonly string[] | undefined;
  /** Keys of the request context. */
  readonly requestContext?: readonly string[] | undefined;
}

export interface Accepted {
  readonly options: readonly string[];
  readonly requestContext: readonly string[];
}

export interface ServerParts {
  readonly countersign: Countersign;
  readonly worker: Worker;
  /** Reads the threads of the registry's store, for agents without a memory of their own. */
  readonly memory: Memory;
  /** The agents and all below them. */
  readonly agents: ReadonlyMap<string, Agent>;
  readonly access: Access;
  readonly accept: Accepted;
  readonly limits: SetLimits;
  /** Places for open streams. */
  readonly streams: ReturnType<typeof places>;
  readonly feed: FeedTail;
  readonly logger: ServerLogger;
  readonly basePath: string;
}
