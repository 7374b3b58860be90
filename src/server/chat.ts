/** What each request of a chat page begins: a run, decisions, another try, or a look at what goes on. */
import type { Agent } from '../agent/agent.ts';
import type { UiMessageInput } from '../agent/ui-message-input.ts';
import {
  type ConversationIds,
  openRunsOf,
  spokenInThread,
  type ThreadPlaces,
} from '../conversation/thread.ts';
import type { UiPart } from '../conversation/ui-parts.ts';
import { CountersignError, isCountersignError } from '../core/errors.ts';
import { endedError } from '../core/log-errors.ts';
import { headOf, stalledRuns } from '../core/next.ts';
import type { Run } from '../core/state.ts';
import type { AgentStream } from '../stream/output.ts';
import { decideAnswers } from './chat-answers.ts';
import type { Posted } from './chat-body.ts';
import {
  errorChunk,
  finishChunk,
  fromMessage,
  type Known,
  nothingKnown,
  type UiChunk,
} from './chat-chunks.ts';
import type { LiveAnswer, LiveAnswers, LivePlace } from './chat-live.ts';
import { followed, fromLeg, lookedAt, messageOf, reply } from './chat-reply.ts';
import { checkMayMove, type FoundRun, findRun } from './found-run.ts';
import { type Identity, personOf } from './identity.ts';
import type { ServerParts } from './parts.ts';
import type { Told } from './sse.ts';
import { startOptions } from './start-options.ts';
import { threadsOf } from './threads.ts';

/** A chat page's request. */
export interface Chat {
  readonly parts: ServerParts;
  readonly live: LiveAnswers;
  readonly agent: Agent;
  readonly identity: Identity | undefined;
  readonly threadId: string;
}

type Body = Readonly<Record<string, unknown>>;

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

/** Begins a run with what the page's person said. Said again, however soon, it is not done again. */
export function say(chat: Chat, said: UiMessageInput, body: Body): Promise<Told> {
  return chat.live.inOrder([chat.agent.id, chat.threadId, said.id], async () => {
    return (await answerTo(chat, said)) ?? (await begin(chat, said, body));
  });
}

async function begin(chat: Chat, said: UiMessageInput, body: Body): Promise<Told> {
  const { parts, agent, identity, threadId } = chat;
  const given = body.memory as { resource?: string } | undefined;
  const memory = { ...given, thread: threadId };
  const options = startOptions(parts, agent, identity, { ...body, memory });
  const stream = await agent.stream(said, options);
  const place = { agentId: agent.id, threadId, resourceId: options.memory?.resource };
  return toldLive(chat, place, { stream, before: [], saidId: said.id });
}

/** The answer to a message that the thread has already; undefined where nothing came of it. */
async function answerTo(chat: Chat, { id: saidId }: UiMessageInput): Promise<Told | undefined> {
  const { parts, agent, identity, threadId } = chat;
  const thread = saidId === undefined ? undefined : await threadOf(chat);
  if (thread === undefined) return undefined;
  const live = chat.live.of({ agentId: agent.id, ...thread.ids });
  if (live && live.saidId === saidId) return toldAgain(chat, live);
  const open = await openRunsOf(thread.places, thread.ids);
  const going = open.findLast(
    ({ started }) => started.agentId === agent.id && started.messageIds?.includes(saidId as string),
  );
  if (going) return toldWhole(chat, await findRun(parts, identity, going.started.runId, agent.id));
  const spoken = await spokenInThread(thread.places, threadId, { last: lookedAt }, open);
  const place = spoken.findIndex(({ message }) => message.id === saidId);
  // What is said again keeps its place, so that its answer stands behind it, whichever run gave it.
  const given = place < 0 ? undefined : spoken[place + 1];
  if (given?.message.role !== 'assistant') return undefined;
  const { id, parts: all, metadata } = given.message;
  const told = fromMessage(all as unknown as UiPart[], nothingKnown());
  const { status } = (metadata ?? {}) as { status?: string };
  return reply(given.runId, id, told, [
    ...(status === 'failed' ? [errorChunk(failed(chat))] : []),
    finishChunk('stop'),
  ]);
}

function failed({ agent, threadId }: Chat): CountersignError {
  return new CountersignError('model-failed', 'The answer to this message failed.', {
    agentId: agent.id,
    threadId,
    todo: 'Send a new message: done again, the answer would run its tools again.',
  });
}

/** Decides what the page's person answered before they went on to say something. */
export async function decideBefore(chat: Chat, { answers }: Posted): Promise<void> {
  try {
    if (answers.length > 0) await decided(chat, answers);
  } catch (error) {
    // What cannot be decided keeps waiting, and must not keep the person from speaking.
    if (!isCountersignError(error) || error.status >= 500 || error.code === 'invalid-request') throw error;
  }
}

/** Decides what the page's person answered, and tells on. */
export async function answer(chat: Chat, { answers, calls }: Posted): Promise<Told> {
  const { parts, agent, identity } = chat;
  const { own, runId, leg, count, refused } = await decided(chat, answers);
  const now = await findRun(parts, identity, runId, agent.id);
  const message = await messageOf(parts, now);
  const isShown = refused.some((one) =>
    message.parts.some(({ toolCallId }) => toolCallId === one.toolCallId),
  );
  if (count === 0 && !isShown) throw refused[0]?.error ?? nothingWaits(chat);
  const ids = new Set(own.map(({ toolCallId }) => toolCallId));
  const known: Known = { steps: lastStepWith(ids, message.parts), calls: new Map(calls) };
  const errors = refused.map(({ error }) => errorChunk(error)).slice(0, 1);
  // What follows the step is told by what the page is answered with after it.
  const before = upToStep(known.steps, message.parts);
  const told = fromMessage(before, known);
  if (leg) chat.live.add(now.facts, { stream: leg, before });
  const after = leg ? legOf(chat, leg, known) : followed(parts, agent, now, known);
  return reply(runId, message.id, told, after, errors);
}

/** @throws `run-not-found`, `call-not-waiting` where nothing is answered. */
async function decided(chat: Chat, answers: Posted['answers']) {
  const { parts, agent, identity, threadId } = chat;
  const [first] = answers;
  if (first === undefined) throw nothingWaits(chat);
  const { runId } = first;
  const found = await findRun(parts, identity, runId, agent.id);
  if (found.facts.threadId !== threadId) throw endedError(runId, undefined);
  // A message is one run.
  const own = answers.filter((one) => one.runId === runId);
  return { own, runId, ...(await decideAnswers(parts, agent, identity, found, own)) };
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

/**
 * Tries the model call of a stalled run again, or answers a message of which nothing came. An answer is not made anew:
 * its tools would run anew.
 */
export async function regenerate(chat: Chat, { said }: Posted, body: Body): Promise<Told> {
  const { parts, agent, identity } = chat;
  const thread = await threadOf(chat);
  const newest = thread && (await openRuns(chat, thread)).at(-1);
  if (newest === undefined || stalledRuns(newest).length === 0 || headOf(newest) !== 'waiting') {
    if (said?.id !== undefined && !(await answerTo(chat, said))) return say(chat, said, body);
    throw new CountersignError('run-not-stalled', 'There is no model call that could be tried again.', {
      agentId: agent.id,
      threadId: chat.threadId,
      expected: 'a conversation whose model failed: only that is tried again',
      todo: 'Send a new message: done again, the answer would run its tools again.',
    });
  }
  const { runId } = newest.started;
  const found = await findRun(parts, identity, runId, agent.id);
  checkMayMove(parts, identity, found.facts);
  const { parts: before } = await messageOf(parts, found);
  const stream = await agent.continueRun({ runId, ...personOf(identity) });
  return toldLive(chat, found.facts, { stream, before });
}

/** What goes on in the thread, from the beginning of its message; undefined when nothing does. */
export async function look(chat: Chat): Promise<Told | undefined> {
  const { parts, live, agent, identity } = chat;
  const thread = await threadOf(chat);
  if (thread === undefined) return undefined;
  const open = await openRuns(chat, thread);
  const here = live.of({ agentId: agent.id, ...thread.ids });
  if (here) return toldAgain(chat, here);
  const going = open.findLast((run) => headOf(run) !== 'waiting');
  return going && toldWhole(chat, await findRun(parts, identity, going.started.runId, agent.id));
}

/** A leg that began just now, after what its message said before. */
function toldLive(chat: Chat, place: LivePlace, answer: LiveAnswer): Told {
  chat.live.add(place, answer);
  return toldAgain(chat, answer);
}

function toldAgain(chat: Chat, { stream, before }: LiveAnswer): Told {
  const known = nothingKnown();
  const told = fromMessage(before, known);
  return reply(stream.runId, stream.messageId, told, legOf(chat, stream, known));
}

function legOf(chat: Chat, { runId, fullStream }: AgentStream, known: Known): AsyncGenerator<UiChunk> {
  const { parts, agent, identity } = chat;
  return fromLeg(fullStream, known, async function* () {
    yield* followed(parts, agent, await findRun(parts, identity, runId, agent.id), known);
  });
}

/** A run from the beginning of its message, from what is stored. */
function toldWhole({ parts, agent }: Chat, found: FoundRun): Told {
  const { run, ended, facts } = found;
  const id = run?.started.messageId ?? ended?.outcome.messageId ?? facts.runId;
  return reply(facts.runId, id, [], followed(parts, agent, found, nothingKnown()));
}

interface Thread {
  readonly places: ThreadPlaces;
  readonly ids: ConversationIds;
}

/** The thread, where there is one and the page's person may see it. */
async function threadOf({ parts, agent, identity, threadId }: Chat): Promise<Thread | undefined> {
  const { places } = await threadsOf(parts, agent.id);
  const row = await places.threads.get(threadId);
  if (row === undefined) return undefined;
  const ids = { threadId, resourceId: row.resourceId };
  return (await parts.access.mayRead(identity, { ...ids, agentId: agent.id })) ? { places, ids } : undefined;
}

/** The agent's open runs in the thread, the oldest first. */
async function openRuns({ agent }: Chat, { places, ids }: Thread): Promise<Run[]> {
  const runs = await openRunsOf(places, ids);
  return runs
    .filter(({ started }) => started.agentId === agent.id)
    .sort((one, other) => one.started.at - other.started.at);
}
