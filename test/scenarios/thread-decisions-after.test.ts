/** `sendToolApproval`: what was decided by conversation goes on as if the call had been decided by its run. */
import { createTool, RequestContext } from 'countersign';
import { expect } from 'vitest';
import { z } from 'zod';
import { checkPrompt } from '../../src/testing/check-prompt.ts';
import { openThread, sendAndFollow, thread } from '../support/by-thread.ts';
import { askRefunds, kinds, type Refund, refundCall, resultsIn, withTools } from '../support/kinds.ts';
import { codeOf, errorOf } from '../support/scene.ts';
import { withoutFeed } from '../support/stages.ts';
import { inEveryWorld } from '../support/world.ts';

const look = createTool({ id: 'look', inputSchema: z.object({}), execute: async () => ({ seen: true }) });

/** Suspends itself once, and answers with what it was given. */
function ask(seen: unknown[]) {
  return createTool({
    id: 'ask',
    inputSchema: z.object({}),
    resumeSchema: z.object({ answer: z.string() }),
    execute: async (_input, { agent }) => {
      if (!agent.resumeData) return void (await agent.suspend({ question: '?' }));
      seen.push(agent.resumeData);
      return agent.resumeData;
    },
  });
}

for (const kind of kinds) {
  inEveryWorld('scenario: K8', `by thread: listed, then moved (${kind.name})`, async (open) => {
    const effects: Refund[] = [];
    const scene = openThread(open, { script: [askRefunds('a'), 'Done.'], tools: kind.tools(effects, true) });
    const { runId } = await scene.start();
    const [run] = (await scene.list(thread)).runs;
    expect(run).toMatchObject({ runId, ...thread });
    const { toolCallId, args } = run!.toolCalls[0]!;
    await sendAndFollow(scene, { approved: true, toolCallId });
    if (kind.clientSide) {
      expect((await scene.list()).runs[0]?.toolCalls).toMatchObject([{ state: 'suspended', stop: 2 }]);
      expect(await codeOf(scene.send({ ...thread, approved: true }))).toBe('invalid-resume-data');
      effects.push(args);
      await sendAndFollow(scene, { approved: true, resumeData: { refunded: 10 } });
    }
    expect(effects).toEqual([{ order: 'a', amount: 10 }]);
    expect(scene.model.calls).toHaveLength(2);
    expect((await scene.list({ status: 'all' })).total).toBe(0);
  });
}

inEveryWorld(
  'scenario: K8',
  'by thread: a suspended call is resumed with its data, or declined',
  async (open) => {
    for (const approved of [true, false]) {
      const seen: unknown[] = [];
      const scene = openThread(open, {
        script: [{ calls: [{ toolName: 'ask' }] }, 'Done.'],
        tools: { ask: ask(seen) },
      });
      await scene.start();
      expect(await codeOf(scene.send({ ...thread, approved: true, resumeData: { answer: 5 } }))).toBe(
        'invalid-resume-data',
      );
      expect((await scene.list()).total).toBe(1);
      await sendAndFollow(scene, { approved, resumeData: { answer: 'yes' } });
      expect(seen).toEqual(approved ? [{ answer: 'yes' }] : []);
      expect(scene.model.calls).toHaveLength(2);
    }
  },
);

inEveryWorld('scenario: K6', 'by thread: several calls of a step, the last one first', async (open) => {
  const effects: Refund[] = [];
  const scene = openThread(open, {
    script: [askRefunds('a', 'b', 'c'), 'Done.'],
    tools: kinds[0]!.tools(effects, true),
  });
  await scene.start();
  for (const [position, approved] of [true, false, true].entries()) {
    expect(scene.model.calls).toHaveLength(1);
    const answer = await sendAndFollow(scene, { approved });
    expect(answer.toolCallId).toBe(`call-0-${2 - position}`);
  }
  expect(effects.map(({ order }) => order)).toEqual(['c', 'a']);
  expect(scene.model.calls).toHaveLength(2);
  const results = resultsIn(scene.model.calls[1]?.prompt);
  expect(Object.keys(results)).toEqual(['call-0-0', 'call-0-1', 'call-0-2']);
});

inEveryWorld(
  'scenario: K7',
  'by thread: the neighbours of what is decided stay as they are',
  async (open) => {
    const effects: Refund[] = [];
    const scene = openThread(open, {
      script: [{ calls: [{ toolName: 'look' }, refundCall('a'), refundCall('b')] }, 'Done.'],
      tools: withTools(kinds[0]!.tools(effects, true), { look }),
    });
    await scene.start();
    await sendAndFollow(scene, { approved: false, toolCallId: 'call-0-1' });
    expect((await scene.list()).runs[0]?.toolCalls).toMatchObject([
      { toolCallId: 'call-0-2', state: 'held' },
    ]);
    await sendAndFollow(scene, { approved: true });
    expect(effects.map(({ order }) => order)).toEqual(['b']);
    expect(resultsIn(scene.model.calls[1]?.prompt)['call-0-0']).toEqual({
      type: 'json',
      value: { seen: true },
    });
  },
);

inEveryWorld('scenario: K10', 'by thread: the prompt after mixed decisions is valid', async (open) => {
  const scene = openThread(open, {
    script: [
      {
        calls: [refundCall('a', 1, 'A'), { toolName: 'look' }, { toolName: 'ask' }, refundCall('b', 2, 'B')],
      },
      'Done.',
    ],
    tools: withTools(kinds[0]!.tools([], true), { look, ask: ask([]) }),
  });
  await scene.start();
  await sendAndFollow(scene, { approved: false, toolCallId: 'B' });
  await sendAndFollow(scene, { approved: true, resumeData: { answer: 'x' }, toolCallId: 'call-0-2' });
  await sendAndFollow(scene, { approved: true, toolCallId: 'A' });
  expect(scene.model.calls).toHaveLength(2);
  for (const { prompt } of scene.model.calls) expect(checkPrompt(prompt, 'all')).toEqual([]);
});

inEveryWorld(
  'scenario: K12',
  'by thread: approved in the tick of the announcement',
  async (open) => {
    const effects: Refund[] = [];
    const scene = openThread(open, {
      script: [askRefunds('a'), 'Done.'],
      tools: kinds[0]!.tools(effects, true),
    });
    const memory = { thread: thread.threadId, resource: thread.resourceId };
    const stream = await scene.first.stream('Please do it.', { memory });
    const answers: ReturnType<typeof sendAndFollow>[] = [];
    for await (const { type } of stream.fullStream) {
      if (type === 'tool-call-approval') answers.push(sendAndFollow(scene, { approved: true }));
    }
    expect(await Promise.all(answers)).toMatchObject([{ accepted: true, runId: stream.runId }]);
    expect(effects).toHaveLength(1);
  },
  ({ face }) => (face === 'generate' ? 'nothing is announced before it is collected' : undefined),
);

inEveryWorld(
  'scenario: K13',
  'by thread: the context is kept, and a secret must be supplied',
  async (open) => {
    const seen: unknown[] = [];
    const pay = createTool({
      id: 'pay',
      inputSchema: z.object({}),
      requireApproval: true,
      execute: async (_input, { requestContext, agent }) => {
        seen.push([
          requestContext.get('tenant'),
          requestContext.get('key'),
          agent.threadId,
          agent.resourceId,
        ]);
      },
    });
    const scene = openThread(open, {
      script: [{ calls: [{ toolName: 'pay' }] }, 'Done.'],
      tools: { pay },
      agent: { secretContext: ['key'] },
    });
    const requestContext = new RequestContext([
      ['tenant', 'acme'],
      ['key', 'secret'],
    ]);
    await scene.start({ requestContext });
    const refused = await errorOf(scene.send({ ...thread, approved: true }));
    expect(refused.code).toBe('option-missing');
    expect(refused.details.missing).toEqual(['requestContext.key']);
    expect(seen).toEqual([]);
    const again = new RequestContext([['key', 'secret']]);
    await sendAndFollow(scene, { approved: true, requestContext: again });
    expect(seen).toEqual([['acme', 'secret', thread.threadId, thread.resourceId]]);
  },
);

inEveryWorld('scenario: K16', 'by thread: ten years later', async (open) => {
  const effects: Refund[] = [];
  let now = Date.UTC(2026, 0, 1);
  const scene = openThread(open, {
    script: [askRefunds('a'), 'Done.'],
    tools: kinds[0]!.tools(effects, true),
    registry: { clock: { now: () => now, sleep: async () => {} } },
  });
  await scene.start();
  now = Date.UTC(2036, 0, 1);
  await sendAndFollow(scene, { approved: true });
  expect(effects).toHaveLength(1);
});

inEveryWorld(
  'scenario: K17',
  'by thread: a decision that comes after cancelRun is too late',
  async (open) => {
    const effects: Refund[] = [];
    const scene = openThread(open, {
      script: [askRefunds('a'), 'Done.'],
      tools: kinds[0]!.tools(effects, true),
    });
    const { runId } = await scene.start();
    await scene.cancel({ runId });
    for (const approved of [true, false]) {
      // The conversation is found by its open runs: this one is over.
      expect(await codeOf(scene.send({ ...thread, approved, toolCallId: 'call-0-0' }))).toBe('run-not-found');
    }
    expect(effects).toEqual([]);
    expect(scene.model.calls).toHaveLength(1);
  },
);

inEveryWorld('scenario: K19', 'by thread: when the run has ended its thread is free', async (open) => {
  const effects: Refund[] = [];
  const scene = openThread(open, {
    script: [askRefunds('a'), 'Done.', askRefunds('b'), 'Done again.'],
    tools: kinds[0]!.tools(effects, true),
  });
  const first = await scene.start();
  await sendAndFollow(scene, { approved: true });
  expect((await scene.list({ status: 'all' })).total).toBe(0);
  expect((await scene.store.load(first.runId, 0))?.kind).toBe('ended');
  const rows = await scene.rowsWith(first.runId);
  if (rows) expect(Object.values(withoutFeed(rows))).toEqual([1, 1]);
  // The next run of the thread is the only one that is meant.
  const second = await scene.start();
  expect((await sendAndFollow(scene, { approved: true })).runId).toBe(second.runId);
  expect(effects.map(({ order }) => order)).toEqual(['a', 'b']);
});

for (const [name, why] of [
  ['declineContext.reason', { declineContext: { reason: 'too much' } }],
  ['declineContext.message', { declineContext: { message: 'too much' } }],
  ['reason', { reason: 'too much', declineContext: { reason: 'something else' } }],
] as const) {
  inEveryWorld('scenario: K20', `by thread: the model is told the ${name}`, async (open) => {
    const scene = openThread(open, {
      script: [askRefunds('a'), 'Then not.'],
      tools: kinds[0]!.tools([], true),
    });
    const { runId } = await scene.start();
    await sendAndFollow(scene, { approved: false, by: { id: 'ann' }, ...why });
    const output = resultsIn(scene.model.calls[1]?.prompt)['call-0-0'];
    expect(output?.type).toBe('execution-denied');
    expect(output?.reason).toContain('too much');
    expect(await scene.store.load(runId, 0)).toMatchObject({
      records: [
        { verdict: 'decline', reason: 'too much', by: { id: 'ann' }, outcome: { state: 'declined' } },
      ],
    });
  });
}
