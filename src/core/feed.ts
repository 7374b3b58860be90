/** A part of the port to the store: which decisions of the record are asked for, and the feed. */
import type { Person, Verdict } from './event.ts';

/** Which end of a list comes first. The other order is exactly the reverse. */
export type ListOrder = 'newest' | 'oldest';

/** Which decisions are meant: those of which all that is given holds. */
export interface DecisionQuery {
  readonly runId?: string | undefined;
  readonly agentId?: string | undefined;
  readonly toolName?: string | undefined;
  readonly threadId?: string | undefined;
  readonly resourceId?: string | undefined;
  /** The id of who decided. Ids and tool names of more than 500 characters are not found. */
  readonly by?: string | undefined;
  readonly verdict?: Verdict | 'cancel' | 'ran-twice' | undefined;
  /** Milliseconds since 1970, both included. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  /** Left out: 'newest'. */
  readonly order?: ListOrder | undefined;
  readonly limit: number;
  readonly cursor?: string | undefined;
}

/** Something that happened to a call that waits or waited for a person. */
export interface FeedEvent {
  /** Where the feed goes on after this event. */
  readonly cursor: string;
  readonly type: 'opened' | 'decided' | 'settled';
  /** The root run. */
  readonly runId: string;
  /** As in the list of what waits. */
  readonly toolCallId: string;
  /** Of a call that is settled: the last one that was decided, or else the one at which it waited. */
  readonly stop: number;
  readonly agentId: string;
  readonly toolName: string;
  readonly threadId?: string;
  readonly resourceId?: string;
  readonly at: number;
  /** Opened: what the call is. */
  readonly kind?: 'held' | 'suspended' | 'interrupted';
  /** Decided. A reason of more than 1,000 characters is left out: the record has it. */
  readonly decision?: { readonly verdict: Verdict; readonly by?: Person; readonly reason?: string };
  /** Settled: what became of the call. */
  readonly state?: 'finished' | 'failed' | 'declined' | 'cancelled';
}

export interface FeedQuery {
  /** The cursor of an event or a page. Left out: from now on, so that the page has no events. */
  readonly after?: string | undefined;
  readonly agentId?: string | undefined;
  readonly toolName?: string | undefined;
  readonly threadId?: string | undefined;
  readonly resourceId?: string | undefined;
  readonly limit: number;
}

export interface FeedPage {
  readonly events: readonly FeedEvent[];
  /** Where to go on: after the last event, or, where there are no more, after all that was looked at. */
  readonly cursor: string;
  /** Whether the page has all that there is. */
  readonly isComplete: boolean;
  /** Some of what came after the place is not kept any more, or the place is none of this feed. It goes on from now. */
  readonly isReset?: true;
}

/**
 * What happened to calls that wait, in one order for all readers, as the batches of the runs tell it. A reader that
 * goes on from a cursor must never miss an event, whoever writes and commits in whatever order, and never get one
 * twice. Events are kept as long as a run that ended with them, and forgotten from the oldest on.
 */
export interface FeedStore {
  /** Its cost must not grow with what came before the place, nor with the events of other resources. */
  read(query: FeedQuery): Promise<FeedPage>;
  /** Resolves when there may be more, or after so many milliseconds. */
  changed(milliseconds: number): Promise<void>;
}
