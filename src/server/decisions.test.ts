import { describe, expect, test } from 'vitest';
import { bearerTokens } from './bearer-tokens.ts';
import { openDesk, people } from './test-support/desk.ts';
import { openPage } from './test-support/page.ts';

/** Ada's delete, approved; Ben's pay, declined by Rita; Ada's book, suspended and cancelled; Ada's delete, waiting. */
async function deskWithDecisions(...plan: Parameters<typeof openDesk>) {
  const desk = openDesk(...plan);
  const held = await desk.hold('ada', 'delete a');
  const { runId, toolCallId, fingerprint } = held;
  const named = { runId, toolCallId, fingerprint, reason: 'fine', decisionId: 'mine' };
  await desk.post('ada', '/api/agents/desk/approve-tool-call-generate', named);
  const paid = await desk.hold('ben', 'pay b');
  const path = `/api/approvals/${paid.runId}/${paid.toolCallId}/decline`;
  await desk.post('rita', path, { stop: 1, reason: 'too much' });
  const booked = await desk.hold('ada', 'book c');
  await desk.countersign.getAgent('desk').cancelRun({ runId: booked.runId });
  await desk.hold('ada', 'delete d');
  return { desk, held, paid };
}

describe('the record of decisions', () => {
  test('says who, when, what, why, from where and what came of it', async () => {
    const { desk, held, paid } = await deskWithDecisions();
    const { status, body } = await desk.get('rita', '/api/decisions');
    expect(status).toBe(200);
    expect(body.total).toBe(3);
    expect(body.decisions).toMatchObject([
      { toolName: 'book', verdict: 'cancel', resourceId: 'ada' },
      {
        runId: paid.runId,
        verdict: 'decline',
        reason: 'too much',
        by: { id: 'rita' },
        via: 'http',
        approver: 'reviewer',
        resourceId: 'ben',
        outcome: { state: 'declined' },
      },
      {
        runId: held.runId,
        toolCallId: held.toolCallId,
        stop: 1,
        agentId: 'desk',
        toolName: 'delete',
        args: { what: 'a' },
        fingerprint: held.fingerprint,
        verdict: 'approve',
        reason: 'fine',
        decisionId: 'mine',
        at: expect.any(Number),
        by: { id: 'ada', name: 'Ada' },
        via: 'http',
        outcome: { state: 'finished', result: { did: 'a' } },
      },
    ]);
  });

  test('is filtered, paged, and read from either end', async () => {
    const { desk, held } = await deskWithDecisions();
    const tools = async (query: string) => {
      const { body } = await desk.get('rita', `/api/decisions?${query}`);
      return body.decisions.map(({ toolName }: { toolName: string }) => toolName);
    };
    expect(await tools('order=oldest')).toEqual(['delete', 'pay', 'book']);
    expect(await tools('resourceId=ada')).toEqual(['book', 'delete']);
    expect(await tools('toolName=pay')).toEqual(['pay']);
    expect(await tools('by=ada')).toEqual(['delete']);
    expect(await tools('verdict=decline')).toEqual(['pay']);
    expect(await tools(`runId=${held.runId}`)).toEqual(['delete']);
    expect(await tools('agentId=other')).toEqual([]);
    expect(await tools('threadId=none')).toEqual([]);
    expect(await tools('toDate=2000-01-01')).toEqual([]);
    expect(await tools('fromDate=2000-01-01')).toHaveLength(3);
    const { body } = await desk.get('rita', '/api/decisions?perPage=2');
    expect([body.decisions.length, body.total]).toEqual([2, 3]);
    expect(await tools(`perPage=2&cursor=${body.cursor}`)).toEqual(['delete']);
    const long = await desk.get('rita', `/api/decisions?cursor=${'A'.repeat(800)}`);
    expect([long.status, long.body.code]).toEqual([400, 'invalid-option']);
    for (const query of ['perPage=0', 'perPage=1001', 'cursor=x', 'order=up', 'verdict=yes', 'page=1']) {
      expect((await desk.get('rita', `/api/decisions?${query}`)).status).toBe(400);
    }
  });

  test('shows what one may see', async () => {
    const { desk } = await deskWithDecisions();
    const seen = async (who: 'ada' | 'ben' | 'nobody') => {
      const { body } = await desk.get(who, '/api/decisions');
      return [body.total, ...body.decisions.map(({ toolName }: { toolName: string }) => toolName)];
    };
    expect(await seen('ada')).toEqual([2, 'book', 'delete']);
    expect(await seen('ben')).toEqual([1, 'pay']);
    expect(await seen('nobody')).toEqual([0]);
    expect((await desk.get('ada', '/api/decisions?resourceId=ben')).status).toBe(403);
    expect((await desk.get(undefined, '/api/decisions')).status).toBe(401);
  });

  test('asks canRead about each, and tells no total then', async () => {
    const canRead = (_: unknown, { resourceId }: { resourceId?: string | undefined }) => resourceId === 'ben';
    const { desk } = await deskWithDecisions({ auth: { authenticate: bearerTokens(people), canRead } });
    const { body } = await desk.get('ada', '/api/decisions?perPage=1');
    expect(body).toEqual({ decisions: [expect.objectContaining({ toolName: 'pay' })] });
  });

  test('is read without a server', async () => {
    const { desk } = await deskWithDecisions();
    const { decisions, total } = await desk.countersign.listDecisions({ resourceId: 'ada', perPage: 1 });
    expect([decisions.map(({ toolName }) => toolName), total]).toEqual([['book'], 2]);
    const wrong: object[] = [
      { perPage: 0 },
      { fromDate: 1 },
      { verdict: 'yes' },
      { order: 'up' },
      { by: { id: 'ada' } },
      { tool: 'x' },
    ];
    for (const options of wrong) {
      await expect(desk.countersign.listDecisions(options)).rejects.toMatchObject({ code: 'invalid-option' });
    }
  });

  test('names the door, which no body can', async () => {
    const desk = openDesk();
    const agent = desk.countersign.getAgent('chat');
    const memory = { thread: 't', resource: 'ada' };
    const { runId } = await agent.generate('delete a', { memory });
    await agent.sendToolApproval({ threadId: 't', resourceId: 'ada', approved: true });
    const coded = await agent.generate('pay a', { memory });
    await agent.approveToolCallGenerate({ runId: coded.runId });
    const page = openPage(desk, 'ada', 't-1');
    await page.chat.sendMessage({ text: 'delete c' });
    const { approval } = page.call();
    await page.during(() => page.chat.addToolApprovalResponse({ id: approval.id, approved: true }));
    const { decisions } = await desk.countersign.listDecisions({ order: 'oldest' });
    expect(decisions.map(({ runId, via }) => [runId, via])).toEqual([
      [runId, 'thread'],
      [coded.runId, undefined],
      [approval.id.split('::')[0], 'chat'],
    ]);
    const held = await desk.hold('ada', 'delete b');
    const { toolCallId } = held;
    const forged = { runId: held.runId, toolCallId, via: 'thread' };
    const answer = await desk.post('ada', '/api/agents/desk/approve-tool-call-generate', forged);
    expect([answer.status, answer.body.issues]).toEqual([400, [expect.objectContaining({ field: 'via' })]]);
    await expect(agent.approveToolCall({ runId: coded.runId, via: 'door' as never })).rejects.toMatchObject({
      code: 'invalid-decision',
    });
  });
});

test('after the end of a run, who could not have decided is not told who did', async () => {
  const { desk, paid } = await deskWithDecisions();
  const path = `/api/approvals/${paid.runId}/${paid.toolCallId}/approve`;
  const { runId, toolCallId } = paid;
  const owner = await desk.post('ben', path, { stop: 1 });
  expect([owner.status, owner.body.decision]).toEqual([403, undefined]);
  const spec = await desk.post('ben', '/api/agents/desk/approve-tool-call', { runId, toolCallId });
  expect([spec.status, spec.body.decision]).toEqual([403, undefined]);
  const reviewer = await desk.post('rita', path, { stop: 1 });
  expect([reviewer.status, reviewer.body.decision.by.id]).toEqual([409, 'rita']);
  const other = await desk.post('rita', `/api/approvals/${paid.runId}/other/approve`, { stop: 1 });
  expect(other.status).toBe(410);
});
