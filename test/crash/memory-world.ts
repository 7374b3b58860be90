/** Processes in memory: each has a registry of its own on one store, and dies as its crash store does. */
import type { Agent } from '../../src/agent/agent.ts';
import { Countersign } from '../../src/agent/countersign.ts';
import type { Clock } from '../../src/core/log.ts';
import type { Store } from '../../src/core/store.ts';
import { InMemoryStore } from '../../src/store/memory.ts';
import { type CrashPoint, type CrashStore, crashStore } from '../../src/testing/crash-store.ts';
import { evidenceOf, problemsOf } from './check.ts';
import { openDesk, type Phase, type Scenario, type World } from './desk.ts';
import { type Journal, memoryJournal } from './journal.ts';
import { play } from './person.ts';
import { recover } from './recover.ts';

/** Where a process dies: at a write, or when it reaches a phase of its work for the n-th time. */
export type Point = CrashPoint | { readonly phase: number };

/** What all processes share: the database, its clock, the world outside. */
export interface Shared {
  readonly store: Store;
  readonly journal: Journal;
  /** Milliseconds since 1970, for all of them. */
  now: number;
}

/** @param wrap makes the database one that does not keep what it promises. */
export function openShared(wrap: (store: Store) => Store = (store) => store): Shared {
  const shared = { now: 1_000_000, journal: memoryJournal() } as { -readonly [K in keyof Shared]: Shared[K] };
  shared.store = wrap(new InMemoryStore({ now: () => shared.now }));
  return shared;
}

export interface Process {
  readonly agent: Agent;
  readonly countersign: Countersign;
  readonly store: CrashStore;
  /** The phases that it reached. */
  readonly phases: readonly Phase[];
  /** Resolves when it is dead. */
  readonly died: Promise<void>;
  /** Resolves when nothing goes on in it any more. */
  atRest(): Promise<void>;
}

/**
 * @param wrap what this process alone sees of the database.
 * @param open makes its agent.
 */
export function openProcess(
  shared: Shared,
  at?: Point,
  wrap: (store: Store) => Store = (store) => store,
  open: (world: World) => Agent = openDesk,
): Process {
  const phases: Phase[] = [];
  const work = new Set<Promise<void>>();
  let toDie: () => void = () => {};
  const died = new Promise<void>((resolve) => {
    toDie = resolve;
  });
  const store = crashStore(wrap(shared.store), {
    at: at && 'nth' in at ? at : undefined,
    onDeath: () => toDie(),
  });
  const reach = async (phase: Phase): Promise<void> => {
    if (!store.isDead && at && 'phase' in at && phases.push(phase) === at.phase) store.die();
    else if (!store.isDead && !(at && 'phase' in at)) phases.push(phase);
    if (store.isDead) await new Promise(() => {});
  };
  const world: World = {
    journal: { ...shared.journal, note: (entry) => store.isDead || shared.journal.note(entry) },
    reach,
    async effect(effect) {
      await reach('before effect');
      shared.journal.note({ type: 'effect', ...effect });
      await reach('in effect');
      await turns();
      await reach('after effect');
    },
  };
  const agent = open(world);
  const countersign = new Countersign({
    agents: { agent },
    storage: store,
    clock: clockOf(shared),
    warn: () => {},
    waitUntil: (drive) => {
      work.add(drive);
      void drive.finally(() => work.delete(drive));
    },
  });
  return {
    agent,
    countersign,
    store,
    phases,
    died,
    async atRest() {
      while (work.size > 0) await Promise.all(work);
    },
  };
}

/** Nobody waits in it: what would wake later never does, what must be looked at again is looked at in the next turn. */
function clockOf(shared: Shared): Clock {
  return {
    now: () => shared.now,
    sleep: (_milliseconds, { background } = {}) => (background ? new Promise(() => {}) : turns()),
  };
}

/** Long enough for all that a dead process had under way. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** Plays the scenario with a crash, recovers, and says what is wrong. `again` is where the recovery dies, too. */
export async function crash(
  scenario: Scenario,
  at: Point | undefined,
  wraps: {
    readonly shared?: (store: Store) => Store;
    readonly process?: (store: Store) => Store;
    readonly again?: Point;
  } = {},
): Promise<{ problems: string[]; process: Process }> {
  const shared = openShared(wraps.shared);
  const runId = 'run';
  const process = openProcess(shared, at, wraps.process);
  await Promise.race([play(scenario, process.agent, runId, journalOf(shared, process)), process.died]);
  await turns();
  if (at && !process.store.isDead) return { problems: ['the point was not reached'], process };
  process.store.die();
  if (wraps.again) {
    shared.now += 60_000;
    const second = openProcess(shared, wraps.again, wraps.process);
    await Promise.race([recover(runId, { ...second, journal: journalOf(shared, second) }), second.died]);
    await turns();
    second.store.die();
  }
  shared.now += 60_000;
  const next = openProcess(shared, undefined, wraps.process);
  const recovery = { ...next, journal: shared.journal };
  const problems = await recover(runId, recovery).catch((error: unknown) => [`recovery failed: ${error}`]);
  const evidence = await evidenceOf(next.store, scenario, runId, shared.journal.read(runId));
  return { problems: [...problems, ...problemsOf(evidence)], process };
}

/** Nothing is noted by the dead. */
function journalOf(shared: Shared, process: Process): Journal {
  return { ...shared.journal, note: (entry) => process.store.isDead || shared.journal.note(entry) };
}

/** All points of a scenario: run once without a crash to count them. */
export async function pointsOf(scenario: Scenario): Promise<Point[]> {
  const { process, problems } = await crash(scenario, undefined);
  if (problems.length > 0) throw new Error(`${scenario.name}, without a crash: ${problems.join('; ')}`);
  return [
    ...process.store.writes.flatMap((_, index): Point[] => [
      { nth: index + 1, when: 'before' },
      { nth: index + 1, when: 'after' },
    ]),
    ...process.phases.map((_, index): Point => ({ phase: index + 1 })),
  ];
}
