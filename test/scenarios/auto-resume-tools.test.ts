/** K18 on tools of every kind: beside a call that waits for an answer they are the same, and nothing written to them resumes. */
import { type AgentConfig, createTool, type ToolsInput } from 'countersign';
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
import { expectValidPrompts } from '../support/conversation.ts';
import { kinds, type Refund, resultsIn, withTools } from '../support/kinds.ts';
import { codeOf, type Scene } from '../support/scene.ts';
import { call, delegate, membersOf, modelOf, teamEffects } from '../support/team.ts';
import { inEveryWorld, type Open } from '../support/world.ts';

const knownRun = 'the run that asks';

/** What a model could write into any tool, to answer the call that waits. */
const smuggled = {
  resumeData: { city: 'Rome' },
  suspendedToolRunId: knownRun,
  suspendedToolCallId: 'A',
  toolCallId: 'A',
  runId: knownRun,
  city: 'Rome',
};

/** What waits in the conversation: its calls, by run. */
async function waitingIn(scene: Scene): Promise<[string, string[]][]> {
  const { runs } = await scene.list(thread);
  return runs.map(({ runId, toolCalls }): [string, string[]] => [
    runId,
    toolCalls.map(({ toolCallId }) => toolCallId),
  ]);
}

/** The tools that are not there for an answer, as the model is told of them. */
function ordinary(scene: Scene, index: number): string {
  return JSON.stringify(toolsOffered(scene, index).filter(({ name }) => !name.startsWith('resume-')));
}

type Where = (tools: AgentConfig['tools']) => { own?: AgentConfig['tools']; toolsets?: { desk: ToolsInput } };

async function staysOrdinary(open: Open, kind: (typeof kinds)[number], where: Where): Promise<void> {
  const effects: Refund[] = [];
  const answered: string[] = [];
  const { own, toolsets } = where(withTools(kind.tools(effects, true), { ask: askingTool(answered) }));
  const again = toolsets ? { toolsets } : {};
  const args = { order: 'a', amount: 1, ...smuggled };
  const scene = openAnswering(open, {
    script: [
      { calls: [asks('weather', 'A')] },
      { calls: [{ toolName: 'refund', args, toolCallId: 'B' }] },
      { calls: [answers('Oslo')] },
      'It is cold.',
      'Refunded.',
      'Bye.',
    ],
    tools: own,
  });
  await scene.start({ ...again, runId: knownRun });
  const before = await waitingIn(scene);
  expect(before).toEqual([[knownRun, ['A']]]);
  const talk = await scene.turn('Refund it, please.', again);
  expect(talk.finishReason).toBe('suspended');
  expect(talk.payloads).toMatchObject([{ toolCallId: 'B', toolName: 'refund' }]);
  expect(talk.payloads[0].args).toEqual({ order: 'a', amount: 1 });
  expect(Object.fromEntries(await waitingIn(scene))).toEqual({ [knownRun]: ['A'], [talk.runId]: ['B'] });
  expect([answered, effects]).toEqual([[], []]);

  expect((await scene.turn('In Oslo.', again)).text).toBe('It is cold.');
  expect(answered).toEqual(['weather: Oslo']);
  expect(await waitingIn(scene)).toEqual([[talk.runId, ['B']]]);
  await scene.approve(talk.runId, { ...again, toolCallId: 'B' });
  if (kind.clientSide) await scene.resume({ refunded: 1 }, talk.runId, { ...again, toolCallId: 'B' });
  expect(effects).toEqual(kind.clientSide ? [] : [{ order: 'a', amount: 1 }]);
  expect(resultsIn(scene.model.calls[4]?.prompt).B).toMatchObject({ value: { refunded: 1 } });
  await scene.turn('Thanks.', again);

  const extra = scene.model.calls.map((_call, index) =>
    namesOffered(scene, index).filter((name) => name.startsWith('resume-')),
  );
  expect(extra).toEqual([[], ['resume-ask'], ['resume-ask'], [], [], []]);
  const told = new Set(scene.model.calls.map((_call, index) => ordinary(scene, index)));
  expect(told.size).toBe(1);
  expect([...told][0]).not.toMatch(/resume|suspend/i);
  expectValidPrompts(scene, 6);
}

for (const kind of kinds) {
  inEveryWorld('scenario: K18', `what is written into another tool answers nothing (${kind.name})`, (open) =>
    staysOrdinary(open, kind, (own) => ({ own })),
  );
}

for (const kind of kinds.filter(({ name }) => name !== 'dynamic tool')) {
  inEveryWorld(
    'scenario: K18',
    `what is written into a toolset’s tool answers nothing (${kind.name})`,
    (open) => staysOrdinary(open, kind, (tools) => ({ toolsets: { desk: tools as ToolsInput } })),
  );
}

inEveryWorld(
  'scenario: K18',
  'where a call is held and none asks, no tool is added for any message',
  async (open) => {
    for (const kind of kinds) {
      const effects: Refund[] = [];
      const args = { order: 'a', amount: 1 };
      const scene = openAnswering(open, {
        script: [{ calls: [{ toolName: 'refund', args, toolCallId: 'A' }] }, 'It waits.', 'Done.'],
        tools: kind.tools(effects, true),
      });
      const { runId } = await scene.start();
      await scene.turn('I approve.');
      expect([namesOffered(scene, 0), namesOffered(scene, 1)]).toEqual([['refund'], ['refund']]);
      expect([await waitingIn(scene), effects]).toEqual([[[runId, ['A']]], []]);
    }
  },
);

inEveryWorld(
  'scenario: K18',
  'a delegation begun meanwhile is a new one, and its agent has no extra tool',
  async (open) => {
    const effects = teamEffects();
    const written = { ...delegate('one', 'Again.', 'X'), args: { prompt: 'Again.', ...smuggled } };
    const scene = openAnswering(open, {
      script: [
        { calls: [delegate('one', 'Go on.', 'A')] },
        { calls: [written, delegate('one', 'Again.', 'B')] },
        'Settled.',
        'And that.',
      ],
      agents: () => membersOf(effects, { one: { calls: [call('ask', 'where')] } }),
    });
    await scene.start({ runId: knownRun });
    const talk = await scene.turn('Something else.');
    expect(talk.payloads).toMatchObject([{ toolCallId: 'B~ask-where' }]);
    expect(Object.fromEntries(await waitingIn(scene))).toEqual({
      [knownRun]: ['A~ask-where'],
      [talk.runId]: ['B~ask-where'],
    });
    expect(effects.executed).toEqual([]);
    expect(ordinary(scene, 0)).toBe(ordinary(scene, 1));
    await scene.resume({ answer: 'there' }, talk.runId);
    expect(outputsIn(scene, 2).X).toMatchObject({ type: 'error-text' });
    expect(effects.executed).toEqual(['ask where there']);
    expect(await waitingIn(scene)).toEqual([[knownRun, ['A~ask-where']]]);
    await scene.resume({ answer: 'here' }, knownRun);
    expect(effects.executed).toEqual(['ask where there', 'ask where here']);
    for (const { tools = [], prompt } of modelOf(effects, 'one').calls) {
      expect(tools.map(({ name }) => name)).toEqual(['act', 'look', 'ask']);
      expect(JSON.stringify(tools)).not.toMatch(/resume|suspend/i);
      expect(JSON.stringify(prompt)).not.toContain('Rome');
    }
    expect(await codeOf(scene.resume({ answer: 'too late' }, knownRun))).toBe('already-decided');
  },
);

inEveryWorld('scenario: K18', 'a tool that takes all fields has them as plain arguments', async (open) => {
  const effects: string[] = [];
  const seen: object[] = [];
  const note = createTool({
    id: 'note',
    inputSchema: z.looseObject({}),
    execute: async (input, { agent }) => {
      seen.push({ input, resumeData: agent.resumeData });
      return 'noted';
    },
  });
  const scene = openAnswering(open, {
    script: [
      { calls: [asks('weather', 'A')] },
      { calls: [{ toolName: 'note', args: smuggled, toolCallId: 'B' }] },
      'Noted.',
    ],
    tools: { ask: askingTool(effects), note },
  });
  await scene.start({ runId: knownRun });
  expect((await scene.turn('Note that.')).text).toBe('Noted.');
  expect(seen).toEqual([{ input: smuggled, resumeData: undefined }]);
  expect(outputsIn(scene, 2).B).toMatchObject({ value: 'noted' });
  expect(resultsIn(scene.model.calls[2]?.prompt).A?.value).toContain('waits');
  expect([effects, await waitingIn(scene)]).toEqual([[], [[knownRun, ['A']]]]);
});

for (const isDynamic of [false, true]) {
  const how = isDynamic ? 'which a function gives' : 'of the agent itself';
  inEveryWorld('scenario: K18', `a tool ${how} keeps its name, and what waits has another`, async (open) => {
    const effects: string[] = [];
    const own = createTool({ id: 'resume-ask', inputSchema: z.object({}), execute: async () => 'own' });
    const tools = { ask: askingTool(effects), own };
    const scene = openAnswering(open, {
      script: [
        { calls: [asks('weather', 'A')] },
        {
          calls: [
            { toolName: 'resume-ask', args: {}, toolCallId: 'B' },
            answers('Oslo', 'C', 'resume-ask-2'),
          ],
        },
        'It is cold.',
      ],
      tools: isDynamic ? () => tools : tools,
    });
    await scene.start();
    expect((await scene.turn('In Oslo.')).text).toBe('It is cold.');
    expect(namesOffered(scene, 1)).toEqual(['ask', 'resume-ask', 'resume-ask-2']);
    expect(outputsIn(scene, 2).B).toMatchObject({ value: 'own' });
    expect([effects, await waitingIn(scene)]).toEqual([['weather: Oslo'], []]);
    expectValidPrompts(scene, 3);
  });
}
