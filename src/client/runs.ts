/** Follows runs, whoever drives them. */
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
