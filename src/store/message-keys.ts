/** The order of the messages in a thread. */
import type { MessageKey } from '../core/event.ts';
import { compareTexts } from './listing.ts';

export function compareKeys(one: MessageKey, other: MessageKey): number {
  return one.at - other.at || compareTexts(one.runId, other.runId) || one.index - other.index;
}

/** The key alone of something that has one. */
export function keyOf({ at, runId, index }: MessageKey): MessageKey {
  return { at, runId, index };
}
