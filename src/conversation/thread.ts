/**
 * Owns the reading of a thread: its stored messages and, live, those of its open runs, in one order. Nothing of an
 * open run is copied: it is looked at where it is.
 */
import { eventFrom, type MessageKey } from '../core/event.ts';
import { fold } from '../core/run.ts';
import type { Run } from '../core/state.ts';
import type { MessageRow, Store, ThreadStore } from '../core/store.ts';
import type { UIMessage } from '../models/ai-sdk-types.ts';
import { compareKeys, keyOf } from '../store/message-keys.ts';
import { type Spoken, spokenIn } from './run-view.ts';

/** Where a thread's messages are, and where runs of it may be open. */
export interface ThreadPlaces {
  readonly threads: ThreadStore;
  readonly runs: readonly Pick<Store, 'list' | 'load'>[];
}

export interface ConversationIds {
  readonly threadId: string;
  readonly resourceId: string;
}

export interface Range {
  /** Both included. */
  readonly from?: MessageKey | undefined;
  readonly to?: MessageKey | undefined;
  /** The newest so many. */
  readonly last?: number | undefined;
}

/** What is said in a part of a thread, in order. */
export interface Said {
  readonly messages: readonly UIMessage[];
  /** The places of the first and the last; absent where nothing is said. */
  readonly from?: MessageKey | undefined;
  readonly to?: MessageKey | undefined;
}

/** Open runs of one thread that are looked at. */
const openAtMost = 1000;

/**
 * The open runs of a thread.
 * @param except one that is not looked at.
 */
export async function openRunsOf(
  { runs }: ThreadPlaces,
  { threadId, resourceId }: ConversationIds,
  except?: string,
): Promise<Run[]> {
  const found = await Promise.all(
    runs.map(async (store) => {
      const page = await store.list({ threadId, resourceId, status: 'all', limit: openAtMost });
      const others = page.runs.filter(({ runId }) => runId !== except);
      return Promise.all(others.map(({ runId }) => store.load(runId, 0)));
    }),
  );
  const open = found.flat().flatMap((run) => (run?.kind === 'open' ? [run] : []));
  return open.map(({ events }) => fold(events.map(eventFrom)) as Run);
}

/** As `spokenInThread`, without the place of each message: histories are long, and read for each leg. */
export async function saidInThread(
  places: ThreadPlaces,
  threadId: string,
  range: Range,
  open: readonly Run[],
): Promise<Said> {
  // What an open run says has its place among the others.
  if (open.length > 0) return saidBy(await spokenInThread(places, threadId, range, open));
  const { texts, from, to } = await places.threads.transcript({ threadId, ...range });
  const messages = JSON.parse(texts) as UIMessage[];
  return { messages: messages.reverse(), from, to };
}

function saidBy(spoken: readonly Spoken[]): Said {
  const [first, last] = [spoken[0], spoken.at(-1)];
  if (!first || !last) return { messages: [] };
  return { messages: spoken.map(({ message }) => message), from: keyOf(first), to: keyOf(last) };
}

/**
 * The messages of a thread in order.
 * @param open its open runs, read before: one that ends meanwhile is then found among the stored messages.
 */
export async function spokenInThread(
  { threads }: ThreadPlaces,
  threadId: string,
  range: Range,
  open: readonly Run[],
): Promise<Spoken[]> {
  const rows = await threads.messages({ threadId, ...range });
  const stored = spokenInRows(rows);
  const known = new Set(stored.map(({ message }) => message.id));
  // One whose answer is stored has ended since.
  const live = open
    .filter(({ started }) => !known.has(started.messageId))
    .flatMap(spokenIn)
    .filter((spoken) => isWithin(spoken, range));
  return live.length === 0 ? stored : newest(merged(stored, live), range.last);
}

function isWithin(key: MessageKey, { from, to }: Range): boolean {
  return (!from || compareKeys(from, key) <= 0) && (!to || compareKeys(key, to) <= 0);
}

function newest(spoken: Spoken[], last: number | undefined): Spoken[] {
  return last === undefined ? spoken : spoken.slice(Math.max(0, spoken.length - last));
}

/** Parsed at once: that is much faster than one by one. */
function spokenInRows(rows: readonly MessageRow[]): Spoken[] {
  const messages = JSON.parse(`[${rows.map(({ data }) => data).join(',')}]`) as UIMessage[];
  return rows.map(({ at, runId, index }, place) => ({
    at,
    runId,
    index,
    message: messages[place] as UIMessage,
  }));
}

/** A message that is said again replaces what it said, and keeps its place. */
function merged(stored: readonly Spoken[], live: readonly Spoken[]): Spoken[] {
  const byId = new Map(stored.map((spoken) => [spoken.message.id, spoken]));
  for (const spoken of live) {
    const known = byId.get(spoken.message.id);
    byId.set(spoken.message.id, known ? { ...known, message: spoken.message } : spoken);
  }
  return [...byId.values()].sort(compareKeys);
}
