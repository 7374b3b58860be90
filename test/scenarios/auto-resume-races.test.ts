/** K3, K17 and K20 of auto-resume: others decide, cancel or decline while a turn answers. Once, and the truth is told. */
import { expect } from 'vitest';
import type { Script } from '../../src/testing/scripted-model.ts';
import { answers, askingTool, asks, openAnswering, outputsIn } from '../support/answering.ts';
import { thread } from '../support/by-thread.ts';
import { callsIn, expectValidPrompts, loaded } from '../support/conversation.ts';
import { kinds, type Refund, refundCall } from '../support/kinds.ts';
import { codeOf, type Scene } from '../support/scene.ts';
import { inEveryWorld } from '../support/world.ts';

/** Asks in the first call, answers where it may, each time when `ready` says so, and then says that it is done. */
function answering(ready: () => Promise<unknown>, first = [asks('weather', 'A')]): Script {
  return (prompt, index, tools) => {
    if (index === 0) return { calls: first };
    const mayAnswer = tools.some(({ name }) => name === 'resume-ask');
    if (!mayAnswer || prompt.at(-1)?.role !== 'user') return 'Done.';
    return { calls: [answers('Rome')], delayUntil: ready() };
  };
}

/** What each turn's extra call came to, by the prompts that tell of it. */
function toldOf(scene: Scene): string[] {
  return scene.model.calls.flatMap((_call, index) => {
    const told = outputsIn(scene, index).R;
    return told && scene.model.calls[index]?.prompt.at(-1)?.role === 'tool' ? [told.type] : [];
  });
}

inEveryWorld('scenario: K3', 'two turns answer the same call at once', async (open) => {
  const effects: string[] = [];
  const both = Promise.withResolvers<void>();
  let arrived = 0;
  const scene = openAnswering(open, {
    script: answering(() => {
      if (++arrived === 2) both.resolve();
      return both.promise;
    }),
    tools: { ask: askingTool(effects) },
  });
  const { runId } = await scene.start();
  const turns = await Promise.all([scene.turn('Rome.'), scene.turn('Rome!')]);
  expect(turns.map(({ text }) => text)).toEqual(['Done.', 'Done.']);
  expect(effects).toEqual(['weather: Rome']);
  expect(toldOf(scene).toSorted()).toEqual(['error-text', 'json']);
  const ended = await scene.store.load(runId, 0);
  expect(ended).toMatchObject({ outcome: { finishReason: 'answered' }, records: [{ stop: 1 }] });
  expect((await scene.list({ status: 'all' })).runs).toEqual([]);
  expectValidPrompts(scene, 5);
});

inEveryWorld('scenario: K3', 'a person resumes before the turn answers', async (open) => {
  const effects: string[] = [];
  const resumed = Promise.withResolvers<void>();
  const offered = Promise.withResolvers<void>();
  const scene = openAnswering(open, {
    script: answering(() => {
      offered.resolve();
      return resumed.promise;
    }),
    tools: { ask: askingTool(effects) },
  });
  const { runId } = await scene.start();
  const turn = scene.turn('Rome.');
  await offered.promise;
  const byPerson = await scene.resume({ city: 'Oslo' }, runId, { toolCallId: 'A', by: { id: 'ann' } });
  resumed.resolve();
  expect(byPerson).toMatchObject({ text: 'Done.', finishReason: 'stop' });
  expect((await turn).text).toBe('Done.');
  expect(effects).toEqual(['weather: Oslo']);
  expect(outputsIn(scene, -1).R).toMatchObject({ type: 'error-text' });
  expect(outputsIn(scene, -1).R?.value).toContain('resume by "ann"');
});

inEveryWorld('scenario: K3', 'a person and a turn at the same moment', async (open) => {
  const effects: string[] = [];
  const resumed = Promise.withResolvers<unknown>();
  const scene = openAnswering(open, {
    script: answering(async () => resumed.resolve(undefined)),
    tools: { ask: askingTool(effects) },
  });
  const { runId } = await scene.start();
  const turn = scene.turn('Rome.');
  await resumed.promise;
  const person = scene
    .resume({ city: 'Rome' }, runId, { toolCallId: 'A' })
    .catch(({ code }: { code: string }) => ({ finishReason: code }));
  const [told, byPerson] = await Promise.all([turn, person]);
  expect(told.text).toBe('Done.');
  expect(effects).toEqual(['weather: Rome']);
  const ended = await scene.store.load(runId, 0);
  const wasPerson = ended?.kind === 'ended' && ended.records[0]?.by === undefined;
  expect(toldOf(scene)).toContain(wasPerson ? 'error-text' : 'json');
  expect(byPerson.finishReason).toBe(wasPerson ? 'stop' : 'already-decided');
});

/** A turn that answers when this has been done to the run that waits. */
async function answeredAfter(
  scene: Scene,
  offered: Promise<void>,
  work: () => Promise<unknown>,
  go: () => void,
) {
  const turn = scene.turn('Rome.');
  await offered;
  await work();
  go();
  return turn;
}

inEveryWorld('scenario: K20', 'a person declines before the turn answers', async (open) => {
  const effects: string[] = [];
  const [offered, declined] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const scene = openAnswering(open, {
    script: answering(() => {
      offered.resolve();
      return declined.promise;
    }),
    tools: { ask: askingTool(effects) },
  });
  const { runId } = await scene.start();
  const decline = (): Promise<unknown> =>
    scene.decline(runId, { toolCallId: 'A', reason: 'private', by: { id: 'ann' } });
  const turn = await answeredAfter(scene, offered.promise, decline, declined.resolve);
  expect(turn.text).toBe('Done.');
  expect(effects).toEqual([]);
  expect(outputsIn(scene, -1).R).toMatchObject({ type: 'error-text' });
  expect(outputsIn(scene, -1).R?.value).toContain('decline by "ann"');
});

inEveryWorld(
  'scenario: K20',
  'a call that asked again and is declined is not answered later',
  async (open) => {
    const scene = openAnswering(open, {
      script: [
        { calls: [asks('weather', 'A')] },
        { calls: [answers('Rome')] },
        'It asks again.',
        'As you like.',
        'Bye.',
      ],
      tools: {
        ask: askingTool([], 'ask', {
          execute: async (_input: object, { agent }: { agent: { suspend(payload: object): unknown } }) =>
            agent.suspend({ question: 'Which?' }),
        }),
      },
    });
    const { runId } = await scene.start();
    await scene.turn('Rome.');
    const declined = await scene.decline(runId, { toolCallId: 'A', stop: 2, reason: 'private' });
    expect(declined.text).toBe('As you like.');
    await scene.turn('Oslo.');
    expect(scene.model.calls[4]?.tools?.map(({ name }) => name)).toEqual(['ask']);
    const states = callsIn(await loaded(scene)).map(({ toolCallId, state }) => [toolCallId, state]);
    expect(states).toEqual([
      ['A', 'output-denied'],
      ['R', 'output-available'],
    ]);
  },
);

inEveryWorld('scenario: K17', 'the run that waits is cancelled before the turn answers', async (open) => {
  const effects: string[] = [];
  const [offered, cancelled] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const scene = openAnswering(open, {
    script: answering(() => {
      offered.resolve();
      return cancelled.promise;
    }),
    tools: { ask: askingTool(effects) },
  });
  const { runId } = await scene.start();
  const cancel = (): Promise<unknown> => scene.cancel({ runId });
  const turn = await answeredAfter(scene, offered.promise, cancel, cancelled.resolve);
  expect(turn).toMatchObject({ text: 'Done.', finishReason: 'stop' });
  expect(effects).toEqual([]);
  expect(outputsIn(scene, -1).R).toMatchObject({
    type: 'error-text',
    value: expect.stringMatching(/cancel/),
  });
});

/** A tool that runs until its test, or a cancel, lets it go. */
function running(refunds: Refund[] = []) {
  const [entered, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const signals: AbortSignal[] = [];
  const ask = askingTool([], 'ask', {
    execute: async (
      _input: object,
      {
        agent,
        abortSignal,
      }: { abortSignal: AbortSignal; agent: { resumeData?: object; suspend(payload: object): unknown } },
    ) => {
      if (agent.resumeData === undefined) return agent.suspend({ question: 'Which?' });
      signals.push(abortSignal);
      abortSignal.addEventListener('abort', () => release.resolve());
      entered.resolve();
      await release.promise;
      return { done: true };
    },
  });
  return {
    entered: entered.promise,
    release: release.resolve,
    signals,
    tools: { ...kinds[0]!.tools(refunds, true), ask },
  };
}

inEveryWorld('scenario: K17', 'the turn is aborted while the resumed call runs', async (open) => {
  const { tools, entered, signals } = running();
  const scene = openAnswering(open, { script: answering(async () => {}), tools });
  const { runId } = await scene.start();
  const controller = new AbortController();
  const turn = scene.turn('Rome.', { abortSignal: controller.signal });
  await entered;
  controller.abort();
  expect((await turn).finishReason).toBe('cancelled');
  expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  expect(await scene.store.load(runId, 0)).toMatchObject({
    outcome: { status: 'cancelled' },
    records: [{ verdict: 'resume', outcome: { state: 'finished', result: { done: true } } }],
  });
  expect((await scene.list({ status: 'all' })).runs).toEqual([]);
  const states = callsIn(await loaded(scene)).map(({ toolCallId, output }) => [toolCallId, output]);
  expect(states).toEqual([
    ['A', { done: true }],
    ['R', { done: true }],
  ]);
  expect(scene.model.calls).toHaveLength(2);
});

inEveryWorld('scenario: K17', 'nothing that waits for others is lost with the aborted turn', async (open) => {
  const refunds: Refund[] = [];
  const { tools, entered, signals, release } = running(refunds);
  const first = [asks('weather', 'A'), refundCall('a', 1, 'B')];
  const scene = openAnswering(open, { script: answering(async () => {}, first), tools });
  const { runId } = await scene.start();
  const controller = new AbortController();
  const turn = scene.turn('Rome.', { abortSignal: controller.signal });
  await entered;
  controller.abort();
  expect((await scene.list(thread)).runs).toMatchObject([{ runId, toolCalls: [{ toolCallId: 'B' }] }]);
  release();
  expect((await turn).finishReason).toBe('cancelled');
  expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
  const approved = await scene.approve(runId, { toolCallId: 'B' });
  expect(approved.text).toBe('Done.');
  expect(outputsIn(scene, -1)).toMatchObject({ A: { value: { done: true } }, B: { value: { refunded: 1 } } });
  expect(refunds).toHaveLength(1);
});

inEveryWorld('scenario: K17', 'the run is cancelled while its resumed call runs', async (open) => {
  const { tools, entered, release } = running();
  const scene = openAnswering(open, { script: answering(async () => {}), tools });
  const { runId } = await scene.start();
  const turn = scene.turn('Rome.');
  await entered;
  await scene.cancel({ runId });
  release();
  expect(await turn).toMatchObject({ text: 'Done.', finishReason: 'stop' });
  expect(outputsIn(scene, -1)).toMatchObject({ R: { type: 'json', value: { done: true } } });
  expect(await codeOf(scene.cancel({ runId }))).toBe('run-ended');
  expect((await scene.list({ status: 'all' })).runs).toEqual([]);
});

inEveryWorld(
  'scenario: K17',
  'a memory that refuses turns while something waits refuses the answer too',
  async (open) => {
    const effects: string[] = [];
    const scene = openAnswering(open, {
      script: answering(async () => {}),
      tools: { ask: askingTool(effects) },
      memory: { whenCallsWait: 'refuse' },
    });
    const { runId } = await scene.start();
    expect(await codeOf(scene.turn('Rome.'))).toBe('thread-waiting');
    expect((await scene.resume({ city: 'Rome' }, runId)).text).toBe('Done.');
  },
);
