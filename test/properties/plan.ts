/** What a random schedule is made of: the calls that the model will ask for, and what people and workers try. */
import fc from 'fast-check';

/** What becomes of a call each time that it is started. */
export type Ending = 'finish' | 'fail' | 'suspend';

export interface PlannedCall {
  readonly gate: 'free' | 'held' | 'refused';
  /** One for each start; the last one settles the call. */
  readonly starts: readonly Ending[];
  /** A delegation, and what the model of the run below asks for. */
  readonly below?: Plan['steps'];
}

export interface Plan {
  /** The calls of each step; after the last one the model answers with text. */
  readonly steps: readonly (readonly PlannedCall[])[];
  readonly maxSteps: number;
  readonly concurrency: number;
}

export type Verdict = 'approve' | 'decline' | 'resume' | 'resolve';

/** One thing that somebody tries. What makes no sense in the state must be refused there. */
export type Move =
  /** A worker asks `next` and does the first thing it may. */
  | { readonly type: 'act'; readonly holder: number; readonly choice: number }
  /** A reviewer looks at what waits, to decide it later. */
  | { readonly type: 'look'; readonly reviewer: number; readonly choice: number }
  | {
      readonly type: 'decide';
      readonly reviewer: number;
      readonly verdict: Verdict;
      /** What the reviewer looked at, one that waits, any call at all, none, or one that is not there. */
      readonly target: 'seen' | 'waiting' | 'any' | 'latest' | 'unknown';
      readonly choice: number;
      readonly stop: 'none' | 'right' | 'before' | 'after';
      readonly fingerprint: 'none' | 'right' | 'wrong';
      readonly decisionId: number;
      /** Who goes on with the run: a worker, or nobody (decided where the agent's code is not). */
      readonly holder: number | null;
    }
  /** Rarely before the first pause, where it ends the run. */
  | { readonly type: 'model-fails'; readonly holder: number; readonly choice: number }
  | { readonly type: 'give-back'; readonly holder: number }
  | { readonly type: 'dies'; readonly holder: number }
  | { readonly type: 'late-result'; readonly choice: number }
  | { readonly type: 'continue'; readonly holder: number }
  /** One in eight of these only: it ends so much. */
  | { readonly type: 'cancel'; readonly holder: number; readonly choice: number };

const holder = fc.nat(1);
const choice = fc.nat(7);

const plannedCall: fc.Arbitrary<PlannedCall> = fc.record({
  gate: fc.constantFrom('free', 'held', 'held', 'refused'),
  starts: fc
    .tuple(fc.nat(2), fc.constantFrom<Ending>('finish', 'finish', 'fail'))
    .map(([suspensions, last]) => [...Array<Ending>(suspensions).fill('suspend'), last]),
});

export const plans: fc.Arbitrary<Plan> = fc.record({
  steps: fc.array(fc.array(plannedCall, { minLength: 1, maxLength: 4 }), { maxLength: 3, size: 'max' }),
  maxSteps: fc.constantFrom(1, 2, 3, 20, 20),
  concurrency: fc.constantFrom(1, 2, 10),
});

const stepsOf = (calls: fc.Arbitrary<PlannedCall>, maxLength: number): fc.Arbitrary<Plan['steps']> =>
  fc.array(fc.array(calls, { minLength: 1, maxLength: 3 }), { maxLength, size: 'max' });

const delegated = (below: fc.Arbitrary<Plan['steps']>): fc.Arbitrary<PlannedCall> =>
  fc.record({
    gate: fc.constantFrom('free', 'free', 'held'),
    starts: fc.constant<readonly Ending[]>(['finish']),
    below,
  });

const callBelow = fc.oneof(
  { weight: 3, arbitrary: plannedCall },
  { weight: 1, arbitrary: delegated(stepsOf(plannedCall, 2)) },
);

/** Plans whose calls are delegations now and then, two levels deep. */
export const teamPlans: fc.Arbitrary<Plan> = fc.record({
  steps: stepsOf(
    fc.oneof(
      { weight: 1, arbitrary: plannedCall },
      { weight: 1, arbitrary: delegated(stepsOf(callBelow, 2)) },
    ),
    2,
  ),
  maxSteps: fc.constantFrom(1, 2, 20, 20),
  concurrency: fc.constantFrom(1, 2, 10),
});

/** What the model of a run is to ask for. @param above the ids of the delegations that lead to it. */
export function plannedBelow(plan: Plan, above: readonly string[]): Plan['steps'] {
  return above.reduce<Plan['steps']>((steps, id) => plannedCallOf(steps, id)?.below ?? [], plan.steps);
}

/** The call of an id: step and position in it, with something between. */
export function plannedCallOf(steps: Plan['steps'], id: string): PlannedCall | undefined {
  const [step = -1, position = -1] = id.split(/[-.]/).map(Number);
  return steps[step]?.[position];
}

const decideMove = fc.record({
  type: fc.constant('decide' as const),
  reviewer: fc.nat(1),
  verdict: fc.constantFrom<Verdict>(
    'approve',
    'approve',
    'approve',
    'decline',
    'resume',
    'resume',
    'resolve',
  ),
  target: fc.constantFrom('seen', 'waiting', 'waiting', 'waiting', 'any', 'latest', 'latest', 'unknown'),
  choice,
  stop: fc.constantFrom('none', 'none', 'none', 'right', 'right', 'before', 'after'),
  fingerprint: fc.constantFrom('none', 'right', 'right', 'right', 'wrong'),
  decisionId: fc.nat(2),
  holder: fc.option(holder, { freq: 3 }),
} as const);

const moves: fc.Arbitrary<Move> = fc
  .oneof(
    { weight: 16, arbitrary: fc.record({ type: fc.constant('act' as const), holder, choice }) },
    { weight: 10, arbitrary: decideMove },
    { weight: 4, arbitrary: fc.record({ type: fc.constant('look' as const), reviewer: fc.nat(1), choice }) },
    { weight: 3, arbitrary: fc.record({ type: fc.constant('model-fails' as const), holder, choice }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('give-back' as const), holder }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('dies' as const), holder }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('late-result' as const), choice }) },
    { weight: 2, arbitrary: fc.record({ type: fc.constant('continue' as const), holder }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('cancel' as const), holder, choice }) },
  )
  .map((move) => move as Move);

export const schedules: fc.Arbitrary<readonly Move[]> = fc.array(moves, {
  minLength: 10,
  maxLength: 60,
  size: 'max',
});

/** How the rest of a run is decided, once the schedule is over. */
export type Finale = 'approve' | 'decline' | 'cancel';
export const finales = fc.constantFrom<Finale>('approve', 'approve', 'decline', 'decline', 'cancel');

/** Printed in the name of each test: run again with `PROPERTY_SEED=… vitest run test/properties`. */
export const seed = Number(process.env.PROPERTY_SEED ?? Math.floor(Math.random() * 2 ** 31));
