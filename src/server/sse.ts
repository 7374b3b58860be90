/**
 * Server-sent events: a leg as `data: <json>` for each chunk, then `data: [DONE]`; and any other source of events. A
 * client that goes away, or reads slowly, changes nothing for the run.
 */
import { CountersignError, isCountersignError, messageOf } from '../core/errors.ts';
import { errorInChunk } from './problem.ts';
import { timer, type Wait } from './timer.ts';

const headers = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store',
  // Proxies that gather an answer before they pass it on would hold back what waits for a person.
  'x-accel-buffering': 'no',
};

/** What is told as events: a leg, or what is made of one. */
export interface Told {
  readonly runId: string;
  readonly fullStream: ReadableStream<{ readonly type: string }>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What is sent to keep a connection open, which proxies end when nothing comes; in milliseconds. */
const silenceAtMost = 15_000;
const comment = ':\n\n';

/** Texts of events, asked for one by one, each when the reader has taken the last. */
export interface EventSource {
  /** Undefined at the end. Never rejects. */
  next(): Promise<string | undefined>;
  /** The reader is gone. */
  cancel(): void;
}

/** @param leave called once, when the last event was read or the client is gone. */
export function eventResponse(
  source: EventSource,
  leave: () => void,
  wait: Wait = timer,
  more: Readonly<Record<string, string>> = {},
): Response {
  const encoder = new TextEncoder();
  let next: Promise<string | undefined> | undefined;
  let stop = (): void => {};
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        next ??= source.next();
        const silence = wait(silenceAtMost);
        ({ stop } = silence);
        const text = await Promise.race([next, silence.over.then(() => comment)]);
        stop();
        if (text !== comment) next = undefined;
        if (text !== undefined) return controller.enqueue(encoder.encode(text));
        controller.close();
        leave();
      },
      cancel() {
        stop();
        leave();
        source.cancel();
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(body, { headers: { ...headers, ...more } });
}

/**
 * @param leave called once, when the last event was read or the client is gone.
 * @param warn told of chunks that cannot be written as JSON; they are left out.
 */
export function eventStream(
  { runId, fullStream, headers: more = {} }: Told,
  leave: () => void,
  warn: (message: string) => void,
  wait?: Wait,
): Response {
  const reader = fullStream.getReader();
  let isDone = false;
  const end = (last = ''): string => {
    isDone = true;
    return `${last}data: [DONE]\n\n`;
  };
  const source: EventSource = {
    async next() {
      if (isDone) return undefined;
      try {
        for (;;) {
          const { done, value } = await reader.read();
          if (done) return end();
          const text = textOf(value, runId, warn);
          if (text !== undefined) return `data: ${text}\n\n`;
        }
      } catch (error) {
        const told = isCountersignError(error)
          ? error
          : new CountersignError('store-failed', 'The stream cannot be read any more.', { runId });
        const chunk = { type: 'error', runId, from: 'AGENT', payload: { error: told } };
        return end(`data: ${JSON.stringify(chunk, withErrors)}\n\n`);
      }
    },
    // What is waited for may come much later; nobody here waits with it.
    cancel: () => void reader.cancel().catch(() => {}),
  };
  return eventResponse(source, leave, wait, more);
}

function textOf(
  chunk: { readonly type: string },
  runId: string,
  warn: (message: string) => void,
): string | undefined {
  try {
    return JSON.stringify(chunk, withErrors);
  } catch (error) {
    warn(`A chunk ${chunk.type} of run ${runId} is no JSON and was left out: ${messageOf(error)}`);
    return undefined;
  }
}

/** Errors with their message and code, wherever they are: also in the chunks of a sub-agent. */
function withErrors(this: unknown, key: string, value: unknown): unknown {
  const original = (this as Record<string, unknown>)[key];
  return original instanceof Error || isCountersignError(original) ? errorInChunk(original) : value;
}
