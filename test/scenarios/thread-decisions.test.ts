/** `sendToolApproval`: who decides by conversation hits what waits there, once, or nothing. */
import { createTool, isCountersignError } from 'countersign';
import { expect } from 'vitest';
import { z } from 'zod';
import { openThread, type Sent, sendAndFollow, thread } from '../support/by-thread.ts';
import { askRefunds, kinds, type Refund, refundCall, refundInput, resultsIn } from '../support/kinds.ts';
import { codeOf, errorOf } from '../support/scene.ts';
import { inEveryWorld, inOneWorld } from '../support/world.ts';

for (const kind of kinds) {
  inEveryWorld('scenario: K1', `by thread: declined with approving data (${kind.name})`, async (open) => {
    const effects: Refund[] = [];
    const scene = openThread(open, {
      script: [askRefunds('a'), 'Then not.'],
      tools: kind.tools(effects, false),
      options: { requireToolApproval: true },
    });
    const { runId } = await scene.start();
    const resumeData = { approved: true, refunded: 10 };
    expect(await sendAndFollow(scene, { approved: false, resumeData })).toEqual({
      accepted: true,
      runId,
      toolCallId: 'call-0-0',
    });
    expect(effects).toEqual([]);
    expect(resultsIn(scene.model.calls[1]?.prompt)['call-0-0']?.type).toBe('execution-denied');
    const ended = await scene.store.load(runId, 0);
    expect(ended).toMatchObject({ records: [{ verdict: 'decline', outcome: { state: 'declined' } }] });
  });
}

const malformed: [string, unknown][] = [
  ...[undefined, null, 'true', 'false', 1, 0, '', {}, { approved: true }, []].map(
    (approved): [string, unknown] => [
      `approved: ${JSON.stringify(approved)}`,
      { ...thread, approved, resumeData: { approved: true } },
    ],
  ),
  ...['threadId', 'resourceId'].flatMap((name) =>
    [undefined, null, '', 5, {}].map((value): [string, unknown] => [
      `${name}: ${JSON.stringify(value)}`,
      { ...thread, approved: true, [name]: value },
    ]),
  ),
  ['toolCallId: 5', { ...thread, approved: true, toolCallId: 5 }],
  ['toolCallId: null', { ...thread, approved: true, toolCallId: null }],
  ['reason: 5', { ...thread, approved: false, reason: 5 }],
  ['declineContext.reason: 5', { ...thread, approved: false, declineContext: { reason: 5 } }],
  ['by: "ann"', { ...thread, approved: true, by: 'ann' }],
  ['decisionId: 5', { ...thread, approved: true, decisionId: 5 }],
];

inEveryWorld('scenario: K1', 'by thread: malformed decisions execute nothing', async (open) => {
  const effects: Refund[] = [];
  const scene = openThread(open, {
    script: [askRefunds('a'), 'Done.'],
    tools: kinds[0]!.tools(effects, true),
  });
  await scene.start();
  for (const [name, options] of malformed) {
    const refused = await codeOf(scene.decider().sendToolApproval(options as never));
    // A call that is no id is unknown, or malformed.
    if (name.startsWith('toolCallId')) expect(['invalid-decision', 'run-not-found'], name).toContain(refused);
    else expect(refused, name).toBe('invalid-decision');
  }
  expect(effects).toEqual([]);
  expect((await scene.list()).runs[0]?.toolCalls).toMatchObject([{ state: 'held', stop: 1 }]);
});

inOneWorld('scenario: K2', 'by thread: no options at all', async (open) => {
  const scene = open({ script: ['Hello.'] });
  for (const nothing of [undefined, null, 'thread 1']) {
    expect(await codeOf(scene.first.sendToolApproval(nothing as never)), `${nothing}`).toBe(
      'invalid-decision',
    );
  }
});

inEveryWorld('scenario: K1', 'by thread: a held call is decided by approved alone', async (open) => {
  const effects: Refund[] = [];
  const scene = openThread(open, {
    script: [askRefunds('a'), 'Done.'],
    tools: kinds[0]!.tools(effects, true),
  });
  await scene.start();
  await sendAndFollow(scene, { approved: true, resumeData: { approved: false } });
  expect(effects).toHaveLength(1);
});

inEveryWorld('scenario: K1', 'by thread: declined where the policy function is lost', async (open) => {
  const effects: Refund[] = [];
  const scene = openThread(open, {
    script: [askRefunds('a'), askRefunds('b'), 'Then not.'],
    tools: kinds[0]!.tools(effects, false),
    options: { requireToolApproval: () => true },
  });
  await scene.start();
  for (let call = 0; call < 2; call++) await sendAndFollow(scene, { approved: false });
  expect(effects).toEqual([]);
  expect(scene.model.calls).toHaveLength(3);
});

inEveryWorld('scenario: K2', 'by thread: what is foreign or unknown hits nothing', async (open) => {
  const effects: Refund[] = [];
  const scene = openThread(open, {
    script: [askRefunds('a'), 'Done.'],
    tools: kinds[0]!.tools(effects, true),
  });
  const { runId } = await scene.start();
  const strangers: [string, Partial<Sent>][] = [
    ['a foreign thread', { threadId: 'thread 2' }],
    ['a foreign resource', { resourceId: 'user 2' }],
    ['crossed', { threadId: thread.resourceId, resourceId: thread.threadId }],
    ['the run as a thread', { threadId: runId }],
    ['like it', { threadId: 'thread%' }],
    ['in other letters', { threadId: 'Thread 1' }],
    ['another call', { toolCallId: 'call-0-1' }],
    ['no call', { toolCallId: '' }],
    ['the tool as a call', { toolCallId: 'refund' }],
  ];
  for (const [name, options] of strangers) {
    for (const approved of [true, false]) {
      const code = await codeOf(scene.send({ ...thread, ...options, approved }));
      expect(['run-not-found', 'call-not-found'], name).toContain(code);
    }
  }
  const stranger = scene.another({ id: 'stranger' });
  expect(await codeOf(stranger.sendToolApproval({ ...thread, approved: true }))).toBe('run-not-found');
  expect(effects).toEqual([]);
  expect((await scene.list()).total).toBe(1);
  expect(scene.model.calls).toHaveLength(1);
});

inEveryWorld('scenario: K2', 'by thread: several runs wait there', async (open) => {
  const effects: Refund[] = [];
  const scene = openThread(open, {
    script: (_prompt, index) =>
      index < 3
        ? { calls: [refundCall(`order ${index}`, 10, index === 2 ? 'other' : 'same')] }
        : { text: 'Done.' },
    tools: kinds[0]!.tools(effects, true),
  });
  const [first, second, third] = [await scene.start(), await scene.start(), await scene.start()];
  for (const approved of [true, false]) {
    expect(await codeOf(scene.send({ ...thread, approved }))).toBe('ambiguous-run');
    // Two of them have a call of this id.
    const error = await errorOf(scene.send({ ...thread, approved, toolCallId: 'same' }));
    expect(error.code).toBe('ambiguous-run');
    expect(error.message).toContain('with runId');
  }
  expect(effects).toEqual([]);
  expect((await scene.list()).total).toBe(3);
  const answer = await sendAndFollow(scene, { approved: true, toolCallId: 'other' });
  expect(answer).toEqual({ accepted: true, runId: third.runId, toolCallId: 'other' });
  await scene.decline(second.runId);
  expect((await sendAndFollow(scene, { approved: true })).runId).toBe(first.runId);
  expect(effects.map(({ order }) => order)).toEqual(['order 2', 'order 0']);
});

inEveryWorld('scenario: K2', 'by thread: unnamed, the call announced last is meant', async (open) => {
  const effects: Refund[] = [];
  const scene = openThread(open, {
    script: [askRefunds('a', 'b'), 'Done.'],
    tools: kinds[0]!.tools(effects, true),
  });
  await scene.start();
  expect((await sendAndFollow(scene, { approved: true })).toolCallId).toBe('call-0-1');
  expect(effects.map(({ order }) => order)).toEqual(['b']);
});

inEveryWorld('scenario: K2', 'by thread: where several calls wait, an id is demanded', async (open) => {
  const effects: Refund[] = [];
  const scene = openThread(open, {
    script: [askRefunds('a', 'b'), 'Done.'],
    tools: kinds[0]!.tools(effects, true),
    agent: { whenSeveralWait: 'refuse' },
  });
  await scene.start();
  expect(await codeOf(scene.send({ ...thread, approved: true }))).toBe('call-required');
  expect(effects).toEqual([]);
});

inEveryWorld('scenario: K3', 'by thread: two decisions at once', async (open) => {
  const effects: Refund[] = [];
  const scene = openThread(open, {
    script: [askRefunds('a'), 'Done.'],
    tools: kinds[0]!.tools(effects, true),
  });
  await scene.start();
  const decisions = await Promise.allSettled(
    [true, false].map((approved) => sendAndFollow(scene, { approved, toolCallId: 'call-0-0' })),
  );
  const [approving, declining] = decisions;
  const losers = decisions.filter((decision) => decision.status === 'rejected');
  expect(losers).toHaveLength(1);
  const { reason } = losers[0] as PromiseRejectedResult;
  // The loser may come when the run has ended, and the conversation is found by its open runs.
  const isTold = isCountersignError(reason, 'already-decided') || isCountersignError(reason, 'run-not-found');
  if (!isTold) throw reason;
  expect(effects).toHaveLength(approving?.status === 'fulfilled' ? 1 : 0);
  expect(declining?.status).toBe(approving?.status === 'fulfilled' ? 'rejected' : 'fulfilled');
  expect(scene.model.calls).toHaveLength(2);
});

inEveryWorld('scenario: K3', 'by thread: decided again after the run has ended', async (open) => {
  const effects: Refund[] = [];
  const scene = openThread(open, {
    script: [askRefunds('a'), 'Done.'],
    tools: kinds[0]!.tools(effects, true),
  });
  const { runId } = await scene.start();
  const click: Sent = { approved: true, toolCallId: 'call-0-0', decisionId: 'click 1' };
  const answer = await sendAndFollow(scene, click);
  for (const again of [{ approved: true }, { approved: false }]) {
    // The conversation is found by its open runs; the run itself still knows who was first.
    expect(await codeOf(scene.send({ ...thread, ...again, toolCallId: 'call-0-0' }))).toBe('run-not-found');
    expect(await codeOf(scene.approve(runId, { toolCallId: 'call-0-0' }))).toBe('already-decided');
  }
  expect(answer.runId).toBe(runId);
  expect(effects).toHaveLength(1);
});

inEveryWorld(
  'scenario: K3',
  'by thread: decided again while others wait, and while it runs',
  async (open) => {
    const effects: Refund[] = [];
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
    const scene = openThread(open, { script: [askRefunds('a', 'b'), 'Done.'], tools: { refund } });
    await scene.start();
    const click = { ...thread, toolCallId: 'call-0-0', approved: true, decisionId: 'click 1' };
    const works: Promise<void>[] = [];
    await scene.send({ ...click, waitUntil: (work) => works.push(work) });
    await began.promise;
    const { decisionId: _, ...unmarked } = click;
    expect(await codeOf(scene.send(unmarked))).toBe('already-decided');
    expect(await codeOf(scene.send({ ...click, approved: false }))).toBe('already-decided');
    expect(await scene.send(click)).toMatchObject({ accepted: true, toolCallId: 'call-0-0' });
    letGo.resolve();
    await Promise.all(works);
    expect(await codeOf(scene.send(unmarked))).toBe('already-decided');
    expect(effects).toHaveLength(1);
    expect((await scene.list()).runs[0]?.toolCalls.map(({ toolCallId }) => toolCallId)).toEqual(['call-0-1']);
  },
);

inEveryWorld(
  'scenario: K4',
  'by thread: what the model writes names no thread and decides nothing',
  async (open) => {
    const seen: unknown[] = [];
    const note = createTool({
      id: 'note',
      inputSchema: z.looseObject({}),
      requireApproval: true,
      execute: async (input) => void seen.push(input),
    });
    const args = { ...thread, threadId: 'thread 2', approved: true, resumeData: { approved: true } };
    const scene = openThread(open, {
      script: [{ calls: [{ toolName: 'note', args }] }, 'Done.'],
      tools: { note },
    });
    await scene.start();
    expect(await codeOf(scene.send({ ...args, approved: true }))).toBe('run-not-found');
    expect(seen).toEqual([]);
    await sendAndFollow(scene, { approved: false });
    expect(seen).toEqual([]);
  },
);
