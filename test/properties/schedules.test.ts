/** Random schedules on the pure functions: no order of moves breaks an invariant of SPEC.md. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { eventFrom, eventText } from '../../src/core/event.ts';
import { waitingCalls } from '../../src/core/next.ts';
import { fold } from '../../src/core/run.ts';
import { lastStep } from '../../src/core/state.ts';
import { checkAnswer, checkEnd, checkHistory, checkState } from './invariants.ts';
import { type Finale, finales, type Move, type Plan, plans, schedules, seed } from './plan.ts';
import { holders, newWorld, perform, type World } from './world.ts';

const numRuns = 10_000;
/** What the schedules came by, so that the generator is known to reach it. */
const reached = new Map<string, number>();

function count(what: string): void {
  reached.set(what, (reached.get(what) ?? 0) + 1);
}

function step(world: World, move: Move): void {
  const length = world.events.length;
  perform(world, move);
  if (world.answered) {
    checkAnswer(world.answered);
    count(world.answered.code);
  }
  if (world.events.length === length) return;
  for (const event of world.events.slice(length)) count(event.type);
  checkHistory(world.events);
  checkState(world);
}

/** Everybody does what is theirs, and people decide what waits: the run must come to its end. */
function finish(world: World, finale: Finale): void {
  if (finale === 'cancel') step(world, { type: 'cancel', holder: 0, choice: 0 });
  for (let turn = 0; world.run.outcome === undefined; turn++) {
    if (turn === 200) throw new Error('The run does not come to its end.');
    step(world, { type: 'continue', holder: turn % 2 });
    for (const [position] of holders.entries()) {
      step(world, { type: 'act', holder: position, choice: turn });
    }
    for (const { call } of world.run.outcome ? [] : waitingCalls(world.run)) {
      const going = { held: 'approve', suspended: 'resume' }[call.state as string] ?? 'resolve';
      const verdict = finale === 'decline' && call.state !== 'interrupted' ? 'decline' : going;
      const choice = [...world.run.calls.keys()].indexOf(call.toolCallId);
      step(world, {
        type: 'decide',
        reviewer: 9,
        verdict: verdict as never,
        target: 'any',
        choice,
        stop: 'none',
        fingerprint: 'right',
        decisionId: 0,
        holder: turn % 2,
      });
    }
  }
}

function runSchedule(plan: Plan, moves: readonly Move[], finale: Finale): void {
  const world = newWorld(plan);
  step(world, { type: 'act', holder: 0, choice: 0 });
  for (const move of moves) step(world, move);
  finish(world, finale);
  checkEnd(world);
  count(`finale ${world.run.outcome?.finishReason}`);
  if (lastStep(world.run)?.index === 2) count('three steps');
  const again = fold(world.events.map(eventText).map(eventFrom));
  const told = (value: unknown) => JSON.stringify(value).replaceAll('"v":1,', '');
  expect(told([...(again?.calls ?? []), again?.steps])).toBe(told([...world.run.calls, world.run.steps]));
}

test(`${numRuns} random schedules (PROPERTY_SEED=${seed})`, { timeout: 120_000 }, () => {
  fc.assert(fc.property(plans, schedules, finales, runSchedule), { seed, numRuns });
  // Each of these is a case that the schedules must come by often, or they prove little.
  for (const what of [
    'call-suspended',
    'call-interrupted',
    'call-released',
    'step-failed',
    'run-continued',
    'cancel-requested',
    'decided',
    'repeated',
    'already-decided',
    'stop-mismatch',
    'fingerprint-mismatch',
    'needs-data',
    'needs-verdict',
    'call-not-waiting',
    'call-not-found',
    'run-ended',
    'three steps',
    'finale stop',
    'finale max-steps',
    'finale cancelled',
  ]) {
    expect(reached.get(what) ?? 0, what).toBeGreaterThan(100);
  }
});
