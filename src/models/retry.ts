/** Owns when a failed model call is tried again, and how long it waits before. */
import pRetry from 'p-retry';

export interface Retrying {
  /** How often at most, after the first attempt. */
  readonly maxRetries: number;
  readonly abortSignal: AbortSignal;
  /** Whether a failure leaves nothing behind, so that trying again repeats nothing. */
  mayRepeat(): boolean;
  /** Waits, in milliseconds. Must reject when the signal aborts. */
  readonly sleep: Sleep;
}

export type Sleep = (milliseconds: number, signal: AbortSignal) => Promise<void>;

const firstDelay = 2000;
const longestDelay = 60_000;

/**
 * Runs an attempt until it succeeds, fails for good, or has been tried again `maxRetries` times. What it throws is
 * looked at through its `cause`.
 */
export async function withRetries<T>(attempt: () => Promise<T>, retrying: Retrying): Promise<T> {
  const { abortSignal, maxRetries, mayRepeat, sleep } = retrying;
  abortSignal.throwIfAborted();
  const first = attempt();
  // Nearly every first attempt succeeds, and needs nothing of what the library sets up.
  return first.catch(() =>
    pRetry((number) => (number === 1 ? first : attempt()), {
      retries: maxRetries,
      signal: abortSignal,
      // The library must not wait by itself: it cannot know what the response's headers ask for.
      minTimeout: 0,
      async shouldRetry({ error, retriesConsumed }) {
        if (!mayRepeat() || !isRetryable(error)) return false;
        await sleep(delayOf(error, retriesConsumed), abortSignal);
        return true;
      },
    }),
  );
}

/** Waits by the clock of the machine. */
export const sleep: Sleep = (milliseconds, signal) =>
  new Promise((resolve, reject) => {
    const abort = (): void => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', abort);
      resolve();
    }, milliseconds);
    signal.addEventListener('abort', abort, { once: true });
  });

const networkCodes: ReadonlySet<string> = new Set([
  'ConnectionClosed',
  'ConnectionRefused',
  'EAI_AGAIN',
  'ECONNABORTED',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
  'FailedToOpenSocket',
  'UND_ERR_BODY_TIMEOUT',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_SOCKET',
]);

interface Failure {
  readonly isRetryable?: unknown;
  readonly code?: unknown;
  readonly responseHeaders?: Readonly<Record<string, string | undefined>> | undefined;
  readonly cause?: unknown;
}

/** An error that says it is retryable, or one of the network. The first word in the chain of causes counts. */
export function isRetryable(error: unknown): boolean {
  for (const failure of chainOf(error)) {
    if (typeof failure.isRetryable === 'boolean') return failure.isRetryable;
    if (typeof failure.code === 'string' && networkCodes.has(failure.code)) return true;
  }
  return false;
}

/** Twice as long each time from 2 s, unless the provider says how long (up to a minute), as the AI SDK has it. */
export function delayOf(error: unknown, retries: number, now = Date.now()): number {
  const usual = firstDelay * 2 ** retries;
  const headers = chainOf(error).find((failure) => failure.responseHeaders)?.responseHeaders;
  const asked = headers && askedDelay(headers, now);
  return asked !== undefined && asked >= 0 && (asked < longestDelay || asked < usual) ? asked : usual;
}

function askedDelay(headers: Readonly<Record<string, string | undefined>>, now: number): number | undefined {
  const milliseconds = Number.parseFloat(headers['retry-after-ms'] ?? '');
  if (!Number.isNaN(milliseconds)) return milliseconds;
  const after = headers['retry-after'];
  if (after === undefined) return undefined;
  const seconds = Number.parseFloat(after);
  const asked = Number.isNaN(seconds) ? Date.parse(after) - now : seconds * 1000;
  return Number.isNaN(asked) ? undefined : asked;
}

function chainOf(error: unknown): Failure[] {
  const chain: Failure[] = [];
  let current = error;
  while (typeof current === 'object' && current !== null && chain.length < 10) {
    chain.push(current as Failure);
    current = (current as Failure).cause;
  }
  return chain;
}
