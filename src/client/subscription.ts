/** Owns that a subscription misses nothing: it connects again, and says where it was. */
import type { Person, Verdict } from '../core/event.ts';
import { badAnswer, CountersignClientError, connectionFailed } from './errors.ts';
import { eventsOf, type ReadBytes, type SseEvent } from './sse.ts';
import type { RequestOptions, Transport } from './transport.ts';
import type { Wait } from './wait.ts';

export interface SubscribeOptions extends RequestOptions {
  /** Goes on after this event, in place of now. */
  readonly lastEventId?: string | undefined;
  readonly agentId?: string | undefined;
  readonly toolName?: string | undefined;
  readonly threadId?: string | undefined;
  readonly resourceId?: string | undefined;
  /** Told each time that the connection is gone, before it is tried again. */
  readonly onDisconnect?: ((error: CountersignClientError) => void) | undefined;
}

interface CallEvent {
  /** Where it is in the stream: what `lastEventId` takes. */
  readonly id: string;
  readonly runId: string;
  readonly toolCallId: string;
  readonly stop: number;
  readonly agentId: string;
  readonly toolName: string;
  readonly threadId?: string;
  readonly resourceId?: string;
  /** Milliseconds since 1970. */
  readonly at: number;
}

export type ApprovalEvent =
  /** Nothing is missed from here on: list what waits now. */
  | { readonly type: 'ready'; readonly id: string }
  /** What happened since `lastEventId` is not kept any more: list again. */
  | { readonly type: 'reset'; readonly id: string }
  | (CallEvent & { readonly type: 'opened'; readonly kind: 'held' | 'suspended' | 'interrupted' })
  | (CallEvent & {
      readonly type: 'decided';
      readonly decision: { readonly verdict: Verdict; readonly by?: Person; readonly reason?: string };
    })
  | (CallEvent & {
      readonly type: 'settled';
      readonly state: 'finished' | 'failed' | 'declined' | 'cancelled';
    });

/** The server says something at least every 15 seconds. */
const silenceAtMost = 45_000;
const firstDelay = 1000;
/** Whatever the server asks for. */
const shortestDelay = 100;
const longestDelay = 30_000;

/** @param random from 0 to 1: clients that were cut off together shall not all come back together. */
export async function* subscription(
  transport: Transport,
  { lastEventId, abortSignal, onDisconnect, ...query }: SubscribeOptions,
  random: () => number = Math.random,
): AsyncGenerator<ApprovalEvent, void, undefined> {
  const signal = transport.signalOf(abortSignal);
  let last = lastEventId;
  let delay = firstDelay;
  let failures = 0;
  while (!signal?.aborted) {
    let retryAfter = 0;
    let heard = 0;
    const read: ReadBytes = async (reader) => {
      const bytes = await spokenWithin(silenceAtMost, reader.read(), transport.wait);
      // Of a quiet feed only comments come. The first alone is no proof: whatever answers may say something and close.
      if (!bytes.done && ++heard > 1) failures = 0;
      return bytes;
    };
    try {
      const headers: Record<string, string> = last ? { 'last-event-id': last } : {};
      const asked = { path: '/approvals/events', query, headers, abortSignal, isRepeatable: false };
      const { response, body } = await transport.events(asked);
      for await (const event of eventsOf(body, read)) {
        failures = 0;
        last = event.id ?? last;
        delay = Math.max(event.retry ?? delay, shortestDelay);
        yield approvalEvent(event, response);
      }
      throw connectionFailed('The server ended the stream.');
    } catch (error) {
      if (signal?.aborted) return;
      if (!isPassingFor(error)) throw error;
      onDisconnect?.(error);
      retryAfter = (error.details.retryAfter ?? 0) * 1000;
    }
    const longest = Math.max(delay, longestDelay);
    const grown = Math.min(delay * 2 ** failures, longest) * (0.5 + random() / 2);
    failures += 1;
    await transport.wait(Math.max(grown, retryAfter), signal).catch((error) => {
      if (!signal?.aborted) throw error;
    });
  }
}

/** Whatever a server may get over by itself. What it refuses stays refused. */
function isPassingFor(error: unknown): error is CountersignClientError {
  if (!(error instanceof CountersignClientError)) return false;
  const { code, status } = error;
  return status > 500 || status === 429 || code === 'internal';
}

/** A connection that is gone without a word is only noticed by its silence. */
async function spokenWithin<T>(milliseconds: number, read: Promise<T>, wait: Wait): Promise<T> {
  const timer = new AbortController();
  const silence = wait(milliseconds, timer.signal).then(() => {
    throw connectionFailed('Nothing was heard for too long.');
  });
  try {
    return await Promise.race([
      read.catch((cause) => {
        throw connectionFailed('The stream broke off.', { cause });
      }),
      silence,
    ]);
  } finally {
    timer.abort();
  }
}

function approvalEvent({ id = '', event, data }: SseEvent, response: Response): ApprovalEvent {
  try {
    return { type: event, id, ...JSON.parse(data) };
  } catch {
    throw badAnswer(response, 'events with JSON');
  }
}
