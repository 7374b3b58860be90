/**
 * Decisions over HTTP: malformed, misdirected and repeated ones, on the specification's routes and on approvals, by
 * requests and by our client.
 */
import { Agent } from 'countersign';
import type { CountersignClient, CountersignClientError } from 'countersign/client';
import { describe, expect, test } from 'vitest';
import { clientsOf } from '../../src/client/test-support/clients.ts';
import { type Answer, type Desk, openDesk, type Who } from '../../src/server/test-support/desk.ts';

interface Call {
  readonly runId: string;
  readonly toolCallId: string;
}

type Verb = 'approve' | 'decline' | 'resume';

interface Route {
  readonly name: string;
  /** Decides. What `more` says is laid over what a well-formed request says. */
  decide(desk: Desk, who: Who | undefined, call: Call, verb: Verb, more?: object): Promise<Answer>;
}

const bodyOf = (call: object, more: object): object =>
  Object.fromEntries(Object.entries({ ...call, ...more }).filter(([, value]) => value !== undefined));

const ofAgents: Route = {
  name: 'the routes of the specification',
  async decide(desk, who, { runId, toolCallId }, verb, more = {}) {
    const { data, ...others } = more as { data?: unknown };
    if (verb !== 'resume') {
      const path = `/api/agents/desk/${verb}-tool-call-generate`;
      return desk.post(who, path, bodyOf({ runId, toolCallId }, more));
    }
    const response = await desk.app.request('/api/agents/desk/resume-stream', {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(who ? { authorization: `Bearer ${who}` } : {}) },
      body: JSON.stringify(bodyOf({ runId, toolCallId, resumeData: data }, others)),
    });
    const text = await response.text();
    const { status, headers } = response;
    return { status, headers, body: status === 200 ? {} : JSON.parse(text) };
  },
};

const ofApprovals: Route = {
  name: 'the approvals routes',
  async decide(desk, who, { runId, toolCallId }, verb, more = {}) {
    const path = `/api/approvals/${encodeURIComponent(runId)}/${encodeURIComponent(toolCallId)}/${verb}`;
    const answer = await desk.post(who, path, bodyOf({ stop: 1 }, more));
    // These answer before the run goes on.
    await desk.countersign.stop();
    return answer;
  },
};

/** What a client was answered, or threw, as an answer. */
async function answerOf(asked: Promise<object>): Promise<Answer> {
  const headers = new Headers();
  return asked.then(
    (body) => ({ status: 200, headers, body }),
    (error: CountersignClientError) => ({ status: error.status, headers, body: error.toJSON() }),
  );
}

const clients = new WeakMap<Desk, ReturnType<typeof clientsOf>>();
async function clientOf(desk: Desk, who: Who | undefined): Promise<CountersignClient> {
  const served = clients.get(desk) ?? clientsOf(desk);
  clients.set(desk, served);
  return (await served).clientOf(who);
}

const byClientOfAgents: Route = {
  name: 'the client of an agent',
  async decide(desk, who, call, verb, more = {}) {
    const agent = (await clientOf(desk, who)).getAgent('desk');
    const { data, ...others } = more as { data?: unknown };
    if (verb !== 'resume') return answerOf(agent[`${verb}ToolCallGenerate`]({ ...idsOf(call), ...more }));
    const read = async () => (await agent.resumeStream(data, { ...idsOf(call), ...others })).text();
    return answerOf(read().then(() => ({})));
  },
};

const byClientOfApprovals: Route = {
  name: 'the client of approvals',
  async decide(desk, who, call, verb, more = {}) {
    const { approvals } = await clientOf(desk, who);
    const answer = await answerOf(approvals[verb]({ stop: 1, ...idsOf(call), ...more } as never));
    await desk.countersign.stop();
    return answer;
  },
};

/** That nothing happened: the call waits as before, and the model was not asked. */
async function expectWaiting(desk: Desk, call: Call): Promise<void> {
  const { body } = await desk.get('rita', '/api/approvals');
  expect(body.approvals).toEqual(expect.arrayContaining([expect.objectContaining({ ...call, stop: 1 })]));
  expect(desk.done).toEqual([]);
  expect(desk.model.calls).toHaveLength(1);
}

const idsOf = ({ runId, toolCallId }: Call): Call => ({ runId, toolCallId });

describe.each([ofAgents, ofApprovals, byClientOfAgents, byClientOfApprovals])('on $name', ({ decide }) => {
  test.each([
    ['resume', {}],
    ['resume', { data: null }],
    ['resume', { data: 'true' }],
    ['resume', { data: true }],
    ['resume', { data: 1 }],
    ['resume', { data: { approved: 'yes' } }],
    ['resume', { data: { approved: 'true' } }],
    ['resume', { data: { approved: 1 } }],
    ['resume', { data: { approved: null } }],
    ['resume', { data: { approved: true, by: { id: 'boss' } } }],
    ['resume', { data: [{ approved: true }] }],
    ['approve', { stop: '1' }],
    ['approve', { stop: null }],
    ['approve', { stop: 0 }],
    ['approve', { fingerprint: null }],
    ['approve', { fingerprint: 7 }],
    ['approve', { reason: { text: 'x' } }],
    ['approve', { decisionId: 7 }],
    ['approve', { by: { id: 'rita' } }],
    ['approve', { approved: 'yes' }],
    ['approve', { verdict: 'approve' }],
    ['approve', { args: { what: 'all' } }],
    ['approve', { requestContext: { role: 'admin' } }],
    ['approve', { requireToolApproval: false }],
    ['decline', { data: { approved: true } }],
    ['decline', { resumeData: { approved: true } }],
  ] as const)('scenario: K1 a malformed decision changes nothing: %s %j', async (verb, more) => {
    const desk = openDesk();
    const held = idsOf(await desk.hold('ada', 'delete a'));
    const { status, body } = await decide(desk, 'ada', held, verb, more);
    expect([400, 422]).toContain(status);
    expect(body.code).toMatch(/^(invalid-request|invalid-decision|needs-verdict)$/);
    await expectWaiting(desk, held);
  });

  test('scenario: K1 declined never executes, with the reason told', async () => {
    const desk = openDesk();
    const held = await desk.hold('ada', 'delete a');
    const { status } = await decide(desk, 'ada', held, 'decline', { reason: 'keep it' });
    expect([200, 202]).toContain(status);
    expect(desk.done).toEqual([]);
    expect(JSON.stringify(desk.model.calls.at(-1)?.prompt)).toContain('keep it');
    expect((await decide(desk, 'ada', held, 'approve')).status).toBe(409);
    const other = await desk.hold('ada', 'delete b');
    await decide(desk, 'ada', other, 'resume', { data: { approved: false, reason: 'keep it' } });
    expect(desk.done).toEqual([]);
  });

  test.each([
    ['another call', { toolCallId: 'call-9-9' }, {}, 404, 'call-not-found'],
    ['a part of an id', { toolCallId: 'call-0' }, {}, 404, 'call-not-found'],
    ['a call below', { toolCallId: 'call-0-0~call-0-0' }, {}, 404, 'call-not-found'],
    ['a run that never was', { runId: 'run-x' }, {}, 404, 'run-not-found'],
    ['a run below', { runId: 'self~call-0-0' }, {}, 404, 'run-not-found'],
    ['a later stop', {}, { stop: 2 }, 409, 'stop-mismatch'],
    ['other arguments', {}, { fingerprint: 'a'.repeat(64) }, 409, 'fingerprint-mismatch'],
  ] as const)('scenario: K2 a decision on %s hits nothing', async (_, ids, more, status, code) => {
    const desk = openDesk();
    const held = idsOf(await desk.hold('ada', 'delete a'));
    const runId = 'runId' in ids ? ids.runId.replace('self', held.runId) : held.runId;
    for (const verb of ['approve', 'decline'] as const) {
      const answer = await decide(desk, 'ada', { ...held, ...ids, runId }, verb, more);
      expect([answer.status, answer.body.code]).toEqual([status, code]);
    }
    await expectWaiting(desk, held);
  });

  test('scenario: K3 a second decision is told who won, and nothing runs twice', async () => {
    const desk = openDesk();
    const held = await desk.hold('ada', 'delete a and delete b');
    expect([200, 202]).toContain((await decide(desk, 'ada', held, 'approve')).status);
    for (const verb of ['approve', 'decline'] as const) {
      const late = await decide(desk, 'rita', held, verb);
      expect(late).toMatchObject({
        status: 409,
        body: { code: 'already-decided', decision: { verdict: 'approve', by: { id: 'ada' }, stop: 1 } },
      });
      expect(late.body.decision).not.toHaveProperty('args');
    }
    expect(desk.done).toEqual(['delete a']);
  });

  test('scenario: K3 of many at once one wins', async () => {
    const desk = openDesk();
    const held = await desk.hold('ada', 'delete a');
    const verbs = ['approve', 'decline', 'approve', 'approve', 'decline', 'approve'] as const;
    const answers = await Promise.all(
      verbs.map((verb, index) => decide(desk, index % 2 ? 'ada' : 'rita', held, verb)),
    );
    const won = answers.findIndex(({ status }) => status < 300);
    expect(answers.filter(({ status }) => status < 300)).toHaveLength(1);
    const losers = answers
      .filter(({ status }) => status >= 300)
      .map(({ status, body }) => [status, body.code]);
    expect(losers).toEqual(Array.from({ length: 5 }, () => [409, 'already-decided']));
    await desk.countersign.stop();
    expect(desk.done).toEqual(verbs[won] === 'approve' ? ['delete a'] : []);
  });

  test('scenario: K3 the same decision again, by its id, is answered and not taken again', async () => {
    const desk = openDesk();
    const held = await desk.hold('ada', 'delete a');
    for (const _ of [1, 2, 3]) {
      expect((await decide(desk, 'ada', held, 'approve', { decisionId: 'd-1' })).status).toBeLessThan(300);
    }
    expect((await decide(desk, 'ada', held, 'decline', { decisionId: 'd-1' })).status).toBe(409);
    expect(desk.done).toEqual(['delete a']);
  });

  test.each(['approve', 'decline', 'resume'] as const)(
    'scenario: K15 to others a run is not there: %s',
    async (verb) => {
      const desk = openDesk();
      const held = idsOf(await desk.hold('ada', 'delete a'));
      const more = verb === 'resume' ? { data: { approved: true } } : {};
      for (const who of ['ben', 'nobody'] as const) {
        const there = await decide(desk, who, held, verb, more);
        const absent = await decide(desk, who, { ...held, runId: 'no-run' }, verb, more);
        expect([there.status, there.body.code]).toEqual([404, 'run-not-found']);
        expect(JSON.stringify(there.body).replaceAll(held.runId, 'no-run')).toBe(JSON.stringify(absent.body));
      }
      expect((await decide(desk, undefined, held, verb, more)).status).toBe(401);
      await expectWaiting(desk, held);
    },
  );

  test('scenario: K15 a tool that a reviewer approves is not its owner’s to decide', async () => {
    const desk = openDesk();
    const held = idsOf(await desk.hold('ada', 'pay a'));
    for (const [verb, more] of [
      ['approve', {}],
      ['decline', {}],
      ['resume', { data: { approved: true } }],
    ] as const) {
      for (const who of ['ada', 'cleo'] as const) {
        const answer = await decide(desk, who, held, verb, more);
        expect([answer.status, answer.body.code]).toEqual([403, 'forbidden']);
      }
    }
    await expectWaiting(desk, held);
    expect((await decide(desk, 'rita', held, 'approve')).status).toBeLessThan(300);
    expect(desk.done).toEqual(['pay a']);
  });

  test('scenario: K15 who decided is who asked, and is kept after the end', async () => {
    const desk = openDesk();
    const held = await desk.hold('ada', 'delete a');
    await decide(desk, 'rita', held, 'approve');
    const { body } = await desk.get('ada', `/api/approvals/${held.runId}/${held.toolCallId}`);
    expect(body.decisions).toMatchObject([{ by: { id: 'rita' }, verdict: 'approve' }]);
    expect((await desk.get('ben', `/api/approvals/${held.runId}/${held.toolCallId}`)).status).toBe(404);
  });
});

describe('on the routes of the specification', () => {
  test('scenario: K2 through the route of another agent a run is not there', async () => {
    const desk = openDesk();
    const { runId, toolCallId } = await desk.hold('ada', 'delete a');
    for (const path of ['approve-tool-call', 'decline-tool-call', 'approve-tool-call-generate']) {
      const answer = await desk.post('ada', `/api/agents/other/${path}`, { runId, toolCallId });
      expect([answer.status, answer.body.code]).toEqual([404, 'run-not-found']);
    }
    await expectWaiting(desk, { runId, toolCallId });
  });

  test('scenario: K2 a decision that names no call is refused, though only one waits', async () => {
    const desk = openDesk();
    const held = idsOf(await desk.hold('ada', 'delete a'));
    for (const [path, more] of [
      ['approve-tool-call', {}],
      ['decline-tool-call-generate', {}],
      ['resume-stream', { resumeData: { approved: true } }],
    ] as const) {
      const answer = await desk.post('ada', `/api/agents/desk/${path}`, { runId: held.runId, ...more });
      expect([answer.status, answer.body.code]).toEqual([422, 'call-required']);
    }
    await expectWaiting(desk, held);
  });

  test.each([
    ['approved', { approved: 'yes' }],
    ['approved', { approved: null }],
    ['approved', { approved: 1 }],
    ['approved', { approved: undefined }],
    ['by', { by: { id: 'boss' } }],
    ['declineContext', { declineContext: 'no' }],
  ])('scenario: K1 by conversation, a malformed %s changes nothing: %j', async (field, more) => {
    const desk = openDesk();
    const { call, ids } = await inConversation(desk);
    const body = { ...ids, toolCallId: call.toolCallId, approved: true, ...more };
    const answer = await desk.post('ada', '/api/agents/desk/send-tool-approval', body);
    expect(answer).toMatchObject({ status: 400, body: { issues: [{ field }] } });
    await expectWaiting(desk, call);
  });

  test('scenario: K1 by conversation, a decline with approving data declines', async () => {
    const desk = openDesk();
    const { call, ids } = await inConversation(desk);
    const body = { ...ids, toolCallId: call.toolCallId, approved: false, resumeData: { approved: true } };
    expect((await desk.post('ada', '/api/agents/desk/send-tool-approval', body)).status).toBe(200);
    await desk.countersign.stop();
    expect(desk.done).toEqual([]);
  });

  test('scenario: K15 by conversation, others decide nothing and are told nothing', async () => {
    const desk = openDesk();
    const { call, ids } = await inConversation(desk, 'pay a');
    const send = (who: Who, more: object = {}): Promise<Answer> => {
      const body = { ...ids, toolCallId: call.toolCallId, approved: true, ...more };
      return desk.post(who, '/api/agents/desk/send-tool-approval', body);
    };
    expect((await send('ben')).status).toBe(403);
    expect((await send('ben', { threadId: 'no-thread' })).status).toBe(403);
    expect((await send('ben', { resourceId: 'ben' })).body.code).toBe('run-not-found');
    expect((await send('nobody')).status).toBe(403);
    expect((await send('ada')).body.code).toBe('forbidden');
    expect((await send('rita', { toolCallId: undefined })).body.code).toBe('call-required');
    await expectWaiting(desk, call);
    expect((await send('rita')).status).toBe(200);
  });

  test('scenario: K3 a history with the old decision in it decides nothing again', async () => {
    const desk = openDesk();
    const held = await desk.hold('ada', 'delete a');
    await ofAgents.decide(desk, 'ada', held, 'approve');
    const { toolCallId } = held;
    const messages = [
      { role: 'user', parts: [{ type: 'text', text: 'delete a' }] },
      {
        role: 'assistant',
        parts: [
          {
            type: 'tool-delete',
            toolCallId,
            state: 'approval-responded',
            input: { what: 'a' },
            approval: { id: `${held.runId}::${toolCallId}::1`, approved: true },
          },
        ],
      },
    ];
    await desk.post('ada', '/api/agents/desk/generate', { messages });
    await desk.countersign.stop();
    expect(desk.done).toEqual(['delete a']);
  });
});

test('scenario: K15 lists, runs and threads of others are empty or not there', async () => {
  const desk = openDesk();
  const { call } = await inConversation(desk);
  for (const who of ['ben', 'nobody'] as const) {
    expect((await desk.get(who, '/api/approvals')).body.approvals).toEqual([]);
    expect((await desk.get(who, '/api/agents/desk/suspended-runs')).body.runs).toEqual([]);
    expect((await desk.get(who, '/api/agents/desk/suspended-runs?threadId=t-1')).body.runs).toEqual([]);
    expect((await desk.get(who, '/api/agents/desk/suspended-runs?resourceId=ada')).status).toBe(403);
    expect((await desk.get(who, `/api/runs/${call.runId}/events`)).status).toBe(404);
  }
});

test('scenario: K5 a flag of a body can hold more, never less', async () => {
  const desk = openDesk({ agent: { defaultOptions: { requireToolApproval: true } } });
  const refused = await desk.post('ada', '/api/agents/desk/generate', {
    messages: 'look a',
    requireToolApproval: false,
  });
  expect(refused.status).toBe(400);
  const held = await desk.hold('ada', 'look a');
  expect(held.toolName).toBe('look');
  expect(desk.done).toEqual([]);
});

test('scenario: K5 an agent that others have is not run past what they hold', async () => {
  const inner = openDesk();
  const below = new Agent({ id: 'below', model: inner.model, tools: { look: inner.tools.look } });
  const desk = openDesk({ agent: { agents: { below }, defaultOptions: { requireToolApproval: true } } });
  for (const path of ['generate', 'stream']) {
    const answer = await desk.post('ada', `/api/agents/below/${path}`, { messages: 'look a' });
    expect([answer.status, answer.body.code]).toEqual([404, 'agent-not-found']);
  }
  expect(inner.model.calls).toHaveLength(0);
  expect((await desk.get('ada', '/api/agents/below/suspended-runs')).status).toBe(200);
});

async function inConversation(desk: Desk, messages = 'delete a') {
  const memory = { thread: 't-1' };
  const { body } = await desk.post('ada', '/api/agents/desk/generate', { messages, memory });
  const call: Call = { runId: body.runId, toolCallId: body.suspendPayload.toolCallId };
  return { call, ids: { threadId: 't-1', resourceId: 'ada' } };
}
