/** K10, K11, K12, K14 and K19 of auto-resume: what models, pages, readers and the store are told of both runs. */
import { createTool } from 'countersign';
import { expect } from 'vitest';
import { z } from 'zod';
import { answers, askingTool, asks, openAnswering, outputsIn } from '../support/answering.ts';
import { thread } from '../support/by-thread.ts';
import { callsIn, expectValidPrompts, loaded, spoken } from '../support/conversation.ts';
import { grammarProblems, ofType, readStream, typesOf } from '../support/told.ts';
import { inEveryWorld } from '../support/world.ts';

const look = createTool({ id: 'look', inputSchema: z.object({}), execute: async () => ({ seen: true }) });

inEveryWorld('scenario: K10', 'turns before, with and after the answer', async (open) => {
  const scene = openAnswering(open, {
    script: [
      {
        reasoning: 'I must ask. ',
        text: 'One moment. ',
        calls: [{ toolName: 'look', toolCallId: 'L' }, asks('weather', 'A')],
      },
      'It waits.',
      { reasoning: 'That is it. ', calls: [{ toolName: 'look', toolCallId: 'L' }, answers('Rome')] },
      { reasoning: 'Once more. ', calls: [answers('Oslo', 'R')] },
      'Fine.',
      { calls: [asks('hotel', 'A')] },
      { calls: [answers('Oslo', 'R')] },
      'Booked.',
    ],
    tools: { ask: askingTool([]), look },
  });
  await scene.start();
  await scene.turn('Hello.');
  await scene.turn('Rome.');
  await scene.turn('And a hotel.');
  expect((await scene.turn('Oslo.')).text).toBe('Booked.');
  expectValidPrompts(scene, 8);
  expect(outputsIn(scene, 1).A).toMatchObject({ value: expect.stringContaining('waits for the answer') });
  expect(outputsIn(scene, 5)).toMatchObject({
    A: { value: { weather: 'Rome' } },
    R: { value: { weather: 'Rome' } },
  });
  expect((await scene.list({ status: 'all' })).runs).toEqual([]);
});

inEveryWorld(
  'scenario: K11',
  'the call that asked shows its result, and so does the one that answered',
  async (open) => {
    const scene = openAnswering(open, {
      script: [
        { text: 'One moment. ', calls: [asks('weather', 'A')] },
        { calls: [answers('Rome')] },
        'Fine.',
        'Bye.',
      ],
      tools: { ask: askingTool([]) },
    });
    const { runId } = await scene.start({}, 'The weather?');
    const before = await loaded(scene);
    expect(before[1]?.parts.at(-1)).toMatchObject({ type: 'data-tool-call-suspended' });
    const turn = await scene.turn('Rome.');
    const after = await loaded(scene);
    expect(spoken(after)).toEqual([
      'user: The weather?',
      'assistant: One moment. ',
      'user: Rome.',
      'assistant: Fine.',
    ]);
    expect(after.slice(0, 2).map(({ id }) => id)).toEqual(before.map(({ id }) => id));
    expect([after[1]?.metadata, after[3]?.metadata]).toEqual([{ runId }, { runId: turn.runId }]);
    expect(callsIn(after)).toMatchObject([
      { type: 'tool-ask', toolCallId: 'A', state: 'output-available', output: { weather: 'Rome' } },
      { type: 'tool-resume-ask', toolCallId: 'R', state: 'output-available', output: { weather: 'Rome' } },
    ]);
    expect(after.some(({ parts }) => parts.some(({ type }) => type.startsWith('data-')))).toBe(false);
    await scene.turn('Thanks.');
    expect((await loaded(scene)).slice(0, 4)).toEqual(after);
  },
);

inEveryWorld(
  'scenario: K12',
  'a large question is neither stored again nor more than providers take',
  async (open) => {
    const question = `Which? ${'x'.repeat(200_000)}`;
    const scene = openAnswering(open, {
      script: [{ calls: [asks('weather', 'A')] }, { calls: [answers('Rome')] }, 'Fine.'],
      tools: {
        ask: askingTool([], 'ask', {
          execute: async (
            _input: object,
            { agent }: { agent: { resumeData?: object; suspend(payload: object): unknown } },
          ) => (agent.resumeData === undefined ? agent.suspend({ question }) : 'Sunny.'),
        }),
      },
    });
    await scene.start();
    const { runId } = await scene.turn('Rome.', { requireToolApproval: true });
    const extra = scene.model.calls[1]?.tools?.[1] as { description?: string } | undefined;
    expect(extra?.description?.length).toBeLessThanOrEqual(1024);
    const stored = await scene.store.load(runId, 0);
    const events = stored?.kind === 'open' ? stored.events : [];
    expect(events.length).toBeGreaterThan(0);
    expect(events.join('').length).toBeLessThan(8000);
    expect((await scene.approve(runId)).text).toBe('Fine.');
  },
);

inEveryWorld('scenario: K14', 'both streams keep the grammar, and an observer sees the end', async (open) => {
  const [entered, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const ask = createTool({
    id: 'ask',
    inputSchema: z.object({ about: z.string() }),
    resumeSchema: z.object({ city: z.string() }),
    execute: async (_input, { agent }) => {
      if (agent.resumeData === undefined) return agent.suspend({ question: 'Which?' });
      entered.resolve();
      await release.promise;
      return { city: agent.resumeData.city };
    },
  });
  const scene = openAnswering(open, {
    script: [{ text: 'One moment. ', calls: [asks('weather', 'A')] }, { calls: [answers('Rome')] }, 'Fine.'],
    tools: { ask },
  });
  const structuredOutput = { schema: z.object({ done: z.boolean() }) };
  const first = await scene.start({ structuredOutput });
  const heard: string[] = [];
  const turning = scene.turn('Rome.', { onChunk: ({ chunk }) => void heard.push(chunk.runId) });
  await entered.promise;
  const opened = await scene.decider().observe({ runId: first.runId });
  release.resolve();
  const [turn, observed] = await Promise.all([turning, readStream(opened)]);
  for (const { chunks } of [first, turn, observed]) if (chunks) expect(grammarProblems(chunks)).toEqual([]);
  expect(observed).toMatchObject({ runId: first.runId, finishReason: 'answered', error: undefined });
  expect(ofType(observed.chunks, 'tool-result')).toMatchObject([
    { payload: { toolCallId: 'A', result: { city: 'Rome' } } },
  ]);
  expect(observed.chunks?.at(-1)?.type).toBe('finish');
  expect(await opened.object).toBeUndefined();
  expect(new Set(heard)).toEqual(new Set([turn.runId]));
  expect(heard).toHaveLength(turn.chunks?.length ?? heard.length);
  if (turn.chunks) {
    expect(typesOf(turn.chunks)).toContain('tool-result');
    expect(ofType(turn.chunks, 'tool-call').map(({ payload }) => payload.toolName)).toEqual(['resume-ask']);
  }
  const late = await scene.observe({ runId: first.runId });
  expect(late).toMatchObject({ finishReason: 'answered', error: undefined });
});

for (const durable of [false, true]) {
  inEveryWorld(
    'scenario: K19',
    `of both runs nothing lingers (${durable ? 'durable' : 'not stored'})`,
    async (open) => {
      const scene = openAnswering(open, {
        script: [{ calls: [asks('weather', 'A')] }, { calls: [answers('Rome')] }, 'Fine.'],
        tools: { ask: askingTool([]) },
        agent: { durable },
      });
      const { runId } = await scene.start();
      const turn = await scene.turn('Rome.');
      await scene.sweep();
      expect((await scene.list({ status: 'all' })).runs).toEqual([]);
      expect(await scene.store.workers.abandoned(0, 10)).toEqual([]);
      const old = await scene.store.load(runId, 0);
      expect(old).toMatchObject({
        kind: 'ended',
        outcome: { finishReason: 'answered' },
        records: [
          {
            verdict: 'resume',
            toolCallId: 'A',
            stop: 1,
            data: { city: 'Rome' },
            by: { id: 'auto-resume', messageId: expect.any(String) },
            answering: { runId: turn.runId, toolCallId: 'R' },
            decisionId: `auto-resume:${turn.runId}:R`,
            outcome: { state: 'finished', result: { weather: 'Rome' } },
          },
        ],
      });
      const kept = await scene.store.load(turn.runId, 0);
      if (durable)
        expect(kept).toMatchObject({ kind: 'ended', outcome: { finishReason: 'stop' }, records: [] });
      else expect(kept).toBeUndefined();
      expect(scene.model.calls).toHaveLength(3);
      expect((await scene.list({ ...thread, status: 'all' })).total).toBe(0);
    },
  );
}
