/** Workers that are frozen for longer than their lease, and clocks that differ: each ends as SPEC.md says, and §3 say. */
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { SuspendedRun } from '../../src/agent/list.ts';
import type { EndedRun } from '../../src/core/store.ts';
import { postgresUrl } from '../../test/support/postgres-schema.ts';
import { effectCount, fileJournal } from '../crash/file-journal.ts';
import { databases, openPlace, temporaryFolder } from '../race/places.ts';
import type { FreezePlace } from './process.ts';
import { type Sleeper, startSleeper, until } from './sleeper.ts';

const runId = 'run';
const toolCallId = 'pay-a';

interface Answer {
  readonly text?: string;
  readonly finishReason?: string;
  readonly error?: string;
}

describe.each(databases.filter(({ name }) => name !== 'libsql'))('on $name', (database) => {
  async function open() {
    const { folder, remove } = temporaryFolder();
    onTestFinished(remove);
    const place = await database.create(folder, postgresUrl);
    const path = join(folder, 'journal.db');
    const journal = fileJournal(path);
    const store = openPlace(place);
    onTestFinished(async () => {
      journal.close();
      await store.close();
    });
    return {
      start: (freeze?: FreezePlace, clockOffset?: number) =>
        startSleeper({ place, journal: path, freeze, clockOffset }),
      effects: () => effectCount(journal, runId),
      ended: async () => (await store.load(runId, 0)) as EndedRun,
    };
  }

  /** A run whose call is approved in a process that then freezes. */
  async function freezeIn(place: FreezePlace) {
    const opened = await open();
    const sleeper = opened.start(place);
    await sleeper.ask({ ask: 'start', runId });
    const approved = sleeper.ask<Answer>({ ask: 'approve', runId });
    await sleeper.frozen;
    return { ...opened, sleeper, approved, other: opened.start() };
  }

  const listed = (process: Sleeper): Promise<SuspendedRun | undefined> =>
    process.ask<SuspendedRun[]>({ ask: 'list' }).then(([run]) => run);

  /** Sweeps until the lease of the frozen one is over. */
  const takenOver = (other: Sleeper): Promise<SuspendedRun | undefined> =>
    until(
      async () => {
        await other.ask({ ask: 'sweep' });
        return listed(other);
      },
      (run) => run?.status !== 'running',
    );

  test('frozen between claim and execute: it does not start', async () => {
    const { sleeper, approved, other, effects, ended } = await freezeIn('after claim');
    expect(await takenOver(other)).toMatchObject({ status: 'interrupted' });
    expect(effects()).toBe(0);
    const again = await other.ask<Answer>({ ask: 'resolve', runId, toolCallId, word: { runAgain: true } });
    expect(again.text).toBe('Done.');
    sleeper.thaw();
    expect(await approved).toMatchObject({ finishReason: 'stop', text: 'Done.' });
    expect(effects()).toBe(1);
    expect((await ended()).records.map(({ verdict }) => verdict)).toEqual(['approve', 'resolve']);
  });

  test('frozen between claim and execute, and nobody decides: it gives nothing back that is not its own', async () => {
    const { sleeper, approved, other, effects } = await freezeIn('after claim');
    await takenOver(other);
    sleeper.thaw();
    await approved;
    expect(effects()).toBe(0);
    expect(await listed(other)).toMatchObject({ status: 'interrupted' });
    await other.ask({ ask: 'resolve', runId, toolCallId, word: { runAgain: true } });
    expect(effects()).toBe(1);
  });

  test('frozen during execute: the late result settles the call while it is interrupted', async () => {
    const { sleeper, approved, other, effects, ended } = await freezeIn('in execute');
    expect(await takenOver(other)).toMatchObject({ status: 'interrupted' });
    sleeper.thaw();
    await until(ended, (run) => run.kind === 'ended');
    // Its leg may end at the stop, which was real, or with the run.
    expect((await approved).error).toBeUndefined();
    expect(effects()).toBe(1);
    const { records } = await ended();
    expect(records).toMatchObject([
      { verdict: 'approve', outcome: { state: 'finished', result: { by: 'tool' } } },
    ]);
    expect(sleeper.warnings).toEqual([]);
  });

  test('frozen during execute: a result that comes after the person spoke gets a record and a warning', async () => {
    const { sleeper, approved, other, effects, ended } = await freezeIn('in execute');
    await takenOver(other);
    await other.ask({ ask: 'resolve', runId, toolCallId, word: { output: { by: 'person' } } });
    sleeper.thaw();
    expect(await approved).toMatchObject({ finishReason: 'stop', text: 'Done.' });
    expect(effects()).toBe(1);
    const { records } = await ended();
    expect(records.filter(({ verdict }) => verdict === 'ran-twice')).toMatchObject([
      { toolCallId, outcome: { state: 'finished', result: { by: 'tool' } } },
    ]);
    expect(sleeper.warnings.filter((warning) => warning.includes('ran twice'))).toHaveLength(1);
  });

  test('frozen in a model call before its first word: its response is refused and its leg ends', async () => {
    const { sleeper, approved, other, effects, ended } = await freezeIn('in model call, silent');
    await until(
      async () => {
        await other.ask({ ask: 'sweep' });
        return ended();
      },
      (run) => run.kind === 'ended',
    );
    sleeper.thaw();
    // What it says after the thaw it passes on, before it can know that it is void.
    expect(await approved).toMatchObject({ text: 'Done.', error: 'taken-over' });
    expect(effects()).toBe(1);
  });

  test('frozen in a model call, after a word: its response is refused and its leg ends', async () => {
    const { sleeper, approved, other, effects, ended } = await freezeIn('in model call, after a word');
    await until(
      async () => {
        await other.ask({ ask: 'sweep' });
        return ended();
      },
      (run) => run.kind === 'ended',
    );
    sleeper.thaw();
    expect(await approved).toMatchObject({ text: 'Done.', error: 'taken-over' });
    expect((await ended()).outcome.text).toBe('Done.');
    expect(effects()).toBe(1);
  });

  test.each([60_000, -60_000])('a clock that is off by %i ms changes nothing', async (offset) => {
    const { start, effects, ended } = await open();
    const one = start('in execute', offset);
    const other = start();
    await one.ask({ ask: 'start', runId });
    await other.ask({ ask: 'sweep' });
    expect(await listed(other)).toMatchObject({ status: 'suspended' });
    const approved = one.ask<Answer>({ ask: 'approve', runId });
    await one.frozen;
    // Within its lease it is not dead, whatever its clock says.
    one.thaw();
    await other.ask({ ask: 'sweep' });
    expect((await listed(other))?.status).not.toBe('interrupted');
    expect(await approved).toMatchObject({ text: 'Done.' });
    expect(effects()).toBe(1);
    expect((await ended()).records).toHaveLength(1);
  });

  test.each([60_000, -60_000])(
    'a clock that is off by %i ms does not keep the dead alive',
    async (offset) => {
      const { start, ended } = await open();
      const one = start('in execute', offset);
      const other = start(undefined, -offset);
      await one.ask({ ask: 'start', runId });
      const approved = one.ask<Answer>({ ask: 'approve', runId });
      await one.frozen;
      expect(await takenOver(other)).toMatchObject({ status: 'interrupted' });
      one.thaw();
      expect((await approved).error).toBeUndefined();
      expect(await until(ended, (run) => run.kind === 'ended')).toMatchObject({ outcome: { text: 'Done.' } });
      expect((await ended()).records).toHaveLength(1);
    },
  );
});
