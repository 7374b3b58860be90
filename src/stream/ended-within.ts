/** What an ended root left, as seen from a run below it. */
import type { EndedRun } from '../core/store.ts';

/**
 * What is kept of a run below the one that ended: the records of its calls, under the ids that they have there. Its own
 * text is not kept. Undefined when nothing was decided in it, or below it.
 */
export function endedWithin(ended: EndedRun, runId: string): EndedRun | undefined {
  if (runId === ended.runId) return ended;
  const prefix = `${runId.slice(ended.runId.length + 1)}~`;
  const depth = prefix.split('~').length - 1;
  const within = ended.records.filter(({ toolCallId }) => toolCallId.startsWith(prefix));
  const agentId = within[0]?.path?.[depth - 1]?.agentId;
  if (agentId === undefined) return undefined;
  const records = within.map(({ path = [], ...record }) => ({
    ...record,
    runId,
    toolCallId: record.toolCallId.slice(prefix.length),
    ...(path.length > depth ? { path: path.slice(depth) } : {}),
  }));
  return { ...ended, runId, agentId, records, outcome: { ...ended.outcome, text: '' } };
}
