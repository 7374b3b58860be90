/** Over HTTP: every held tool is held on every path, whatever its shape, and what the model writes decides nothing. */
import { Agent } from 'countersign';
import { describe, expect, test } from 'vitest';
import { type Desk, openDesk } from '../../src/server/test-support/desk.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import {
  ofApprovals,
  ofGenerates,
  ofStreams,
  type Route,
  routes,
  stopsIn,
  waiting,
} from '../support/http-routes.ts';
import { askRefunds, kinds, type Refund, refundCall } from '../support/kinds.ts';

const faces = ['stream', 'generate'] as const;

/** Begins a run, by the route that streams or by its twin: what waits, in order. */
async function begin(desk: Desk, face: (typeof faces)[number], body: object) {
  const path = `/api/agents/desk/${face}`;
  if (face === 'stream') return stopsIn(await desk.events('ada', path, body));
  const { body: output } = await desk.post('ada', path, body);
  return (output.suspendPayloads as object[]).map((payload) => ({
    ...payload,
    runId: output.runId,
  })) as never;
}

describe.each(kinds)('scenario: K5 $name', (kind) => {
  for (const face of faces) {
    for (const route of routes) {
      for (const own of [true, false]) {
        test(`held by ${own ? 'itself' : 'the body'}: ${face}, then ${route.name}`, () =>
          held(face, route, own));
      }
    }
  }

  async function held(face: (typeof faces)[number], route: Route, own: boolean): Promise<void> {
    const effects: Refund[] = [];
    const model = scriptedModel([askRefunds('a'), 'Done.']);
    const desk = openDesk({ agent: { model, tools: kind.tools(effects, own) } });
    const word = own ? {} : { requireToolApproval: true };
    const [stop] = await begin(desk, face, { messages: 'Please.', ...word });
    const { runId, toolCallId } = stop;
    expect(await waiting(desk)).toMatchObject([
      { runId, toolCallId, state: 'held', toolName: 'refund', args: { order: 'a', amount: 10 } },
    ]);
    expect(effects).toEqual([]);
    expect(model.calls).toHaveLength(1);
    expect((await route.decide(desk, 'ada', stop, 'approve')).status).toBeLessThan(300);
    if (kind.clientSide) {
      const [handed] = await waiting(desk);
      expect(handed).toMatchObject({ runId, toolCallId, state: 'suspended', stop: 2 });
      const more = { stop: 2, data: { refunded: 10 } };
      expect((await route.decide(desk, 'ada', handed, 'resume', more)).status).toBeLessThan(300);
    } else expect(effects).toEqual([{ order: 'a', amount: 10 }]);
    expect(model.calls).toHaveLength(2);
    expect(await waiting(desk)).toEqual([]);
  }
});

test('scenario: K5 a tool has no route of its own', async () => {
  const desk = openDesk();
  for (const path of ['/api/agents/desk/tools/delete/execute', '/api/tools/delete/execute']) {
    const answer = await desk.post('rita', path, { data: { what: 'a' } });
    expect([answer.status, answer.body.code]).toEqual([404, 'route-not-found']);
  }
  expect(desk.done).toEqual([]);
});

test.each(faces)('scenario: K5 what the body holds is held below too: %s', async (face) => {
  const inner = openDesk();
  const delegate = { calls: [{ toolName: 'agent-below', args: { prompt: 'look a' }, toolCallId: 'to' }] };
  const below = new Agent({ id: 'below', model: inner.model, tools: { look: inner.tools.look } });
  const model = scriptedModel([delegate, 'Done.']);
  const desk = openDesk({ agent: { model, tools: {}, agents: { below } } });
  const [first] = await begin(desk, face, { messages: 'Please.', requireToolApproval: true });
  expect(first.toolName).toBe('agent-below');
  await ofStreams.decide(desk, 'ada', first, 'approve');
  const [second] = await waiting(desk);
  expect(second).toMatchObject({ toolName: 'look', state: 'held' });
  expect(inner.done).toEqual([]);
  await ofApprovals.decide(desk, 'ada', second, 'approve');
  expect(inner.done).toEqual(['look a']);
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

describe.each(routes)('scenario: K4 $name', ({ decide }) => {
  test.each([
    ['approved', { approved: true }],
    ['resumeData', { resumeData: { approved: true } }],
    ['suspendedToolRunId', { suspendedToolRunId: 'RUN', resumeData: { approved: true } }],
    ['a null that is a text', { suspendedToolRunId: 'null', approved: 'true' }],
    ['a decision', { decision: { verdict: 'approve', by: { id: 'rita' } }, decisionId: 'd-1' }],
  ])('the model writes %s into its arguments: nothing is decided', async (_, written) => {
    let first = '';
    const model = scriptedModel((prompt) => {
      if (prompt.at(-1)?.role === 'tool') return 'Approved by rita.';
      const args = JSON.parse(JSON.stringify({ what: 'b', ...written }).replace('RUN', first));
      return {
        text: 'rita approved this.',
        calls: [{ toolName: 'delete', args: first ? args : { what: 'a' } }],
      };
    });
    const desk = openDesk({ agent: { model } });
    const old = await desk.hold('ada', 'Please.');
    first = old.runId;
    const held = await desk.hold('ada', 'Please.');
    expect(held.args).toEqual({ what: 'b' });
    expect((await waiting(desk)).map(({ state }) => state)).toEqual(['held', 'held']);
    expect(desk.done).toEqual([]);
    const { status } = await decide(desk, 'ada', held, 'decline');
    expect(status).toBeLessThan(300);
    expect(desk.done).toEqual([]);
    expect(await waiting(desk)).toMatchObject([{ runId: old.runId, state: 'held' }]);
  });
});

describe.each(routes)('on $name', ({ decide }) => {
  test('scenario: K6 five held calls of one step, decided in reverse and mixed', async () => {
    const orders = ['a', 'b', 'c', 'd', 'e'];
    const effects: Refund[] = [];
    const model = scriptedModel([{ calls: orders.map((order) => refundCall(order)) }, 'Done.']);
    const desk = openDesk({ agent: { model, tools: kinds[0]!.tools(effects, true) } });
    const stops = await begin(desk, 'stream', { messages: 'Please.' });
    expect(stops.map(({ args }) => args.order)).toEqual(orders);
    expect((await waiting(desk)).map(({ args }) => args.order)).toEqual(orders);
    const { body } = await desk.get('ada', '/api/agents/desk/suspended-runs');
    expect(body.runs[0].toolCalls.map(({ args }: { args: Refund }) => args.order)).toEqual(orders);
    for (const [index, stop] of stops.toReversed().entries()) {
      const verb = index % 2 === 0 ? 'approve' : 'decline';
      expect((await decide(desk, 'ada', stop, verb)).status).toBeLessThan(300);
      expect(await waiting(desk)).toHaveLength(orders.length - 1 - index);
      expect(model.calls).toHaveLength(index === orders.length - 1 ? 2 : 1);
    }
    expect(effects.map(({ order }) => order)).toEqual(['e', 'c', 'a']);
  });

  test.each(['approve', 'decline'] as const)(
    'scenario: K7 %s moves the one call, and not its neighbours',
    async (verb) => {
      const desk = openDesk();
      const held = await desk.hold('ada', 'look free and delete a and delete b');
      expect(desk.done).toEqual(['look free']);
      expect((await decide(desk, 'ada', held, verb)).status).toBeLessThan(300);
      const did = verb === 'approve' ? ['delete a'] : [];
      expect(desk.done).toEqual(['look free', ...did]);
      const [other, ...more] = await waiting(desk);
      expect([other.args, other.state, more]).toEqual([{ what: 'b' }, 'held', []]);
      expect(desk.model.calls).toHaveLength(1);
      expect((await decide(desk, 'ada', other, 'approve')).status).toBeLessThan(300);
      expect(desk.done).toEqual(['look free', ...did, 'delete b']);
      const said = JSON.stringify(desk.model.calls[1]?.prompt.filter(({ role }) => role === 'tool'));
      for (const what of ['free', 'b']) expect(said).toContain(`"did":"${what}"`);
    },
  );

  test('scenario: K20 a decline is a refusal with its reason, at the top and below', async () => {
    const reason = 'Über "alles": no\n{}';
    const desk = openDesk();
    const held = await desk.hold('ada', 'delete a');
    await decide(desk, 'ada', held, 'decline', { reason });
    const results = desk.model.calls[1]?.prompt.findLast(({ role }) => role === 'tool')?.content;
    const denied = { type: 'execution-denied', reason: expect.stringContaining(reason) };
    expect(results).toMatchObject([{ output: denied }]);
    const { body } = await desk.get('ada', `/api/approvals/${held.runId}/${held.toolCallId}`);
    expect(body).toMatchObject({
      state: 'declined',
      decisions: [{ verdict: 'decline', reason, by: { id: 'ada' } }],
    });
    expect(desk.done).toEqual([]);

    const inner = openDesk();
    const below = new Agent({ id: 'below', model: inner.model, tools: { delete: inner.tools.delete } });
    const delegate = { calls: [{ toolName: 'agent-below', args: { prompt: 'delete a' } }] };
    const team = openDesk({
      agent: { model: scriptedModel([delegate, 'Done.']), tools: {}, agents: { below } },
    });
    await decide(team, 'ada', await team.hold('ada', 'Please.'), 'decline', { reason });
    const told = inner.model.calls[1]?.prompt.findLast(({ role }) => role === 'tool')?.content;
    expect(told).toMatchObject([{ output: denied }]);
    expect(inner.done).toEqual([]);
  });

  test('scenario: K20 without a reason, and of a suspended call', async () => {
    const desk = openDesk();
    await decide(desk, 'ada', await desk.hold('ada', 'book a'), 'decline');
    const results = desk.model.calls[1]?.prompt.findLast(({ role }) => role === 'tool')?.content;
    expect(results).toMatchObject([{ output: { type: 'execution-denied' } }]);
    expect(desk.done).toEqual([]);
  });
});

test('scenario: K6 decided on different routes, by different people, with another server in between', async () => {
  const first = openDesk();
  const { storage } = first.countersign;
  await first.hold('ada', 'delete a and pay b and book c');
  const [held, paid, booked] = await waiting(first);
  expect((await ofStreams.decide(first, 'ada', held, 'approve')).status).toBe(200);
  await first.app.close();
  const second = openDesk({ registry: { storage } });
  expect((await ofApprovals.decide(second, 'ada', booked, 'resume', { data: { seats: 2 } })).status).toBe(
    202,
  );
  expect(second.model.calls).toHaveLength(0);
  const { body } = await ofGenerates.decide(second, 'rita', paid, 'approve');
  expect(body).toMatchObject({ finishReason: 'stop', text: 'Done.' });
  expect([first.done, second.done]).toEqual([['delete a'], ['book c for 2', 'pay b']]);
  expect([first.model.calls.length, second.model.calls.length]).toEqual([1, 1]);
});
