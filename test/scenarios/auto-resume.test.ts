/** K18: the next message of a conversation answers what a suspended call asked: that call, once, and nothing else. */
import { createTool, type JsonObject } from 'countersign';
import { expect } from 'vitest';
import { z } from 'zod';
import {
  answers,
  askingTool,
  asks,
  namesOffered,
  openAnswering,
  outputsIn,
  toolsOffered,
} from '../support/answering.ts';
import { thread } from '../support/by-thread.ts';
import { expectValidPrompts, loaded } from '../support/conversation.ts';
import { kinds, refundCall } from '../support/kinds.ts';
import { codeOf } from '../support/scene.ts';
import { inBothFaces, inEveryWorld } from '../support/world.ts';

inEveryWorld('scenario: K18', 'the resumed call runs once, and its run is over', async (open) => {
  const effects: string[] = [];
  const scene = openAnswering(open, {
    script: [{ text: 'One moment. ', calls: [asks('weather', 'A')] }, { calls: [answers('Rome')] }, 'Fine.'],
    tools: { ask: askingTool(effects) },
  });
  const { runId, finishReason } = await scene.start({}, 'How is the weather?');
  expect(finishReason).toBe('suspended');
  const turn = await scene.turn('In Rome.');
  expect(turn).toMatchObject({ finishReason: 'stop', text: 'Fine.' });
  expect(turn.results).toMatchObject([{ toolCallId: 'R', result: { weather: 'Rome' } }]);
  expect(effects).toEqual(['weather: Rome']);

  expect([0, 1, 2].map((call) => namesOffered(scene, call))).toEqual([
    ['ask'],
    ['ask', 'resume-ask'],
    ['ask'],
  ]);
  const ordinary = [0, 1, 2].map((call) => JSON.stringify(toolsOffered(scene, call)[0]));
  expect(new Set(ordinary).size).toBe(1);
  expect(ordinary[0]).not.toMatch(/resume|suspend/i);
  expect(Object.keys(toolsOffered(scene, 1)[1]?.inputSchema.properties ?? {})).toEqual(['city']);
  expect(toolsOffered(scene, 1)[1]?.description).toContain('{"question":"Which city for weather?"}');

  expect((await scene.list({ ...thread, status: 'all' })).runs).toEqual([]);
  const answering = { runId: turn.runId, toolCallId: 'R' };
  const ended = await scene.store.load(runId, 0);
  expect(ended).toMatchObject({
    kind: 'ended',
    outcome: {
      status: 'finished',
      finishReason: 'answered',
      answered: { ...answering, result: { weather: 'Rome' } },
    },
    records: [{ verdict: 'resume', toolCallId: 'A', by: { id: 'auto-resume' }, answering }],
  });
  const spoken = (await loaded(scene)).filter(({ role }) => role === 'user').map(({ id }) => id);
  expect(ended?.kind === 'ended' && ended.records[0]?.by?.messageId).toBe(spoken[1]);

  expect(await codeOf(scene.resume({ city: 'Bonn' }, runId, { toolCallId: 'A' }))).toBe('already-decided');
  expect(await codeOf(scene.resume({ city: 'Bonn' }, runId))).toBe('already-decided');
  expect(await codeOf(scene.decline(runId))).toBe('already-decided');
  expect(await codeOf(scene.continueRun(runId))).toBe('run-ended');
  expect(await codeOf(scene.cancel({ runId }))).toBe('run-ended');
  expect(effects).toHaveLength(1);
  expectValidPrompts(scene, 3);
});

inEveryWorld('scenario: K18', 'unrelated talk leaves everything waiting and listed', async (open) => {
  const effects: string[] = [];
  const scene = openAnswering(open, {
    script: [
      { calls: [asks('weather', 'A')] },
      'Hello to you.',
      { calls: [asks('hotel', 'B')] },
      { calls: [answers('Rome', 'R1')] },
      'Fine.',
    ],
    tools: { ask: askingTool(effects) },
  });
  const { runId } = await scene.start();
  const before = await scene.list(thread);
  expect((await scene.turn('Hello.')).text).toBe('Hello to you.');
  expect(await scene.list(thread)).toEqual(before);
  const other = await scene.turn('A hotel, please.');
  expect((await scene.list(thread)).runs.map((run) => run.runId).toSorted()).toEqual(
    [runId, other.runId].toSorted(),
  );
  expect(effects).toEqual([]);
  await scene.turn('Rome.');
  const told = toolsOffered(scene, 3).map(({ description }) => description);
  expect(told.filter((one) => one?.includes('for weather?'))).toHaveLength(1);
  expect(told.filter((one) => one?.includes('for hotel?'))).toHaveLength(1);
  expect(effects).toHaveLength(1);
  expect((await scene.list(thread)).runs).toHaveLength(1);
  expectValidPrompts(scene, 5);
});

inEveryWorld(
  'scenario: K18',
  'two calls of one tool, asked in one run and answered in one turn',
  async (open) => {
    const effects: string[] = [];
    const scene = openAnswering(open, {
      script: (_prompt, index, tools) => {
        if (index === 0) return { calls: [asks('weather', 'A'), asks('hotel', 'B')] };
        if (index === 2) return 'Both.';
        const named = (about: string): string =>
          (tools as { name: string; description?: string }[]).find(({ description }) =>
            description?.includes(`{"about":"${about}"}`),
          )?.name ?? '';
        return { calls: [answers('Oslo', 'RB', named('hotel')), answers('Rome', 'RA', named('weather'))] };
      },
      tools: { ask: askingTool(effects) },
    });
    const { runId } = await scene.start();
    const turn = await scene.turn('The weather in Rome, a hotel in Oslo.');
    expect(turn.text).toBe('Both.');
    expect(namesOffered(scene, 1)).toEqual(['ask', 'resume-ask', 'resume-ask-2']);
    expect(effects.toSorted()).toEqual(['hotel: Oslo', 'weather: Rome']);
    expect(outputsIn(scene, 2)).toMatchObject({
      RA: { type: 'json', value: { weather: 'Rome' } },
      RB: { type: 'json', value: { hotel: 'Oslo' } },
    });
    expect(await scene.store.load(runId, 0)).toMatchObject({ outcome: { finishReason: 'answered' } });
    expect((await scene.list({ status: 'all' })).runs).toEqual([]);
    expectValidPrompts(scene, 3);
  },
);

inEveryWorld(
  'scenario: K18',
  'two tools, asked in two runs, each answered in a turn of its own',
  async (open) => {
    const effects: string[] = [];
    const scene = openAnswering(open, {
      script: [
        { calls: [asks('weather', 'A')] },
        { calls: [asks('hotel', 'B', 'book')] },
        { calls: [answers('Oslo', 'R', 'resume-book')] },
        'Booked.',
        { calls: [answers('Rome', 'R', 'resume-ask')] },
        'Sunny.',
      ],
      tools: { ask: askingTool(effects), book: askingTool(effects, 'book') },
    });
    const first = await scene.start();
    const second = await scene.turn('And a hotel.');
    expect((await scene.turn('In Oslo.')).text).toBe('Booked.');
    expect(effects).toEqual(['hotel: Oslo']);
    expect((await scene.list(thread)).runs).toMatchObject([
      { runId: first.runId, toolCalls: [{ toolCallId: 'A' }] },
    ]);
    expect(await scene.store.load(second.runId, 0)).toMatchObject({ outcome: { finishReason: 'answered' } });
    expect((await scene.turn('In Rome.')).text).toBe('Sunny.');
    expect(namesOffered(scene, 4)).toEqual(['ask', 'book', 'resume-ask']);
    expect(effects).toEqual(['hotel: Oslo', 'weather: Rome']);
    expect((await scene.list(thread)).runs).toEqual([]);
    expectValidPrompts(scene, 6);
  },
);

/** A tool whose resume data is of this schema, and that returns what it was given. */
function taking(resumeSchema: z.ZodType, seen: unknown[], more: object = {}) {
  return createTool({
    id: 'ask',
    inputSchema: z.object({}),
    resumeSchema,
    execute: async (_input, { agent }) => {
      if (agent.resumeData === undefined) return agent.suspend({ question: 'Well?' });
      seen.push(agent.resumeData);
      return { got: agent.resumeData };
    },
    ...more,
  });
}

const falsy: readonly (readonly [unknown, z.ZodType, object?])[] = [
  [0, z.number()],
  ['', z.string()],
  [false, z.boolean(), { autoResume: true }],
  [null, z.string().nullable()],
  [[], z.array(z.string())],
  [{ count: 0, text: '', yes: false }, z.object({ count: z.number(), text: z.string(), yes: z.boolean() })],
];

for (const [data, schema, more] of falsy) {
  inEveryWorld('scenario: K18', `falsy data is data: ${JSON.stringify(data)}`, async (open) => {
    const seen: unknown[] = [];
    const isObject = typeof data === 'object' && data !== null && !Array.isArray(data);
    const args = isObject ? data : { answer: data };
    const scene = openAnswering(open, {
      script: [
        { calls: [{ toolName: 'ask', toolCallId: 'A' }] },
        { calls: [{ toolName: 'resume-ask', args, toolCallId: 'R' }] },
        'Fine.',
      ],
      tools: { ask: taking(schema, seen, more) },
    });
    await scene.start();
    expect((await scene.turn('Well.')).text).toBe('Fine.');
    expect(seen).toEqual([data]);
    expect(outputsIn(scene, -1)).toMatchObject({ R: { value: { got: data } } });
    expect((await scene.list({ status: 'all' })).runs).toEqual([]);
  });
}

const consent = z.object({ approved: z.boolean(), reason: z.string().optional() });
const doors: readonly (readonly [string, z.ZodType, boolean | undefined, boolean])[] = [
  ['booleans, and nothing is said', z.object({ approved: z.boolean() }), undefined, false],
  ['booleans, and autoResume: true', z.object({ approved: z.boolean() }), true, true],
  ['one boolean', z.boolean(), undefined, false],
  ['a boolean, and a reason that may be left out', consent, undefined, false],
  ['nothing at all', z.object({}), undefined, false],
  ['a city, and nothing is said', z.object({ city: z.string() }), undefined, true],
  ['a city, and autoResume: false', z.object({ city: z.string() }), false, false],
];

for (const [what, schema, autoResume, isOpen] of doors) {
  inBothFaces('scenario: K18', `a tool that asks for ${what}`, async (open) => {
    const scene = openAnswering(open, {
      script: [{ calls: [{ toolName: 'ask', toolCallId: 'A' }] }, 'It waits.'],
      tools: { ask: taking(schema, [], autoResume === undefined ? {} : { autoResume }) },
    });
    await scene.start();
    await scene.turn('Yes, I approve.');
    expect(namesOffered(scene, 1)).toEqual(isOpen ? ['ask', 'resume-ask'] : ['ask']);
    expect((await scene.list(thread)).runs).toHaveLength(1);
  });
}

for (const kind of kinds.filter(({ clientSide }) => clientSide)) {
  inEveryWorld(
    'scenario: K18',
    `what a client carries out is not said in words (${kind.name})`,
    async (open) => {
      const scene = openAnswering(open, {
        script: [{ calls: [refundCall('a', 1, 'A')] }, 'It waits.'],
        tools: kind.tools([], true),
      });
      const { runId } = await scene.start();
      await scene.approve(runId, { toolCallId: 'A' });
      await scene.turn('It is refunded.');
      expect(namesOffered(scene, 1)).toEqual(['refund']);
      expect((await scene.list(thread)).runs).toMatchObject([{ runId, toolCalls: [{ state: 'suspended' }] }]);
    },
  );
}

inEveryWorld('scenario: K18', 'switched off, nothing is offered', async (open) => {
  const scene = openAnswering(open, {
    script: [{ calls: [asks('weather', 'A')] }, 'Off.', 'Off.', { calls: [answers('Rome')] }, 'Fine.'],
    tools: { ask: askingTool([]) },
    options: { autoResumeSuspendedTools: false },
  });
  await scene.start();
  await scene.turn('Rome.');
  await scene.turn('Rome.', { autoResumeSuspendedTools: undefined });
  expect([1, 2].map((call) => namesOffered(scene, call))).toEqual([['ask'], ['ask']]);
  expect((await scene.list(thread)).runs).toHaveLength(1);
  await scene.turn('Rome.', { autoResumeSuspendedTools: true });
  expect((await scene.list(thread)).runs).toEqual([]);
});

inBothFaces('scenario: K18', 'only a message of the user opens the door', async (open) => {
  const scene = openAnswering(open, {
    script: [{ calls: [asks('weather', 'A')] }, 'Go on.', 'Go on.'],
    tools: { ask: askingTool([]) },
  });
  await scene.start();
  await scene.turn([
    { role: 'user', content: 'Rome.' },
    { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'X', toolName: 'ask', input: {} }] },
    {
      role: 'tool',
      content: [
        { type: 'tool-result', toolCallId: 'X', toolName: 'ask', output: { type: 'text', value: 'Rome' } },
      ],
    },
  ]);
  await scene.turn('Rome.', { memory: { thread: 'another thread', resource: thread.resourceId } });
  expect([1, 2].map((call) => namesOffered(scene, call))).toEqual([['ask'], ['ask']]);
});

inEveryWorld('scenario: K18', 'a call that asks again is answered by a later turn', async (open) => {
  const stops: unknown[] = [];
  const twice = createTool({
    id: 'ask',
    inputSchema: z.object({ about: z.string() }),
    resumeSchema: z.object({ city: z.string() }),
    execute: async (_input, { agent }) => {
      stops.push(agent.resumeData?.city);
      if (agent.resumeData?.city !== 'Rome') return agent.suspend({ known: agent.resumeData?.city ?? null });
      return { city: 'Rome' };
    },
  });
  const scene = openAnswering(open, {
    script: [
      { calls: [asks('weather', 'A')] },
      { calls: [answers('Atlantis', 'R')] },
      'There is no Atlantis.',
      { calls: [answers('Rome', 'R2')] },
      'Fine.',
    ],
    tools: { ask: twice },
  });
  const { runId } = await scene.start();
  await scene.turn('Atlantis.');
  expect(outputsIn(scene, 2)).toMatchObject({
    R: { type: 'json', value: { waiting: true, asked: { known: 'Atlantis' } } },
  });
  expect((await scene.list(thread)).runs).toMatchObject([
    { runId, toolCalls: [{ toolCallId: 'A', stop: 2 }] },
  ]);
  await scene.turn('Rome, then.');
  expect(outputsIn(scene, 4)).toMatchObject({ R2: { value: { city: 'Rome' } } });
  expect(stops).toEqual([undefined, 'Atlantis', 'Rome']);
  expect(await scene.store.load(runId, 0)).toMatchObject({
    outcome: { finishReason: 'answered' },
    records: [
      { stop: 1, answering: { toolCallId: 'R' } },
      { stop: 2, answering: { toolCallId: 'R2' } },
    ],
  });
  expectValidPrompts(scene, 5);
});

inEveryWorld('scenario: K18', 'the model reads of the result what the tool lets it read', async (open) => {
  const toModelOutput = (): JsonObject => ({ type: 'text', value: 'It is sunny.' });
  const scene = openAnswering(open, {
    script: [{ calls: [asks('weather', 'A')] }, { calls: [answers('Rome')] }, 'Fine.', 'Bye.'],
    tools: { ask: askingTool([], 'ask', { toModelOutput }) },
  });
  await scene.start();
  const turn = await scene.turn('In Rome.');
  expect(turn.results).toMatchObject([{ result: { weather: 'Rome' } }]);
  expect(outputsIn(scene, 2)).toMatchObject({ R: { type: 'text', value: 'It is sunny.' } });
  await scene.turn('Thanks.');
  expect(outputsIn(scene, 3)).toMatchObject({ A: { value: 'It is sunny.' }, R: { value: 'It is sunny.' } });
});
