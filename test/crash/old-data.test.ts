/** Runs that earlier releases stored, in every state: this build drives each to its end, in every store. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { findCall } from '../../src/core/below.ts';
import { eventFrom } from '../../src/core/event.ts';
import { headOf } from '../../src/core/next.ts';
import { fold } from '../../src/core/run.ts';
import type { Run } from '../../src/core/state.ts';
import type { Store } from '../../src/core/store.ts';
import { LibSQLStore } from '../../src/store/libsql.ts';
import { InMemoryStore } from '../../src/store/memory.ts';
import { PostgresStore } from '../../src/store/postgres.ts';
import { SQLiteStore } from '../../src/store/sqlite.ts';
import { newSchemaName, postgresUrl } from '../support/postgres-schema.ts';
import { evidenceOf, problemsOf } from './check.ts';
import type { Scenario } from './desk.ts';
import type { StoredFixture } from './make-fixtures.ts';
import { openProcess, openShared } from './memory-world.ts';
import { recover } from './recover.ts';
import { scenarios } from './scenarios.ts';

const fixtures = join(import.meta.dirname, 'fixtures');

const cases = readdirSync(fixtures).flatMap((format) =>
  readdirSync(join(fixtures, format)).map((file) => ({
    format,
    fixture: JSON.parse(readFileSync(join(fixtures, format, file), 'utf8')) as StoredFixture,
  })),
);

function temporaryFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-old-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, 'runs.db');
}

const stores: Readonly<Record<string, () => Store | Promise<Store>>> = {
  memory: () => new InMemoryStore(),
  sqlite: () => new SQLiteStore({ path: temporaryFile() }),
  libsql: () => new LibSQLStore({ url: `file:${temporaryFile()}` }),
  postgres: async () =>
    new PostgresStore({ connectionString: await postgresUrl(), schemaName: newSchemaName() }),
};

/** Puts the run where an earlier release had left it. */
async function restore(store: Store, { batch, opened, records }: StoredFixture): Promise<void> {
  const whole = { ...batch, id: 'fixture', expectedVersion: 0, opened, closed: [], records, outcomes: [] };
  expect(await store.create(whole)).toMatchObject({ ok: true });
}

describe.each(cases)('$format, $fixture.state', ({ fixture }) => {
  test('its head is what this build makes of its events', () => {
    const run = fold(fixture.batch.events.map(eventFrom)) as Run;
    expect(headOf(run)).toBe(fixture.batch.head.head);
  });

  test.each(Object.keys(stores))('is driven to its end in %s', async (name) => {
    const store = (await stores[name]?.()) as Store;
    onTestFinished(() => store.close());
    await restore(store, fixture);
    const shared = openShared(() => store);
    // A store forgets what ended long ago.
    shared.now = Date.now();
    const { journal } = shared;
    const { runId } = fixture;
    for (const toolCallId of fixture.effects) {
      const run = fold(fixture.batch.events.map(eventFrom)) as Run;
      const toolName = findCall(run, toolCallId)?.call.toolName ?? '';
      journal.note({ runId, type: 'effect', toolCallId, toolName, key: `${runId}:${toolCallId}` });
    }
    for (const { toolCallId, stop, verdict } of fixture.records) {
      journal.note({ runId, type: 'asked', toolCallId, stop, verdict });
      journal.note({ runId, type: 'acknowledged', toolCallId, stop, verdict });
    }
    for (const { toolCallId, stop, kind } of fixture.opened) {
      if (kind !== 'interrupted') journal.note({ runId, type: 'announced', toolCallId, stop, kind });
    }
    const process = openProcess(shared);
    if (fixture.state === 'stalled') {
      const { runs } = await process.agent.listSuspendedRuns({ status: 'stalled' });
      expect(runs).toMatchObject([{ runId }]);
      expect((await process.agent.continueRunGenerate({ runId })).text).toBe('Done.');
    }
    const scenario = scenarios.find((one) => one.name === fixture.scenario) as Scenario;
    const problems = await recover(runId, { ...process, journal });
    const evidence = await evidenceOf(store, scenario, runId, journal.read(runId));
    expect([...problems, ...problemsOf(evidence)]).toEqual([]);
    expect(evidence.stored).toMatchObject({ kind: 'ended', outcome: { status: 'finished', text: 'Done.' } });
  });
});
