/** What a list of events does to a run, step by step, and what rides along with it. Pure. */
import type { Event, Holder } from './event.ts';
import { riders } from './next.ts';
import { transition } from './run.ts';
import type { Run } from './state.ts';

/** An event that is now true (and stored, if the run is), with the state after it. */
export interface Change {
  readonly event: Event;
  readonly run: Run;
}

/** Folds events one by one. */
export function changesOf(events: readonly Event[], from: Run | undefined): Change[] {
  let run = from;
  return events.map((event) => {
    run = transition(run, event);
    return { event, run };
  });
}

/** Folds events, then what rides in the append of `me`, until nothing more does. */
export function changesWithRiders(events: readonly Event[], from: Run, me: Holder, at: number): Change[] {
  const changes = changesOf(events, from);
  for (;;) {
    const run = changes.at(-1)?.run ?? from;
    const riding = riders(run, me, at);
    if (riding.length === 0) return changes;
    changes.push(...changesOf(riding, run));
  }
}
