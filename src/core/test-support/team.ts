/** Runs with runs below them, for tests of the pure functions: `of` puts any event into a run below. */
import { childIdOf } from '../below.ts';
import type { CallRequested, Event } from '../event.ts';
import { asking, callStarted, requested, runId, runStarted, stepFinished, stepStarted } from './events.ts';

/** The same event in another run. */
export function of(run: string, ...events: readonly Event[]): Event[] {
  return events.map((event) => ({ ...event, runId: run }));
}

export const delegation = (toolCallId: string, over: Partial<CallRequested> = {}): CallRequested =>
  requested(toolCallId, 'free', { toolName: 'agent-x', repeatable: true, ...over });

/** A delegation of `above` begins its run below, which asks for these calls. */
export function begins(toolCallId: string, requests: readonly CallRequested[], above = runId): Event[] {
  const child = childIdOf(above, toolCallId);
  return [
    ...of(above, callStarted(toolCallId)),
    ...of(
      child,
      runStarted({ agentId: `agent of ${toolCallId}` }),
      stepStarted(),
      stepFinished(
        0,
        requests.map((request) => request.toolCallId),
      ),
      ...requests,
    ),
  ];
}

/** A root with delegations `one` and `two`; below them wait `a` and `b`, and `c` of a run below `two`. */
export const team: readonly Event[] = [
  ...asking([delegation('one'), delegation('two')]),
  ...begins('one', [requested('a', 'held')]),
  ...begins('two', [requested('b', 'held'), delegation('deep')]),
  ...begins('deep', [requested('c', 'held')], childIdOf(runId, 'two')),
];

export const one = `${runId}~one`;
export const two = `${runId}~two`;
export const deep = `${runId}~two~deep`;
