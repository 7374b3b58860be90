/** K3: a decision repeated by its `decisionId` gets what was recorded, whoever repeats it and however late. */
import { createTool } from 'countersign';
import { expect } from 'vitest';
import { z } from 'zod';
import { approveAndCarryOut, askRefunds, kinds, type Refund } from '../support/kinds.ts';
import { codeOf, errorOf } from '../support/scene.ts';
import { grammarProblems, ofType } from '../support/told.ts';
import { inEveryWorld, inOneWorld } from '../support/world.ts';

for (const kind of kinds) {
  for (const named of [true, false]) {
    const how = named ? 'naming its call' : 'naming no call';
    inEveryWorld(
      'scenario: K3',
      `an approval repeated after the end, ${how} (${kind.name})`,
      async (open) => {
        const effects: Refund[] = [];
        const scene = open({ script: [askRefunds('a'), 'Done.'], tools: kind.tools(effects, true) });
        const { runId } = await scene.start();
        const choice = {
          ...(named ? { toolCallId: 'call-0-0', stop: 1 } : {}),
          decisionId: 'click 1',
          by: { id: 'ann' },
        };
        const told = await approveAndCarryOut(scene, kind, effects, runId, choice);
        expect((await scene.store.load(runId, 0))?.kind).toBe('ended');
        for (let round = 0; round < 3; round++) {
          const repeated = await scene.approve(runId, choice);
          expect([repeated.runId, repeated.text, repeated.finishReason]).toEqual([runId, 'Done.', 'stop']);
          if (!kind.clientSide) expect(repeated.results).toEqual(told.results);
          if (!repeated.chunks) continue;
          expect(grammarProblems(repeated.chunks)).toEqual([]);
          expect(ofType(repeated.chunks, 'tool-call')).toMatchObject([{ payload: { replayed: true } }]);
          expect(ofType(repeated.chunks, 'tool-call-approval')).toEqual([]);
        }
        const error = await errorOf(scene.approve(runId, { ...choice, decisionId: 'click 2' }));
        expect(error.code).toBe('already-decided');
        const recorded = { verdict: 'approve', decisionId: 'click 1', by: { id: 'ann' } };
        if (named) expect(error.decision).toMatchObject(recorded);
        expect(await codeOf(scene.decline(runId, choice))).toBe('already-decided');
        expect(effects).toHaveLength(1);
        expect(scene.model.calls).toHaveLength(2);
      },
    );
  }

  inEveryWorld('scenario: K3', `a decline repeated after the end (${kind.name})`, async (open) => {
    const effects: Refund[] = [];
    const scene = open({ script: [askRefunds('a'), 'Then not.'], tools: kind.tools(effects, true) });
    const { runId } = await scene.start();
    const choice = { toolCallId: 'call-0-0', decisionId: 'click 1', reason: 'too much' };
    await scene.decline(runId, choice);
    const repeated = await scene.decline(runId, choice);
    expect([repeated.text, repeated.finishReason, repeated.results]).toEqual(['Then not.', 'stop', []]);
    if (repeated.chunks) {
      expect(ofType(repeated.chunks, 'tool-output-denied')).toMatchObject([
        { payload: { toolCallId: 'call-0-0', approval: { approved: false, reason: 'too much' } } },
      ]);
    }
    expect(await codeOf(scene.approve(runId, choice))).toBe('already-decided');
    expect(effects).toEqual([]);
    expect(scene.model.calls).toHaveLength(2);
  });
}

inEveryWorld('scenario: K3', 'a resumption repeated after the end', async (open) => {
  const seen: unknown[] = [];
  const ask = createTool({
    id: 'ask',
    inputSchema: z.object({}),
    resumeSchema: z.object({ answer: z.string() }),
    execute: async (_input, { agent }) => {
      if (!agent.resumeData) return void (await agent.suspend({ question: '?' }));
      seen.push(agent.resumeData);
      return agent.resumeData;
    },
  });
  const scene = open({ script: [{ calls: [{ toolName: 'ask' }] }, 'Done.'], tools: { ask } });
  const { runId } = await scene.start();
  const first = await scene.resume({ answer: 'yes' }, runId, { decisionId: 'click 1' });
  const repeated = await scene.resume({ answer: 'yes' }, runId, { decisionId: 'click 1' });
  expect([repeated.text, repeated.results]).toEqual([first.text, first.results]);
  expect(await codeOf(scene.resume({ answer: 'yes' }, runId, { decisionId: 'click 2' }))).toBe(
    'already-decided',
  );
  expect(seen).toEqual([{ answer: 'yes' }]);
});

inEveryWorld('scenario: K3', 'repeated while another call waits, naming its call', async (open) => {
  const effects: Refund[] = [];
  const scene = open({ script: [askRefunds('a', 'b'), 'Done.'], tools: kinds[0]!.tools(effects, true) });
  const { runId } = await scene.start();
  const choice = { toolCallId: 'call-0-1', decisionId: 'click 1' };
  await scene.approve(runId, choice);
  const repeated = await scene.approve(runId, choice);
  expect(repeated.finishReason).toBe('suspended');
  expect(repeated.results).toMatchObject([{ toolCallId: 'call-0-1', result: { refunded: 10 } }]);
  expect(repeated.payloads.map(({ toolCallId }) => toolCallId)).toEqual(['call-0-0']);
  expect(effects.map(({ order }) => order)).toEqual(['b']);
});

inEveryWorld('scenario: K3', 'repeated while another call waits, naming no call', async (open) => {
  const effects: Refund[] = [];
  const scene = open({ script: [askRefunds('a', 'b'), 'Done.'], tools: kinds[0]!.tools(effects, true) });
  const { runId } = await scene.start();
  await scene.approve(runId, { decisionId: 'click 1' });
  expect(effects.map(({ order }) => order)).toEqual(['b']);
  // The person clicked once: the repeated request must not fall upon the other call.
  const repeated = await scene.approve(runId, { decisionId: 'click 1' });
  expect(effects.map(({ order }) => order)).toEqual(['b']);
  expect(repeated.results).toMatchObject([{ toolCallId: 'call-0-1' }]);
  expect((await scene.list()).runs[0]?.toolCalls).toMatchObject([{ toolCallId: 'call-0-0', state: 'held' }]);
});

inEveryWorld('scenario: K3', 'repeated after a cancelled end', async (open) => {
  const effects: Refund[] = [];
  const scene = open({ script: [askRefunds('a', 'b'), 'Done.'], tools: kinds[0]!.tools(effects, true) });
  const { runId } = await scene.start();
  const choice = { toolCallId: 'call-0-0', decisionId: 'click 1' };
  await scene.approve(runId, choice);
  await scene.cancel({ runId });
  const repeated = await scene.approve(runId, choice);
  expect(repeated.finishReason).toBe('cancelled');
  expect(repeated.results).toMatchObject([{ toolCallId: 'call-0-0', result: { refunded: 10 } }]);
  expect(await codeOf(scene.approve(runId, { toolCallId: 'call-0-1', decisionId: 'click 1' }))).toBe(
    'run-ended',
  );
  expect(effects).toHaveLength(1);
});

inEveryWorld('scenario: K3', 'at once, and one comes when the run has ended meanwhile', async (open) => {
  const effects: Refund[] = [];
  const scene = open({ script: [askRefunds('a'), 'Done.'], tools: kinds[0]!.tools(effects, true) });
  const { runId } = await scene.start();
  const choice = { toolCallId: 'call-0-0', decisionId: 'click 1' };
  const told = await Promise.all(Array.from({ length: 4 }, () => scene.approve(runId, choice)));
  for (const { text, results } of told) {
    expect(text).toBe('Done.');
    expect(results).toMatchObject([{ toolCallId: 'call-0-0' }]);
  }
  expect(effects).toHaveLength(1);
});

inOneWorld(
  'scenario: K14',
  'the leg of a decision repeated after the end is of the same message',
  async (open) => {
    const scene = open({ script: [askRefunds('a'), 'Done.'], tools: kinds[0]!.tools([], true) });
    const { runId, messageId } = await scene.start();
    await scene.approve(runId, { decisionId: 'click 1' });
    expect((await scene.approve(runId, { decisionId: 'click 1' })).messageId).toBe(messageId);
  },
);

inEveryWorld('scenario: K3', 'a no that is the data of a resume, repeated by its id', async (open) => {
  const answers: boolean[] = [];
  const consent = createTool({
    id: 'consent',
    inputSchema: z.object({}),
    resumeSchema: z.object({ approved: z.boolean() }),
    execute: async (_input, { agent }) => {
      if (agent.resumeData === undefined) return agent.suspend({ question: 'Really?' });
      answers.push(agent.resumeData.approved);
      return { went: agent.resumeData.approved };
    },
  });
  const other = { toolName: 'consent', toolCallId: 'other' };
  const scene = open({
    script: [{ calls: [{ toolName: 'consent', toolCallId: 'one' }, other] }, 'Done.'],
    tools: { consent },
  });
  const { runId } = await scene.start();
  const choice = { toolCallId: 'one', decisionId: 'click 1' };
  const told = await scene.resume({ approved: false }, runId, choice);
  expect((await scene.resume({ approved: false }, runId, choice)).results).toEqual(told.results);
  await scene.resume({ approved: true }, runId, { toolCallId: 'other' });
  expect((await scene.resume({ approved: false }, runId, choice)).results).toEqual(told.results);
  expect(answers).toEqual([false, true]);
});
