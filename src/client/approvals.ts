/** What waits for a person, over all agents, and what was decided. */
import type { DecisionRecord } from '../core/store.ts';
import type { Approvals, CallDetails, Decisions, Recorded } from './answers.ts';
import { type DecisionWords, decisionBody } from './decision.ts';
import { type ApprovalEvent, type SubscribeOptions, subscription } from './subscription.ts';
import { pathOf, type RequestOptions, type Transport } from './transport.ts';

export interface ListApprovalsOptions extends RequestOptions {
  readonly agentId?: string | undefined;
  readonly toolName?: string | undefined;
  readonly threadId?: string | undefined;
  readonly resourceId?: string | undefined;
  /** Default 'suspended': calls that a decision can move now. */
  readonly status?: 'suspended' | 'interrupted' | 'all' | undefined;
  readonly fromDate?: Date | undefined;
  readonly toDate?: Date | undefined;
  /** By the run that stopped last. Default 'newest' first. */
  readonly order?: 'newest' | 'oldest' | undefined;
  /** Runs in a page: each comes with all its calls. */
  readonly perPage?: number | undefined;
  readonly cursor?: string | undefined;
}

export interface CallIds {
  readonly runId: string;
  readonly toolCallId: string;
}

/** A decision on what was listed or announced; `stop` says what the person saw. */
export interface ApprovalDecision extends CallIds, DecisionWords {
  readonly stop: number;
}

/** What became of an interrupted call. */
export type Resolution =
  | {
      /** Run it again: it did not happen, or twice does no harm. */
      readonly runAgain: true;
      readonly output?: undefined;
      readonly error?: undefined;
    }
  | {
      /** It happened, and this is its result. */
      readonly output: unknown;
      readonly runAgain?: undefined;
      readonly error?: undefined;
    }
  | {
      /** It failed, in words. */
      readonly error: string;
      readonly runAgain?: undefined;
      readonly output?: undefined;
    };

/** `client.approvals`. A decision answers as soon as it is recorded; the run goes on by itself. */
export class ApprovalsClient {
  readonly #transport: Transport;

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  list({ abortSignal, ...query }: ListApprovalsOptions = {}): Promise<Approvals> {
    return this.#transport.json({ path: '/approvals', query, abortSignal, isRepeatable: true });
  }

  /** A call as it stands, with its decisions, and whether you may decide it. */
  async get({ runId, toolCallId, abortSignal }: CallIds & RequestOptions): Promise<CallDetails> {
    const path = pathOf`/approvals/${runId}/${toolCallId}`;
    return this.#transport.json({ path, abortSignal, isRepeatable: true });
  }

  approve(decision: ApprovalDecision): Promise<Recorded> {
    return this.#decide('approve', decision);
  }

  decline(decision: ApprovalDecision): Promise<Recorded> {
    return this.#decide('decline', decision);
  }

  /** Gives a call that suspended itself what it asked for. */
  resume(decision: ApprovalDecision & { readonly data: unknown }): Promise<Recorded> {
    return this.#decide('resume', decision);
  }

  /** Says what became of an interrupted call. */
  resolve(decision: ApprovalDecision & Resolution): Promise<Recorded> {
    return this.#decide('resolve', decision);
  }

  /**
   * What opens, is decided and is settled, as it happens, on whichever server. Connects again by itself, where it was,
   * for as long as it is read. List what waits when you get `ready` or `reset`.
   * @returns without `onEvent` the events, to be read once; with it a promise that is kept when `abortSignal` ends it.
   * @throws what the server refuses (401, 403 …).
   */
  subscribe(options: SubscribeOptions & { onEvent(event: ApprovalEvent): unknown }): Promise<void>;
  subscribe(options?: SubscribeOptions): AsyncIterable<ApprovalEvent>;
  subscribe({
    onEvent,
    ...options
  }: SubscribeOptions & { onEvent?(event: ApprovalEvent): unknown } = {}):
    | AsyncIterable<ApprovalEvent>
    | Promise<void> {
    const events = subscription(this.#transport, options);
    if (onEvent === undefined) return events;
    return (async () => {
      for await (const event of events) await onEvent(event);
    })();
  }

  async #decide(verb: string, { runId, toolCallId, ...decision }: ApprovalDecision): Promise<Recorded> {
    const path = `${pathOf`/approvals/${runId}/${toolCallId}`}/${verb}`;
    return this.#transport.json({ path, ...decisionBody(decision) });
  }
}

export interface ListDecisionsOptions extends RequestOptions {
  readonly agentId?: string | undefined;
  readonly toolName?: string | undefined;
  readonly threadId?: string | undefined;
  readonly resourceId?: string | undefined;
  readonly runId?: string | undefined;
  /** Who decided: the id. */
  readonly by?: string | undefined;
  readonly verdict?: DecisionRecord['verdict'] | undefined;
  readonly fromDate?: Date | undefined;
  readonly toDate?: Date | undefined;
  /** Default 'newest' first. */
  readonly order?: 'newest' | 'oldest' | undefined;
  readonly perPage?: number | undefined;
  readonly cursor?: string | undefined;
}

/** `client.decisions`: the record of who decided what. */
export class DecisionsClient {
  readonly #transport: Transport;

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  list({ abortSignal, ...query }: ListDecisionsOptions = {}): Promise<Decisions> {
    return this.#transport.json({ path: '/decisions', query, abortSignal, isRepeatable: true });
  }
}
