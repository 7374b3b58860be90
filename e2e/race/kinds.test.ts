/** The kinds of fault that need two processes on one store, on every database. */
import { describe, expect, test } from 'vitest';
import { countRows, databases } from './places.ts';
import { type Came, type Given, openStage, type Puppet, type Stage } from './puppets.ts';

const held = (toolCallId: string, args: unknown = { id: toolCallId }) => ({
  toolName: 'refund',
  toolCallId,
  args,
});
const given = (name: string, ...calls: readonly ReturnType<typeof held>[]): Given => ({
  name,
  steps: [{ calls }],
});

async function ask(puppet: Puppet, what: Given, more: object = {}): Promise<Came & { runId: string }> {
  const came = await puppet.tell({ do: 'ask', given: what, ...more });
  expect(came.error).toBeUndefined();
  return came as Came & { runId: string };
}

const decide = (
  puppet: Puppet,
  verdict: 'approve' | 'decline',
  runId: string,
  toolCallId: string,
  more: object = {},
): Promise<Came> => puppet.tell({ do: 'decide', verdict, options: { runId, toolCallId, ...more } });

/** How often the model was asked in the runs of this name. */
function modelCalls({ effects }: Stage, name: string): string[] {
  return effects
    .all()
    .filter(({ runId, toolCallId }) => runId === name && toolCallId === 'model')
    .map(({ args }) => args);
}

describe.each(databases)('two processes on $name', (database) => {
  test('scenario: K3 — one decision executes once, and the loser is told who won', async () => {
    const stage = await openStage(database);
    const [first, second] = [stage.puppet(), stage.puppet()];
    for (let round = 0; round < 12; round++) {
      const { runId } = await ask(first, given(`K3-${round}`, held('one')));
      const verdicts =
        round % 2 === 0 ? (['approve', 'approve'] as const) : (['approve', 'decline'] as const);
      const came = await Promise.all([
        decide(first, verdicts[0], runId, 'one', { by: { id: 'first' } }),
        decide(second, verdicts[1], runId, 'one', { by: { id: 'second' } }),
      ]);
      const winner = came.findIndex(({ error }) => error === undefined);
      const verdict = verdicts[winner as 0 | 1];
      const loser = came[1 - winner];
      expect(came[winner]).toMatchObject({ text: 'Done.', finishReason: 'stop' });
      expect(loser?.error).toMatchObject({
        code: 'already-decided',
        decision: { verdict, by: { id: ['first', 'second'][winner] } },
      });
      // Twice in a row, in both processes.
      for (const puppet of [first, second]) {
        const again = await decide(puppet, 'approve', runId, 'one');
        expect(again.error).toMatchObject({ code: 'already-decided', decision: { verdict } });
      }
      expect(stage.effects.of(runId, 'one')).toBe(verdict === 'approve' ? 1 : 0);
      expect(modelCalls(stage, `K3-${round}`)).toHaveLength(2);
    }
  });

  test('scenario: K3 — a decisionId that is repeated in the other process gets the recorded outcome', async () => {
    const stage = await openStage(database);
    const [first, second] = [stage.puppet(), stage.puppet()];
    const { runId } = await ask(first, given('K3', held('one')));
    const mine = { decisionId: 'click-1' };
    const answers = await Promise.all([
      decide(first, 'approve', runId, 'one', mine),
      decide(second, 'approve', runId, 'one', mine),
    ]);
    for (const answer of [...answers, await decide(second, 'approve', runId, 'one', mine)]) {
      expect(answer).toMatchObject({
        text: 'Done.',
        finishReason: 'stop',
        results: [{ toolCallId: 'one', result: { refunded: { id: 'one' } } }],
      });
    }
    expect(stage.effects.of(runId, 'one')).toBe(1);
    const turned = await decide(first, 'decline', runId, 'one', mine);
    expect(turned.error).toMatchObject({ code: 'already-decided', decision: { verdict: 'approve' } });
  });

  test('scenario: K6 — several held calls in one step, decided in both processes, with a restart between', async () => {
    const stage = await openStage(database);
    const [first, second] = [stage.puppet(), stage.puppet()];
    const asked = await ask(first, {
      name: 'K6',
      steps: [
        {
          calls: [
            held('one'),
            { toolName: 'status', toolCallId: 'free', args: { size: 3 } },
            held('two'),
            { toolName: 'odd', toolCallId: 'three', args: { kind: 'date' } },
          ],
        },
      ],
    });
    const { runId } = asked;
    expect(asked.waiting?.map(({ toolCallId }) => toolCallId)).toEqual(['one', 'two', 'three']);
    const { runs } = await second.tell({ do: 'list' });
    expect(runs?.flatMap(({ toolCalls }) => toolCalls.map(({ toolCallId }) => toolCallId))).toEqual([
      'one',
      'two',
      'three',
    ]);
    expect(await decide(second, 'decline', runId, 'three', { reason: 'not today' })).toMatchObject({
      finishReason: 'suspended',
    });
    await first.kill();
    expect(await decide(second, 'approve', runId, 'two')).toMatchObject({ finishReason: 'suspended' });
    await second.stop();
    const third = stage.puppet();
    expect(modelCalls(stage, 'K6')).toHaveLength(1);
    expect(await decide(third, 'approve', runId, 'one')).toMatchObject({
      text: 'Done.',
      finishReason: 'stop',
    });
    const [, last, ...more] = modelCalls(stage, 'K6');
    expect(more).toEqual([]);
    const order = ['"toolCallId":"one"', '"toolCallId":"free"', '"toolCallId":"two"', '"toolCallId":"three"'];
    const results = last?.slice(last.lastIndexOf('"role":"tool"') - 1) ?? '';
    expect(last).toContain('not today');
    expect(order.every((id) => results.includes(id) || last?.includes(id))).toBe(true);
    expect(['one', 'two', 'free', 'three'].map((id) => stage.effects.of(runId, id))).toEqual([1, 1, 1, 0]);
  });

  test('scenario: K8 — what is listed can be decided in a process that did not begin it', async () => {
    const stage = await openStage(database);
    const first = stage.puppet();
    const more = { tenant: 'acme', instructions: 'Be brief.', memory: { thread: 't', resource: 'r' } };
    const args = { text: 'Ünïcödé 🙂', deep: { list: [1, null, { a: [] }] } };
    const approved = await ask(first, given('K8-approve', held('one', args)), more);
    const declined = await ask(first, given('K8-decline', held('one', args)), more);
    const city = { toolName: 'ask-city', toolCallId: 'one', args };
    const suspended = await ask(first, given('K8-resume', city), more);
    await first.kill();

    const second = stage.puppet();
    const { runs = [] } = await second.tell({ do: 'list' });
    expect(runs.map(({ runId }) => runId).sort()).toEqual(
      [approved.runId, declined.runId, suspended.runId].sort(),
    );
    for (const run of runs) {
      expect(run).toMatchObject({ threadId: 't', resourceId: 'r', toolCalls: [{ args, stop: 1 }] });
    }
    const ran = await decide(second, 'approve', approved.runId, 'one');
    expect(ran).toMatchObject({ text: 'Done.', results: [{ result: { refunded: args, tenant: 'acme' } }] });
    expect(await decide(second, 'decline', declined.runId, 'one')).toMatchObject({ text: 'Done.' });
    const resume = { do: 'decide', verdict: 'resume', options: { runId: suspended.runId } } as const;
    const wrong = await second.tell({ ...resume, data: { city: 7 } });
    expect(wrong.error?.code).toBe('invalid-resume-data');
    expect(await second.tell({ ...resume, data: { city: 'Oslo' } })).toMatchObject({
      text: 'Done.',
      results: [{ result: { city: 'Oslo' } }],
    });
    for (const name of ['K8-approve', 'K8-decline', 'K8-resume']) {
      const prompts = modelCalls(stage, name);
      expect(prompts).toHaveLength(2);
      for (const prompt of prompts) expect(prompt).toContain('Be brief.');
    }
    expect(stage.effects.of(declined.runId, 'one')).toBe(0);
    expect(await second.tell({ do: 'list', status: 'all' })).toMatchObject({ total: 0 });
  });

  test('scenario: K12 — another process approves in the very moment of the announcement', async () => {
    const stage = await openStage(database);
    const [first, second] = [stage.puppet(), stage.puppet()];
    const decisions: Promise<Came>[] = [];
    first.onAnnounced(({ runId, toolCallId }) =>
      decisions.push(decide(second, 'approve', runId, toolCallId)),
    );
    for (let round = 0; round < 10; round++) {
      await ask(first, given(`K12-${round}`, held('one'), held('two')), { stream: true });
    }
    const came = await Promise.all(decisions);
    expect(came).toHaveLength(20);
    expect(came.map(({ error }) => error)).toEqual(Array(20).fill(undefined));
    expect(await second.tell({ do: 'list', status: 'all' })).toMatchObject({ total: 0 });
  });

  test('scenario: K12 — odd values come back as they were, or are a clear error, over the restart', async () => {
    const stage = await openStage(database);
    const first = stage.puppet();
    const args = { nul: 'a\u0000b', quote: `'"\\\u2028`, big: 2 ** 53, empty: '' };
    const strange = await ask(first, given('K12-args', held('one', args)));
    // Half a character has no canonical form, so it has no fingerprint: the model is told at once.
    const half = await ask(first, given('K12-half', held('one', { half: '\ud800' })));
    expect(half).toMatchObject({ text: 'Done.', finishReason: 'stop', waiting: [] });
    expect(modelCalls(stage, 'K12-half')[1]).toMatch(/error/i);
    const kinds = ['date', 'undefined', 'map', 'bigint', 'cycle'];
    const calls = kinds.map((kind) => ({ toolName: 'odd', toolCallId: kind, args: { kind } }));
    const { runId } = await ask(first, given('K12-results', ...calls));
    await first.kill();

    const second = stage.puppet();
    const { runs = [] } = await second.tell({ do: 'list' });
    const listed = runs.find((run) => run.runId === strange.runId);
    expect(listed?.toolCalls[0]?.args).toEqual(args);
    await decide(second, 'approve', strange.runId, 'one');
    expect(stage.effects.all().find(({ toolCallId }) => toolCallId === 'one')?.args).toBe(
      JSON.stringify(args),
    );
    for (const kind of kinds) expect((await decide(second, 'approve', runId, kind)).error).toBeUndefined();
    const ended = await stage.store.load(runId, 0);
    const outcomes = new Map(
      ended?.kind === 'ended' ? ended.records.map((record) => [record.toolCallId, record.outcome]) : [],
    );
    expect(outcomes.get('date')).toMatchObject({ result: { at: '1970-01-01T00:00:00.000Z' } });
    expect(outcomes.get('undefined')).toMatchObject({ result: { here: 1 } });
    for (const kind of ['bigint', 'cycle']) {
      expect(outcomes.get(kind)).toMatchObject({ state: 'failed', error: { code: 'invalid-output' } });
    }
    expect(['finished', 'failed']).toContain(outcomes.get('map')?.state);
  });

  test('scenario: K12 — what is stored stays near what was added, after 12 steps with large results', async () => {
    const stage = await openStage(database);
    const [first, second] = [stage.puppet(), stage.puppet()];
    const size = 20_000;
    const free = (step: number) => ({
      calls: [{ toolName: 'status', toolCallId: `free-${step}`, args: { size } }],
    });
    const steps = [...Array.from({ length: 12 }, (_, step) => free(step)), { calls: [held('one')] }];
    const { runId } = await ask(first, { name: 'K12', steps, padding: 'p'.repeat(50_000) });
    const open = await stage.store.load(runId, 0);
    const bytes = open?.kind === 'open' ? open.events.join('').length : 0;
    const added = 12 * size + 50_000;
    expect(bytes).toBeGreaterThan(added);
    expect(bytes).toBeLessThan(added * 1.05 + 20_000);
    expect(await decide(second, 'approve', runId, 'one')).toMatchObject({ text: 'Done.' });
  });

  test('scenario: K16 — what waits waits, whoever sweeps and whoever dies', async () => {
    const stage = await openStage(database);
    const [first, second] = [stage.puppet(), stage.puppet()];
    const runIds: string[] = [];
    for (let round = 0; round < 20; round++) {
      runIds.push((await ask(first, given(`K16-${round}`, held('one'), held('two')))).runId);
    }
    const versions = async (): Promise<unknown[]> =>
      Promise.all(
        runIds.map(async (runId) => {
          const found = await stage.store.load(runId, Number.MAX_SAFE_INTEGER);
          return found?.kind === 'open' ? found.version : found?.kind;
        }),
      );
    const before = await versions();
    await first.kill();
    // A lease that is over for everybody.
    expect(await stage.store.workers.abandoned(0, 1000)).toEqual([]);
    for (let round = 0; round < 3; round++) await second.tell({ do: 'sweep' });
    expect(await versions()).toEqual(before);
    expect(await second.tell({ do: 'list' })).toMatchObject({ total: 20 });
    const runId = runIds[7] as string;
    await decide(second, 'approve', runId, 'one');
    expect(await decide(second, 'approve', runId, 'two')).toMatchObject({ text: 'Done.' });
  });

  test('scenario: K19 — nothing of an ended run lingers but its records', async () => {
    const stage = await openStage(database);
    const [first, second] = [stage.puppet(), stage.puppet()];
    const runIds: string[] = [];
    for (let round = 0; round < 6; round++) {
      const { runId } = await ask(first, given(`K19-${round}`, held('one'), held('two')));
      await Promise.all([
        decide(first, round % 2 ? 'approve' : 'decline', runId, 'one'),
        decide(second, 'approve', runId, 'two'),
      ]);
      runIds.push(runId);
    }
    // Each decision's leg ends when the run waits or has ended, so by now every run has ended.
    for (const puppet of [first, second]) {
      expect(await puppet.tell({ do: 'list', status: 'all' })).toMatchObject({ total: 0, runs: [] });
      await puppet.tell({ do: 'sweep' });
    }
    const tables = ['heads', 'events', 'calls', 'decisions', 'outcomes'];
    const counts = await Promise.all(tables.map((table) => countRows(stage.place, `countersign_${table}`)));
    expect(counts).toEqual([0, 0, 0, 12, 6]);
    const late = await decide(second, 'approve', runIds[0] as string, 'one');
    expect(late.error).toMatchObject({ code: 'already-decided', decision: { verdict: 'decline' } });
    expect(stage.effects.of(runIds[0] as string, 'one')).toBe(0);
  });
});
