import { describe, expect, test, vi } from 'vitest';
import { drive } from './drive.ts';
import { headOf, next } from './next.ts';
import { fold } from './run.ts';
import type { Run } from './state.ts';
import { begin, done, partsFor, tool } from './test-support/drive.ts';
import {
  cancelRequested,
  decided,
  me,
  other,
  requested,
  runContinued,
  runId,
  runStarted,
  stepFinished,
  stepStarted,
  withOptions,
} from './test-support/events.ts';
import { callPart, held, responseOf, until } from './test-support/parts.ts';

const asked = responseOf(callPart('c1', 'free'));
const free = tool('free');
const heldTool = tool('held', { requireApproval: true });
const stepsOf = (run: Run): number => run.steps.filter((step) => step.response).length;

describe('a condition that says when to stop', () => {
  test('is asked when the calls of a step are settled, and ends the run before the next model call', async () => {
    const { log, store, typesOf } = begin();
    const states: unknown[] = [];
    const shouldStop = vi.fn(async (run: Run) => {
      states.push([...run.calls.values()].map(({ state }) => state));
      return stepsOf(run) === 2;
    });
    const parts = partsFor([free], [asked, responseOf(callPart('c2', 'free'))], { shouldStop });
    await drive(log, parts);
    expect(log.run.outcome).toMatchObject({ status: 'finished', finishReason: 'tool-calls' });
    expect(states).toEqual([['finished'], ['finished', 'finished']]);
    expect(parts.model.requests).toHaveLength(2);
    expect(log.run.steps).toHaveLength(2);
    expect(typesOf().slice(-3)).toEqual(['step-started', 'run-stopped', 'run-ended']);
    expect(store.writes).toEqual([]);
  });

  test('is not asked before the first step, after the last answer, or when the steps are used up', async () => {
    const shouldStop = vi.fn(async () => true);
    const { log } = begin();
    await drive(log, partsFor([], [done], { shouldStop }));
    expect(log.run.outcome?.finishReason).toBe('stop');
    const limited = begin(withOptions({ maxSteps: 1 }));
    await drive(limited.log, partsFor([free], [asked], { shouldStop }));
    expect(limited.log.run.outcome?.finishReason).toBe('max-steps');
    expect(shouldStop).not.toHaveBeenCalled();
  });

  test('ends a stored run in one write, from the claim of the model call', async () => {
    const { log, store } = begin();
    await drive(log, partsFor([heldTool], [responseOf(callPart('c1', 'held'))]));
    const fingerprint = log.run.calls.get('c1')?.request.fingerprint as string;
    await log.commit(() => [decided('c1', 'approve', { fingerprint })], { me });
    await drive(log, partsFor([heldTool], [], { shouldStop: async () => true }));
    expect(store.writes.map(({ kind }) => kind)).toEqual(['create', 'append', 'append', 'remove']);
    expect(store.writes.map(({ batch }) => batch.head.head)).toEqual(['waiting', 'owned', 'owned', 'ended']);
    expect(log.run.outcome).toMatchObject({ status: 'finished', finishReason: 'tool-calls' });
  });

  test('leaves a run alone whose model call somebody else has taken over meanwhile', async () => {
    const { log } = begin(withOptions({ durable: true }));
    const door = held<boolean>();
    const parts = partsFor([free], [asked], { shouldStop: () => door.promise });
    const driving = drive(log, parts);
    await until(() => next(log.run, me) === 'model' && log.run.steps.length === 2);
    await log.commit(() => [{ type: 'step-released', runId, at: 9, step: 1, takenOver: true }], {
      me: other,
    });
    door.release(true);
    await driving;
    expect([log.run.outcome, log.run.stopped]).toEqual([undefined, undefined]);
    expect([next(log.run, other), headOf(log.run)]).toEqual(['model', 'owned']);
  });

  test('a crash while it is asked leaves a claim, and whoever takes over goes on', async () => {
    const { log } = begin(withOptions({ durable: true }));
    void drive(log, partsFor([free], [asked], { shouldStop: () => new Promise(() => {}) }));
    await until(() => log.run.steps.length === 2);
    expect(headOf(log.run)).toBe('owned');
    await log.commit(() => [{ type: 'step-released', runId, at: 9, step: 1, takenOver: true }]);
    const parts = partsFor([free], [done], { me: other });
    await drive(log, parts);
    expect(log.run.outcome).toMatchObject({ finishReason: 'stop', text: 'Done.' });
  });

  test('that throws fails a run of which nothing is stored, and stalls a stored one', async () => {
    const shouldStop = async (): Promise<boolean> => {
      throw new Error('broken');
    };
    const { log } = begin();
    await drive(log, partsFor([free], [asked], { shouldStop }));
    expect(log.run.outcome).toMatchObject({ status: 'failed', error: { message: 'broken' } });
    const stored = begin(withOptions({ durable: true }));
    await drive(stored.log, partsFor([free], [asked], { shouldStop }));
    expect(headOf(stored.log.run)).toBe('waiting');
    await stored.log.commit(() => [runContinued], { me });
    await drive(stored.log, partsFor([free], [done]));
    expect(stored.log.run.outcome?.status).toBe('finished');
  });

  test('of a run that is cancelled meanwhile: it is cancelled', async () => {
    const { log } = begin();
    const door = held<boolean>();
    const driving = drive(log, partsFor([free], [asked], { shouldStop: () => door.promise }));
    await until(() => log.run.steps.length === 2);
    await log.commit(() => [cancelRequested]);
    door.release(true);
    await driving;
    expect(log.run.outcome?.status).toBe('cancelled');
  });
});

describe('run-stopped', () => {
  const stopped = { type: 'run-stopped', runId, at: 9, step: 1 } as const;
  const settled = [
    runStarted(),
    stepStarted(0),
    stepFinished(0, ['c1']),
    requested('c1', 'refused'),
    stepStarted(1),
  ] as const;

  test('takes the claimed step back: nothing but the end may follow', () => {
    const run = fold([...settled, stopped]) as Run;
    expect(run).toMatchObject({ stopped: true, length: 6, steps: [{ index: 0, state: 'finished' }] });
    expect([next(run, me), next(run, other), headOf(run)]).toEqual(['done', 'done', 'runnable']);
  });

  test('is illegal where no model call is claimed', () => {
    expect(() => fold([...settled.slice(0, -1), stopped])).toThrow(/Illegal transition/);
    expect(() => fold([...settled, { ...stopped, step: 0 }])).toThrow(/Illegal transition/);
  });
});
