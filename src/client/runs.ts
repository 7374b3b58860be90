/** Follows runs, whoever drives them, continues those that are stalled, and ends them. */
import { type RunStream, runStream } from './run-stream.ts';
import { pathOf, type RequestOptions, type Transport } from './transport.ts';

export interface ObserveOptions extends RequestOptions {
  readonly runId: string;
  /** Leaves out what a leg told before: its events so far. Default: from the beginning. */
  readonly afterEvent?: number | undefined;
}

export async function observe(
  transport: Transport,
  { runId, afterEvent, abortSignal }: ObserveOptions,
): Promise<RunStream> {
  const path = pathOf`/runs/${runId}/events`;
  return runStream(await transport.events({ path, query: { afterEvent }, abortSignal, isRepeatable: true }));
}

export interface RunOptions extends RequestOptions {
  readonly runId: string;
}

/** Sent once: what became of the run is read. */
export async function continueRun(
  transport: Transport,
  { runId, abortSignal }: RunOptions,
): Promise<{ readonly accepted: true; readonly runId: string }> {
  return transport.json({
    path: pathOf`/runs/${runId}/continue`,
    body: {},
    abortSignal,
    isRepeatable: false,
  });
}

export interface CancelOptions extends RunOptions {
  readonly reason?: string | undefined;
}

/** `cancelling`: a tool still runs, and is awaited. */
export interface Cancelled {
  readonly runId: string;
  readonly status: 'cancelled' | 'cancelling';
}

export async function cancelRun(
  transport: Transport,
  { runId, abortSignal, ...body }: CancelOptions,
): Promise<Cancelled> {
  return transport.json({ path: pathOf`/runs/${runId}/cancel`, body, abortSignal, isRepeatable: false });
}
