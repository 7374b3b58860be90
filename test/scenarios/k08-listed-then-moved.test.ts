/** K8: what is listed can be moved, from another Agent object, with the original arguments, options and context. */
import { createTool, RequestContext } from 'countersign';
import { expect } from 'vitest';
import { z } from 'zod';
import { approveAndCarryOut, askRefunds, kinds, type Refund, refundCall } from '../support/kinds.ts';
import { inEveryWorld } from '../support/world.ts';

for (const kind of kinds) {
  for (const verb of ['approve', 'decline', 'resume'] as const) {
    inEveryWorld('scenario: K8', `listed, then moved by ${verb} (${kind.name})`, async (open) => {
      const effects: Refund[] = [];
      const scene = open({
        script: [askRefunds('a'), 'Done.'],
        tools: kind.tools(effects, true),
        options: { memory: { thread: 'thread 1', resource: 'user 1' } },
      });
      const { payloads } = await scene.start();
      const { runs, total } = await scene.list();
      expect(total).toBe(1);
      const run = runs[0]!;
      expect(run).toMatchObject({ status: 'suspended', threadId: 'thread 1', resourceId: 'user 1' });
      expect(run.suspendedAt).toBeInstanceOf(Date);
      const [call] = run.toolCalls;
      // What is listed is what was announced.
      expect(call).toEqual({ ...payloads[0], state: 'held', requiresApproval: true });
      const { toolCallId, stop, fingerprint } = call!;
      const choice = { toolCallId, stop, fingerprint };
      if (verb === 'approve') await approveAndCarryOut(scene, kind, effects, run.runId, choice);
      else if (verb === 'decline') await scene.decline(run.runId, choice);
      else {
        await scene.resume({ approved: true }, run.runId, choice);
        if (kind.clientSide) {
          const handed = (await scene.list()).runs[0]!.toolCalls[0]!;
          expect(handed).toMatchObject({ state: 'suspended', stop: 2, requiresApproval: false });
          expect(JSON.parse(handed.resumeSchema!)).toMatchObject({ required: ['refunded'] });
          effects.push(handed.args);
          await scene.resume({ refunded: 10 }, run.runId, { toolCallId, stop: 2 });
        }
      }
      expect(effects).toEqual(verb === 'decline' ? [] : [{ order: 'a', amount: 10 }]);
      expect(scene.model.calls).toHaveLength(2);
      expect((await scene.list({ status: 'all' })).total).toBe(0);
    });
  }
}

/** Suspends itself once, and remembers what it was given each time. */
function ask(seen: unknown[]) {
  return createTool({
    id: 'ask',
    inputSchema: z.object({ topic: z.string(), when: z.string().transform((text) => new Date(text)) }),
    suspendSchema: z.object({ question: z.string() }),
    resumeSchema: z.object({ answer: z.string() }),
    execute: async (input, context) => {
      const { agent, requestContext, runId, toolCallId } = context;
      seen.push({
        input,
        tenant: requestContext.get('tenant'),
        ids: [runId, toolCallId, agent.agentId, agent.threadId, agent.resourceId],
        key: context.idempotencyKey,
        resumeData: agent.resumeData,
        messages: agent.messages,
      });
      if (!agent.resumeData) return void (await agent.suspend({ question: `About ${input.topic}?` }));
      return agent.resumeData;
    },
  });
}

inEveryWorld(
  'scenario: K8',
  'a suspended call, with the original arguments, options and context',
  async (open) => {
    const seen: Record<string, unknown>[] = [];
    const requestContext = new RequestContext([['tenant', { id: 'acme', tags: ['a', 'b'] }]]);
    const scene = open({
      script: [{ calls: [{ toolName: 'ask', args: { topic: 'tea', when: '2026-01-02' } }] }, 'Done.'],
      tools: { ask: ask(seen) },
      agent: { instructions: 'Instructions of the agent.' },
      options: {
        requestContext,
        instructions: 'Instructions of the run.',
        activeTools: ['ask'],
        toolChoice: 'auto',
        modelSettings: { temperature: 0.25, maxOutputTokens: 77 },
        providerOptions: { scripted: { mode: 'x' } },
        memory: { thread: { id: 'thread 1' }, resource: 'user 1' },
      },
    });
    const { runId } = await scene.start();
    const run = (await scene.list({ threadId: 'thread 1', resourceId: 'user 1' })).runs[0]!;
    const call = run.toolCalls[0]!;
    expect(call).toMatchObject({
      toolName: 'ask',
      state: 'suspended',
      requiresApproval: false,
      args: { topic: 'tea', when: '2026-01-02T00:00:00.000Z' },
      suspendPayload: { question: 'About tea?' },
    });
    expect(JSON.parse(call.resumeSchema!)).toMatchObject({ properties: { answer: { type: 'string' } } });
    const told = await scene.resume({ answer: 'green' }, run.runId, { toolCallId: call.toolCallId });
    expect(told.text).toBe('Done.');
    expect(seen).toHaveLength(2);
    const [first, second] = seen;
    expect(first?.tenant).toEqual({ id: 'acme', tags: ['a', 'b'] });
    expect(first?.ids).toEqual([runId, 'call-0-0', 'desk', 'thread 1', 'user 1']);
    expect(second).toEqual({ ...first, resumeData: { answer: 'green' } });
    expect((second?.input as { when: Date } | undefined)?.when).toEqual(new Date('2026-01-02'));
    const [before, after] = scene.model.calls;
    for (const name of [
      'temperature',
      'maxOutputTokens',
      'providerOptions',
      'toolChoice',
      'tools',
    ] as const) {
      expect(after?.[name], name).toEqual(before?.[name]);
    }
    expect(before?.temperature).toBe(0.25);
    expect(after?.prompt.slice(0, before?.prompt.length)).toEqual(before?.prompt);
    expect(JSON.stringify(after?.prompt)).toContain('Instructions of the run.');
  },
);

inEveryWorld(
  'scenario: K8',
  'many runs: each is listed as its own, newest first, and moved alone',
  async (open) => {
    const effects: Refund[] = [];
    let time = 1_000_000;
    const scene = open({
      script: (prompt) =>
        prompt.at(-1)?.role === 'tool'
          ? 'Done.'
          : { calls: [refundCall(JSON.stringify(prompt.at(-1)?.content))] },
      tools: kinds[0]!.tools(effects, true),
      registry: { clock: { now: () => ++time, sleep: async () => {} } },
    });
    const started: string[] = [];
    for (const name of ['one', 'two', 'three']) started.push((await scene.start({}, name)).runId);
    const listed = await scene.list();
    expect(listed.total).toBe(3);
    expect(listed.runs.map(({ runId }) => runId)).toEqual(started.toReversed());
    const pages = [
      await scene.list({ perPage: 2 }),
      await scene.list({ perPage: 2, page: 1 }),
      await scene.list({ perPage: 2, cursor: (await scene.list({ perPage: 2 })).cursor }),
    ];
    expect(pages.map(({ runs }) => runs.map(({ runId }) => started.indexOf(runId)))).toEqual([
      [2, 1],
      [0],
      [0],
    ]);
    for (const { runs } of [listed]) {
      for (const { runId, toolCalls } of runs) {
        await scene.approve(runId, {
          toolCallId: toolCalls[0]!.toolCallId,
          fingerprint: toolCalls[0]!.fingerprint,
        });
      }
    }
    expect(effects.map(({ order }) => order.includes('three'))).toEqual([true, false, false]);
    expect((await scene.list()).total).toBe(0);
  },
);

for (const verb of ['continueRun', 'cancel'] as const) {
  inEveryWorld('scenario: K8', `a stalled run: listed, then moved by ${verb}`, async (open) => {
    const effects: Refund[] = [];
    const scene = open({
      script: [askRefunds('a'), { error: new Error('overloaded') }, 'Done.'],
      tools: kinds[0]!.tools(effects, true),
    });
    await scene.approve((await scene.start()).runId);
    const { runs } = await scene.list({ status: 'stalled' });
    const runId = runs[0]!.runId;
    if (verb === 'cancel') expect((await scene.cancel({ runId })).status).toBe('cancelled');
    else expect((await scene.continueRun(runId)).text).toBe('Done.');
    expect((await scene.list({ status: 'all' })).total).toBe(0);
    expect(effects).toHaveLength(1);
  });
}
