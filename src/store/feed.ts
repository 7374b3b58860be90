/** Owns what the feed tells of a batch, and what its cursors mean. Every store derives its events from here. */
import type { FeedEvent, FeedPage, FeedQuery } from '../core/feed.ts';
import type { Batch, DecisionRecord, RecordedOutcome } from '../core/store.ts';
import { checkLimit, invalidOption } from './listing.ts';
import { ownerOf } from './owner.ts';

/** Readers keep a page in memory: what people wrote must not make it large. */
const longestReason = 1000;

const settledStates: readonly string[] = ['finished', 'failed', 'declined', 'cancelled'];

/** An event that has no place yet. */
export type NewFeedEvent = Omit<FeedEvent, 'cursor'>;

/** What happened to calls that wait, in order: what a decision closes comes before what it opens. */
export function feedEventsOf({ runId, head, records, outcomes, opened }: Batch): NewFeedEvent[] {
  const run = { runId, agentId: head.agentId, ...ownerOf(head) };
  const cancelled = records.filter(({ verdict }) => verdict === 'cancel');
  const isCancelled = (toolCallId: string): boolean =>
    cancelled.some((record) => record.toolCallId === toolCallId);
  return [
    ...records.flatMap((record): NewFeedEvent[] => {
      const decision = decisionIn(record);
      return decision ? [{ type: 'decided', ...run, ...callOf(record), at: record.at, decision }] : [];
    }),
    ...cancelled.map((record): NewFeedEvent => {
      return { type: 'settled', ...run, ...callOf(record), at: record.at, state: 'cancelled' };
    }),
    ...outcomes.flatMap((settled): NewFeedEvent[] => {
      const state = stateOf(settled.outcome);
      if (state === undefined || isCancelled(settled.toolCallId)) return [];
      return [{ type: 'settled', ...run, ...callOf(settled), at: settled.outcome.at, state }];
    }),
    ...opened.map((call): NewFeedEvent => {
      return { type: 'opened', ...run, ...callOf(call), at: call.since, kind: call.kind };
    }),
  ];
}

/** Whether the feed may tell something of a batch. */
export function isInFeed({ opened, records, outcomes }: Batch): boolean {
  return opened.length + records.length + outcomes.length > 0;
}

function callOf({ toolCallId, stop, toolName }: Pick<FeedEvent, 'toolCallId' | 'stop' | 'toolName'>) {
  return { toolCallId, stop, toolName };
}

function decisionIn({ verdict, by, reason = '' }: DecisionRecord): FeedEvent['decision'] {
  if (verdict === 'cancel' || verdict === 'ran-twice') return undefined;
  const isKept = reason !== '' && reason.length <= longestReason;
  return { verdict, ...(by ? { by } : {}), ...(isKept ? { reason } : {}) };
}

function stateOf({ state }: RecordedOutcome): FeedEvent['state'] {
  return settledStates.includes(state) ? (state as FeedEvent['state']) : undefined;
}

/** What an event tells beside what lists are filtered by. */
export function detailsOf({ kind, decision, state }: NewFeedEvent): string {
  return JSON.stringify({ kind, decision, state });
}

/** The number that a cursor stands for. @throws `invalid-option`. */
export function placeAt(cursor: string): number {
  const place = /^\d{1,15}$/.test(cursor) ? Number(cursor) : Number.NaN;
  if (Number.isSafeInteger(place)) return place;
  throw invalidOption('feed', 'after', 'the cursor of an event or a page of this feed, unchanged');
}

/** @throws `invalid-option`. */
export function checkFeedQuery({ limit }: FeedQuery): void {
  checkLimit('feed', limit);
}

/** Whether an event is one of those that a reader filters by. */
export function isAskedFor(event: NewFeedEvent, filter: Omit<FeedQuery, 'after' | 'limit'>): boolean {
  return (['agentId', 'toolName', 'threadId', 'resourceId'] as const).every(
    (name) => filter[name] === undefined || filter[name] === event[name],
  );
}

/** What is kept of a feed: the numbers of its first and its last event, 0 where there is none. */
export interface FeedEnds {
  readonly oldest: number;
  readonly newest: number;
}

/**
 * The answer to a reader.
 * @param found one more than the limit where there are more.
 */
export function feedPageOf(
  { after, limit }: FeedQuery,
  { oldest, newest }: FeedEnds,
  found: readonly FeedEvent[],
): FeedPage {
  const end = { events: [], cursor: String(newest), isComplete: true };
  if (after === undefined) return end;
  const place = placeAt(after);
  if (place + 1 < oldest || place > newest) return { ...end, isReset: true };
  const events = found.slice(0, limit);
  const isComplete = found.length <= limit;
  return { events, cursor: isComplete ? end.cursor : (events.at(-1) as FeedEvent).cursor, isComplete };
}
