/** K9, K11, K12 and K16 of tools that a caller brings: in teams, in what a page loads, in what is stored, and for good. */
import { type AgentConfig, createTool, type ToolsetsInput } from 'countersign';
import { expect } from 'vitest';
import { z } from 'zod';
import { thread } from '../support/by-thread.ts';
import { callsIn, expectValidPrompts, loaded, openConversation, spoken } from '../support/conversation.ts';
import { askRefunds, kinds, type Refund, refundCall, resultsIn } from '../support/kinds.ts';
import { codeOf, errorOf } from '../support/scene.ts';
import {
  asksFor,
  call,
  chain,
  delegate,
  leafTools,
  membersOf,
  modelOf,
  teamEffects,
} from '../support/team.ts';
import { grammarProblems } from '../support/told.ts';
import { inEveryWorld } from '../support/world.ts';

const years = 365 * 24 * 60 * 60 * 1000;
const inSets = kinds.filter(({ name }) => name !== 'dynamic tool');
const setOf = (kind: (typeof kinds)[number], effects: Refund[]): ToolsetsInput => ({
  desk: kind.tools(effects, true) as ToolsetsInput[string],
});

for (const depth of [1, 2]) {
  inEveryWorld(
    'scenario: K9',
    `depth ${depth}: held tools of a sub-agent’s own toolset, and of one that the caller brings`,
    async (open) => {
      const effects = teamEffects();
      const refunds: Refund[] = [];
      const toolsets = setOf(kinds[0]!, refunds);
      const members = chain(depth, [call('act', 'it')]);
      const own = { more: leafTools(effects) } as ToolsetsInput;
      const config: Partial<AgentConfig> = { tools: {}, defaultOptions: { toolsets: own } };
      const leaf = depth === 1 ? members.level1 : members.level1?.agents?.level2;
      Object.assign(leaf ?? {}, { config });
      const scene = open({
        script: asksFor('supervisor', [delegate('level1'), refundCall('a', 10, 'B')]),
        agents: () => membersOf(effects, members),
      });
      const started = await scene.start({ toolsets });
      const { runId } = started;
      const path = Array.from({ length: depth }, (_, index) => `to-level${index + 1}`);
      const id = [...path, 'act-it'].join('~');
      const waiting = started.payloads.toSorted((one) => (one.toolCallId === id ? -1 : 1));
      expect(waiting).toMatchObject([
        { toolCallId: id, toolName: 'act', path: path.map((toolCallId) => ({ toolCallId })) },
        { toolCallId: 'B', toolName: 'refund' },
      ]);
      if (started.chunks) expect(grammarProblems(started.chunks)).toEqual([]);
      expect([effects.executed, refunds]).toEqual([[], []]);

      // What the caller brought is missed whichever call is decided; nothing has happened then.
      for (const toolCallId of [id, 'B']) {
        const error = await errorOf(scene.approve(runId, { toolCallId }));
        expect([error.code, error.details.missing]).toEqual(['option-missing', ['toolsets.desk']]);
      }
      expect(await codeOf(scene.approve(runId, { toolsets, toolCallId: 'act-it' }))).toBe('call-not-found');
      expect((await scene.list()).runs[0]?.toolCalls).toHaveLength(2);

      const half = await scene.approve(runId, { toolsets, toolCallId: id });
      expect(half.finishReason).toBe('suspended');
      expect([effects.executed, refunds]).toEqual([['act it'], []]);
      expect((await scene.approve(runId, { toolsets })).text).toBe('supervisor is done.');
      expect([effects.executed, refunds.length]).toEqual([['act it'], 1]);
      expect(scene.model.calls).toHaveLength(2);
      for (const below of effects.models.values()) expect(below.calls).toHaveLength(2);
      // A sub-agent's tools are its own.
      const offered = modelOf(effects, `level${depth}`).calls.map(({ tools = [] }) =>
        tools.map(({ name }) => name),
      );
      expect(offered).toEqual(Array(2).fill(['act', 'look', 'ask']));
      expect(await codeOf(scene.approve(runId, { toolsets, toolCallId: id }))).toBe('already-decided');
    },
  );
}

inEveryWorld('scenario: K9', 'declined below with its reason, where a toolset is needed', async (open) => {
  const effects = teamEffects();
  const toolsets = setOf(kinds[0]!, []);
  const scene = open({
    script: asksFor('supervisor', [delegate('level1')]),
    agents: () => membersOf(effects, chain(2, [call('act', 'it')])),
  });
  const { runId } = await scene.start({ toolsets });
  expect(await codeOf(scene.decline(runId))).toBe('option-missing');
  expect((await scene.decline(runId, { toolsets, reason: 'Not today.' })).text).toBe('supervisor is done.');
  expect(effects.executed).toEqual([]);
  expect(JSON.stringify(modelOf(effects, 'level2').calls.at(-1)?.prompt)).toContain('Not today.');
});

for (const kind of inSets) {
  inEveryWorld(
    'scenario: K11',
    `a page loads a call of a toolset without it, then its outcome (${kind.name})`,
    async (open) => {
      const effects: Refund[] = [];
      const toolsets = setOf(kind, effects);
      const scene = openConversation(open, {
        script: [
          { text: 'I ask. ', calls: [refundCall('a', 10, 'A'), refundCall('b', 5, 'B')] },
          'Done.',
          'Bye.',
        ],
      });
      const { runId } = await scene.start({ toolsets }, 'Please.');
      const before = await loaded(scene);
      expect(callsIn(before)).toMatchObject([
        { type: 'tool-refund', state: 'approval-requested', approval: { id: `${runId}::A::1` } },
        { type: 'tool-refund', state: 'approval-requested', approval: { id: `${runId}::B::1` } },
      ]);
      await scene.decline(runId, { toolsets, toolCallId: 'B', reason: 'too much' });
      await scene.approve(runId, { toolsets, toolCallId: 'A', reason: 'fine' });
      if (kind.clientSide) await scene.resume({ refunded: 10 }, runId, { toolsets });
      const after = await loaded(scene);
      expect(after.map(({ id }) => id)).toEqual(before.map(({ id }) => id));
      expect(spoken(after)).toEqual(['user: Please.', 'assistant: I ask. Done.']);
      const [first, second] = callsIn(after);
      expect(first).toMatchObject({
        state: 'output-available',
        output: { refunded: 10 },
        approval: { approved: true, reason: 'fine' },
      });
      expect(second).toMatchObject({ state: 'output-denied', approval: { reason: 'too much' } });
      expect(second).not.toHaveProperty('output');
      expect(effects).toHaveLength(kind.clientSide ? 0 : 1);
      // A later turn has no such tool, and is told what became of its calls all the same.
      await scene.turn('Thanks.');
      expect(resultsIn(scene.model.calls[2]?.prompt)).toMatchObject({
        A: { value: { refunded: 10 } },
        B: { type: 'execution-denied' },
      });
      expect(await loaded(scene)).toMatchObject([...after, { role: 'user' }, { role: 'assistant' }]);
      expect((await scene.list(thread)).runs).toEqual([]);
      expectValidPrompts(scene, 3);
    },
  );

  for (const verb of ['approve', 'decline', 'cancel'] as const) {
    inEveryWorld(
      'scenario: K16',
      `a toolset’s tool ten years later, ${verb} (${kind.name})`,
      async (open) => {
        const effects: Refund[] = [];
        const toolsets = setOf(kind, effects);
        let now = Date.UTC(2026, 0, 1);
        const scene = open({
          script: [askRefunds('a'), 'Done.'],
          registry: { clock: { now: () => now, sleep: async () => {} } },
        });
        const { runId } = await scene.start({ toolsets });
        now += 10 * years;
        await scene.sweep();
        expect(await codeOf(scene.approve(runId))).toBe('option-missing');
        const { runs } = await scene.list();
        expect(runs).toMatchObject([{ runId, suspendedAt: new Date(Date.UTC(2026, 0, 1)) }]);
        if (verb === 'cancel') expect((await scene.cancel({ runId })).status).toBe('cancelled');
        else if (verb === 'decline') expect((await scene.decline(runId, { toolsets })).text).toBe('Done.');
        else {
          const approved = await scene.approve(runId, { toolsets });
          const told = kind.clientSide ? await scene.resume({ refunded: 10 }, runId, { toolsets }) : approved;
          expect(told.text).toBe('Done.');
        }
        expect(effects).toHaveLength(verb === 'approve' && !kind.clientSide ? 1 : 0);
        expect((await scene.list({ status: 'all' })).runs).toEqual([]);
      },
    );
  }
}

inEveryWorld(
  'scenario: K12',
  'a toolset is not stored, and its results are kept or refused',
  async (open) => {
    const cycle: { self?: unknown } = {};
    cycle.self = cycle;
    const results: Record<string, unknown> = {
      cycle,
      big: { a: 10n },
      fine: { at: new Date(0), gone: undefined, text: 'a\0b\ud800' },
    };
    const give = createTool({
      id: 'give',
      description: 'Words that nobody keeps',
      inputSchema: z.object({ what: z.string() }),
      requireApproval: true,
      execute: async ({ what }) => results[what] as never,
    });
    const calls = Object.keys(results).map((what) => ({
      toolName: 'give',
      args: { what },
      toolCallId: what,
    }));
    const scene = open({ script: [{ calls }, 'Done.'] });
    const toolsets = { desk: { give } };
    const { runId } = await scene.start({ toolsets });
    expect((await scene.rowsWith('Words that nobody keeps')) ?? {}).toEqual({});
    for (const { toolCallId } of calls) await scene.approve(runId, { toolsets, toolCallId });
    expect(resultsIn(scene.model.calls[1]?.prompt)).toMatchObject({
      cycle: { type: 'error-text' },
      big: { type: 'error-text' },
      fine: { type: 'json', value: { at: '1970-01-01T00:00:00.000Z', text: 'a\0b\ud800' } },
    });
    expect((await scene.list({ status: 'all' })).runs).toEqual([]);
  },
);
