/** K18 around the turn that answers: who looks on, what is interrupted, what is decided by conversation, what is kept. */
import { expect } from 'vitest';
import { answers, askingTool, asks, namesOffered, openAnswering, outputsIn } from '../support/answering.ts';
import { sendAndFollow, thread } from '../support/by-thread.ts';
import { callsIn, expectValidPrompts, loaded, openConversation, spoken } from '../support/conversation.ts';
import { mortalAgent, runningKinds, watched } from '../support/interrupted.ts';
import { kinds, type Refund, refundCall, withTools } from '../support/kinds.ts';
import { codeOf } from '../support/scene.ts';
import { ofType } from '../support/told.ts';
import { inEveryWorld } from '../support/world.ts';

inEveryWorld(
  'scenario: K18',
  'who observes sees the question wait, then each run with its own calls',
  async (open) => {
    const effects: string[] = [];
    const refunds: Refund[] = [];
    const scene = openAnswering(open, {
      script: [
        { text: 'One moment. ', calls: [asks('weather', 'A')] },
        'Hello to you.',
        { text: 'Aha. ', calls: [answers('Rome'), refundCall('a', 1, 'B')] },
        'Sunny.',
      ],
      tools: withTools(kinds[0]!.tools(refunds, true), { ask: askingTool(effects) }),
    });
    const asked = await scene.start();
    const { runId } = asked;
    await scene.turn('Hello.');
    const before = await scene.store.load(runId, 0);
    const waiting = await scene.observe({ runId });
    expect(waiting).toMatchObject({ finishReason: 'suspended', text: asked.text, payloads: asked.payloads });
    expect(JSON.stringify(waiting.chunks)).not.toMatch(/resume-ask|Hello/);
    expect(await scene.store.load(runId, 0)).toEqual(before);

    const turn = await scene.turn('Rome, and refund it.');
    const own = await scene.observe({ runId: turn.runId });
    expect(own).toMatchObject({ finishReason: 'suspended', text: 'Aha. ', payloads: turn.payloads });
    expect(own.results).toMatchObject([{ toolCallId: 'R', result: { weather: 'Rome' } }]);
    expect(ofType(own.chunks, 'tool-call').map(({ payload }) => payload.toolCallId)).toEqual(['R', 'B']);
    const old = await scene.observe({ runId });
    expect(old).toMatchObject({ finishReason: 'answered', payloads: [] });
    expect(JSON.stringify(old.chunks)).not.toContain('resume-ask');
    expect([effects, refunds]).toEqual([['weather: Rome'], []]);
    expect((await scene.approve(turn.runId, { toolCallId: 'B' })).text).toBe('Sunny.');
    expect([effects, refunds.length]).toEqual([['weather: Rome'], 1]);
  },
);

for (const kind of runningKinds) {
  inEveryWorld(
    'scenario: K18',
    `an interrupted call is not answered in words, and resolved beside the question (${kind.name})`,
    async (open) => {
      const effects: Refund[] = [];
      const answered: string[] = [];
      const ask = askingTool(answered);
      const resolution = { runAgain: true, output: { refunded: 9 }, resumeData: { refunded: 9 } };
      const scene = openAnswering(open, {
        script: [
          { calls: [refundCall('a', 10, 'A'), asks('weather', 'B')] },
          { calls: [{ toolName: 'resume-refund', args: resolution, toolCallId: 'X' }] },
          'I cannot.',
          { calls: [answers('Rome')] },
          'Fine.',
          'Done.',
        ],
        tools: withTools(kind.tools(effects, true), { ask }),
      });
      const { runId } = await scene.start();
      const { agent, died, bury } = mortalAgent(scene, (die) =>
        withTools(kind.tools(watched(effects, die), true), { ask }),
      );
      await agent.approveToolCall({ runId, toolCallId: 'A' });
      await died;
      await bury();
      await scene.sweep();
      const interrupted = await scene.list({ status: 'interrupted' });
      expect(interrupted.runs).toMatchObject([{ runId }]);

      await scene.turn('The refund has happened.');
      expect(namesOffered(scene, 1)).toEqual(['refund', 'ask', 'resume-ask']);
      expect(outputsIn(scene, 2).X).toMatchObject({
        type: 'error-text',
        value: expect.stringContaining('There is no tool "resume-refund"'),
      });
      expect(await scene.list({ status: 'interrupted' })).toEqual(interrupted);
      expect((await scene.turn('Rome.')).text).toBe('Fine.');
      expect(answered).toEqual(['weather: Rome']);
      expect((await scene.list({ status: 'interrupted' })).runs).toMatchObject([{ runId }]);
      expect(effects).toHaveLength(1);

      const told = await scene.resolveCall(runId, 'A', { output: { refunded: 8 } });
      expect(told.text).toBe('Done.');
      expect(effects).toHaveLength(1);
      expect(outputsIn(scene, 5)).toMatchObject({
        A: { value: { refunded: 8 } },
        B: { value: { weather: 'Rome' } },
      });
      expect(await codeOf(scene.resolveCall(runId, 'A', { runAgain: true }))).toBe('already-decided');
      expect((await scene.list({ status: 'all' })).runs).toEqual([]);
      expectValidPrompts(scene, 6);
    },
  );
}

inEveryWorld(
  'scenario: K18',
  'a decision by conversation beside talk: of two calls the one that is named',
  async (open) => {
    const effects: string[] = [];
    const refunds: Refund[] = [];
    const scene = openAnswering(open, {
      script: [
        { calls: [asks('weather', 'A'), asks('hotel', 'B'), refundCall('a', 1, 'C')] },
        'They wait.',
        { calls: [answers('Oslo')] },
        'A hotel in Oslo.',
        'Refunded.',
        { calls: [answers('Bonn', 'late')] },
        'Too late.',
      ],
      tools: withTools(kinds[0]!.tools(refunds, true), { ask: askingTool(effects) }),
    });
    const { runId } = await scene.start();
    await scene.turn('Hello.');
    expect(namesOffered(scene, 1)).toEqual(['refund', 'ask', 'resume-ask', 'resume-ask-2']);
    const resumeData = { city: 'Rome' };
    expect(await sendAndFollow(scene, { approved: true, resumeData, toolCallId: 'A' })).toMatchObject({
      runId,
      toolCallId: 'A',
    });
    expect([effects, refunds]).toEqual([['weather: Rome'], []]);
    await scene.turn('Oslo.');
    expect(namesOffered(scene, 2)).toEqual(['refund', 'ask', 'resume-ask']);
    expect([effects, refunds]).toEqual([['weather: Rome', 'hotel: Oslo'], []]);
    for (const [toolCallId, approved] of [
      ['A', true],
      ['B', false],
    ] as const) {
      const late = scene.send({ ...thread, approved, resumeData, toolCallId });
      expect(await codeOf(late)).toBe('already-decided');
    }
    // A person approves: what the message carries beside that is no data of any call.
    await sendAndFollow(scene, { approved: true, resumeData });
    expect(refunds).toEqual([{ order: 'a', amount: 1 }]);
    await scene.turn('Bonn.');
    expect(namesOffered(scene, 5)).toEqual(['refund', 'ask']);
    expect(effects).toHaveLength(2);
    expect((await scene.list({ status: 'all' })).runs).toEqual([]);
    expectValidPrompts(scene, 7);
  },
);

inEveryWorld(
  'scenario: K18',
  'the conversation keeps what was said and answered, and no extra tool',
  async (open) => {
    const effects: string[] = [];
    const scene = openConversation(open, {
      script: [
        { text: 'Where? ', calls: [asks('weather', 'A')] },
        'Hello to you.',
        { calls: [answers('Rome')] },
        'Sunny.',
        'Bye.',
      ],
      tools: { ask: askingTool(effects) },
      options: { autoResumeSuspendedTools: true },
    });
    const { runId } = await scene.start({}, 'How is the weather?');
    const before = await loaded(scene);
    await scene.turn('Hello.');
    const between = await loaded(scene);
    expect(between.slice(0, 2)).toEqual(before);
    expect(spoken(between).slice(2)).toEqual(['user: Hello.', 'assistant: Hello to you.']);
    expect(JSON.stringify(between)).not.toContain('resume-ask');
    expect(before[1]?.parts.at(-1)).toMatchObject({
      type: 'data-tool-call-suspended',
      data: { runId, toolCallId: 'A', stop: 1 },
    });

    await scene.turn('Rome.');
    const after = await loaded(scene);
    expect(after.slice(0, 4).map(({ id }) => id)).toEqual(between.map(({ id }) => id));
    expect(callsIn(after).map(({ toolCallId, state }) => [toolCallId, state])).toEqual([
      ['A', 'output-available'],
      ['R', 'output-available'],
    ]);
    expect(after.flatMap(({ parts }) => parts).filter(({ type }) => type.startsWith('data-'))).toEqual([]);
    expect(effects).toEqual(['weather: Rome']);
    await scene.turn('Thanks.');
    expect(namesOffered(scene, 4)).toEqual(['ask']);
    expect(spoken(await loaded(scene)).slice(4)).toEqual([
      'user: Rome.',
      'assistant: Sunny.',
      'user: Thanks.',
      'assistant: Bye.',
    ]);
    expectValidPrompts(scene, 5);
  },
);
