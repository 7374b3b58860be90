import { describe, expect, test } from 'vitest';
import { Agent } from '../agent/agent.ts';
import { InMemoryStore } from '../store/memory.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { eventsIn, openDesk } from './test-support/desk.ts';
import { openWorld } from './test-support/operations.ts';

const path = ({ runId, toolCallId }: { runId: string; toolCallId: string }, verb = ''): string =>
  `/api/approvals/${encodeURIComponent(runId)}/${encodeURIComponent(toolCallId)}${verb && `/${verb}`}`;

describe('what waits, over all agents', () => {
  test('is listed for those who may see it, newest first', async () => {
    const desk = openDesk();
    const first = await desk.hold('ada', 'delete a and book b');
    await desk.hold('ben', 'pay c');
    const all = await desk.get('rita', '/api/approvals?status=suspended');
    expect(all.body.total).toBe(2);
    const calls = all.body.approvals.map(({ toolName, resourceId }: Record<string, string>) => [
      toolName,
      resourceId,
    ]);
    expect(calls).toHaveLength(3);
    expect(calls).toEqual(
      expect.arrayContaining([
        ['pay', 'ben'],
        ['delete', 'ada'],
        ['book', 'ada'],
      ]),
    );
    const own = await desk.get('ada', '/api/approvals');
    expect(own.body.approvals).toMatchObject([
      {
        runId: first.runId,
        agentId: 'desk',
        resourceId: 'ada',
        toolName: 'delete',
        args: { what: 'a' },
        state: 'held',
        stop: 1,
        approver: 'owner',
        fingerprint: first.fingerprint,
        since: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      },
      { toolName: 'book', state: 'suspended', suspendPayload: { question: 'How many seats for b?' } },
    ]);
    expect((await desk.get('nobody', '/api/approvals')).body).toEqual({ approvals: [] });
    expect((await desk.get('ada', '/api/approvals?resourceId=ben')).status).toBe(403);
    expect((await desk.get('rita', '/api/approvals?resourceId=ben')).body.approvals).toHaveLength(1);
  });

  test('is filtered, and paged by cursor', async () => {
    const desk = openDesk();
    for (const message of ['delete a', 'pay b', 'delete c']) await desk.hold('ada', message);
    const memory = { thread: 't-1' };
    await desk.post('ada', '/api/agents/desk/generate', {
      messages: 'look d',
      memory,
      requireToolApproval: true,
    });
    const names = async (query: string) => {
      const { body } = await desk.get('ada', `/api/approvals?${query}`);
      return body.approvals.map(({ toolName }: { toolName: string }) => toolName);
    };
    expect(await names('toolName=delete')).toEqual(['delete', 'delete']);
    expect(await names('toolName=delete&perPage=1')).toHaveLength(1);
    expect(await names('threadId=t-1')).toEqual(['look']);
    expect(await names('agentId=other')).toEqual([]);
    expect(await names('status=interrupted')).toEqual([]);
    expect(await names('status=all')).toHaveLength(4);
    expect(await names('toDate=2000-01-01')).toEqual([]);
    const newest = await names('');
    expect(await names('order=oldest')).toEqual(newest.toReversed());
    const seen: string[] = [];
    for (let cursor = ''; ; ) {
      const { body } = await desk.get('ada', `/api/approvals?perPage=3${cursor && `&cursor=${cursor}`}`);
      seen.push(...body.approvals.map((call: Record<string, string>) => `${call.runId} ${call.toolCallId}`));
      cursor = body.cursor ?? '';
      if (cursor === '') break;
    }
    expect(new Set(seen).size).toBe(4);
    for (const query of ['perPage=0', 'perPage=1001', 'cursor=x', 'order=up']) {
      expect((await desk.get('ada', `/api/approvals?${query}`)).status).toBe(400);
    }
  });

  test('canRead is asked about each', async () => {
    const authenticate = () => ({ id: 'eve' });
    const desk = openDesk({ auth: { authenticate, canRead: (_, { resourceId }) => resourceId === 'ada' } });
    const agent = desk.countersign.getAgent('desk');
    for (const resource of ['ada', 'ben']) await agent.generate('delete a', { memory: { resource } });
    const { body } = await desk.get('ada', '/api/approvals?perPage=1');
    expect(body.approvals).toMatchObject([{ resourceId: 'ada' }]);
    expect(body).not.toHaveProperty('total');
    const runs = await desk.get('ada', '/api/agents/desk/suspended-runs');
    expect(runs.body).toMatchObject({ runs: [{ resourceId: 'ada' }], total: 1 });
  });
});

describe('a decision on an approval', () => {
  test('is answered at once, and the run goes on by itself', async () => {
    const desk = openDesk();
    const held = await desk.hold('ada', 'delete a');
    const body = { stop: 1, fingerprint: held.fingerprint, reason: 'fine', decisionId: 'd-1' };
    const answer = await desk.post('ada', path(held, 'approve'), body);
    expect(answer).toMatchObject({
      status: 202,
      body: {
        accepted: true,
        driven: true,
        runId: held.runId,
        decision: {
          verdict: 'approve',
          stop: 1,
          by: { id: 'ada', name: 'Ada' },
          reason: 'fine',
          decisionId: 'd-1',
        },
      },
    });
    expect(answer.body.decision).not.toHaveProperty('args');
    await desk.countersign.stop();
    expect(desk.done).toEqual(['delete a']);
    const again = await desk.post('ada', path(held, 'approve'), body);
    expect(again).toMatchObject({ status: 202, body: { decision: { by: { id: 'ada' } } } });
    expect((await desk.get('ada', path(held))).body).toMatchObject({
      state: 'finished',
      mayDecide: false,
      decisions: [{ verdict: 'approve', by: { id: 'ada' } }],
    });
    expect(desk.done).toEqual(['delete a']);
  });

  test('declines, and resumes', async () => {
    const desk = openDesk();
    const held = await desk.hold('ada', 'delete a');
    expect((await desk.get('ada', path(held))).body).toMatchObject({
      state: 'held',
      mayDecide: true,
      decisions: [],
    });
    const declined = await desk.post('rita', path(held, 'decline'), { stop: 1, reason: 'no' });
    expect(declined).toMatchObject({
      status: 202,
      body: { decision: { verdict: 'decline', by: { id: 'rita' } } },
    });
    const asked = await desk.hold('ada', 'book b');
    const wrong = await desk.post('ada', path(asked, 'resume'), { stop: 1, data: { seats: 'x' } });
    expect(wrong).toMatchObject({ status: 422, body: { code: 'invalid-resume-data' } });
    expect((await desk.post('ada', path(asked, 'approve'), { stop: 1 })).body.code).toBe('needs-data');
    const resumed = await desk.post('ada', path(asked, 'resume'), { stop: 1, data: { seats: 4 } });
    expect(resumed).toMatchObject({ status: 202, body: { decision: { verdict: 'resume' } } });
    await desk.countersign.stop();
    expect(desk.done).toEqual(['book b for 4']);
  });

  test('says what became of an interrupted call', async () => {
    const { desk, interrupt } = openWorld();
    const held = await interrupt();
    const { body } = await desk.get('ada', '/api/approvals?status=interrupted');
    const [{ stop }] = body.approvals;
    expect(body.approvals).toMatchObject([{ state: 'interrupted', stop: 2 }]);
    for (const word of [{}, { runAgain: true, error: 'x' }, { runAgain: false }, { error: '' }]) {
      expect((await desk.post('ada', path(held, 'resolve'), { stop, ...word })).status).toBe(400);
    }
    const resolved = await desk.post('ada', path(held, 'resolve'), { stop, output: { did: 'a' } });
    expect(resolved).toMatchObject({ status: 202, body: { decision: { verdict: 'resolve', stop: 2 } } });
    await desk.countersign.stop();
    expect(desk.done).toEqual([]);
    expect(JSON.stringify(desk.model.calls.at(-1)?.prompt)).toContain('"did":"a"');
  });

  test('is taken where the agent is not, and driven where it is', async () => {
    const storage = new InMemoryStore();
    const desk = openDesk({ registry: { storage } });
    const held = await desk.hold('ada', 'delete a');
    const asked = await desk.hold('ada', 'book b');
    const model = scriptedModel([]);
    const elsewhere = openDesk({
      registry: { storage, agents: { lonely: new Agent({ id: 'lonely', model }) } },
    });
    expect((await elsewhere.get('ada', '/api/approvals')).body.approvals).toHaveLength(2);
    const taken = await elsewhere.post('ada', path(held, 'approve'), { stop: 1 });
    expect(taken).toMatchObject({ status: 202, body: { driven: false, decision: { verdict: 'approve' } } });
    const refused = await elsewhere.post('ada', path(asked, 'resume'), { stop: 1, data: { seats: 1 } });
    expect(refused).toMatchObject({ status: 422, body: { code: 'agent-missing' } });
    expect(desk.done).toEqual([]);
    await desk.countersign.sweep();
    await desk.countersign.stop();
    expect(desk.done).toEqual(['delete a']);
  });
});

test('a call below is approved at the top, by whoever its own tool says', async () => {
  const model = scriptedModel((prompt) => {
    const last = prompt.at(-1);
    if (last?.role !== 'user') return 'Done.';
    const isTop = JSON.stringify(last.content).includes('Please');
    return isTop
      ? { calls: [{ toolName: 'agent-money', args: { prompt: 'pay a' } }] }
      : { calls: [{ toolName: 'pay', args: { what: 'a' } }] };
  });
  const inner = openDesk({ agent: { model } });
  const tools = { pay: inner.tools.pay };
  const money = new Agent({ id: 'money', model, tools });
  const desk = openDesk({ agent: { model, agents: { money } } });
  const held = await desk.hold('ada', 'Please.');
  expect(held.toolCallId).toContain('~');
  const refused = await desk.post('ada', path(held, 'approve'), { stop: 1 });
  expect(refused).toMatchObject({ status: 403, body: { code: 'forbidden' } });
  // Under the ids that it has in its own run it is the same call.
  const [delegation, call] = held.toolCallId.split('~');
  const own = { runId: `${held.runId}~${delegation}`, toolCallId: call };
  expect((await desk.post('ada', path(own, 'approve'), { stop: 1 })).status).toBe(403);
  expect((await desk.post('ben', path(own, 'approve'), { stop: 1 })).status).toBe(404);
  expect((await desk.get('rita', '/api/approvals')).body.approvals).toMatchObject([
    { toolCallId: held.toolCallId, approver: 'reviewer', path: [{ agentId: 'money' }] },
  ]);
  expect((await desk.post('rita', path(held, 'approve'), { stop: 1 })).status).toBe(202);
  await desk.countersign.stop();
  expect(inner.done).toEqual(['pay a']);
});

test('a run is followed by whoever may see it, from its beginning or after an event', async () => {
  const desk = openDesk();
  const held = await desk.hold('ada', 'delete a');
  const follow = async (who: 'ada' | 'ben', query = '') =>
    desk.app.request(`/api/runs/${held.runId}/events${query}`, {
      headers: { authorization: `Bearer ${who}` },
    });
  const types = eventsIn(await (await follow('ada')).text()).map(({ type }) => type);
  expect(types).toEqual(expect.arrayContaining(['start', 'tool-call-approval', 'finish']));
  expect((await follow('ben')).status).toBe(404);
  expect((await follow('ada', '?afterEvent=-1')).status).toBe(400);
  expect((await follow('ada', '?afterEvent=1')).status).toBe(200);
});
