import { describe, expect, test, vi } from 'vitest';
import { drive } from './drive.ts';
import type { RunLog } from './log.ts';
import type { ModelResponse } from './model.ts';
import { headOf, next } from './next.ts';
import { begin, done, partsFor, tool } from './test-support/drive.ts';
import {
  callIs,
  cancelRequested,
  decided,
  me,
  other,
  runContinued,
  withOptions,
} from './test-support/events.ts';
import { callPart, held, responseOf, until } from './test-support/parts.ts';

const stateOf = (log: RunLog, id: string) => log.run.calls.get(id)?.state;
const approve = (log: RunLog, id: string) => {
  const fingerprint = log.run.calls.get(id)?.request.fingerprint as string;
  return log.commit(() => [decided(id, 'approve', { fingerprint })], { me });
};

describe('from the first model call to the end', () => {
  test('without a pause nothing is stored', async () => {
    const { log, store, typesOf } = begin();
    const parts = partsFor([tool('free')], [responseOf(callPart('c1', 'free')), done]);
    await drive(log, parts);
    expect(log.run.outcome).toMatchObject({ status: 'finished', text: 'Done.', finishReason: 'stop' });
    expect(store.writes).toEqual([]);
    expect(typesOf().at(-1)).toBe('run-ended');
    expect(parts.model.requests[1]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
  });

  test('stops at the pause, and goes on when it is decided', async () => {
    const { log, store } = begin();
    const parts = partsFor(
      [tool('held', { requireApproval: true })],
      [responseOf(callPart('c1', 'held')), done],
    );
    await drive(log, parts);
    expect(headOf(log.run)).toBe('waiting');
    expect(parts.model.requests).toHaveLength(1);
    await approve(log, 'c1');
    await drive(log, parts);
    expect(stateOf(log, 'c1')).toBe('finished');
    expect(store.writes.map(({ kind }) => kind)).toEqual(['create', 'append', 'append', 'remove']);
  });

  test('ends after maxSteps with the calls of the last step settled', async () => {
    const { log } = begin(withOptions({ maxSteps: 1 }));
    await drive(log, partsFor([tool('free')], [responseOf(callPart('c1', 'free'))]));
    expect(log.run.outcome).toMatchObject({ status: 'finished', finishReason: 'max-steps' });
    expect(stateOf(log, 'c1')).toBe('finished');
  });

  test('passes deltas on under the ids that the calls will have', async () => {
    const { log, passed, events } = begin();
    const streaming = async (request: { onDelta(delta: never): void }): Promise<ModelResponse> => {
      const payload = { toolCallId: 'a~b', toolName: 'free' };
      request.onDelta({ type: 'tool-call-input-streaming-start', payload } as never);
      request.onDelta({
        type: 'tool-call-delta',
        payload: { toolCallId: 'a~b', argsTextDelta: '{}' },
      } as never);
      return responseOf(callPart('a~b', 'free'));
    };
    await drive(log, partsFor([tool('free')], [streaming, done]));
    const asked = events.find((event) => event.type === 'call-requested');
    const ids = passed.map((passing) => (passing as { payload: { toolCallId: string } }).payload.toolCallId);
    expect(ids[0]).toMatch(/^call_/);
    expect(ids).toEqual([asked?.toolCallId, asked?.toolCallId]);
  });
});

describe('calls of one step (scenario: K6, K7)', () => {
  test('free ones run at once and side by side, beside what waits', async () => {
    const { log } = begin();
    const doors = { one: held(), two: held() };
    const entered: string[] = [];
    const slow = (id: 'one' | 'two') =>
      tool(id, {
        execute: async () => {
          entered.push(id);
          await doors[id].promise;
          return id as never;
        },
      });
    const asked = responseOf(callPart('c1', 'one'), callPart('c2', 'held'), callPart('c3', 'two'));
    const driving = drive(
      log,
      partsFor([slow('one'), slow('two'), tool('held', { requireApproval: true })], [asked]),
    );
    await until(() => entered.length === 2);
    expect([stateOf(log, 'c1'), stateOf(log, 'c2'), stateOf(log, 'c3')]).toEqual([
      'running',
      'held',
      'running',
    ]);
    doors.two.release();
    doors.one.release();
    await driving;
    expect([stateOf(log, 'c1'), stateOf(log, 'c2'), stateOf(log, 'c3')]).toEqual([
      'finished',
      'held',
      'finished',
    ]);
  });

  test('none is entered before its claim is stored (claims before effects)', async () => {
    const { log, store } = begin();
    const body = vi.fn(() => 'done' as never);
    const gate = held();
    store.faults.push(() => gate.promise);
    const asked = responseOf(callPart('c1', 'free'), callPart('c2', 'held'));
    const driving = drive(
      log,
      partsFor([tool('free', { execute: body }), tool('held', { requireApproval: true })], [asked]),
    );
    await until(() => store.writes.length === 1);
    expect(body).not.toHaveBeenCalled();
    gate.release();
    await driving;
    expect(body).toHaveBeenCalledTimes(1);
  });

  test('a pause that cannot be stored fails the run, and nothing of it runs (invariant 8)', async () => {
    const { log, store } = begin();
    const body = vi.fn(() => 'done' as never);
    store.faults.push('fails', 'fails', 'fails');
    const asked = responseOf(callPart('c1', 'free'), callPart('c2', 'held'));
    await drive(
      log,
      partsFor([tool('free', { execute: body }), tool('held', { requireApproval: true })], [asked]),
    );
    expect(body).not.toHaveBeenCalled();
    expect(log.run.outcome).toMatchObject({ status: 'failed', error: { code: 'store-failed' } });
    expect(await store.load('run-1', 0)).toBeUndefined();
  });

  test('only the holder enters them', async () => {
    const { log } = begin();
    const body = vi.fn(() => 'done' as never);
    const tools = [tool('held', { requireApproval: true, execute: body })];
    await drive(log, partsFor(tools, [responseOf(callPart('c1', 'held'))]));
    await approve(log, 'c1');
    await drive(log, partsFor(tools, [], { me: other }));
    expect(body).not.toHaveBeenCalled();
    expect(next(log.run, me)).toBe('calls');
    await drive(log, partsFor(tools, [done, done]));
    expect(body).toHaveBeenCalledTimes(1);
  });
});

test('the result of an executed call is kept until the store has it (at most once)', async () => {
  const { log, store } = begin();
  const body = vi.fn(() => 'done' as never);
  const tools = [tool('held', { requireApproval: true, execute: body })];
  await drive(log, partsFor(tools, [responseOf(callPart('c1', 'held'))]));
  await approve(log, 'c1');
  store.faults.push(...Array.from({ length: 7 }, () => 'fails' as const));
  await drive(log, partsFor(tools, [done]));
  expect(log.run.calls.get('c1')).toMatchObject({ state: 'finished', result: 'done' });
  expect(body).toHaveBeenCalledTimes(1);
});

test('the result of a start that was given back does not settle the next start', async () => {
  const { log } = begin();
  const doors = [held(), held()];
  const body = vi.fn(async () => {
    const turnOf = body.mock.calls.length;
    await doors[turnOf - 1]?.promise;
    return `start ${turnOf}` as never;
  });
  const driving = drive(
    log,
    partsFor([tool('free', { execute: body })], [responseOf(callPart('c1', 'free')), done]),
  );
  await until(() => body.mock.calls.length === 1);
  await log.commit(() => [callIs('call-released', 'c1')], { me });
  expect(log.run.calls.get('c1')).toMatchObject({ state: 'running', attempts: 2 });
  doors[0]?.release();
  await until(() => body.mock.calls.length === 2);
  doors[1]?.release();
  await driving;
  expect(log.run.calls.get('c1')).toMatchObject({ state: 'finished', result: 'start 2' });
});

test('a call that was taken over while it ran: its late result is taken, and the run goes on here', async () => {
  const { log } = begin();
  const door = held();
  const body = vi.fn(async () => {
    await door.promise;
    return 'late' as never;
  });
  const driving = drive(
    log,
    partsFor([tool('free', { execute: body })], [responseOf(callPart('c1', 'free')), done]),
  );
  await until(() => body.mock.calls.length === 1);
  await log.commit(() => [callIs('call-interrupted', 'c1')]);
  expect(next(log.run, me)).toBe('wait');
  door.release();
  await driving;
  expect(log.run.calls.get('c1')).toMatchObject({ state: 'finished', result: 'late' });
  expect(body).toHaveBeenCalledTimes(1);
  expect(log.run.outcome).toMatchObject({ status: 'finished', text: 'Done.' });
});

describe('a model call that fails', () => {
  const broken = new Error('overloaded');
  const heldTool = tool('held', { requireApproval: true });

  test('before anything was stored ends the run', async () => {
    const { log, store } = begin();
    await drive(log, partsFor([], [broken]));
    expect(log.run.outcome).toMatchObject({
      status: 'failed',
      finishReason: 'error',
      error: { code: 'model-failed', message: 'overloaded' },
    });
    expect(store.writes).toEqual([]);
  });

  test('of a stored run stalls it, and continue tries the step again', async () => {
    const { log, store } = begin();
    const parts = partsFor([heldTool], [responseOf(callPart('c1', 'held')), broken, done]);
    await drive(log, parts);
    await approve(log, 'c1');
    await drive(log, parts);
    expect(headOf(log.run)).toBe('waiting');
    expect(store.writes.at(-1)?.batch.head).toMatchObject({
      head: 'waiting',
      stalledSince: expect.any(Number),
    });
    await drive(log, parts);
    expect(parts.model.requests).toHaveLength(2);
    await log.commit(() => [runContinued], { me });
    await drive(log, parts);
    expect(log.run.outcome?.status).toBe('finished');
    expect(log.run.calls.get('c1')?.attempts).toBe(1);
  });

  test('is none where only a name cannot be read: the model is told', async () => {
    const { log } = begin();
    await drive(log, partsFor([heldTool], [responseOf(callPart('c1', 'no\ud800such')), done]));
    expect(log.run.outcome?.status).toBe('finished');
  });
});

describe('cancel (scenario: K17)', () => {
  test('while a call runs: it is told, awaited, and its true outcome recorded', async () => {
    const { log } = begin();
    const door = held();
    let signal: AbortSignal | undefined;
    const slow = tool('free', {
      async execute(_input, context) {
        signal = context.abortSignal;
        await door.promise;
        return 'sent' as never;
      },
    });
    const driving = drive(log, partsFor([slow], [responseOf(callPart('c1', 'free'))]));
    await until(() => signal);
    await log.commit(() => [cancelRequested]);
    expect(signal?.aborted).toBe(true);
    door.release();
    await driving;
    expect(log.run.calls.get('c1')).toMatchObject({ state: 'finished', result: 'sent' });
    expect(log.run.outcome).toMatchObject({ status: 'cancelled', reason: 'enough' });
  });

  test('while the model writes: its response is discarded whole', async () => {
    const { log, typesOf } = begin();
    const door = held<ModelResponse>();
    let signal: AbortSignal | undefined;
    const slow = (request: { abortSignal: AbortSignal }) => {
      signal = request.abortSignal;
      return door.promise;
    };
    const driving = drive(log, partsFor([tool('free')], [slow]));
    await until(() => signal);
    await log.commit(() => [cancelRequested]);
    expect(signal?.aborted).toBe(true);
    door.release(responseOf(callPart('c1', 'free')));
    await driving;
    expect(typesOf()).toEqual(['step-started', 'cancel-requested', 'step-released', 'run-ended']);
  });

  test('while the gate asks: the response is discarded all the same', async () => {
    const { log, typesOf } = begin();
    const door = held<boolean>();
    const asked = vi.fn(() => door.promise);
    const parts = partsFor([tool('free', { requireApproval: asked })], [responseOf(callPart('c1', 'free'))]);
    const driving = drive(log, parts);
    await until(() => asked.mock.calls.length === 1);
    await log.commit(() => [cancelRequested]);
    door.release(false);
    await driving;
    expect(typesOf()).toEqual(['step-started', 'cancel-requested', 'step-released', 'run-ended']);
  });

  test('before the drive begins: nothing is called', async () => {
    const { log } = begin();
    await log.commit(() => [cancelRequested]);
    const parts = partsFor([], [done]);
    await drive(log, parts);
    expect(parts.model.requests).toEqual([]);
    expect(log.run.outcome?.status).toBe('cancelled');
  });
});
