/** K17 of a call that asks: turns, aborts and cancels between its question and its answer, and while it is answered. */
import { createTool } from 'countersign';
import { expect } from 'vitest';
import { z } from 'zod';
import { askingTool, asks } from '../support/answering.ts';
import { thread } from '../support/by-thread.ts';
import { callsIn, expectValidPrompts, loaded, openConversation, spoken } from '../support/conversation.ts';
import { resultsIn } from '../support/kinds.ts';
import { codeOf } from '../support/scene.ts';
import { inEveryWorld } from '../support/world.ts';

const question = { text: 'Where? ', calls: [asks('weather', 'A')] };

inEveryWorld('scenario: K17', 'a new turn while a call asks, then its answer', async (open) => {
  const effects: string[] = [];
  const scene = openConversation(open, {
    script: [question, 'It waits.', { calls: [asks('hotel', 'A')] }, 'Sunny.', 'Booked.', 'Bye.'],
    tools: { ask: askingTool(effects) },
  });
  const { runId } = await scene.start({}, 'First.');
  const before = (await scene.list(thread)).runs;
  expect((await scene.turn('In Rome.')).text).toBe('It waits.');
  // A message gives no data: only who resumes does.
  expect([effects, (await scene.list(thread)).runs]).toEqual([[], before]);
  expect(resultsIn(scene.model.calls[1]?.prompt).A?.value).toContain('Which city for weather?');
  const later = await scene.turn('And a hotel.');
  const [{ toolCallId }] = later.payloads as [{ toolCallId: string }];
  expect(await codeOf(scene.resume({ city: 5 }, runId))).toBe('invalid-resume-data');

  const resumed = await scene.resume({ city: 'Rome' }, runId, { toolCallId: 'A', stop: 1 });
  expect(resumed).toMatchObject({ text: 'Sunny.', totalText: 'Where? Sunny.', finishReason: 'stop' });
  expect(effects).toEqual(['weather: Rome']);
  // It goes on from where it asked, and knows nothing of what was said since.
  expect(JSON.stringify(scene.model.calls[3]?.prompt)).not.toMatch(/In Rome|hotel/);
  expect((await scene.list(thread)).runs).toMatchObject([{ runId: later.runId }]);
  await scene.resume({ city: 'Oslo' }, later.runId, { toolCallId });
  expect(effects).toEqual(['weather: Rome', 'hotel: Oslo']);
  expect(await codeOf(scene.resume({ city: 'Bonn' }, runId))).toBe('already-decided');
  await scene.turn('Thanks.');
  expect(spoken(await loaded(scene))).toEqual([
    'user: First.',
    'assistant: Where? Sunny.',
    'user: In Rome.',
    'assistant: It waits.',
    'user: And a hotel.',
    'assistant: Booked.',
    'user: Thanks.',
    'assistant: Bye.',
  ]);
  expectValidPrompts(scene, 6);
});

inEveryWorld('scenario: K17', 'a run that asks is cancelled, then resumed: too late', async (open) => {
  const effects: string[] = [];
  const scene = openConversation(open, {
    script: [question, 'Next.'],
    tools: { ask: askingTool(effects) },
    memory: { whenCallsWait: 'refuse' },
  });
  const { runId } = await scene.start({}, 'First.');
  expect(await codeOf(scene.turn('In Rome.'))).toBe('thread-waiting');
  expect(await scene.cancel({ runId })).toEqual({ runId, status: 'cancelled' });
  for (const choice of [{}, { toolCallId: 'A' }, { toolCallId: 'A', stop: 1 }]) {
    expect(await codeOf(scene.resume({ city: 'Rome' }, runId, choice))).toBe('run-ended');
  }
  const after = await loaded(scene);
  expect(callsIn(after)).not.toMatchObject([{ state: 'output-available' }]);
  expect(after[1]?.parts.some(({ type }) => type.startsWith('data-'))).toBe(false);
  expect((await scene.turn('In Rome.')).text).toBe('Next.');
  expect([effects, (await scene.list({ status: 'all' })).runs]).toEqual([[], []]);
  expectValidPrompts(scene, 2);
});

inEveryWorld('scenario: K17', 'an abort after the question does nothing to the answer', async (open) => {
  const effects: string[] = [];
  const aborting = new AbortController();
  const scene = open({ script: [question, 'Sunny.'], tools: { ask: askingTool(effects) } });
  const { runId } = await scene.start({ abortSignal: aborting.signal });
  aborting.abort();
  const resumed = await scene.resume({ city: 'Rome' }, runId);
  expect(resumed).toMatchObject({ text: 'Sunny.', finishReason: 'stop' });
  expect(effects).toEqual(['weather: Rome']);
});

inEveryWorld('scenario: K17', 'a resume whose leg is aborted already: decided, never run', async (open) => {
  const effects: string[] = [];
  const scene = open({ script: [question, 'Never.'], tools: { ask: askingTool(effects) } });
  const { runId } = await scene.start();
  const told = await scene.resume({ city: 'Rome' }, runId, { abortSignal: AbortSignal.abort() });
  expect(told.finishReason).toBe('cancelled');
  expect(await codeOf(scene.resume({ city: 'Rome' }, runId, { toolCallId: 'A' }))).toMatch(
    /^(run-ended|already-decided)$/,
  );
  expect(effects).toEqual([]);
  expect(scene.model.calls).toHaveLength(1);
  expect((await scene.list({ status: 'all' })).runs).toEqual([]);
});

for (const how of ['abort', 'cancel'] as const) {
  inEveryWorld('scenario: K17', `${how} while the resumed call runs: its result is kept`, async (open) => {
    const entered = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    const aborting = new AbortController();
    let runs = 0;
    const ask = createTool({
      id: 'ask',
      inputSchema: z.object({ about: z.string() }),
      resumeSchema: z.object({ city: z.string() }),
      execute: async (_input, { agent }) => {
        if (agent.resumeData === undefined) return agent.suspend({ question: 'Which city?' });
        runs++;
        entered.resolve();
        await release.promise;
        return { city: agent.resumeData.city };
      },
    });
    const scene = openConversation(open, { script: [question, 'Bye.'], tools: { ask } });
    const { runId } = await scene.start({}, 'First.');
    const leg = scene.resume({ city: 'Rome' }, runId, { abortSignal: aborting.signal });
    await entered.promise;
    if (how === 'abort') aborting.abort();
    else expect((await scene.cancel({ runId })).status).toMatch(/^cancell(ed|ing)$/);
    release.resolve();
    const told = await leg;
    expect(told.finishReason).toBe('cancelled');
    expect(told.results).toMatchObject([{ toolCallId: 'A', result: { city: 'Rome' } }]);
    expect(callsIn(await loaded(scene))).toMatchObject([
      { toolCallId: 'A', state: 'output-available', output: { city: 'Rome' } },
    ]);
    expect(await codeOf(scene.resume({ city: 'Oslo' }, runId, { toolCallId: 'A' }))).toBe('already-decided');
    await scene.turn('Second.');
    expect(resultsIn(scene.model.calls[1]?.prompt).A).toMatchObject({ value: { city: 'Rome' } });
    expect(runs).toBe(1);
    expectValidPrompts(scene, 2);
  });
}
