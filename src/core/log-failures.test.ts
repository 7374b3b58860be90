import { describe, expect, test } from 'vitest';
import { guarded } from '../agent/guarded-store.ts';
import { type CommitOptions, loadLog, startLog } from './log.ts';
import { endedError } from './log-errors.ts';
import { cancelRequested, decided, finished, me, runId, runStarted } from './test-support/events.ts';
import { heardFrom, loaded, pausedLog, portsOf, propose } from './test-support/log.ts';
import { memoryStore, testStore } from './test-support/store.ts';

describe('the end', () => {
  async function ending(options: CommitOptions) {
    const store = testStore();
    const { log } = await pausedLog(store);
    await log.commit(propose(cancelRequested), options);
    return { store, log };
  }

  test('removes the events and keeps outcome and records', async () => {
    const { store, log } = await ending({ me });
    expect(store.writes.map(({ kind }) => kind)).toEqual(['create', 'remove']);
    expect(log.run.outcome?.status).toBe('cancelled');
    expect(await store.load(runId, 0)).toMatchObject({
      kind: 'ended',
      outcome: { status: 'cancelled', reason: 'enough' },
      records: [
        { toolCallId: 'c1', verdict: 'cancel' },
        { toolCallId: 'c2', verdict: 'cancel' },
      ],
    });
  });

  test('is told to another process that comes late', async () => {
    const store = memoryStore();
    const { log } = await pausedLog(store);
    const rival = await loaded(store);
    const heard = heardFrom(rival);
    await log.commit(propose(cancelRequested), { me });
    await expect(rival.commit(propose(decided('c1', 'approve')))).rejects.toMatchObject({
      code: 'run-ended',
    });
    expect(heard.gone).toMatchObject([{ kind: 'ended', outcome: { status: 'cancelled' } }]);
    // Also whoever queued behind: what is known of the run here is not what it is.
    await expect(rival.commit(propose(decided('c2', 'approve')))).rejects.toMatchObject({
      code: 'run-ended',
      message: expect.stringContaining('cancelled'),
    });
    expect(await rival.commit(() => [])).toEqual([]);
    expect(await loadLog(portsOf(store).ports, runId)).toMatchObject({ kind: 'ended' });
  });

  test('of a run that the store forgot is run-not-found', async () => {
    const { log } = await pausedLog(testStore());
    const elsewhere = startLog(portsOf(testStore()).ports, runStarted());
    expect(await loadLog(portsOf(testStore()).ports, runId)).toBeUndefined();
    expect(endedError(runId, undefined)).toMatchObject({ code: 'run-not-found', status: 404 });
    expect(log.runId).toBe(elsewhere.runId);
  });
});

describe('when the store fails', () => {
  test('a lost answer is recognised: the event is stored once', async () => {
    const store = testStore();
    const { log } = await pausedLog(store);
    store.faults.push('answer-lost');
    await log.commit(propose(decided('c1', 'approve')), { me });
    const ids = store.writes.slice(1).map(({ batch }) => batch.id);
    expect(ids).toHaveLength(2);
    expect(new Set(ids).size).toBe(1);
    expect((await store.load(runId, 0)) as object).toMatchObject({ version: 7 });
    expect(log.run.length).toBe(7);
  });

  test('a lost answer to the first write, and to the last one', async () => {
    const store = testStore();
    store.faults.push('answer-lost');
    const { log } = await pausedLog(store);
    store.faults.push('answer-lost');
    await log.commit(propose(cancelRequested), { me });
    expect(store.writes.map(({ kind }) => kind)).toEqual(['create', 'create', 'remove', 'remove']);
    expect((await store.load(runId, 0))?.kind).toBe('ended');
  });

  test('three times: it is reported, and the next commit looks what is true', async () => {
    const store = testStore();
    const { log } = await pausedLog(store);
    const heard = heardFrom(log);
    store.faults.push('fails', 'answer-lost', 'fails');
    await expect(log.commit(propose(decided('c1', 'approve')))).rejects.toMatchObject({
      code: 'store-failed',
    });
    expect(heard.types).toEqual([]);
    const seen: (string | undefined)[] = [];
    await log.commit((run) => {
      seen.push(run.calls.get('c1')?.state);
      return [decided('c2', 'decline')];
    });
    expect(seen).toEqual(['ready']);
    expect(heard.types).toEqual(['call-decided', 'call-decided']);
    expect(log.run.calls.get('c1')?.state).toBe('ready');
  });

  test('a result is tried as long as the process lives', async () => {
    const store = testStore();
    const { log, clock, warnings } = await pausedLog(store);
    await log.commit(propose(decided('c1', 'approve')), { me });
    store.faults.push(...Array.from({ length: 20 }, () => 'fails' as const));
    await log.commit(propose(finished('c1')), { me, persist: true });
    expect(log.run.calls.get('c1')?.state).toBe('finished');
    expect(clock.slept).toHaveLength(20);
    expect(Math.max(...clock.slept)).toBe(5000);
    expect(warnings).toHaveLength(1);
  });

  test('an unreadable store is reported', async () => {
    const store = testStore();
    await pausedLog(store);
    store.loadFaults.push(new Error('gone away'));
    await expect(loadLog(portsOf(guarded(store)).ports, runId)).rejects.toMatchObject({
      code: 'store-failed',
    });
  });
});
