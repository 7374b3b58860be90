/** What a chat page is answered with: one message, told from where the page has it until its run waits or ends. */
import type { Agent } from '../agent/agent.ts';
import { observeOpenRun } from '../agent/observe.ts';
import { subAgent } from '../agent/types.ts';
import { answerParts } from '../conversation/run-view.ts';
import { type Range, spokenInThread } from '../conversation/thread.ts';
import type { UiPart } from '../conversation/ui-parts.ts';
import type { Chunk } from '../stream/chunk.ts';
import {
  errorChunk,
  finishChunk,
  fromChunk,
  fromMessage,
  type Known,
  startChunk,
  type UiChunk,
} from './chat-chunks.ts';
import type { FoundRun } from './found-run.ts';
import type { ServerParts } from './parts.ts';
import type { Told } from './sse.ts';
import { threadsOf } from './threads.ts';

/** The message that a run is, as it stands. */
export interface Message {
  readonly id: string;
  readonly parts: readonly UiPart[];
}

/** The newest messages of a thread in which one is looked for first. */
export const lookedAt = 40;

export async function messageOf(parts: ServerParts, found: FoundRun): Promise<Message> {
  const { facts, run, ended } = found;
  if (run) return { id: run.started.messageId, parts: answerParts(run) };
  const own =
    (await storedAnswer(parts, found, { last: lookedAt })) ?? (await storedAnswer(parts, found, {}));
  const id = own?.message.id ?? ended?.outcome.messageId ?? facts.runId;
  return { id, parts: (own?.message.parts ?? []) as unknown as UiPart[] };
}

async function storedAnswer(parts: ServerParts, { facts }: FoundRun, range: Range) {
  if (facts.threadId === undefined) return undefined;
  const { places } = await threadsOf(parts, facts.agentId);
  const spoken = await spokenInThread(places, facts.threadId, range, []);
  return spoken.find(({ runId, message }) => runId === facts.runId && message.role === 'assistant');
}

/** What of a run a page is told that knows some of it: what it says by now, and what it goes on with. */
export async function* followed(
  parts: ServerParts,
  agent: Agent,
  found: FoundRun,
  known: Known,
): AsyncGenerator<UiChunk> {
  const { run, ended, facts } = found;
  yield* fromMessage((await messageOf(parts, found)).parts, known);
  if (run === undefined) {
    yield finishChunk(ended?.outcome.finishReason ?? 'other');
    return;
  }
  const leg = await observeOpenRun(agent[subAgent], { runId: facts.runId, afterEvent: run.length });
  if ('kind' in leg) yield* followed(parts, agent, { facts, ended: leg }, known);
  else
    yield* fromLeg(
      leg.chunks.read((chunk) => chunk),
      known,
    );
}

/**
 * A leg, but for its beginning.
 * @param goOn what follows where somebody else decided a call that the leg announced, and so ended it.
 */
export async function* fromLeg(
  chunks: AsyncIterable<Chunk>,
  known: Known,
  goOn?: () => AsyncIterable<UiChunk>,
): AsyncGenerator<UiChunk> {
  for await (const chunk of chunks) {
    if (chunk.type === 'finish' && chunk.payload.decided && goOn) yield* goOn();
    else if (chunk.type !== 'start') yield* fromChunk(chunk, known);
  }
}

/**
 * @param last errors that the page is shown before the end: after one of them it reads no more.
 */
export function reply(
  runId: string,
  messageId: string,
  before: readonly UiChunk[],
  after: AsyncIterable<UiChunk> | readonly UiChunk[],
  last: readonly UiChunk[] = [],
): Told {
  const chunks = (async function* (): AsyncGenerator<UiChunk> {
    yield startChunk(messageId, runId);
    yield* before;
    try {
      for await (const chunk of after) {
        if (chunk.type === 'finish') yield* last;
        yield chunk;
      }
    } catch (error) {
      yield errorChunk(error);
    }
  })();
  const fullStream = new ReadableStream<UiChunk>(
    {
      async pull(controller) {
        const { done, value } = await chunks.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      async cancel() {
        await chunks.return(undefined);
      },
    },
    { highWaterMark: 0 },
  );
  return { runId, fullStream, headers: { 'x-vercel-ai-ui-message-stream': 'v1' } };
}
