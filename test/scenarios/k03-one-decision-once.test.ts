/** K3: one decision executes once. */
import {
  type Agent,
  type AgentStream,
  createTool,
  type DecisionRecord,
  isCountersignError,
} from 'countersign';
import { expect } from 'vitest';
import { approveAndCarryOut, askRefunds, kinds, type Refund, refundInput } from '../support/kinds.ts';
import { codeOf, errorOf, type Scene } from '../support/scene.ts';
import { readStream, type Told, toldByOutput } from '../support/told.ts';
import { inEveryWorld, inOneWorld, type World } from '../support/world.ts';

type Verdict = 'approve' | 'decline';

/** Decides at once in the face of the world, by an agent that is given. */
async function decideBy(agent: Agent, world: World, verdict: Verdict, runId: string): Promise<Told> {
  // The stop is named: a client tool's call may be handed out, and wait at the next one, before the other comes.
  const given = { runId, toolCallId: 'call-0-0', stop: 1 };
  return world.face === 'stream'
    ? readStream(await agent[`${verdict}ToolCall`](given))
    : toldByOutput(await agent[`${verdict}ToolCallGenerate`](given));
}

/** What became of decisions made at once: one wins, every other is told which. */
function judged(decisions: readonly PromiseSettledResult<Told>[]): { winner: Told; won: Set<string> } {
  const winners = decisions.filter((decision) => decision.status === 'fulfilled');
  const losers = decisions.filter((decision) => decision.status === 'rejected');
  expect(winners).toHaveLength(1);
  const won = new Set<string>();
  for (const { reason } of losers) {
    if (!isCountersignError(reason, 'already-decided')) throw reason;
    won.add((reason.decision as DecisionRecord).verdict);
  }
  return { winner: winners[0]!.value, won };
}

for (const kind of kinds) {
  for (const verdicts of [
    ['approve', 'approve'],
    ['approve', 'decline', 'approve'],
    ['decline', 'approve'],
  ] as const) {
    inEveryWorld('scenario: K3', `${verdicts.join(' and ')} at once (${kind.name})`, async (open, world) => {
      const effects: Refund[] = [];
      const scene = open({ script: [askRefunds('a'), 'Done.'], tools: kind.tools(effects, true) });
      const { runId } = await scene.start();
      const decisions = await Promise.allSettled(
        verdicts.map((verdict) => decideBy(scene.decider(), world, verdict, runId)),
      );
      const { winner, won } = judged(decisions);
      expect(won.size).toBe(1);
      const approved = won.has('approve');
      if (kind.clientSide && approved) {
        expect(winner.finishReason).toBe('suspended');
        expect(winner.payloads).toHaveLength(1);
      } else {
        expect(effects).toHaveLength(approved ? 1 : 0);
        expect(winner.text).toBe('Done.');
        expect(scene.model.calls).toHaveLength(2);
      }
    });
  }

  inEveryWorld('scenario: K3', `approved again and again (${kind.name})`, async (open) => {
    const effects: Refund[] = [];
    const scene = open({ script: [askRefunds('a'), 'Done.'], tools: kind.tools(effects, true) });
    const { runId, payloads } = await scene.start();
    const { toolCallId } = payloads[0];
    const told = await approveAndCarryOut(scene, kind, effects, runId);
    expect(told.text).toBe('Done.');
    for (const again of [
      () => scene.approve(runId),
      () => scene.approve(runId, { toolCallId }),
      () => scene.approve(runId, { toolCallId, stop: 1 }),
      () => scene.decline(runId, { toolCallId }),
      () => scene.resume({ approved: true }, runId, { toolCallId, stop: 1 }),
    ]) {
      const error = await errorOf(again());
      expect(error.code).toBe('already-decided');
      expect(error.decision).toMatchObject({ toolCallId });
    }
    expect(effects).toHaveLength(1);
    expect(scene.model.calls).toHaveLength(2);
  });
}

/** A refund that says when it began, and ends when it is let go. */
function slowRefund(effects: Refund[]) {
  const began = Promise.withResolvers<void>();
  const letGo = Promise.withResolvers<void>();
  const refund = createTool({
    id: 'refund',
    inputSchema: refundInput,
    requireApproval: true,
    execute: async (input) => {
      effects.push(input);
      began.resolve();
      await letGo.promise;
      return { refunded: input.amount };
    },
  });
  return { tools: { refund }, began: began.promise, letGo: letGo.resolve };
}

inEveryWorld('scenario: K3', 'decided again while it runs', async (open, world) => {
  const effects: Refund[] = [];
  const slow = slowRefund(effects);
  const scene = open({ script: [askRefunds('a'), 'Done.'], tools: slow.tools });
  const { runId } = await scene.start();
  const approving = decideBy(scene.decider(), world, 'approve', runId);
  await slow.began;
  for (const verdict of ['approve', 'decline'] as const) {
    const error = await errorOf(decideBy(scene.decider(), world, verdict, runId));
    expect(error.code).toBe('already-decided');
    expect(error.decision).toMatchObject({ verdict: 'approve', stop: 1 });
  }
  slow.letGo();
  expect((await approving).text).toBe('Done.');
  expect(effects).toHaveLength(1);
});

inEveryWorld('scenario: K3', 'the same decisionId repeats the answer, not the call', async (open) => {
  const effects: Refund[] = [];
  const scene = open({ script: [askRefunds('a'), 'Done.'], tools: kinds[0]!.tools(effects, true) });
  const { runId, payloads } = await scene.start();
  const choice = { toolCallId: payloads[0].toolCallId, decisionId: 'click 1' };
  const first = await scene.approve(runId, choice);
  const repeated = await scene.approve(runId, choice);
  expect(repeated.text).toBe(first.text);
  expect(repeated.finishReason).toBe('stop');
  expect(repeated.results).toEqual(first.results);
  expect(await codeOf(scene.decline(runId, choice))).toBe('already-decided');
  expect(await codeOf(scene.approve(runId, { ...choice, decisionId: 'click 2' }))).toBe('already-decided');
  expect(await codeOf(scene.approve(runId, { toolCallId: choice.toolCallId }))).toBe('already-decided');
  expect(effects).toHaveLength(1);
  expect(scene.model.calls).toHaveLength(2);
});

inEveryWorld('scenario: K3', 'a decline repeated by its decisionId', async (open) => {
  const effects: Refund[] = [];
  const scene = open({ script: [askRefunds('a'), 'Then not.'], tools: kinds[0]!.tools(effects, true) });
  const { runId } = await scene.start();
  const choice = { decisionId: 'click 1', reason: 'no' };
  await scene.decline(runId, choice);
  expect((await scene.decline(runId, choice)).text).toBe('Then not.');
  expect(await codeOf(scene.approve(runId, choice))).toBe('already-decided');
  expect(effects).toEqual([]);
});

inEveryWorld('scenario: K3', 'the same decisionId at once, and while it runs', async (open, world) => {
  const effects: Refund[] = [];
  const slow = slowRefund(effects);
  const scene = open({ script: [askRefunds('a'), 'Done.'], tools: slow.tools });
  const { runId } = await scene.start();
  const given = { runId, toolCallId: 'call-0-0', decisionId: 'double click' };
  const click = async (agent: Agent): Promise<Told> =>
    world.face === 'stream'
      ? readStream(await agent.approveToolCall(given))
      : toldByOutput(await agent.approveToolCallGenerate(given));
  const clicks = [click(scene.decider()), click(scene.decider())];
  await slow.began;
  clicks.push(click(scene.decider()));
  slow.letGo();
  for (const told of await Promise.all(clicks)) expect(told.text).toBe('Done.');
  expect(effects).toHaveLength(1);
  expect(scene.model.calls).toHaveLength(2);
});

inEveryWorld('scenario: K3', 'resumed twice at once', async (open, world) => {
  const effects: Refund[] = [];
  const scene = open({ script: [askRefunds('a'), 'Done.'], tools: kinds[4]!.tools(effects, false) });
  const { runId } = await scene.start();
  const resume = async (agent: Agent): Promise<Told> =>
    world.face === 'stream'
      ? readStream(await agent.resumeStream({ refunded: 1 }, { runId }))
      : toldByOutput(await agent.resumeGenerate({ refunded: 1 }, { runId }));
  const { winner } = judged(await Promise.allSettled([resume(scene.decider()), resume(scene.decider())]));
  expect(winner.text).toBe('Done.');
  expect(scene.model.calls).toHaveLength(2);
});

/** The conversation as a chat page would send it again: the old call, and the old yes. */
async function history(scene: Scene, first: AgentStream): Promise<unknown[]> {
  const messages = await first.messages;
  return [
    ...messages.map((message) =>
      message.role === 'assistant'
        ? {
            ...message,
            content: [
              ...(message.content as unknown as object[]),
              { type: 'tool-approval-request', approvalId: 'approval-1', toolCallId: 'call-0-0' },
            ],
          }
        : message,
    ),
    {
      role: 'tool',
      content: [
        { type: 'tool-approval-response', approvalId: 'approval-1', approved: true },
        {
          type: 'tool-result',
          toolCallId: 'call-0-0',
          toolName: 'refund',
          output: { type: 'json', value: { refunded: scene.model.calls.length } },
        },
      ],
    },
    { role: 'user', content: 'And now?' },
  ];
}

inEveryWorld('scenario: K3', 'the chat history sent again with the old yes in it', async (open) => {
  const effects: Refund[] = [];
  const scene = open({
    script: [askRefunds('a'), 'All done.', 'Still done.'],
    tools: kinds[0]!.tools(effects, true),
  });
  const stream = await scene.first.stream('Please do it.');
  const messages = await history(scene, stream);
  // While it waits: the yes in the history is no decision.
  const meanwhile = await scene.start({}, messages as never);
  expect(meanwhile.finishReason).toBe('stop');
  expect(effects).toEqual([]);
  expect((await scene.list()).total).toBe(1);
  await scene.approve(stream.runId);
  expect(effects).toHaveLength(1);
});

inOneWorld(
  'scenario: K3',
  'the answer is streamed once, to the leg of the decision that won',
  async (open) => {
    const effects: Refund[] = [];
    const scene = open({ script: [askRefunds('a'), 'Done.'], tools: kinds[0]!.tools(effects, true) });
    const stream = await scene.first.stream('Please do it.');
    let printed = '';
    const print = async (leg: AgentStream): Promise<void> => {
      for await (const text of leg.textStream) printed += text;
    };
    const first = print(stream);
    await stream.suspendPayload;
    const clicks = await Promise.allSettled(
      [1, 2, 3].map(() => scene.first.approveToolCall({ runId: stream.runId })),
    );
    await Promise.all([first, ...clicks.map((click) => click.status === 'fulfilled' && print(click.value))]);
    expect(printed).toBe('Let me see. Done.');
    expect(effects).toHaveLength(1);
  },
);
