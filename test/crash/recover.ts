/** What is done after the crash: in a new registry on the same store, until nothing is left. */
import type { Agent } from '../../src/agent/agent.ts';
import type { Countersign } from '../../src/agent/countersign.ts';
import { findCall } from '../../src/core/below.ts';
import { isCountersignError } from '../../src/core/errors.ts';
import { eventFrom } from '../../src/core/event.ts';
import { fold } from '../../src/core/run.ts';
import { isWaiting } from '../../src/core/state.ts';
import type { Store } from '../../src/core/store.ts';
import { factsOf, type Journal } from './journal.ts';
import { decide } from './person.ts';

/** More rounds than any scenario has pauses. */
const maximalRounds = 12;
/** … and than another process takes for what it holds. */
const roundsOfOthers = 200;

export interface Recovery {
  readonly agent: Agent;
  readonly countersign: Countersign;
  readonly store: Store;
  readonly journal: Journal;
  /** Resolves when what this registry began has come to rest. */
  atRest(): Promise<void>;
  /** Waits a moment for another process that recovers the same run. Left out, there is none. */
  letOthersMove?(): Promise<void>;
}

/** Announced stops that are neither open nor decided, and acknowledged decisions that are not stored. */
export async function lostIn(store: Store, runId: string, journal: Journal): Promise<string[]> {
  const entries = journal.read(runId);
  const stops = factsOf(entries, 'announced');
  const acknowledged = factsOf(entries, 'acknowledged');
  // Listed first: what another process decides in between is then found decided.
  const listed = (await store.list({ status: 'all', limit: 1000 })).runs.find((one) => one.runId === runId);
  const found = await store.load(runId, 0);
  if (found === undefined) {
    return [...stops, ...acknowledged].map(({ type, toolCallId }) => `${type} and gone: ${toolCallId}`);
  }
  const run = found.kind === 'open' ? fold(found.events.map(eventFrom)) : undefined;
  const decided = (toolCallId: string, stop: number): { verdict: string } | undefined =>
    found.kind === 'ended'
      ? found.records.find((record) => record.toolCallId === toolCallId && record.stop === stop)
      : run && findCall(run, toolCallId)?.call.decisions.find((decision) => decision.stop === stop);
  const isOpen = (toolCallId: string, stop: number): boolean => {
    const call = run && findCall(run, toolCallId)?.call;
    const isListed = listed?.calls.some(
      (one) => one.call.toolCallId === toolCallId && one.call.stop === stop,
    );
    return call !== undefined && isWaiting(call) && call.stop === stop && isListed === true;
  };
  return [
    ...stops
      .filter(({ toolCallId, stop }) => !isOpen(toolCallId, stop) && !decided(toolCallId, stop))
      .map(
        ({ toolCallId, stop }) => `announced, and neither listed nor decided: ${toolCallId}, stop ${stop}`,
      ),
    ...acknowledged
      .filter(({ toolCallId, stop, verdict }) => decided(toolCallId, stop)?.verdict !== verdict)
      .map(({ toolCallId, stop, verdict }) => {
        const stored = decided(toolCallId, stop)?.verdict ?? 'nothing';
        return `acknowledged ${verdict}, stored ${stored}: ${toolCallId}, stop ${stop}`;
      }),
  ];
}

/** Sweeps and decides until the run is gone. Returns what is wrong with the way there. */
export async function recover(runId: string, recovery: Recovery): Promise<string[]> {
  const { agent, countersign, store, journal, atRest } = recovery;
  const problems = await lostIn(store, runId, journal);
  let left = maximalRounds;
  for (let waited = 0; left > 0 && waited < roundsOfOthers; left--) {
    await countersign.sweep();
    await atRest();
    const { runs } = await agent.listSuspendedRuns({ status: 'all', perPage: 1000 });
    const run = runs.find((one) => one.runId === runId);
    if (run === undefined) return [...problems, ...(await lostIn(store, runId, journal))];
    const [call] = run.toolCalls;
    if (call) {
      await decide(agent, runId, call, journal).catch((error: unknown) => {
        // Of several who recover at once, one decides.
        if (!isCountersignError(error)) throw error;
      });
    } else if (run.status === 'stalled') {
      return [...problems, 'the run is stalled'];
    } else if (recovery.letOthersMove) {
      await recovery.letOthersMove();
      waited++;
      left++;
    }
  }
  return [...problems, 'the run does not end: nobody moves it'];
}
