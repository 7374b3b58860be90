/** A leg of a run, as it comes over the wire. */
import type { ClientChunk } from './answers.ts';
import { badAnswer, connectionFailed } from './errors.ts';
import { eventsOf } from './sse.ts';
import type { EventAnswer } from './transport.ts';

/**
 * The answer itself, with two ways to read its chunks, once: `processDataStream`, or `for await`. Whoever stops reading
 * ends the connection, and nothing else: the run goes on.
 */
export type RunStream = Response &
  AsyncIterable<ClientChunk> & {
    /**
     * Calls `onChunk` with each chunk, and waits for what it returns.
     * @throws `connection-failed` when the answer breaks off.
     */
    processDataStream(options: { onChunk(chunk: ClientChunk): unknown }): Promise<void>;
  };

export function runStream(answer: EventAnswer): RunStream {
  return Object.assign(answer.response, {
    async processDataStream({ onChunk }: { onChunk(chunk: ClientChunk): unknown }) {
      for await (const chunk of chunksOf(answer)) await onChunk(chunk);
    },
    [Symbol.asyncIterator]: () => chunksOf(answer),
  });
}

async function* chunksOf({
  response,
  body,
  signal,
}: EventAnswer): AsyncGenerator<ClientChunk, void, undefined> {
  let runId: string | undefined;
  const events = eventsOf(body);
  try {
    for (;;) {
      const { done, value } = await events.next().catch((cause) => {
        signal?.throwIfAborted();
        throw brokenOff(runId, cause);
      });
      if (done) break;
      if (value.data === '[DONE]') return;
      const chunk = chunkIn(value.data, response);
      runId = chunk.runId;
      yield chunk;
    }
  } finally {
    await events.return();
  }
  signal?.throwIfAborted();
  throw brokenOff(runId);
}

function chunkIn(data: string, response: Response): ClientChunk {
  try {
    return JSON.parse(data);
  } catch {
    throw badAnswer(response, 'chunks as JSON');
  }
}

function brokenOff(runId: string | undefined, cause?: unknown) {
  return connectionFailed('The stream broke off.', {
    runId,
    todo: 'The run goes on. Follow it with observe, or list what waits.',
    cause,
  });
}
