import { describe, expect, test } from 'vitest';
import { startLog } from './log.ts';
import type { Run } from './state.ts';
import type { MessageRow, ThreadStore } from './store.ts';
import { decided, me, requested, runId, runStarted, stepFinished } from './test-support/events.ts';
import { asksFor, portsOf, propose } from './test-support/log.ts';
import { held, turn } from './test-support/parts.ts';
import { testStore } from './test-support/store.ts';

const thread = { threadId: 'thread-1', resourceId: 'user-1', createdAt: 1, updatedAt: 1 };

/** One message, which says how the run ended. */
const rowsOf = (run: Run): MessageRow[] => [
  { threadId: 'thread-1', messageId: 'm', at: 1, runId, index: 0, data: JSON.stringify(run.outcome?.status) },
];

async function opened(over: Partial<ThreadStore> = {}) {
  const inner = testStore();
  await inner.threads.create(thread);
  const saved: string[] = [];
  const threads: ThreadStore = {
    ...inner.threads,
    async save(...given) {
      saved.push('save');
      return inner.threads.save(...given);
    },
    ...over,
  };
  const store = { ...inner, threads };
  const setting = portsOf(store);
  const log = startLog(
    { ...setting.ports, rowsOf },
    runStarted({ threadId: 'thread-1', resourceId: 'user-1' }),
  );
  await log.commit(() => [], { me });
  const kept = async () => (await inner.threads.messages({ threadId: 'thread-1' })).map(({ data }) => data);
  return { ...setting, inner, log, saved, kept };
}

const pause = propose(...asksFor(requested('c1', 'held')));
const decline = propose(decided('c1', 'decline'));
const answer = propose(stepFinished(1, []));

describe('what the end of a run leaves in its thread', () => {
  test('is saved before the end is told, where the run was never stored', async () => {
    const write = held();
    const texts: string[] = [];
    const { log } = await opened({
      async save(_threadId, rows) {
        await write.promise;
        texts.push(...rows.map(({ data }) => data));
        return true;
      },
    });
    const done = log.commit(propose(stepFinished(0, [])), { me });
    await turn();
    expect(log.run.outcome).toBeUndefined();
    write.release();
    await done;
    expect(log.run.outcome?.status).toBe('finished');
    expect(log.stored).toBe(false);
    expect(texts).toEqual(['"finished"']);
  });

  test('is brought by the removal of a stored one, and by no other write', async () => {
    const { log, inner, saved, kept } = await opened();
    await log.commit(pause, { me });
    await log.commit(decline, { me });
    await log.commit(answer, { me });
    expect(inner.writes.map(({ kind, batch }) => [kind, batch.messages?.length])).toEqual([
      ['create', undefined],
      ['append', undefined],
      ['remove', 1],
    ]);
    expect(saved).toEqual([]);
    expect(await kept()).toEqual(['"finished"']);
  });

  test('is saved elsewhere before the removal, which then brings nothing', async () => {
    const { log, inner, kept } = await opened();
    const order: string[] = [];
    const elsewhere = testStore();
    await elsewhere.threads.create(thread);
    log.elsewhere = {
      ...elsewhere.threads,
      async save(...given) {
        order.push(...inner.writes.map(({ kind }) => kind), 'save');
        return elsewhere.threads.save(...given);
      },
    };
    await log.commit(pause, { me });
    await log.commit(decline, { me });
    await log.commit(answer, { me });
    expect(order).toEqual(['create', 'append', 'save']);
    expect(inner.writes.at(-1)?.kind).toBe('remove');
    expect(inner.writes.at(-1)?.batch.messages).toBeUndefined();
    expect(await kept()).toEqual([]);
    expect(await elsewhere.threads.messages({ threadId: 'thread-1' })).toHaveLength(1);
  });
});

describe('a thread that cannot be written', () => {
  const failing = (count: number, cause: Error = new Error('disk full')) => {
    let left = count;
    return {
      async save() {
        if (left-- > 0) throw cause;
        return true;
      },
    };
  };

  test('does not lose the answer: it is tried again as long as the process lives', async () => {
    const { log, warnings } = await opened(failing(7));
    await log.commit(propose(stepFinished(0, [])), { me });
    expect(log.run.outcome?.status).toBe('finished');
    expect(warnings).toHaveLength(1);
  });

  test('is an error for a run that failed, after three times', async () => {
    const { log, clock } = await opened(failing(Number.POSITIVE_INFINITY));
    const outcome = { status: 'failed', finishReason: 'error', text: '', usage: {} } as const;
    const ended = log.commit(propose({ type: 'run-ended', runId, at: 9, outcome }));
    await expect(ended).rejects.toMatchObject({ code: 'store-failed' });
    expect(clock.slept).toHaveLength(2);
  });
});
