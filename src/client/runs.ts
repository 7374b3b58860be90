/** Follows runs, whoever drives them, continues those that are stalled, and ends them. */
import { type RunStream, runStream } from './run-stream.ts';
import { pathOf, type RequestOptions, type Transport } from './transport.ts';

export interface ObserveOptions extends RequestOptions {
  readonly runId: string;
  /** Leaves out what a leg told before: its events so far. Default: from the beginning. */
  readonly afterEvent?: number | undefined;
}

export interface RunOptions extends RequestOptions {
  readonly runId: string;
}

export interface CancelOptions extends RunOptions {
  readonly reason?: string | undefined;
}

export interface Cancelled {
  readonly runId: string;
  /** `cancelling`: a tool still runs, and is awaited. */
  readonly status: 'cancelled' | 'cancelling';
}

/** What is asked of runs of whatever agent: the client has it, and each of its agents. */
export class RunsClient {
  readonly #transport: Transport;

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Follows a run until it waits or has ended. */
  async observe({ runId, afterEvent, abortSignal }: ObserveOptions): Promise<RunStream> {
    const path = pathOf`/runs/${runId}/events`;
    const query = { afterEvent };
    return runStream(await this.#transport.events({ path, query, abortSignal, isRepeatable: true }));
  }

  /**
   * Tries the failed model call of a stalled run again; nothing that ran runs again. The run goes on by itself. It is
   * sent once.
   */
  async continueRun({
    runId,
    abortSignal,
  }: RunOptions): Promise<{ readonly accepted: true; readonly runId: string }> {
    const path = pathOf`/runs/${runId}/continue`;
    return this.#transport.json({ path, body: {}, abortSignal, isRepeatable: false });
  }

  /** Ends a run: what waits is cancelled, what runs is awaited. It is sent once. */
  async cancelRun({ runId, abortSignal, ...body }: CancelOptions): Promise<Cancelled> {
    const path = pathOf`/runs/${runId}/cancel`;
    return this.#transport.json({ path, body, abortSignal, isRepeatable: false });
  }
}
