/** Owns how a request leaves and how its answer comes back: address, headers, what is sent again, what is an error. */
import { badAnswer, CountersignClientError, connectionFailed, errorOf } from './errors.ts';
import { type Wait, wait as waitFor } from './wait.ts';

export interface ClientOptions {
  /** Where the server is, without `apiPrefix`: 'https://agents.example.com'. '' for the page's own origin. */
  readonly baseUrl: string;
  /** What the server calls `basePath`. Default '/api'. */
  readonly apiPrefix?: string | undefined;
  /** Sent with each request. A function is asked before each: for tokens that change. */
  readonly headers?: Headers | (() => Headers | Promise<Headers>) | undefined;
  /** What sends requests. Default: the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
  /** Whether cookies go along, as `fetch` has it. */
  readonly credentials?: 'omit' | 'same-origin' | 'include' | undefined;
  /** How often what may safely be sent again is, when there was no answer. Default 3. Starts of runs never are. */
  readonly retries?: number | undefined;
  /** Milliseconds before the first of these; each waits twice as long. Default 200. */
  readonly backoffMs?: number | undefined;
  /** Default 5,000. */
  readonly maxBackoffMs?: number | undefined;
  /** Ends everything that this client reads. */
  readonly abortSignal?: AbortSignal | undefined;
}

type Headers = Readonly<Record<string, string>>;

/** Of every call: ends the request, or the reading of its answer. It never cancels a run. */
export interface RequestOptions {
  readonly abortSignal?: AbortSignal | undefined;
}

export interface ClientRequest extends RequestOptions {
  /** Below `apiPrefix`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | Date | undefined>>;
  readonly headers?: Headers;
  /** Given, it is a POST. */
  readonly body?: object;
  /** Whether it does no harm twice. */
  readonly isRepeatable: boolean;
}

export interface Transport {
  /** The JSON of an answer. */
  json<Answer>(request: ClientRequest): Promise<Answer>;
  /** An answer of server-sent events, unread. */
  events(request: ClientRequest): Promise<EventAnswer>;
  /** What ends a request: its own signal, or that of the client. */
  signalOf(abortSignal: AbortSignal | undefined): AbortSignal | undefined;
  readonly wait: Wait;
}

export interface EventAnswer {
  readonly response: Response;
  readonly body: ReadableStream<Uint8Array>;
  readonly signal: AbortSignal | undefined;
}

/** Longer than this nobody waits here for a server that says when it will be back. */
const maxRetryAfter = 30;

/** @param wait how time passes; tests give their own. */
export function transportOf(options: ClientOptions, wait: Wait = waitFor): Transport {
  const { retries = 3, backoffMs = 200, maxBackoffMs = 5000 } = options;

  const signalOf: Transport['signalOf'] = (abortSignal) =>
    options.abortSignal && abortSignal
      ? AbortSignal.any([options.abortSignal, abortSignal])
      : (abortSignal ?? options.abortSignal);

  const answered = async <T>(
    request: ClientRequest,
    read: (response: Response, signal: AbortSignal | undefined) => Promise<T>,
  ): Promise<T> => {
    const signal = signalOf(request.abortSignal);
    for (let attempt = 0; ; attempt++) {
      try {
        return await read(await send(options, request, signal), signal);
      } catch (error) {
        signal?.throwIfAborted();
        if (!request.isRepeatable || attempt >= retries || !isPassing(error)) throw error;
        const { retryAfter = 0 } = error.details;
        if (retryAfter > maxRetryAfter) throw error;
        await wait(Math.max(Math.min(backoffMs * 2 ** attempt, maxBackoffMs), retryAfter * 1000), signal);
      }
    }
  };

  return {
    wait,
    signalOf,
    json: (request) =>
      answered(request, async (response) => {
        const text = await response.text().catch((cause) => {
          throw connectionFailed('The answer broke off.', { cause });
        });
        try {
          return JSON.parse(text);
        } catch {
          throw badAnswer(response, 'JSON');
        }
      }),
    events: (request) =>
      answered(request, async (response, signal) => {
        const { body } = response;
        const isStream = response.headers.get('content-type')?.startsWith('text/event-stream');
        if (body && isStream) return { response, body, signal };
        body?.cancel().catch(() => {});
        throw badAnswer(response, 'server-sent events');
      }),
  };
}

/** Whether the same request may be answered otherwise a little later. */
function isPassing(error: unknown): error is CountersignClientError {
  if (!(error instanceof CountersignClientError)) return false;
  const { code, status } = error;
  return status === 503 || (code === 'bad-answer' && (status === 502 || status === 504));
}

/** A path with ids in it. */
export function pathOf(strings: TemplateStringsArray, ...ids: readonly string[]): string {
  // Addresses with these lead elsewhere, even when they are escaped.
  if (ids.some((id) => id === '' || id === '.' || id === '..')) {
    throw new CountersignClientError({
      error: 'An id is none that a server gives.',
      code: 'invalid-request',
      status: 400,
      expected: 'ids as the server gave them',
    });
  }
  return String.raw({ raw: strings }, ...ids.map(encodeURIComponent));
}

/** An answer of success. */
async function send(
  { baseUrl, apiPrefix = '/api', headers = {}, credentials, ...options }: ClientOptions,
  { path, query = {}, body, headers: more }: ClientRequest,
  signal: AbortSignal | undefined,
): Promise<Response> {
  signal?.throwIfAborted();
  const asked = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) asked.set(name, value instanceof Date ? value.toISOString() : String(value));
  }
  const prefix = apiPrefix.replace(/^\/?/, '/').replace(/\/$/, '');
  const search = `${asked}` === '' ? '' : `?${asked}`;
  const init: RequestInit = {
    headers: {
      ...(body ? { 'content-type': 'application/json' } : {}),
      ...(typeof headers === 'function' ? await headers() : headers),
      ...more,
    },
    ...(body ? { method: 'POST', body: JSON.stringify(body) } : {}),
    ...(credentials ? { credentials } : {}),
    ...(signal ? { signal } : {}),
  };
  // Called by itself: the browser's own refuses to be a method of something else.
  const request = options.fetch ?? globalThis.fetch;
  let response: Response;
  try {
    response = await request(`${baseUrl.replace(/\/$/, '')}${prefix}${path}${search}`, init);
  } catch (cause) {
    throw connectionFailed('The server cannot be reached.', { cause });
  }
  if (response.ok) return response;
  throw await errorOf(response);
}
