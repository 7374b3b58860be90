import { describe, expect, test } from 'vitest';
import { startLog } from './log.ts';
import type { Run } from './state.ts';
import {
  callStarted,
  decided,
  finished,
  me,
  other,
  requested,
  runId,
  runStarted,
  stepFailed,
  stepFinished,
} from './test-support/events.ts';
import { asksFor, heardFrom, loaded, pausedLog, portsOf, propose } from './test-support/log.ts';
import { held, turn } from './test-support/parts.ts';
import { memoryStore, testStore } from './test-support/store.ts';

describe('before the first pause', () => {
  test('nothing is stored, and everything is told (invariant 9)', async () => {
    const store = testStore();
    const log = startLog(portsOf(store).ports, runStarted());
    const { types } = heardFrom(log);
    await log.commit(() => [], { me });
    await log.commit(propose(...asksFor(requested('c1', 'free'))), { me });
    await log.commit(propose(finished('c1')), { me });
    await log.commit(propose(stepFinished(1, [])), { me });
    expect(store.writes).toEqual([]);
    expect(log.stored).toBe(false);
    expect(types).toEqual([
      'step-started',
      'step-finished',
      'call-requested',
      'call-started',
      'call-finished',
      'step-started',
      'step-finished',
      'run-ended',
    ]);
    expect(log.run.outcome?.status).toBe('finished');
  });

  test('the pause writes all events so far in one transaction, with the claims of the free calls', async () => {
    const store = testStore();
    const log = startLog(portsOf(store).ports, runStarted());
    await log.commit(() => [], { me });
    await log.commit(propose(...asksFor(requested('c1', 'held'), requested('c2', 'free'))), { me });
    expect(store.writes.map(({ kind }) => kind)).toEqual(['create']);
    const [{ batch }] = store.writes as [(typeof store.writes)[0]];
    expect(batch.events.map((text) => JSON.parse(text).type)).toEqual([
      'run-started',
      'step-started',
      'step-finished',
      'call-requested',
      'call-requested',
      'call-started',
    ]);
    expect(batch).toMatchObject({ expectedVersion: 0, durability: 'full' });
    expect(log.stored).toBe(true);
  });

  test('is told only when it is stored (invariant 3)', async () => {
    const gate = held();
    const store = testStore();
    const log = startLog(portsOf(store).ports, runStarted());
    await log.commit(() => [], { me });
    const { types } = heardFrom(log);
    store.faults.push(() => gate.promise);
    const pause = log.commit(propose(...asksFor(requested('c1', 'held'))), { me });
    await turn();
    expect(store.writes).toHaveLength(1);
    expect(types).toEqual([]);
    expect(log.run.calls.size).toBe(0);
    gate.release();
    await pause;
    expect(types).toEqual(['step-finished', 'call-requested']);
    expect((await store.load(runId, 0))?.kind).toBe('open');
  });

  test('a pause that cannot be stored is an error, and nothing of it has happened (invariant 8)', async () => {
    const store = testStore();
    const { ports, clock } = portsOf(store);
    const log = startLog(ports, runStarted());
    await log.commit(() => [], { me });
    const { types } = heardFrom(log);
    store.faults.push('fails', 'fails', 'fails');
    const pause = log.commit(propose(...asksFor(requested('c1', 'held'), requested('c2', 'free'))), { me });
    await expect(pause).rejects.toMatchObject({ code: 'store-failed', runId });
    expect(clock.slept).toEqual([40, 80]);
    expect(types).toEqual([]);
    expect(log.stored).toBe(false);
    expect(log.run.calls.size).toBe(0);
  });

  test('an id that exists is run-exists', async () => {
    const store = testStore();
    await pausedLog(store);
    await expect(pausedLog(store)).rejects.toMatchObject({ code: 'run-exists', runId });
    expect((await store.load(runId, 0))?.kind).toBe('open');
  });
});

describe('of two writers', () => {
  test('one wins; the other reloads, is asked again, and may refuse (scenario: K3)', async () => {
    const store = memoryStore();
    const { log } = await pausedLog(store);
    const rival = await loaded(store);
    const heard = heardFrom(rival);
    await log.commit(propose(decided('c1', 'approve')), { me });
    const seen: (string | undefined)[] = [];
    const late = rival.commit((run) => {
      seen.push(run.calls.get('c1')?.state);
      if (run.calls.get('c1')?.state !== 'held') throw new Error('too late');
      return [decided('c1', 'decline')];
    });
    await expect(late).rejects.toThrow('too late');
    expect(seen).toEqual(['held', 'running']);
    expect(heard.types).toEqual(['call-decided', 'call-started']);
    expect(await store.load(runId, 5)).toMatchObject({
      version: 7,
      events: [expect.any(String), expect.any(String)],
    });
  });

  test('the loser’s event is made again on the newest state, with claims of its own', async () => {
    const store = testStore();
    const { log } = await pausedLog(store);
    const rival = await loaded(store);
    await log.commit(propose(decided('c1', 'decline')), { me });
    const events = await rival.commit(propose(decided('c2', 'decline')), { me: other });
    expect(events.map((event) => event.type)).toEqual(['call-decided', 'step-started']);
    expect(rival.run.length).toBe(8);
    const [lost, won] = store.writes.slice(-2).map(({ batch }) => batch);
    expect(lost).toMatchObject({ expectedVersion: 5, events: [expect.any(String)] });
    expect(won).toMatchObject({ expectedVersion: 6 });
    expect(lost?.id).not.toBe(won?.id);
  });

  test('both proposals of an illegal event: nothing is stored', async () => {
    const store = testStore();
    const { log } = await pausedLog(store);
    await expect(log.commit(propose(finished('c1')))).rejects.toThrow('Illegal transition');
    expect(store.writes).toHaveLength(1);
    expect(log.run.length).toBe(5);
  });
});

describe('claims', () => {
  test('ride in the same batch, for the one who commits', async () => {
    const store = testStore();
    const { log } = await pausedLog(store);
    await log.commit(propose(decided('c1', 'approve')), { me: other });
    const { batch } = store.writes.at(-1)!;
    expect(batch.events.map((text) => JSON.parse(text))).toMatchObject([
      { type: 'call-decided' },
      { type: 'call-started', toolCallId: 'c1', claim: { worker: 'worker-2', leg: '1', attempt: 1 } },
    ]);
    expect(batch).toMatchObject({ durability: 'full', head: { head: 'owned', workers: ['worker-2'] } });
  });

  test('nobody claims without saying who', async () => {
    const { log } = await pausedLog(testStore());
    await log.commit(propose(decided('c1', 'approve')));
    expect(log.run.calls.get('c1')?.state).toBe('ready');
  });

  test('a commit of nothing writes nothing', async () => {
    const store = testStore();
    const { log } = await pausedLog(store);
    expect(await log.commit(() => [], { me })).toEqual([]);
    expect(store.writes).toHaveLength(1);
  });
});

describe('the queue', () => {
  test('commits of one run queue behind each other, in order', async () => {
    const store = testStore();
    const { log } = await pausedLog(store);
    const gate = held();
    store.faults.push(() => gate.promise);
    const order: string[] = [];
    const first = log.commit(propose(decided('c1', 'approve')), { me }).then(() => order.push('first'));
    const second = log
      .commit((run) => {
        order.push(`asked when c1 is ${run.calls.get('c1')?.state}`);
        return [decided('c2', 'decline')];
      })
      .then(() => order.push('second'));
    gate.release();
    await Promise.all([first, second]);
    expect(order).toEqual(['first', 'asked when c1 is running', 'second']);
    expect(store.writes.map(({ batch }) => batch.expectedVersion)).toEqual([0, 5, 7]);
  });

  test('goes on after a refusal', async () => {
    const { log } = await pausedLog(testStore());
    const refusal = log.commit(() => {
      throw new Error('no');
    });
    const next = log.commit(propose(decided('c1', 'decline')));
    await expect(refusal).rejects.toThrow('no');
    expect(await next).toHaveLength(1);
  });
});

describe('listeners', () => {
  test('hear what other processes stored, in one order', async () => {
    const store = memoryStore();
    const { log } = await pausedLog(store);
    const rival = await loaded(store);
    const { types } = heardFrom(rival);
    await log.commit(propose(decided('c1', 'decline')));
    await log.commit(propose(decided('c2', 'decline')), { me });
    await rival.refresh();
    await log.commit(propose(stepFailed(1)));
    await rival.refresh();
    await rival.refresh();
    expect(types).toEqual(['call-decided', 'call-decided', 'step-started', 'step-failed']);
    const told = (run: Run) => JSON.stringify([...run.calls, run.steps]).replaceAll('"v":1,', '');
    expect(told(rival.run)).toBe(told(log.run));
  });

  test('hear passing things and failures, until they stop', async () => {
    const { log } = await pausedLog(testStore());
    const heard = heardFrom(log);
    const stop = log.listen({ ...heard.listener });
    log.pass({ type: 'data-x', data: 1 });
    stop();
    log.pass({ type: 'data-x', data: 2 });
    log.fail('broken');
    expect(heard.types).toEqual(['passing data-x', 'passing data-x', 'passing data-x']);
    expect(heard.gone).toEqual(['broken']);
  });
});

test('a start is claimed once, though two legs commit at once', async () => {
  const store = memoryStore();
  const { log } = await pausedLog(store);
  const rival = await loaded(store);
  await log.commit(propose(decided('c1', 'approve')));
  await Promise.all([log.commit(() => [], { me }), rival.commit(() => [], { me: other })]);
  await Promise.all([log.refresh(), rival.refresh()]);
  expect(log.run.calls.get('c1')).toMatchObject({ state: 'running', attempts: 1 });
  await expect(rival.commit(propose(callStarted('c1', other)))).rejects.toThrow('Illegal transition');
});
