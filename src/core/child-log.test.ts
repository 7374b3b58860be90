import { expect, test } from 'vitest';
import { lateRecord } from './batch.ts';
import { childLog } from './child-log.ts';
import { drive } from './drive.ts';
import type { Event, RunStarted } from './event.ts';
import { startLog } from './log.ts';
import { headOf } from './next.ts';
import type { Delegate, NamedTool, Parts } from './parts.ts';
import type { Call } from './state.ts';
import { begin, done, partsFor, tool } from './test-support/drive.ts';
import {
  callIs,
  decided,
  finished,
  me,
  runEnded,
  runId,
  runStarted,
  withOptions,
} from './test-support/events.ts';
import { heardFrom, loaded, portsOf } from './test-support/log.ts';
import { callPart, held, responseOf, until } from './test-support/parts.ts';
import { memoryStore, testStore } from './test-support/store.ts';
import { deep, of, one, team, two } from './test-support/team.ts';

async function teamLog(store = testStore()) {
  const log = startLog(portsOf(store).ports, team[0] as RunStarted);
  await log.commit(() => team.slice(1));
  return { log, store };
}

test('what a run below commits is in the one log, and each log tells its own', async () => {
  const { log, store } = await teamLog();
  const [top, middle, bottom, beside] = [
    log,
    childLog(log, two),
    childLog(childLog(log, two), deep),
    childLog(log, one),
  ];
  const heard = [top, middle, bottom, beside].map(heardFrom);
  await bottom.commit((run) => {
    expect(run.started.runId).toBe(deep);
    return of(deep, decided('c', 'decline'));
  });
  expect(heard.map(({ types }) => types)).toEqual([['call-decided'], ['call-decided'], ['call-decided'], []]);
  expect([top, middle, bottom].map(({ run }) => run.length)).toEqual(Array(3).fill(team.length + 1));
  expect(store.writes.map(({ kind, batch }) => [kind, batch.runId])).toEqual([
    ['create', runId],
    ['append', runId],
  ]);
  bottom.pass({ type: 'data-x', data: 1 });
  expect(heard.map(({ types }) => types.includes('passing data-x'))).toEqual([true, true, true, false]);
});

test('a cancel above is told below, and a run below ends with a root that ended elsewhere', async () => {
  const { log, store } = await teamLog();
  const below = childLog(log, deep);
  const { types, gone } = heardFrom(below);
  await log.commit(() => [{ type: 'cancel-requested', runId: two, at: 9 }]);
  expect(types).toEqual(['cancel-requested']);
  expect(below.run.cancel).toEqual({});
  const elsewhere = await loaded(store);
  await elsewhere.commit(() => [{ type: 'cancel-requested', runId, at: 9 }], { me });
  expect(elsewhere.run.outcome?.status).toBe('cancelled');
  await expect(log.refresh()).rejects.toMatchObject({ code: 'run-ended' });
  expect(gone).toHaveLength(1);
  expect(below.run.outcome?.status).toBe('cancelled');
});

test('a late result of a run below is recorded with its root, and the way to it', async () => {
  const store = memoryStore();
  const { log } = await teamLog(testStore(store));
  const below = childLog(childLog(log, two), deep);
  const call = { ...(below.run.calls.get('c') as Call), attempts: 1 };
  await below.record(lateRecord(below.run, call, of(deep, finished('c'))[0] as never));
  const end: Event[] = [
    ...of(one, callIs('call-cancelled', 'a'), runEnded),
    { type: 'cancel-requested', runId, at: 9 },
  ];
  await log.commit(() => end, { me });
  const ended = await store.load(runId, 0);
  expect(ended?.kind === 'ended' && ended.records).toMatchObject([
    { runId, agentId: 'agent-1', toolCallId: 'two~deep~c', stop: -1, verdict: 'ran-twice', path: [{}, {}] },
    { verdict: 'cancel' },
    { verdict: 'cancel' },
    { verdict: 'cancel' },
  ]);
});

/** A sub-agent for the loop: its runs have these parts. */
function delegateWith(partsBelow: Parts): NamedTool {
  const delegate: Delegate = {
    begin: async ({ run, call }) => runStarted({ runId: `${run.started.runId}~${call.toolCallId}` }),
    partsOf: async (_child, { me: holder }) => ({ ...partsBelow, me: holder }),
    result: async (_execution, { outcome }) => outcome?.text,
  };
  return { tool: tool('agent-x', { idempotent: true } as never), alias: 'x', delegate };
}

test('the loop drives a run below in place, and its calls beside those of the root', async () => {
  const below = partsFor([tool('ask', { requireApproval: true })], [responseOf(callPart('a', 'ask')), done]);
  const { log, store } = begin();
  const parts = partsFor([tool('free')], [responseOf(callPart('x', 'agent-x'), callPart('f', 'free')), done]);
  const tools = new Map([...parts.tools, ['agent-x', delegateWith(below)]]);
  await drive(log, { ...parts, tools });
  expect(headOf(log.run)).toBe('waiting');
  const call = log.run.calls.get('x')?.child?.calls.get('a');
  const fingerprint = call?.request.fingerprint ?? '';
  await log.commit(() => of(`${runId}~x`, decided('a', 'approve', { fingerprint })), { me });
  await drive(log, { ...parts, tools });
  expect(log.run.outcome).toMatchObject({ status: 'finished', text: 'Done.' });
  expect(log.run.calls.get('x')).toMatchObject({ state: 'finished', result: 'Done.', attempts: 2 });
  expect(store.writes.at(-1)?.kind).toBe('remove');
  expect(parts.model.requests).toHaveLength(2);
});

test('what a commit below claims in another run is begun at once, not when the first one has come to rest', async () => {
  const door = held();
  const slow = partsFor(
    [tool('slow', { execute: () => door.promise.then(() => 'done') })],
    [responseOf(callPart('s', 'slow')), done],
  );
  const quick = partsFor([tool('ask', { requireApproval: true })], [responseOf(callPart('a', 'ask')), done]);
  const { log } = begin(withOptions({ durable: true }));
  const parts = partsFor([], [responseOf(callPart('x', 'agent-x'), callPart('y', 'agent-y')), done]);
  const tools = new Map([
    ['agent-x', delegateWith(slow)],
    ['agent-y', delegateWith(quick)],
  ]);
  const driving = drive(log, { ...parts, tools });
  await until(
    () => log.run.calls.get('y')?.child?.calls.get('a')?.state === 'held' && slow.model.requests.length === 1,
  );
  const fingerprint = log.run.calls.get('y')?.child?.calls.get('a')?.request.fingerprint ?? '';
  // Decided where nobody claims, as in a process without the code; the holder claims it with its next commit.
  await log.commit(() => of(`${runId}~y`, decided('a', 'approve', { fingerprint })));
  await log.commit(() => [], { me });
  await until(() => log.run.calls.get('y')?.state === 'finished');
  expect(log.run.calls.get('x')?.state).toBe('running');
  door.release();
  await driving;
  expect(log.run.outcome?.status).toBe('finished');
});

test('an unstored run below whose parts cannot be had fails its delegation; a stored one is stalled', async () => {
  for (const durable of [false, true]) {
    const missing = delegateWith(partsFor([], []));
    const delegate = {
      ...missing.delegate,
      partsOf: () => Promise.reject(new Error('No agent.')),
    } as Delegate;
    const { log } = begin(withOptions(durable ? { durable } : {}));
    const parts = partsFor([], [responseOf(callPart('x', 'agent-x')), done]);
    const gaveUp: NamedTool = {
      ...missing,
      delegate: {
        ...delegate,
        result: async (_execution, { outcome }) => {
          throw new Error(outcome?.error?.message);
        },
      },
    };
    await drive(log, { ...parts, tools: new Map([['agent-x', gaveUp]]) });
    const call = log.run.calls.get('x');
    if (durable) {
      expect([headOf(log.run), call?.child?.steps[0]?.error?.message]).toEqual(['waiting', 'No agent.']);
    } else {
      expect(call).toMatchObject({ state: 'failed', error: { message: 'No agent.' } });
      expect(log.run.outcome).toMatchObject({ status: 'finished', text: 'Done.' });
    }
  }
});
