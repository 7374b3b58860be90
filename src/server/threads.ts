/** Where the threads of an agent are. */
import { Memory, memoryInside } from '../agent/memory.ts';
import { subAgent } from '../agent/types.ts';
import type { ThreadPlaces } from '../conversation/thread.ts';
import { RequestContext } from '../core/context.ts';
import type { ServerParts } from './parts.ts';

/** Where threads are, and what reads them. */
export interface Threads {
  readonly memory: Memory;
  readonly places: ThreadPlaces;
  /** Whether the agent itself has this memory. */
  readonly isOwn: boolean;
}

/** The threads of an agent whose memory has a storage of its own, or those of the registry's store. */
export async function threadsOf(
  { countersign, worker, memory: shared }: ServerParts,
  agentId: string | undefined,
): Promise<Threads> {
  const given = agentId === undefined ? undefined : countersign.getAgent(agentId)[subAgent].config.memory;
  const requestContext = new RequestContext();
  const chosen: unknown = typeof given === 'function' ? await given({ requestContext }) : given;
  const isOwn = chosen instanceof Memory;
  const memory = isOwn ? chosen : shared;
  const own = isOwn ? memory[memoryInside].placesFor(worker) : undefined;
  return { memory, places: own ?? { threads: worker.store.threads, runs: [worker.store] }, isOwn };
}
