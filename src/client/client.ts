import { ClientAgent } from './agent.ts';
import type { AgentDetails, ThreadMessages, Threads } from './answers.ts';
import { ApprovalsClient, DecisionsClient } from './approvals.ts';
import {
  type ListMemoryThreadsOptions,
  type ListMessagesOptions,
  listMessages,
  listThreads,
  MemoryThread,
} from './memory.ts';
import { RunsClient } from './runs.ts';
import { type ClientOptions, type RequestOptions, type Transport, transportOf } from './transport.ts';

/**
 * Agents and approvals behind a Countersign server, from pages and processes that have nothing but `fetch`. Every
 * method takes an `abortSignal`, and throws `CountersignClientError`.
 * @example const client = new CountersignClient({ baseUrl: 'https://agents.example.com' });
 */
export class CountersignClient extends RunsClient {
  readonly approvals: ApprovalsClient;
  readonly decisions: DecisionsClient;
  readonly #transport: Transport;

  constructor(options: ClientOptions) {
    const transport = transportOf(options);
    super(transport);
    this.#transport = transport;
    this.approvals = new ApprovalsClient(this.#transport);
    this.decisions = new DecisionsClient(this.#transport);
  }

  /** The agents of the server by their keys. */
  listAgents({ abortSignal }: RequestOptions = {}): Promise<Readonly<Record<string, AgentDetails>>> {
    return this.#transport.json({ path: '/agents', abortSignal, isRepeatable: true });
  }

  getAgent(id: string): ClientAgent {
    return new ClientAgent(this.#transport, id);
  }

  listMemoryThreads(options: ListMemoryThreadsOptions = {}): Promise<Threads> {
    return listThreads(this.#transport, options);
  }

  getMemoryThread({
    threadId,
    agentId,
  }: {
    readonly threadId: string;
    readonly agentId?: string | undefined;
  }) {
    return new MemoryThread(this.#transport, threadId, agentId);
  }

  listThreadMessages(threadId: string, options: ListMessagesOptions = {}): Promise<ThreadMessages> {
    return listMessages(this.#transport, threadId, options);
  }
}
