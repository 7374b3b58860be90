/** K1, K2, K6 and K7 of auto-resume: it is the call, and the stop, that was offered; its neighbours are left alone. */
import { createTool } from 'countersign';
import { expect } from 'vitest';
import { z } from 'zod';
import { answers, askingTool, asks, openAnswering, outputsIn } from '../support/answering.ts';
import { thread } from '../support/by-thread.ts';
import { callsIn, expectValidPrompts, loaded } from '../support/conversation.ts';
import { kinds, refundCall } from '../support/kinds.ts';
import { inEveryWorld } from '../support/world.ts';

const malformed: Record<string, object> = {
  nothing: {},
  'another type': { args: { city: 7 } },
  'no value': { args: { city: null } },
  'no object': { args: ['Rome'] },
  'no JSON': { argsText: '{"city":' },
};

for (const [what, given] of Object.entries(malformed)) {
  inEveryWorld('scenario: K1', `an answer that is ${what} carries nothing out`, async (open) => {
    const effects: string[] = [];
    const scene = openAnswering(open, {
      script: [
        { calls: [asks('weather', 'A')] },
        { calls: [{ toolName: 'resume-ask', toolCallId: 'R', ...given }] },
        'Which city?',
        { calls: [answers('Rome', 'R2')] },
        'Fine.',
      ],
      tools: { ask: askingTool(effects) },
    });
    const { runId } = await scene.start();
    const before = await scene.list(thread);
    await scene.turn('Rome.');
    expect(outputsIn(scene, 2).R?.type).toBe('error-text');
    expect(effects).toEqual([]);
    expect(await scene.list(thread)).toEqual(before);
    await scene.turn('Rome!');
    expect(effects).toEqual(['weather: Rome']);
    expect(await scene.store.load(runId, 0)).toMatchObject({ kind: 'ended', records: [{ stop: 1 }] });
    expectValidPrompts(scene, 5);
  });
}

inEveryWorld('scenario: K2', 'an answer to one question does not answer the next', async (open) => {
  const given: string[] = [];
  const [offered, resumed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const ask = createTool({
    id: 'ask',
    inputSchema: z.object({ about: z.string() }),
    resumeSchema: z.object({ city: z.string() }),
    execute: async (_input, { agent }) => {
      if (agent.resumeData) given.push(agent.resumeData.city);
      return agent.suspend({ question: given.length === 0 ? 'From where?' : 'And to where?' });
    },
  });
  const scene = openAnswering(open, {
    script: (_prompt, index) => {
      if (index === 0) return { calls: [asks('journey', 'A')] };
      if (index > 1) return 'Too late.';
      offered.resolve();
      return { calls: [answers('Rome')], delayUntil: resumed.promise };
    },
    tools: { ask },
  });
  const { runId } = await scene.start();
  const turn = scene.turn('From Rome.');
  await offered.promise;
  await scene.resume({ city: 'Oslo' }, runId, { toolCallId: 'A', stop: 1, by: { id: 'ann' } });
  resumed.resolve();
  expect((await turn).text).toBe('Too late.');
  expect(given).toEqual(['Oslo']);
  expect(outputsIn(scene, 2).R).toMatchObject({
    type: 'error-text',
    value: expect.stringContaining('"ann"'),
  });
  expect((await scene.list(thread)).runs).toMatchObject([
    { runId, toolCalls: [{ toolCallId: 'A', stop: 2 }] },
  ]);
});

inEveryWorld(
  'scenario: K6',
  'a run with other calls goes on waiting for those, and then by itself',
  async (open) => {
    const effects: string[] = [];
    const scene = openAnswering(open, {
      script: [
        { calls: [asks('weather', 'A'), refundCall('a', 1, 'B'), asks('hotel', 'C')] },
        { calls: [answers('Rome')] },
        'Sunny.',
        'All is done.',
      ],
      tools: { ...kinds[0]!.tools([], true), ask: askingTool(effects) },
    });
    const { runId } = await scene.start();
    expect((await scene.turn('In Rome.')).text).toBe('Sunny.');
    const { runs } = await scene.list(thread);
    expect(
      runs.map((run) => [run.runId, run.toolCalls.map(({ toolCallId }) => toolCallId).toSorted()]),
    ).toEqual([[runId, ['B', 'C']]]);
    await scene.resume({ city: 'Oslo' }, runId, { toolCallId: 'C' });
    const last = await scene.approve(runId, { toolCallId: 'B' });
    expect(last).toMatchObject({ text: 'All is done.', finishReason: 'stop' });
    expect(outputsIn(scene, 3)).toMatchObject({
      A: { value: { weather: 'Rome' } },
      B: { value: { refunded: 1 } },
      C: { value: { hotel: 'Oslo' } },
    });
    expect(effects).toEqual(['weather: Rome', 'hotel: Oslo']);
    expectValidPrompts(scene, 4);
  },
);

inEveryWorld(
  'scenario: K7',
  'free calls beside it run at once and once, and stay with their run',
  async (open) => {
    const effects: string[] = [];
    const looked: string[] = [];
    const look = createTool({
      id: 'look',
      inputSchema: z.object({ at: z.string() }),
      execute: async ({ at }) => {
        looked.push(at);
        return { seen: at };
      },
    });
    const looks = (at: string) => ({ toolName: 'look', args: { at }, toolCallId: at });
    const scene = openAnswering(open, {
      script: [
        { calls: [looks('one'), asks('weather', 'A')] },
        { calls: [answers('Rome'), looks('two')] },
        'Fine.',
        'Bye.',
      ],
      tools: { ask: askingTool(effects), look },
    });
    await scene.start();
    expect(looked).toEqual(['one']);
    await scene.turn('Rome.');
    expect([looked, effects]).toEqual([['one', 'two'], ['weather: Rome']]);
    expect(outputsIn(scene, 2)).toMatchObject({
      R: { value: { weather: 'Rome' } },
      two: { value: { seen: 'two' } },
    });
    await scene.turn('Thanks.');
    expect(Object.keys(outputsIn(scene, 3)).toSorted()).toEqual(['A', 'R', 'one', 'two']);
    expect(callsIn(await loaded(scene)).every(({ state }) => state === 'output-available')).toBe(true);
    expectValidPrompts(scene, 4);
  },
);
