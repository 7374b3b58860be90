/** A run in a small world: a log, an index and records as a store keeps them, two workers, and the moves on them. */
import { batchOf } from '../../src/core/batch.ts';
import { type DecisionRequest, decide, targetOf } from '../../src/core/decide.ts';
import { isCountersignError } from '../../src/core/errors.ts';
import type { CallRequested, Event, Holder } from '../../src/core/event.ts';
import { failure, isMine, next, riders, waitingCalls } from '../../src/core/next.ts';
import { fold, transition } from '../../src/core/run.ts';
import { type Call, lastStep, openCalls, type Run } from '../../src/core/state.ts';
import type { DecisionRecord, HeadRow, OpenCall } from '../../src/core/store.ts';
import {
  asStep,
  deepFreeze,
  failed,
  fingerprintOf,
  finished,
  me,
  other,
  requested,
  runId,
  stepFailed,
  stepFinished,
  stepReleased,
  suspended,
  withOptions,
} from '../../src/core/test-support/events.ts';
import type { Move, Plan } from './plan.ts';

export const holders: readonly [Holder, Holder] = [me, other];

interface Seen {
  readonly toolCallId: string;
  readonly stop: number;
}

/** What was answered to a decision, and what the state was that it was decided on. */
export interface Answered {
  readonly before: Run;
  readonly request: DecisionRequest;
  readonly code: string;
}

export interface World {
  run: Run;
  readonly plan: Plan;
  readonly events: Event[];
  /** How many of the events are stored. */
  stored: number;
  head: HeadRow | undefined;
  readonly index: Map<string, OpenCall>;
  readonly records: Map<string, DecisionRecord>;
  readonly seen: (Seen | undefined)[];
  answered: Answered | undefined;
  time: number;
}

export function newWorld(plan: Plan): World {
  const started = withOptions({ maxSteps: plan.maxSteps, toolCallConcurrency: plan.concurrency });
  return {
    run: deepFreeze(fold([started]) as Run),
    plan,
    events: [started],
    stored: 0,
    head: undefined,
    index: new Map(),
    records: new Map(),
    seen: [],
    answered: undefined,
    time: 100,
  };
}

/** Appends events as `commit` does: with what rides along, and stored from the first pause on. */
export function append(world: World, events: readonly Event[], holder: Holder | null): void {
  const before = world.run;
  const timed = events.map((event) => ({ ...event, at: ++world.time }) as Event);
  let after = fold(timed, before) as Run;
  const riding = holder ? riders(after, holder, ++world.time) : [];
  after = fold(riding, after) as Run;
  const all = [...timed, ...riding];
  for (const event of all) {
    world.run = deepFreeze(transition(world.run, event));
    world.events.push(event);
  }
  if (all.length === 0) return;
  if (world.stored === 0 && (after.outcome || waitingCalls(after).length === 0)) return;
  store(world, before, after);
}

function store(world: World, before: Run, after: Run): void {
  const first = world.stored === 0;
  const batch = batchOf('b', first ? undefined : before, after, world.events.slice(world.stored));
  if (batch.expectedVersion !== world.stored) throw new Error('The batch expects another version.');
  world.stored += batch.events.length;
  world.head = batch.head;
  for (const { toolCallId } of batch.closed) {
    if (!world.index.delete(toolCallId)) throw new Error(`${toolCallId} was closed and not open.`);
  }
  for (const call of batch.opened) world.index.set(call.toolCallId, call);
  for (const record of batch.records) {
    const key = `${record.stop} ${record.toolCallId}`;
    if (world.records.has(key)) throw new Error(`A second record for ${key}.`);
    world.records.set(key, record);
  }
  for (const { toolCallId, stop, outcome } of batch.outcomes) {
    const key = `${stop} ${toolCallId}`;
    const record = world.records.get(key);
    // Nobody decided an interrupted call that its late result settles.
    if (record === undefined && batch.closed.some((call) => call.toolCallId === toolCallId)) continue;
    if (record === undefined) throw new Error(`An outcome without a record: ${key}.`);
    world.records.set(key, { ...record, outcome });
  }
}

/** Events to append, and who goes on with the run. */
type Proposal = readonly [readonly Event[], Holder | null];

export function perform(world: World, move: Move): void {
  world.answered = undefined;
  const proposal = proposalOf(world, move);
  if (proposal) append(world, ...proposal);
}

function proposalOf(world: World, move: Move): Proposal | undefined {
  const { run } = world;
  switch (move.type) {
    case 'act':
      return act(world, holders[move.holder] as Holder, move.choice);
    case 'look': {
      const call = pick(waitingCalls(run), move.choice)?.call;
      if (call) world.seen[move.reviewer] = { toolCallId: call.toolCallId, stop: call.stop };
      return undefined;
    }
    case 'decide':
      return tryDecision(world, move);
    case 'model-fails': {
      const holder = holders[move.holder] as Holder;
      if (next(run, holder) !== 'model') return undefined;
      if (run.cancel) return [[stepReleased(lastIndex(run))], holder];
      if (world.stored === 0 && move.choice > 0) return undefined;
      const error = { code: 'model-failed', message: 'No answer.' };
      const events = world.stored > 0 ? [stepFailed(lastIndex(run))] : failure(run, error, 0);
      return [events, holder];
    }
    case 'give-back':
      return [givenBack(run, holders[move.holder] as Holder, 'call-released'), null];
    case 'dies':
      return [givenBack(run, holders[move.holder] as Holder, 'call-interrupted'), null];
    case 'late-result': {
      const call = pick(
        openCalls(run).filter(({ state }) => state === 'interrupted'),
        move.choice,
      );
      return call && [[finished(call.toolCallId)], null];
    }
    case 'continue':
      if (lastStep(run)?.state !== 'stalled' || run.outcome) return undefined;
      return [[{ type: 'run-continued', runId, at: 0 }], holders[move.holder] as Holder];
    case 'cancel':
      if (run.outcome || run.cancel || move.choice > 0) return undefined;
      return [[{ type: 'cancel-requested', runId, at: 0, reason: 'enough' }], holders[move.holder] as Holder];
  }
}

/** One turn of the loop: what nobody holds is claimed, else one thing of what is held is done. */
function act(world: World, holder: Holder, choice: number): Proposal | undefined {
  const { run } = world;
  if (run.outcome) return undefined;
  switch (next(run, holder)) {
    case 'model':
      return [run.cancel ? [stepReleased(lastIndex(run))] : answer(world), holder];
    case 'calls': {
      const mine = openCalls(run).filter((call) => isMine(call.claim, holder));
      return [[outcomeOf(world, pick(mine, choice) as Call)], holder];
    }
    default:
      return [[], holder];
  }
}

function answer({ plan, run }: World): Event[] {
  const step = lastIndex(run);
  const calls = plan.steps[step] ?? [];
  const ids = calls.map((_, position) => `${step}.${position}`);
  return [
    stepFinished(step, ids),
    ...calls.map(
      ({ gate }, position): CallRequested => asStep(requested(ids[position] as string, gate), step),
    ),
  ];
}

/** What the plan says of this start. Starts that were given back or interrupted have not counted. */
function outcomeOf({ plan }: World, call: Call): Event {
  const [step, position] = call.toolCallId.split('.').map(Number) as [number, number];
  const { starts } = (plan.steps[step] ?? [])[position] as { starts: readonly string[] };
  const suspensions = call.suspension
    ? call.decisions.filter(({ verdict }) => verdict === 'resume').length
    : 0;
  switch (starts[suspensions]) {
    case 'suspend':
      return suspended(call.toolCallId, call.stop + 1);
    case 'fail':
      return failed(call.toolCallId);
    default:
      return finished(call.toolCallId);
  }
}

function givenBack(run: Run, holder: Holder, type: 'call-released' | 'call-interrupted'): Event[] {
  if (run.outcome) return [];
  const step = lastStep(run);
  if (step && isMine(step.claim, holder)) return [stepReleased(step.index)];
  return openCalls(run)
    .filter((call) => isMine(call.claim, holder))
    .map(({ toolCallId }) =>
      type === 'call-interrupted'
        ? { type, runId, at: 0, toolCallId, startedAt: 0 }
        : { type, runId, at: 0, toolCallId },
    );
}

function tryDecision(world: World, move: Extract<Move, { type: 'decide' }>): Proposal | undefined {
  const { run } = world;
  if (run.outcome) return undefined;
  let request = requestOf(world, move);
  try {
    const seen = move.target === 'seen' && move.stop === 'none' ? world.seen[move.reviewer] : undefined;
    const target = seen ?? targetOf(run, request, 'latest');
    request = { ...request, toolCallId: target.toolCallId, stop: target.stop };
    const event = decide(run, request, target, 0);
    world.answered = { before: run, request, code: event ? 'decided' : 'repeated' };
    return event && [[event], move.holder === null ? null : (holders[move.holder] as Holder)];
  } catch (thrown) {
    if (!isCountersignError(thrown)) throw thrown;
    world.answered = { before: run, request, code: thrown.code };
    return undefined;
  }
}

function requestOf(world: World, move: Extract<Move, { type: 'decide' }>): DecisionRequest {
  const { run } = world;
  const seen = move.target === 'seen' ? world.seen[move.reviewer] : undefined;
  const calls = {
    latest: [],
    waiting: waitingCalls(run).map(({ call }) => call),
    any: [...run.calls.values()],
    seen: [],
    unknown: [],
  };
  const any = pick<Call>(calls[move.target], move.choice);
  const toolCallId = move.target === 'unknown' ? 'unknown' : (seen?.toolCallId ?? any?.toolCallId);
  const call = toolCallId === undefined ? undefined : run.calls.get(toolCallId);
  const stops = {
    none: undefined,
    right: call?.stop || 1,
    before: call?.stop || 1,
    after: (call?.stop ?? 0) + 1,
  };
  const stop = move.stop === 'before' && stops.before > 1 ? stops.before - 1 : stops[move.stop];
  const fingerprints = {
    none: undefined,
    wrong: 'another',
    right: toolCallId === undefined ? undefined : fingerprintOf(toolCallId),
  };
  return {
    verdict: move.verdict,
    runId,
    toolCallId,
    stop,
    fingerprint: fingerprints[move.fingerprint],
    by: { id: `reviewer ${move.reviewer}` },
    ...(move.decisionId > 0 ? { decisionId: `decision ${move.decisionId}` } : {}),
    ...(move.verdict === 'resume' ? { data: { answer: move.choice } } : {}),
    ...(move.verdict === 'resolve' ? { resolution: 'run-again' } : {}),
    ...(move.verdict === 'decline' ? { reason: 'no' } : {}),
  };
}

const lastIndex = (run: Run): number => lastStep(run)?.index ?? 0;

function pick<T>(items: readonly T[], choice: number): T | undefined {
  return items[choice % Math.max(1, items.length)];
}
