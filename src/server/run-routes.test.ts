import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createTool } from '../agent/create-tool.ts';
import { InMemoryStore } from '../store/memory.ts';
import { bearerTokens } from './bearer-tokens.ts';
import { type Desk, openDesk, people, type Who } from './test-support/desk.ts';
import { stalledDesk } from './test-support/stalled-desk.ts';

const move = (desk: Desk, who: Who | undefined, runId: string, verb: string, body: object = {}) =>
  desk.post(who, `/api/runs/${encodeURIComponent(runId)}/${verb}`, body);

describe('continue', () => {
  test.each(['ada', 'rita'] as const)('by %s goes on, and runs nothing again', async (who) => {
    const { desk, runId } = await stalledDesk();
    const { status, body } = await move(desk, who, runId, 'continue');
    expect([status, body]).toEqual([202, { accepted: true, runId }]);
    await desk.countersign.stop();
    expect(desk.done).toEqual(['delete a']);
    expect(await move(desk, who, runId, 'continue')).toMatchObject({
      status: 410,
      body: { code: 'run-ended' },
    });
  });

  test('of a run that waits for a person is refused, and decides nothing', async () => {
    const desk = openDesk();
    const { runId } = await desk.hold('ada', 'delete a');
    const answer = await move(desk, 'ada', runId, 'continue');
    expect(answer).toMatchObject({ status: 409, body: { code: 'run-not-stalled' } });
    expect(desk.done).toEqual([]);
  });
});

describe('cancel', () => {
  test('by the owner ends what waits, also what only a reviewer may approve; who and why is recorded', async () => {
    const desk = openDesk();
    const { runId, toolCallId } = await desk.hold('ada', 'pay a');
    const { status, body } = await move(desk, 'ada', runId, 'cancel', { reason: 'Never mind.' });
    expect([status, body]).toEqual([200, { runId, status: 'cancelled' }]);
    const call = await desk.get('rita', `/api/approvals/${runId}/${toolCallId}`);
    expect(call.body.decisions).toMatchObject([
      { verdict: 'cancel', by: { id: 'ada', name: 'Ada' }, reason: 'Never mind.' },
    ]);
    const late = { stop: 1 };
    const approved = await desk.post('rita', `/api/approvals/${runId}/${toolCallId}/approve`, late);
    expect(approved).toMatchObject({ status: 410, body: { code: 'run-ended' } });
    expect(desk.done).toEqual([]);
  });

  test('by a reviewer, of a run that is stalled', async () => {
    const { desk, runId } = await stalledDesk();
    expect((await move(desk, 'rita', runId, 'cancel')).body.status).toBe('cancelled');
    expect((await move(desk, 'rita', runId, 'cancel')).body.code).toBe('run-ended');
  });

  test('says that it is under way while a tool runs, and waits for it', async () => {
    const inside = Promise.withResolvers<string>();
    const gate = Promise.withResolvers<void>();
    const look = createTool({
      id: 'look',
      inputSchema: z.object({ what: z.string() }),
      execute: async (_, { runId }) => {
        inside.resolve(runId);
        await gate.promise;
        return 'seen';
      },
    });
    const desk = openDesk({ agent: { tools: { look } } });
    const started = desk.post('ada', '/api/agents/desk/generate', { messages: 'look a' });
    const runId = await inside.promise;
    expect((await move(desk, 'ada', runId, 'cancel')).body).toEqual({ runId, status: 'cancelling' });
    gate.resolve();
    const { body } = await started;
    expect([body.finishReason, body.toolResults[0].payload.result]).toEqual(['cancelled', 'seen']);
    expect(desk.model.calls).toHaveLength(1);
  });
});

describe.each(['continue', 'cancel'])('%s', (verb) => {
  test.each(['ben', 'nobody'] as const)('of a run that is not theirs is not found by %s', async (who) => {
    const { desk, runId } = await stalledDesk();
    const { status, body } = await move(desk, who, runId, verb);
    const absent = await move(desk, who, 'none', verb);
    expect([status, body.code]).toEqual([404, 'run-not-found']);
    expect(JSON.stringify(body).replaceAll(runId, 'none')).toBe(JSON.stringify(absent.body));
    expect((await move(desk, undefined, runId, verb)).status).toBe(401);
  });

  test('is refused to who may only see the run', async () => {
    const auth = { authenticate: bearerTokens(people), canRead: () => true };
    const { desk, runId } = await stalledDesk({ auth });
    expect(await move(desk, 'ben', runId, verb)).toMatchObject({ status: 403, body: { code: 'forbidden' } });
    expect((await move(desk, 'ada', runId, verb)).status).toBeLessThan(300);
  });

  test('takes nothing else from a body', async () => {
    const { desk, runId } = await stalledDesk();
    const { status, body } = await move(desk, 'ada', runId, verb, { by: { id: 'boss' }, model: 'x' });
    expect([status, body.issues.map(({ field }: { field: string }) => field)]).toEqual([
      400,
      ['by', 'model'],
    ]);
  });

  test('needs the code of the agent', async () => {
    const storage = new InMemoryStore();
    const { runId } = await stalledDesk({ registry: { storage } });
    const elsewhere = openDesk({ agent: { id: 'desk-2' }, registry: { storage } });
    expect(await move(elsewhere, 'ada', runId, verb)).toMatchObject({
      status: 422,
      body: { code: 'agent-missing' },
    });
  });
});
