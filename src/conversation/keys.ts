/** The order of the messages in a thread. */
import type { MessageKey } from '../core/event.ts';

export function compareKeys(one: MessageKey, other: MessageKey): number {
  if (one.at !== other.at) return one.at - other.at;
  if (one.runId !== other.runId) return one.runId < other.runId ? -1 : 1;
  return one.index - other.index;
}

/** The key alone of something that has one. */
export function keyOf({ at, runId, index }: MessageKey): MessageKey {
  return { at, runId, index };
}
