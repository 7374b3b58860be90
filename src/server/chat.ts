/** What each request of a chat page begins: a run, decisions, another try, or a look at what goes on. */
import type { Agent } from '../agent/agent.ts';
import { openRunsOf } from '../conversation/thread.ts';
import type { UiPart } from '../conversation/ui-parts.ts';
import { CountersignError } from '../core/errors.ts';
import { endedError } from '../core/log-errors.ts';
import { headOf, stalledRuns } from '../core/next.ts';
import type { Run } from '../core/state.ts';
import { decideAnswers } from './chat-answers.ts';
import type { Posted } from './chat-body.ts';
import { errorChunk, fromMessage, type Known, nothingKnown } from './chat-chunks.ts';
import { followed, fromLeg, messageOf, reply } from './chat-reply.ts';
import { findRun } from './found-run.ts';
import type { Identity } from './identity.ts';
import type { ServerParts } from './parts.ts';
import type { Told } from './sse.ts';
import { startOptions } from './start-options.ts';
import { threadsOf } from './threads.ts';

/** A chat page's request. */
export interface Chat {
  readonly parts: ServerParts;
  readonly agent: Agent;
  readonly identity: Identity | undefined;
  readonly threadId: string;
}

/** @throws `memory-required`. */
export function checkMemory({ agent }: Chat, isOwn: boolean): void {
  if (isOwn) return;
  throw new CountersignError(
    'memory-required',
    `Agent "${agent.id}" has no memory, and a chat is kept in one.`,
    {
      agentId: agent.id,
      expected: 'new Agent({ …, memory: new Memory() })',
    },
  );
}

/** Begins a run with what the page's person said. */
export async function say(
  chat: Chat,
  said: NonNullable<Posted['said']>,
  body: Readonly<Record<string, unknown>>,
): Promise<Told> {
  const { parts, agent, identity, threadId } = chat;
  const given = body.memory as { resource?: string } | undefined;
  const memory = { ...given, thread: threadId };
  const stream = await agent.stream(said, startOptions(parts, agent, identity, { ...body, memory }));
  return reply(stream.runId, stream.messageId, [], fromLeg(stream.fullStream, nothingKnown()));
}

/** Decides what the page's person answered, and tells on. */
export async function answer(chat: Chat, { answers, calls }: Posted): Promise<Told> {
  const { parts, agent, identity, threadId } = chat;
  const [first] = answers;
  if (first === undefined) throw nothingWaits(chat);
  const { runId } = first;
  const before = await findRun(parts, identity, runId, agent.id);
  if (before.facts.threadId !== threadId) throw endedError(runId, undefined);
  const own = answers.filter((one) => one.runId === runId);
  const { leg, count, refused } = await decideAnswers(parts, agent, identity, before, own);
  const now = await findRun(parts, identity, runId, agent.id);
  const message = await messageOf(parts, now);
  const waiting = new Set(refused.map(({ toolCallId }) => toolCallId));
  const isShown = message.parts.some(({ toolCallId }) => waiting.has(String(toolCallId)));
  if (count === 0 && !isShown) throw refused[0]?.error ?? nothingWaits(chat);
  const ids = new Set(own.map(({ toolCallId }) => toolCallId));
  const known: Known = { steps: lastStepWith(ids, message.parts), calls: new Set(calls) };
  const errors = refused.map(({ error }) => errorChunk(error)).slice(0, 1);
  if (leg) {
    const told = fromMessage(upToStep(known.steps, message.parts), known, waiting);
    return reply(runId, message.id, told, fromLeg(leg.fullStream, known), errors);
  }
  const told = fromMessage(message.parts, known, waiting);
  return reply(runId, message.id, told, followed(agent, now, known, parts), errors);
}

function nothingWaits({ agent, threadId }: Chat): CountersignError {
  return new CountersignError('call-not-waiting', 'Nothing that the messages answer waits.', {
    agentId: agent.id,
    threadId,
    expected: "a new message of the user, or an answer to a call of the assistant's message",
    todo: 'Load the messages of the thread again.',
  });
}

/** The number of the last step that has one of the calls. */
function lastStepWith(ids: ReadonlySet<string>, parts: readonly UiPart[]): number {
  const last = parts.findLastIndex(({ toolCallId }) => ids.has(String(toolCallId)));
  return parts.slice(0, last + 1).filter(({ type }) => type === 'step-start').length;
}

function upToStep(steps: number, parts: readonly UiPart[]): readonly UiPart[] {
  let step = 0;
  return parts.filter(({ type }) => {
    if (type === 'step-start') step++;
    return step <= steps;
  });
}

/** Tries the model call of a stalled run again. Nothing else is done again: its tools would run anew. */
export async function regenerate(chat: Chat): Promise<Told> {
  const { parts, agent, identity } = chat;
  const newest = (await openRuns(chat)).at(-1);
  if (newest === undefined || stalledRuns(newest).length === 0 || headOf(newest) !== 'waiting') {
    throw new CountersignError('run-not-stalled', 'The newest answer of this conversation stands.', {
      agentId: agent.id,
      threadId: chat.threadId,
      expected: 'a conversation whose model failed: only that is tried again',
      todo: 'Send a new message: done again, the answer would run its tools again.',
    });
  }
  const { runId } = newest.started;
  const found = await findRun(parts, identity, runId, agent.id);
  const message = await messageOf(parts, found);
  const known = nothingKnown();
  const told = fromMessage(message.parts, known);
  const stream = await agent.continueRun({ runId });
  return reply(runId, message.id, told, fromLeg(stream.fullStream, known));
}

/** What goes on in the thread, from the beginning of its message; undefined when nothing does. */
export async function look(chat: Chat): Promise<Told | undefined> {
  const { parts, agent, identity } = chat;
  const going = (await openRuns(chat)).findLast((run) => headOf(run) !== 'waiting');
  if (going === undefined) return undefined;
  const found = await findRun(parts, identity, going.started.runId, agent.id);
  const { id, parts: all } = await messageOf(parts, found);
  const known = nothingKnown();
  const told = fromMessage(all, known);
  return reply(found.facts.runId, id, told, followed(agent, found, known, parts));
}

/** The agent's open runs in the thread, the oldest first; none in a thread that is somebody else's. */
async function openRuns({ parts, agent, identity, threadId }: Chat): Promise<Run[]> {
  const { places } = await threadsOf(parts, agent.id);
  const row = await places.threads.get(threadId);
  if (row === undefined) return [];
  const { resourceId } = row;
  if (!(await parts.access.mayRead(identity, { threadId, resourceId, agentId: agent.id }))) return [];
  const runs = await openRunsOf(places, { threadId, resourceId });
  return runs
    .filter(({ started }) => started.agentId === agent.id)
    .sort((one, other) => one.started.at - other.started.at);
}
