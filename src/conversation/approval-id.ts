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

/** The stop that an id names; undefined for what is no such id. */
export function stopIn(approvalId: unknown): Stop | undefined {
  const [, runId, toolCallId, stop] = /^(.+?)::(.+)::([1-9]\d{0,8})$/s.exec(String(approvalId)) ?? [];
  return runId && toolCallId ? { runId, toolCallId, stop: Number(stop) } : undefined;
}
