/**
 * A leg as server-sent events: `data: <json>` for each chunk, then `data: [DONE]`. A client that goes away, or reads
 * slowly, changes nothing for the run.
 */
import { CountersignError, isCountersignError, messageOf } from '../core/errors.ts';
import { errorInChunk } from './problem.ts';

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

/**
 * @param leave called once, when the last event was read or the client is gone.
 * @param warn told of chunks that cannot be written as JSON; they are left out.
 */
export function eventStream(
  { runId, fullStream, headers: more = {} }: Told,
  leave: () => void,
  warn: (message: string) => void,
): Response {
  const reader = fullStream.getReader();
  const encoder = new TextEncoder();
  const end = (controller: ReadableStreamDefaultController<Uint8Array>, last = ''): void => {
    controller.enqueue(encoder.encode(`${last}data: [DONE]\n\n`));
    controller.close();
    leave();
  };
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          for (;;) {
            const { done, value } = await reader.read();
            if (done) return end(controller);
            const text = textOf(value, runId, warn);
            if (text === undefined) continue;
            controller.enqueue(encoder.encode(`data: ${text}\n\n`));
            return;
          }
        } catch (error) {
          const told = isCountersignError(error)
            ? error
            : new CountersignError('store-failed', 'The stream cannot be read any more.', { runId });
          const chunk = { type: 'error', runId, from: 'AGENT', payload: { error: told } };
          end(controller, `data: ${JSON.stringify(chunk, withErrors)}\n\n`);
        }
      },
      cancel() {
        leave();
        // What is waited for may come much later; nobody here waits with it.
        void reader.cancel().catch(() => {});
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(body, { headers: { ...headers, ...more } });
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
export function withErrors(this: unknown, key: string, value: unknown): unknown {
  const original = (this as Record<string, unknown>)[key];
  return original instanceof Error || isCountersignError(original) ? errorInChunk(original) : value;
}
