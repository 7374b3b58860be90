/** What the processes of a race say to each other. */
import type { Place } from './places.ts';

/** How a process is set up, given as its argument. */
export interface ProcessOptions {
  readonly place: Place;
  readonly effects: string;
  readonly journal: string;
  /** Unique over all processes of a race. */
  readonly name: string;
  readonly seed: number;
  /** Begin runs, race for decisions, or bring everything to its end. */
  readonly task: 'begin' | 'race' | 'finish';
  /** False: it decides, and others drive. */
  readonly hasAgent: boolean;
  /** True: the store says yes to every write. */
  readonly withoutClaims: boolean;
  /** Questions that a process has open at one time. */
  readonly atOnce: number;
}

/** A call that a process is to decide. */
export interface Target {
  readonly runId: string;
  readonly toolCallId: string;
}

export type ToProcess =
  | { readonly type: 'runs'; readonly runIds: readonly string[] }
  /** Read these runs. */
  | { readonly type: 'read'; readonly runIds: readonly string[] }
  | { readonly type: 'decide'; readonly targets: readonly Target[] }
  /** Come to rest and exit. */
  | { readonly type: 'stop' };

export type FromProcess =
  | { readonly type: 'ready' }
  | { readonly type: 'worker'; readonly worker: string }
  | { readonly type: 'tool'; readonly what: 'entered' | 'effect' }
  | { readonly type: 'asked' }
  | { readonly type: 'told'; readonly target: Target }
  | { readonly type: 'warned'; readonly message: string }
  | { readonly type: 'finished'; readonly ending?: Ending }
  /** It has come to rest; it exits. */
  | { readonly type: 'stopped' };

/** What the last process found and did. */
export interface Ending {
  /** Runs that were neither ended nor listed. */
  readonly unlisted: readonly string[];
  /** Calls that nobody had decided. */
  readonly undecided: readonly Target[];
  readonly resolved: { readonly output: number; readonly error: number; readonly runAgain: number };
  /** Stalled runs that were continued. */
  readonly continued: number;
}
