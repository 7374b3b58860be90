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
import type { RunStream } from './run-stream.ts';
import {
  type Cancelled,
  type CancelOptions,
  cancelRun,
  continueRun,
  type ObserveOptions,
  observe,
  type RunOptions,
} from './runs.ts';
import { type ClientOptions, type RequestOptions, type Transport, transportOf } from './transport.ts';

/**
 * Agents and approvals behind a Countersign server, from pages and processes that have nothing but `fetch`. Every
 * method takes an `abortSignal`, and throws `CountersignClientError`.
 * @example const client = new CountersignClient({ baseUrl: 'https://agents.example.com' });
 */
export class CountersignClient {
  readonly approvals: ApprovalsClient;
  readonly decisions: DecisionsClient;
  readonly #transport: Transport;

  constructor(options: ClientOptions) {
    this.#transport = transportOf(options);
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

  /** Follows a run of any agent until it waits or has ended. */
  observe(options: ObserveOptions): Promise<RunStream> {
    return observe(this.#transport, options);
  }

  /** Tries the failed model call of a stalled run again; nothing that ran runs again. The run goes on by itself. */
  continueRun(options: RunOptions): Promise<{ readonly accepted: true; readonly runId: string }> {
    return continueRun(this.#transport, options);
  }

  /** Ends a run: what waits is cancelled, what runs is awaited. */
  cancelRun(options: CancelOptions): Promise<Cancelled> {
    return cancelRun(this.#transport, options);
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
