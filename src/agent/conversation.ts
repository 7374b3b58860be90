/** What a run has to do with its conversation: where it begins in it, what it recalls of it, and where its messages go. */
import { promptFrom } from '../conversation/recalled-prompt.ts';
import {
  openRunsOf,
  type Said,
  saidInThread,
  spokenInThread,
  type ThreadPlaces,
} from '../conversation/thread.ts';
import type { RequestContext } from '../core/context.ts';
import { CountersignError } from '../core/errors.ts';
import type { MessageKey, RecalledWindow, RunStarted } from '../core/event.ts';
import type { Message } from '../core/message.ts';
import { waitingCalls } from '../core/next.ts';
import type { Run } from '../core/state.ts';
import type { ThreadStore } from '../core/store.ts';
import type { UIMessage } from '../models/ai-sdk-types.ts';
import { fromFirstUser } from '../models/prompt.ts';
import { convertedUi, toMessages } from '../models/to-messages.ts';
import { keyOf } from '../store/message-keys.ts';
import { expectedId, isId } from './ids.ts';
import { defaultLastMessages, Memory, memoryInside } from './memory.ts';
import { conversationOf, type RunOptions } from './options.ts';
import { ensureThread, threadNotFound } from './own-thread.ts';
import type { AgentCore, MessagesInput } from './types.ts';
import type { UiMessageInput } from './ui-message-input.ts';
import type { Worker } from './worker.ts';

/** What is read of a thread at the beginning of a run and used by its first leg. */
export interface Recalled {
  readonly places: ThreadPlaces;
  readonly elsewhere: ThreadStore | undefined;
  readonly said: Said;
}

/** Where a run begins in its conversation. */
export interface Beginning {
  /** What `run-started` keeps of it. */
  readonly facts: Pick<RunStarted, 'at' | 'threadId' | 'resourceId' | 'memory'>;
  readonly recalled: Recalled;
  /** The open runs of the thread. */
  readonly open: readonly Run[];
  /** The newest messages of the thread, in which those are looked for that are sent again. */
  newest(): Promise<readonly UIMessage[]>;
  /** Where one of them stands. */
  placeOf(messageId: string): Promise<MessageKey | undefined>;
}

/** The agent's memory, asked for once in each leg. */
async function memoryOf(agent: AgentCore, context: () => RequestContext): Promise<Memory | undefined> {
  const { memory } = agent.config;
  if (typeof memory !== 'function') return memory;
  const chosen: unknown = await memory({ requestContext: context() });
  if (chosen === undefined || chosen instanceof Memory) return chosen;
  throw new CountersignError('invalid-agent', `The memory of agent "${agent.id}" is no Memory.`, {
    agentId: agent.id,
    expected: 'a Memory, or a function that gives one',
  });
}

/** Messages that are looked at for ids that are sent again, though fewer or none are recalled. */
const lookedAt = 40;

/**
 * Opens the conversation of a run that begins: its thread, made if it is new, and what of it is recalled. Undefined for
 * an agent without a memory.
 * @throws `thread-required`, `thread-not-found`, `thread-waiting`.
 */
export async function beginConversation(
  agent: AgentCore,
  worker: Worker,
  options: RunOptions,
  context: () => RequestContext,
): Promise<Beginning | undefined> {
  const memory = await memoryOf(agent, context);
  if (memory === undefined) return undefined;
  const inside = memory[memoryInside];
  const ids = idsOf(agent, options);
  const given = { ...inside.options, ...defined(options.memory?.options) };
  const places = inside.placesFor(worker);
  const now = worker.clock.now();
  const { thread } = options.memory ?? {};
  const described = typeof thread === 'object' ? { title: thread.title, metadata: thread.metadata } : {};
  if (!given.readOnly) await ensureThread(places.threads, { ...ids, ...described }, now);
  else await expectOwn(places.threads, ids);
  const open = await openRunsOf(places, ids);
  if (given.whenCallsWait === 'refuse') refuseWaiting(ids.threadId, open);
  const { lastMessages = defaultLastMessages } = given;
  const newest = (last: number): Promise<Said> => saidInThread(places, ids.threadId, { last }, open);
  const said: Said = lastMessages === false ? { messages: [] } : await newest(lastMessages);
  const { to } = lastMessages === false ? await newest(1) : said;
  const window: RecalledWindow = {
    ...(said.from && said.to ? { from: said.from, to: said.to } : {}),
    ...(given.readOnly ? { readOnly: true } : {}),
  };
  const looked = Math.max(lastMessages || 0, lookedAt);
  return {
    // After what it recalls, whatever the clocks say: two turns can fall into one millisecond.
    facts: { ...ids, at: Math.max(now, (to?.at ?? 0) + 1), memory: window },
    recalled: { places, elsewhere: given.readOnly ? undefined : inside.elsewhere, said },
    open,
    newest: async () => (looked === lastMessages ? said : await newest(looked)).messages,
    async placeOf(messageId) {
      const spoken = await spokenInThread(places, ids.threadId, { last: looked }, open);
      const found = spoken.find(({ message }) => message.id === messageId);
      return found && keyOf(found);
    },
  };
}

function defined<T extends object>(options: T | undefined): Partial<T> {
  const given = Object.entries(options ?? {}).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as Partial<T>;
}

/** The conversation that is named, or for an agent in no registry its own. */
function idsOf(agent: AgentCore, options: RunOptions): { threadId: string; resourceId: string } {
  const given = conversationOf(options);
  // Who names a resource alone does not mean the agent's own conversation.
  const isOwn = given.threadId !== undefined || given.resourceId === undefined;
  const own = isOwn ? agent.binding().ownConversation : undefined;
  const threadId = given.threadId ?? own?.threadId;
  const resourceId = given.resourceId ?? own?.resourceId;
  if (threadId !== undefined && resourceId !== undefined) return { threadId, resourceId };
  throw new CountersignError(
    'thread-required',
    `Agent "${agent.id}" has a memory, and no conversation is named.`,
    {
      agentId: agent.id,
      expected: 'memory: { thread, resource }',
      todo: 'Only an agent in no registry has a conversation of its own.',
    },
  );
}

async function expectOwn(
  threads: ThreadStore,
  ids: { readonly threadId: string; readonly resourceId: string },
): Promise<void> {
  // A thread that is not there is one in which nothing was said.
  const row = await threads.get(ids.threadId);
  if (row && row.resourceId !== ids.resourceId) throw threadNotFound(ids.threadId);
}

function refuseWaiting(threadId: string, open: readonly Run[]): void {
  for (const run of open) {
    const waiting = waitingCalls(run);
    if (waiting.length === 0) continue;
    throw new CountersignError('thread-waiting', 'A call of this conversation waits for a person.', {
      threadId,
      runId: run.started.runId,
      toolCallIds: waiting.map(({ id }) => id),
      todo: 'Decide it first, or end its run with cancelRun.',
    });
  }
}

/**
 * The input of a run with a memory. Of UI messages only what is new counts: a chat page sends the whole conversation,
 * and the thread's own copy of it is the one that is true.
 */
export async function newInput(
  agent: AgentCore,
  input: MessagesInput,
  { newest, placeOf, facts }: Beginning,
): Promise<Pick<RunStarted, 'messages' | 'messageIds' | 'memory'>> {
  const list = (Array.isArray(input) ? input : [input]) as readonly unknown[];
  if (!list.every(isUi)) return { messages: toMessages(await agent.messages(input)) };
  const known = new Set((await newest()).map(({ id }) => id));
  const lastKnown = list.findLastIndex(({ id }) => id !== undefined && known.has(id));
  const fresh = list.slice(Math.min(lastKnown + 1, list.length - 1));
  const messages: Message[] = [];
  const messageIds: (string | null)[] = [];
  for (const [index, message] of fresh.entries()) {
    const { id } = message;
    if (id !== undefined && !isId(id)) {
      throw new CountersignError('invalid-message', `Message ${index} has an id that is none.`, {
        expected: `${expectedId}, or nothing`,
      });
    }
    const converted = await convertedUi([message], () => promptFrom([message as unknown as UIMessage]));
    messages.push(...toMessages(converted));
    messageIds.push(...converted.map(() => id ?? null));
  }
  const [{ id: firstId } = { id: undefined }] = fresh;
  const again = firstId !== undefined && known.has(firstId) ? await placeOf(firstId) : undefined;
  return {
    messages: toMessages(messages),
    ...(messageIds.some(Boolean) ? { messageIds } : {}),
    ...(again ? { memory: { ...facts.memory, again } } : {}),
  };
}

function isUi(message: unknown): message is UiMessageInput {
  return typeof message === 'object' && message !== null && 'parts' in message && !('content' in message);
}

/** What a leg brings of the conversation: what was said before, and where the run's messages go. */
export interface LegConversation {
  readonly history: readonly Message[];
  readonly elsewhere: ThreadStore | undefined;
}

/**
 * Reads exactly the window that the run recalled when it began. What is open in it is told as it stands now.
 * @param recalled what was read just now, for the first leg.
 */
export async function conversationOfLeg(
  agent: AgentCore,
  worker: Worker,
  run: Pick<Run, 'started' | 'calls'>,
  context: () => RequestContext,
  recalled?: Recalled,
): Promise<LegConversation> {
  const { memory: window } = run.started;
  if (window === undefined) return { history: [], elsewhere: undefined };
  const { said, elsewhere } = recalled ?? (await recallAgain(agent, worker, run.started, context));
  const taken = [...run.calls.keys(), ...run.started.messages.flatMap(callIdsIn)];
  // A message that is said again is in it too: what came of it the first time may still wait.
  return { history: fromFirstUser(await promptFrom(said.messages, taken)), elsewhere };
}

async function recallAgain(
  agent: AgentCore,
  worker: Worker,
  started: RunStarted,
  context: () => RequestContext,
): Promise<Recalled> {
  const { runId, threadId = '', resourceId = '', memory: window } = started;
  const { places, elsewhere } = await placesOf(agent, worker, started, context);
  const { from, to } = window ?? {};
  if (!from || !to) return { places, elsewhere, said: { messages: [] } };
  const open = await openRunsOf(places, { threadId, resourceId }, runId);
  return { places, elsewhere, said: await saidInThread(places, threadId, { from, to }, open) };
}

/** Where the messages of the run's thread are, with the agent's memory as it is deployed now. */
export async function placesOf(
  agent: AgentCore,
  worker: Worker,
  { memory: window }: RunStarted,
  context: () => RequestContext,
): Promise<Omit<Recalled, 'said'>> {
  const inside = window && (await memoryOf(agent, context))?.[memoryInside];
  if (!inside)
    return { places: { threads: worker.store.threads, runs: [worker.store] }, elsewhere: undefined };
  return { places: inside.placesFor(worker), elsewhere: window.readOnly ? undefined : inside.elsewhere };
}

function callIdsIn({ content }: Message): string[] {
  if (typeof content === 'string') return [];
  return content.flatMap((part) => (part.type === 'tool-call' ? [String(part.toolCallId)] : []));
}
