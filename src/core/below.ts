/**
 * Owns how the runs below a root are named and found. A child's id is its parent's and the delegation call's, joined
 * by `~`; a call below has, under the root, the ids of the delegations that lead to it and its own, joined likewise.
 */
import type { Call, Run } from './state.ts';

/** One delegation on the way from a root run down to a call. */
export interface PathStep {
  /** The agent that was delegated to. */
  readonly agentId: string;
  /** The call of the run above that delegates. */
  readonly toolCallId: string;
}

/** A call, the run that asked for it, and its id as seen from the run where the search began. */
export interface Found {
  readonly id: string;
  readonly run: Run;
  readonly call: Call;
}

export function childIdOf(runId: string, toolCallId: string): string {
  return `${runId}~${toolCallId}`;
}

/** The first of joined ids: of a run's id the root's, of a qualified id that of the topmost delegation. */
export function firstIdOf(joined: string): string {
  return joined.split('~', 1)[0] as string;
}

/** A call's id as seen from a run at or above it. */
export function qualifiedId(from: Run, runId: string, toolCallId: string): string {
  if (runId === from.started.runId) return toolCallId;
  return childIdOf(runId, toolCallId).slice(from.started.runId.length + 1);
}

/** Whether a run is another one, or below it. */
export function isWithin(runId: string, above: string): boolean {
  return runId === above || runId.startsWith(`${above}~`);
}

/** The call under its qualified id. */
export function findCall(from: Run, id: string): Found | undefined {
  const own = from.calls.get(id);
  if (own) return { id, run: from, call: own };
  const ids = id.split('~');
  const last = ids.pop() as string;
  let run: Run | undefined = from;
  for (const delegation of ids) run = run?.calls.get(delegation)?.child;
  const call = run?.calls.get(last);
  return run && call && { id, run, call };
}

/** The run itself, or one below it. */
export function findRun(from: Run, runId: string): Run | undefined {
  if (runId === from.started.runId) return from;
  return isWithin(runId, from.started.runId)
    ? findCall(from, runId.slice(from.started.runId.length + 1))?.call.child
    : undefined;
}

/** The delegations that lead to a run below, the first one first. */
export function pathTo(from: Run, runId: string): PathStep[] {
  const ids = runId.slice(from.started.runId.length + 1).split('~');
  return ids.map((toolCallId, index) => {
    const child = findCall(from, ids.slice(0, index + 1).join('~'))?.call.child as Run;
    return { agentId: child.started.agentId, toolCallId };
  });
}

/** A run and all runs below it, in the order of the model. */
export function everyRun(run: Run): Run[] {
  const runs = [run];
  for (const { child } of run.calls.values()) if (child) runs.push(...everyRun(child));
  return runs;
}

/** Those of them that have not ended: of the others no claim and no failure counts any more. */
export function openRuns(run: Run): Run[] {
  return everyRun(run).filter(({ outcome }) => outcome === undefined);
}

/** Calls of a run, as found from a run at or above it. */
export function asFound(from: Run, run: Run, calls: readonly Call[]): Found[] {
  const { runId } = run.started;
  return calls.map((call) => ({ id: qualifiedId(from, runId, call.toolCallId), run, call }));
}

/** All calls at and below a run, in the order of the model. */
export function everyCall(from: Run): Found[] {
  return everyRun(from).flatMap((run) => asFound(from, run, [...run.calls.values()]));
}
