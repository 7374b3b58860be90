/** K16: waiting has no end of its own, and no sweep touches what waits. */
import { Agent, Countersign, InMemoryStore } from 'countersign';
import { SQLiteStore } from 'countersign/sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { approveAndCarryOut, askRefunds, kinds, type Refund } from '../support/kinds.ts';
import { temporaryFile } from '../support/stages.ts';
import { inEveryWorld } from '../support/world.ts';

const years = 365 * 24 * 60 * 60 * 1000;

for (const kind of kinds) {
  for (const verb of ['approve', 'decline', 'cancel'] as const) {
    inEveryWorld('scenario: K16', `ten years later, ${verb} (${kind.name})`, async (open) => {
      const effects: Refund[] = [];
      let now = Date.UTC(2026, 0, 1);
      const scene = open({
        script: [askRefunds('a'), 'Done.'],
        tools: kind.tools(effects, true),
        registry: { clock: { now: () => now, sleep: async () => {} } },
      });
      const { runId } = await scene.start();
      now += 10 * years;
      const { runs } = await scene.list();
      expect(runs).toMatchObject([{ runId, suspendedAt: new Date(Date.UTC(2026, 0, 1)) }]);
      if (verb === 'cancel') expect((await scene.cancel({ runId })).status).toBe('cancelled');
      else if (verb === 'decline') expect((await scene.decline(runId)).text).toBe('Done.');
      else expect((await approveAndCarryOut(scene, kind, effects, runId)).text).toBe('Done.');
      expect(effects).toHaveLength(verb === 'approve' ? 1 : 0);
    });
  }
}

for (const kindOfStore of ['memory', 'SQLite']) {
  test(`scenario: K16 the sweep of old records leaves what waits and what is stalled (${kindOfStore})`, async () => {
    let time = Date.UTC(2026, 0, 1);
    const now = (): number => time;
    const options = { retentionMs: 1000, now };
    const store =
      kindOfStore === 'memory'
        ? new InMemoryStore(options)
        : new SQLiteStore({ ...options, path: temporaryFile() });
    onTestFinished(() => store.close());
    const effects: Refund[] = [];
    const model = scriptedModel((prompt) => {
      const last = JSON.stringify(prompt.at(-1));
      if (last.includes('stall')) return { error: new Error('overloaded') };
      return prompt.at(-1)?.role === 'tool' ? 'Done.' : askRefunds('a');
    });
    const agent = new Agent({ id: 'desk', model, tools: kinds[0]!.tools(effects, true) });
    new Countersign({ agents: { agent }, storage: store, clock: { now, sleep: async () => {} } });
    const start = async (): Promise<string> => (await agent.generate('Please.')).runId;
    const [waits, stalls, ends] = [await start(), await start(), await start()];
    await agent.declineToolCallGenerate({ runId: stalls, reason: 'stall' });
    await agent.approveToolCallGenerate({ runId: ends });
    expect((await store.load(ends, 0))?.kind).toBe('ended');
    time += years;
    // The end of any run sweeps what ended too long ago.
    await agent.approveToolCallGenerate({ runId: await start() });
    expect(await store.load(ends, 0)).toBeUndefined();
    expect((await agent.listSuspendedRuns()).runs.map(({ runId }) => runId)).toEqual([waits]);
    expect((await agent.listSuspendedRuns({ status: 'stalled' })).runs.map(({ runId }) => runId)).toEqual([
      stalls,
    ]);
    expect((await agent.approveToolCallGenerate({ runId: waits })).text).toBe('Done.');
    expect(effects).toHaveLength(3);
  });
}
