import { describe, expect, test } from 'vitest';
import { batchOf } from './batch.ts';
import type { Event } from './event.ts';
import { fold } from './run.ts';
import type { Run } from './state.ts';
import type { Batch } from './store.ts';
import {
  asking,
  callStarted,
  decided,
  failed,
  finished,
  me,
  requested,
  runContinued,
  runEnded,
  runOf,
  runStarted,
  stepFailed,
  stepFinished,
  stepReleased,
  stepStarted,
  suspended,
} from './test-support/events.ts';

const free = requested('c1', 'free');
const held = requested('c2', 'held');

/** The batch of the last events, after the others. */
function batchAfter(before: readonly Event[], ...events: readonly Event[]): Batch {
  const run = runOf(...before);
  return batchOf('batch-1', run, fold(events, run) as Run, events);
}

describe('durability', () => {
  const approved = [...asking([held]), decided('c2', 'approve')];
  const running = [...asking([free]), callStarted('c1')];
  const modelRuns = [...asking([held]), decided('c2', 'decline'), stepStarted(1)];

  test.each<[string, readonly Event[], readonly Event[]]>([
    ['a held call', [runStarted(), stepStarted()], [stepFinished(0, ['c2']), held]],
    ['a suspension', running, [suspended('c1')]],
    ['an approval', asking([held]), [decided('c2', 'approve')]],
    ['a decline', asking([held]), [decided('c2', 'decline'), stepStarted(1)]],
    ['a start', approved, [callStarted('c2')]],
    [
      'a result and a start',
      [...asking([free, requested('c3', 'free')]), callStarted('c1')],
      [finished('c1'), callStarted('c3')],
    ],
  ])('full for %s', (_, before, events) => {
    expect(batchAfter(before, ...events).durability).toBe('full');
  });

  test.each<[string, readonly Event[], readonly Event[]]>([
    ['a result', running, [finished('c1')]],
    ['a result and the claim of the model', running, [finished('c1'), stepStarted(1)]],
    ['a failure', running, [failed('c1')]],
    ['a given back claim', modelRuns, [stepReleased(1)]],
    ['a stalled model call', modelRuns, [stepFailed(1)]],
    ['a continue', [...modelRuns, stepFailed(1)], [runContinued, stepStarted(1, me, 2)]],
    ['the end', modelRuns, [stepFinished(1, []), runEnded]],
  ])('relaxed for %s', (_, before, events) => {
    expect(batchAfter(before, ...events).durability).toBe('relaxed');
  });
});
