/** The wrong person, on every route: foreign, guessed and twisted ids, and calls that are not theirs to decide. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { askRoute, methodOf, pathOf, routes, routesThat, said } from './routes.ts';
import { startVictim, type Victim, type Waiting } from './victim.ts';

let victim: Victim;
beforeAll(async () => {
  victim = await startVictim({ limits: { requestsPerMinute: 100_000 } });
});
afterAll(() => victim.stop());
afterEach(() => victim.health());

const nothing: Waiting = {
  agentId: 'chat',
  runId: 'no-such-run',
  toolCallId: 'no-such-call',
  threadId: 'no-such-thread',
  stop: 1,
  fingerprint: '',
};

/** That a call waits as before, and nothing of its run was done. */
async function expectUntouched({ runId, toolCallId, stop }: Waiting): Promise<void> {
  const { body } = await victim.ask('rita', 'GET', '/api/approvals?perPage=1000');
  expect(body.approvals).toContainEqual(expect.objectContaining({ runId, toolCallId, stop }));
  expect(victim.effects(runId)).toEqual([]);
}

test('the table has every route that the server describes', async () => {
  const { body } = await victim.ask('ada', 'GET', '/api/openapi.json');
  const described = Object.entries(body.paths as Record<string, object>).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(routes.map(({ name }) => name).toSorted()).toEqual(described.toSorted());
});

test('nobody gets further than the health of the process', async () => {
  const call = await victim.hold('ada', 'delete a');
  for (const route of routes) {
    const answer = await victim.ask(
      undefined,
      methodOf(route),
      pathOf(route, call),
      route.body?.(call, 'ada'),
    );
    expect([route.name, said(answer)]).toEqual([
      route.name,
      route.kind === 'open' ? '200' : '401 unauthenticated',
    ]);
  }
  await expectUntouched(call);
});

describe.each(['delete a', 'pay a', 'book a', 'sign a'])(
  'a stranger, about "%s" of somebody else',
  (words) => {
    test.each(['ben', 'paul'] as const)('is told what is told of nothing: %s', async (who) => {
      const call = await victim.hold('ada', words);
      for (const route of routesThat('read', 'decide', 'move')) {
        const answer = await askRoute(victim, route, who, call);
        const ofNothing = await askRoute(victim, route, who, nothing);
        // One who has no resource can name none of their own.
        const isForbidden = who === 'paul' && route.name.endsWith('send-tool-approval');
        const expected = isForbidden ? '403 forbidden' : `404 ${route.unknown}`;
        expect([route.name, said(answer)]).toEqual([route.name, expected]);
        const isNothing = (text: string): string =>
          text
            .replaceAll(call.runId, nothing.runId)
            .replaceAll(call.toolCallId, nothing.toolCallId)
            .replaceAll(call.threadId, nothing.threadId);
        expect(isNothing(answer.text)).toBe(ofNothing.text);
      }
      await expectUntouched(call);
    });
  },
);

test('lists hold nothing of others, and a filter by their resource is refused', async () => {
  const call = await victim.hold('ada', 'delete a');
  for (const route of routesThat('list')) {
    const path = pathOf(route, call);
    for (const who of ['ben', 'paul'] as const) {
      for (const query of ['', `?threadId=${call.threadId}`, `?runId=${call.runId}`]) {
        const answer = await victim.ask(who, 'GET', `${path}${query}`);
        expect([200, 400]).toContain(answer.status);
        const isMine = answer.text.includes(call.runId) || answer.text.includes('"ada"');
        expect([route.name, query, isMine && answer.status === 200]).toEqual([route.name, query, false]);
      }
      const asked = await victim.ask(who, 'GET', `${path}?resourceId=ada`);
      expect([route.name, said(asked)]).toEqual([route.name, '403 forbidden']);
    }
  }
});

test('a thread of somebody else is not joined, read or taken', async () => {
  const call = await victim.hold('ada', 'delete a');
  for (const route of routesThat('start')) {
    const into = (memory: object) => askRoute(victim, route, 'ben', call, { memory });
    expect(said(await into({ thread: call.threadId }))).toBe('404 thread-not-found');
    expect(said(await into({ thread: call.threadId, resource: 'ada' }))).toBe('403 forbidden');
    // An agent without memory reads no thread; what it begins there is still ben's.
    const without = { ...call, agentId: 'desk' };
    const answer = await askRoute(victim, route, 'ben', without, {
      memory: { thread: call.threadId },
      messages: 'delete b',
    });
    expect(answer.status).toBe(200);
  }
  const { body } = await victim.ask('ada', 'GET', `/api/approvals?threadId=${call.threadId}`);
  expect(body.approvals).toHaveLength(1);
  const messages = await victim.ask('ada', 'GET', `/api/memory/threads/${call.threadId}/messages`);
  expect(messages.text).not.toContain('"b"');
  await expectUntouched(call);
});

test('nobody approves what they asked for themselves', async () => {
  const nothingYet = { ...nothing, agentId: 'desk' };
  for (const route of routesThat('start')) {
    for (const who of ['rita', 'paul'] as const) {
      const answer = await askRoute(victim, route, who, nothingYet, { messages: 'pay a' });
      expect([route.name, who, said(answer)]).toEqual([route.name, who, '403 forbidden']);
    }
  }
  const call = await victim.hold('cleo', 'pay a');
  for (const route of routesThat('decide')) {
    expect(said(await askRoute(victim, route, 'cleo', call))).toBe('403 forbidden');
  }
  await expectUntouched(call);
});

describe('a call for a reviewer', () => {
  test.each(['ada', 'cleo'] as const)(
    'is not decided by those whose run it is, on any route: %s',
    async (who) => {
      for (const words of ['pay a', 'sign a']) {
        const call = await victim.hold('ada', words);
        for (const route of routesThat('decide')) {
          const answer = await askRoute(victim, route, who, call);
          expect([route.name, said(answer)]).toEqual([route.name, '403 forbidden']);
        }
        await expectUntouched(call);
      }
    },
  );

  test('is not decided beside, or in the name of, one of the owner', async () => {
    const call = await victim.hold('ada', 'pay a and delete b');
    const { body } = await victim.ask('rita', 'GET', `/api/approvals?threadId=${call.threadId}`);
    const [pay, remove] = ['pay', 'delete'].map((name) =>
      body.approvals.find(({ toolName }: { toolName: string }) => toolName === name),
    );
    const path = '/api/agents/chat/approve-tool-call-generate';
    const unnamed = await victim.ask('ada', 'POST', path, { runId: call.runId });
    expect(said(unnamed)).toBe('422 call-required');
    // The fingerprint of the other call does not open this one.
    const crossed = await victim.ask('ada', 'POST', path, {
      runId: call.runId,
      toolCallId: remove.toolCallId,
      fingerprint: pay.fingerprint,
    });
    expect(said(crossed)).toBe('409 fingerprint-mismatch');
    for (const toolCallId of [
      `${remove.toolCallId}~${pay.toolCallId}`,
      [pay.toolCallId],
      { $ne: '' },
      null,
    ]) {
      const twisted = await victim.ask('ada', 'POST', path, { runId: call.runId, toolCallId });
      expect(['400 invalid-request', '404 call-not-found']).toContain(said(twisted));
    }
    const own = await victim.ask('ada', 'POST', path, { runId: call.runId, toolCallId: remove.toolCallId });
    expect([own.status, own.body.finishReason]).toEqual([200, 'suspended']);
    expect(victim.effects(call.runId)).toEqual(['{"id":"delete","what":"b"}']);
  });

  test('is not decided from below or above, by the agents of a team', async () => {
    const call = await victim.hold('ada', 'clerk pay a', 'lead');
    const [delegation = '', inner = ''] = call.toolCallId.split('~');
    const below: Waiting = {
      ...call,
      agentId: 'clerk',
      runId: `${call.runId}~${delegation}`,
      toolCallId: inner,
    };
    for (const one of [call, below]) {
      for (const who of ['ada', 'cleo'] as const) {
        for (const route of routesThat('decide')) {
          const answer = await askRoute(victim, route, who, one);
          // A conversation is that of the run at the top.
          const isElsewhere = one === below && route.name.endsWith('send-tool-approval');
          const expected = isElsewhere ? '404 run-not-found' : '403 forbidden';
          expect([route.name, one.agentId, said(answer)]).toEqual([route.name, one.agentId, expected]);
        }
      }
      for (const route of routesThat('decide')) {
        expect(said(await askRoute(victim, route, 'ben', one))).toBe('404 run-not-found');
      }
    }
    // The agent below is not asked by itself: nothing above it would hold what it does.
    for (const route of routesThat('start')) {
      expect(said(await askRoute(victim, route, 'ada', below))).toBe('404 agent-not-found');
    }
    await expectUntouched(call);
  });
});

test('a run is not decided through another agent', async () => {
  const call = await victim.hold('ada', 'delete a');
  for (const agentId of ['desk', 'other', 'lead', 'clerk']) {
    for (const route of routesThat('decide').filter(({ name }) => name.includes('{agentId}'))) {
      const answer = await askRoute(victim, route, 'ada', { ...call, agentId });
      expect([agentId, route.name, said(answer)]).toEqual([agentId, route.name, '404 run-not-found']);
    }
  }
  await expectUntouched(call);
});

test('another stop, or another fingerprint, is not what the person saw', async () => {
  const call = await victim.hold('ada', 'delete a');
  const approves = routesThat('decide').filter(({ name }) => !/resolve|decline/.test(name));
  for (const route of approves) {
    const stop = await askRoute(victim, route, 'ada', call, { stop: 2 });
    expect([route.name, said(stop)]).toEqual([route.name, '409 stop-mismatch']);
    for (const fingerprint of ['', 'x', call.fingerprint.toUpperCase(), call.fingerprint.slice(1)]) {
      const other = await askRoute(victim, route, 'ada', call, { fingerprint });
      expect([route.name, said(other)]).toEqual([route.name, '409 fingerprint-mismatch']);
    }
  }
  await expectUntouched(call);
});

const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf', 'prototype'];

describe('ids that are guessed or twisted', () => {
  const twists = (id: string): string[] => [
    ...names,
    `${id}0`,
    id.slice(1),
    id.slice(0, -1),
    id.toUpperCase(),
    `${id}~`,
    `~${id}`,
    `${id}~x`,
    `${id}::x::1`,
    `${id}/../${id}`,
    `${id}%2F`,
    `${id}%00`,
    `${id}\0`,
    ` ${id}`,
    `${id} `,
    `${id}\n`,
    `${id}' OR '1'='1`,
    `${id}";--`,
    '%',
    '_',
    '*',
    '..',
    '.',
    '0',
    '-1',
    // Letters that look like those of the id.
    `${id}\u200b`,
    id.replaceAll('a', '\u0430').replaceAll('0', '\uff10'),
    id.normalize('NFKD').concat('\u0301'),
    'x'.repeat(6000),
  ];

  test.each(['runId', 'toolCallId', 'threadId', 'agentId'] as const)('as %s, are nothing', async (field) => {
    const call = await victim.hold('ada', 'delete a');
    for (const route of routesThat('read', 'decide', 'move')) {
      const isTaken =
        route.name.includes(`{${field}}`) || Object.hasOwn(route.body?.(call, 'ada') ?? {}, field);
      if (!isTaken) continue;
      const allowed = new Set(
        ['run', 'thread', 'call', 'agent', 'route']
          .map((what) => `404 ${what}-not-found`)
          .concat('400 invalid-request'),
      );
      for (const id of twists(call[field])) {
        // A path is cleaned of dots before it is sent.
        if (['.', '..'].includes(id) && route.name.includes(`{${field}}`)) continue;
        if (id === call[field]) continue;
        const answer = await askRoute(victim, route, 'ada', { ...call, [field]: id });
        expect([route.name, id.slice(0, 80), said(answer), allowed.has(said(answer))]).toEqual([
          route.name,
          id.slice(0, 80),
          said(answer),
          true,
        ]);
      }
    }
    await expectUntouched(call);
  });

  test('no agent has the name of what every object has', async () => {
    for (const agentId of [...names, 'clerk%00', '%2e%2e', 'desk%2F..%2Fother']) {
      const answer = await victim.ask('ada', 'GET', `/api/agents/${agentId}`);
      expect([agentId, answer.status]).toEqual([agentId, 404]);
      const asked = await victim.ask('ada', 'GET', `/api/memory/threads?agentId=${agentId}`);
      expect([400, 404]).toContain(asked.status);
    }
  });

  test.each([
    ['/api/approvals?cursor=x'],
    ['/api/approvals?cursor=%00'],
    ['/api/approvals?cursor=eyJzaW5jZSI6MX0'],
    ['/api/approvals?perPage=0'],
    ['/api/approvals?perPage=999999999'],
    ['/api/approvals?perPage=1e3'],
    ['/api/approvals?perPage=10&perPage=20'],
    ['/api/approvals?status=constructor'],
    ['/api/approvals?fromDate=yesterday'],
    ['/api/approvals?__proto__=1'],
    ['/api/agents/chat/suspended-runs?page=999999999&perPage=999999999'],
    ['/api/agents/chat/suspended-runs?cursor=x'],
    ['/api/memory/threads?cursor=x'],
    ['/api/memory/threads?perPage=999999999'],
  ])('%s is the fault of who asks', async (path) => {
    const answer = await victim.ask('ada', 'GET', path);
    expect([path, answer.status, answer.body.code]).toEqual([path, 400, expect.stringMatching(/^invalid-/)]);
  });

  test('no page of a thread is too far or too large', async () => {
    const { threadId } = await victim.hold('ada', 'delete a');
    for (const query of [
      'page=999999999&perPage=999999999',
      'perPage=999999999',
      'page=999999999',
      'perPage=0',
    ]) {
      const answer = await victim.ask('ada', 'GET', `/api/memory/threads/${threadId}/messages?${query}`);
      expect([query, answer.status < 500]).toEqual([query, true]);
    }
  });
});
