/** K14: the resumed stream has the shape of the first, and tells each reader everything once. */
import { createTool } from 'countersign';
import { expect } from 'vitest';
import { z } from 'zod';
import { askRefunds, kinds, type Refund, refundCall, withTools } from '../support/kinds.ts';
import { grammarProblems, ofType, readStream, typesOf } from '../support/told.ts';
import { type Except, inEveryWorld, inOneWorld } from '../support/world.ts';

const onlyStreams: Except = ({ face }) => (face === 'generate' ? 'nothing is streamed' : undefined);

/** Says what it does while it runs. */
const work = createTool({
  id: 'work',
  inputSchema: z.object({ name: z.string() }),
  requireApproval: true,
  execute: async ({ name }, { writer }) => {
    await writer.write({ half: name });
    await writer.custom({ type: 'data-progress', data: { name }, id: `progress-${name}` });
    return { did: name };
  },
});
const workCall = (name: string) => ({ toolName: 'work', args: { name }, toolCallId: name });

for (const kind of kinds) {
  for (const verb of ['approve', 'decline', 'resume'] as const) {
    inEveryWorld(
      'scenario: K14',
      `first and resumed stream by ${verb} (${kind.name})`,
      async (open) => {
        const effects: Refund[] = [];
        const answer = { reasoning: 'Think. ', ...askRefunds('a', 'b') };
        const scene = open({ script: [answer, askRefunds('c'), 'Done.'], tools: kind.tools(effects, true) });
        const legs = [await scene.start()];
        const { runId } = legs[0]!;
        for (let told = legs[0]!; told.finishReason === 'suspended' && legs.length < 12; ) {
          const { toolCallId, suspendPayload } = told.payloads[0];
          if (suspendPayload !== undefined) told = await scene.resume({ refunded: 1 }, runId, { toolCallId });
          else if (verb === 'resume') told = await scene.resume({ approved: true }, runId, { toolCallId });
          else told = await scene[verb](runId, { toolCallId });
          legs.push(told);
        }
        expect(legs).toHaveLength(kind.clientSide && verb !== 'decline' ? 7 : 4);
        for (const { chunks, messageId } of legs) {
          expect(grammarProblems(chunks!)).toEqual([]);
          expect(messageId).toBe(legs[0]?.messageId);
          expect(ofType(chunks, 'start')[0]?.payload.messageId).toBe(messageId);
          expect(ofType(chunks, 'start')[0]?.payload.id).toBe('desk');
        }
        const all = legs.flatMap(({ chunks }) => chunks!);
        // Over all legs, each thing is said once.
        expect(
          ofType(all, 'text-delta')
            .map(({ payload }) => payload.text)
            .join(''),
        ).toBe('Let me see. Let me see. Done.');
        expect(ofType(all, 'tool-call').filter(({ payload }) => !payload.replayed)).toHaveLength(3);
        expect(ofType(all, 'tool-call-approval')).toHaveLength(3);
        expect(ofType(all, 'step-start').map(({ payload }) => payload.step)).toEqual([0, 1, 2]);
        expect(ofType(all, 'step-finish')).toHaveLength(3);
        const outcome = verb === 'decline' ? 'tool-output-denied' : 'tool-result';
        expect(ofType(all, outcome)).toHaveLength(3);
        expect(ofType(all, 'finish').map(({ payload }) => payload.finishReason)).toEqual([
          ...legs.slice(1).map(() => 'suspended'),
          'stop',
        ]);
      },
      onlyStreams,
    );
  }
}

inEveryWorld(
  'scenario: K14',
  'what a tool writes while it runs, in the resumed stream',
  async (open) => {
    const scene = open({ script: [{ calls: [workCall('one')] }, 'Done.'], tools: { work } });
    const { runId } = await scene.start();
    const { chunks } = await scene.approve(runId);
    expect(grammarProblems(chunks!)).toEqual([]);
    expect(typesOf(chunks!)).toEqual([
      'start',
      'tool-call',
      'tool-output',
      'data-progress',
      'tool-result',
      'step-finish',
      'step-start',
      'text-start',
      'text-delta',
      'text-end',
      'step-finish',
      'finish',
    ]);
    const [written] = ofType(chunks, 'tool-output');
    expect(written?.payload).toEqual({ toolCallId: 'one', toolName: 'work', output: { half: 'one' } });
    expect(ofType(chunks, 'data-progress')[0]).toMatchObject({
      type: 'data-progress',
      runId,
      data: { name: 'one' },
      id: 'progress-one',
    });
    expect(ofType(chunks, 'tool-call')[0]?.payload.replayed).toBe(true);
  },
  onlyStreams,
);

inEveryWorld(
  'scenario: K14',
  'every reader gets every chunk once, also who comes late',
  async (open) => {
    const scene = open({ script: [{ calls: [workCall('one')] }, 'Done.'], tools: { work } });
    const { runId } = await scene.start();
    const stream = await scene.decider().approveToolCall({ runId });
    const [one, other] = await Promise.all([readStream(stream), readStream(stream)]);
    const late = await readStream(stream);
    expect(other.chunks).toEqual(one.chunks);
    expect(late.chunks).toEqual(one.chunks);
    expect(grammarProblems(one.chunks!)).toEqual([]);
    let text = '';
    for await (const part of stream.textStream) text += part;
    expect(text).toBe('Done.');
  },
  onlyStreams,
);

inOneWorld('scenario: K14', 'a reader that goes away changes nothing', async (open) => {
  const scene = open({ script: [{ calls: [workCall('one')] }, 'Done.'], tools: { work } });
  const stream = await scene.first.stream('Please do it.');
  const reader = stream.fullStream.getReader();
  await reader.read();
  await reader.cancel();
  for await (const _chunk of stream.fullStream) break;
  expect(await stream.finishReason).toBe('suspended');
  const approved = await scene.first.approveToolCall({ runId: stream.runId });
  for await (const _chunk of approved.fullStream) break;
  expect(await approved.text).toBe('Done.');
});

inOneWorld(
  'scenario: K14',
  'two legs open at once: each carries its own call, and both the end',
  async (open) => {
    const running = { one: Promise.withResolvers<void>(), two: Promise.withResolvers<void>() };
    const slow = createTool({
      id: 'slow',
      inputSchema: z.object({ name: z.enum(['one', 'two']) }),
      requireApproval: true,
      execute: async ({ name }) => {
        await running[name].promise;
        return { did: name };
      },
    });
    const calls = ['one', 'two'].map((name) => ({ toolName: 'slow', args: { name }, toolCallId: name }));
    const scene = open({ script: [{ calls }, 'Done.'], tools: { slow } });
    const { runId } = await scene.start();
    const first = await scene.first.approveToolCall({ runId, toolCallId: 'one' });
    const second = await scene.first.approveToolCall({ runId, toolCallId: 'two' });
    running.two.resolve();
    await second.fullStream.getReader().read();
    running.one.resolve();
    for (const leg of [first, second]) {
      const { chunks, text } = await readStream(leg);
      expect(grammarProblems(chunks!)).toEqual([]);
      expect(text).toBe('Done.');
      expect(
        ofType(chunks, 'tool-result')
          .map(({ payload }) => payload.toolCallId)
          .toSorted(),
      ).toEqual(['one', 'two']);
    }
  },
);

inEveryWorld(
  'scenario: K14',
  'calls of every fate keep the grammar',
  async (open) => {
    const boom = createTool({
      id: 'boom',
      inputSchema: z.object({}),
      requireApproval: true,
      execute: async () => {
        throw new Error('it broke');
      },
    });
    const ask = createTool({
      id: 'ask',
      inputSchema: z.object({}),
      resumeSchema: z.object({ answer: z.string() }),
      execute: async (_input, { agent }) => agent.resumeData ?? agent.suspend({ question: '?' }),
    });
    const calls = [
      { toolName: 'boom', toolCallId: 'boom' },
      { toolName: 'ask', toolCallId: 'ask' },
      { toolName: 'refund', argsText: '{', toolCallId: 'broken' },
      refundCall('a', 1, 'held'),
    ];
    const scene = open({
      script: [{ calls }, { calls: [{ toolName: 'nothing' }] }, 'Done.'],
      tools: withTools(kinds[0]!.tools([], true), { boom, ask }),
    });
    const started = await scene.start();
    const { runId } = started;
    const legs = [
      started,
      await scene.approve(runId, { toolCallId: 'boom' }),
      await scene.resume({ answer: 'x' }, runId),
      await scene.decline(runId, { toolCallId: 'held' }),
    ];
    for (const { chunks } of legs) expect(grammarProblems(chunks!)).toEqual([]);
    expect(ofType(legs[0]?.chunks, 'tool-error').map(({ payload }) => payload.toolCallId)).toEqual([
      'broken',
    ]);
    expect(ofType(legs[1]?.chunks, 'tool-error')[0]?.payload).toMatchObject({
      toolCallId: 'boom',
      error: { code: 'tool-failed', message: 'it broke', name: 'Error' },
    });
    expect(legs[3]?.text).toBe('Done.');
  },
  onlyStreams,
);

inEveryWorld(
  'scenario: K14',
  'a continued run',
  async (open) => {
    const scene = open({
      script: [{ calls: [workCall('one')] }, { text: 'Half an', error: new Error('cut') }, 'Done.'],
      tools: { work },
    });
    const { runId } = await scene.start();
    const stalled = await scene.approve(runId);
    const told = await scene.continueRun(runId);
    const [half, whole] = [stalled.chunks!, told.chunks!];
    expect(half.at(-2)?.type).toBe('error');
    expect(half.at(-1)?.type).toBe('finish');
    expect(grammarProblems(whole)).toEqual([]);
    expect(typesOf(whole)).toEqual([
      'start',
      'step-start',
      'text-start',
      'text-delta',
      'text-end',
      'step-finish',
      'finish',
    ]);
    expect(told.text).toBe('Done.');
  },
  onlyStreams,
);
