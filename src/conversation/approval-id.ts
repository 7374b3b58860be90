/** The id of one stop of a call, as a chat page has it: it comes back with the person's answer. */

export interface Stop {
  /** The run at the top. */
  readonly runId: string;
  /** Qualified, where it is a call of a run below. */
  readonly toolCallId: string;
  readonly stop: number;
}

export function approvalIdOf({ runId, toolCallId, stop }: Stop): string {
  return `${runId}::${toolCallId}::${stop}`;
}

/** Longer ones are nobody's: a run's id and those of the calls that lead to one far below. */
const longestId = 4000;

/** The stop that an id names; undefined for what is no such id. Anybody can send one, so it is read in one pass. */
export function stopIn(approvalId: unknown): Stop | undefined {
  if (typeof approvalId !== 'string' || approvalId.length > longestId) return undefined;
  const [first, last] = [approvalId.indexOf('::', 1), approvalId.lastIndexOf('::')];
  const runId = approvalId.slice(0, first);
  const toolCallId = approvalId.slice(first + 2, last);
  const stop = approvalId.slice(last + 2);
  const isId = first !== -1 && last > first + 2 && /^[1-9]\d{0,8}$/.test(stop);
  return isId ? { runId, toolCallId, stop: Number(stop) } : undefined;
}
