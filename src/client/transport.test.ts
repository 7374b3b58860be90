import { describe, expect, test } from 'vitest';
import { CountersignClient, CountersignClientError } from './index.ts';
import { drop, json, page, problem, type Reply, scriptServer } from './test-support/script-server.ts';
import { pathOf, transportOf } from './transport.ts';

/** Waits no time, and notes how long it would have been. */
function noted() {
  const waits: number[] = [];
  return { waits, wait: async (milliseconds: number) => void waits.push(milliseconds) };
}

const read = { path: '/approvals', isRepeatable: true } as const;
const failed = async (promise: Promise<unknown>): Promise<CountersignClientError> => {
  const error = await promise.then(
    () => undefined,
    (thrown) => thrown,
  );
  expect(error).toBeInstanceOf(CountersignClientError);
  return error as CountersignClientError;
};

describe('what is sent again', () => {
  test('a request that does no harm twice, when there was no answer or the server is busy', async () => {
    const server = await scriptServer(
      drop,
      problem(503, 'store-failed'),
      problem(503, 'server-closing', {}, { 'retry-after': '2' }),
      json(200, { fine: true }),
    );
    const { waits, wait } = noted();
    const transport = transportOf({ baseUrl: server.url }, wait);
    expect(await transport.json(read)).toEqual({ fine: true });
    expect(waits).toEqual([200, 400, 2000]);
  });

  test('what broke off in its body, and what a proxy says for a server that is away', async () => {
    const server = await scriptServer(
      (response) => {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' });
        response.write('{"half":', () => response.destroy());
      },
      page(502),
      page(504),
      json(200, { fine: true }),
    );
    const { waits, wait } = noted();
    expect(await transportOf({ baseUrl: server.url }, wait).json(read)).toEqual({ fine: true });
    expect(waits).toHaveLength(3);
  });

  test('a bounded number of times, ever later', async () => {
    const server = await scriptServer(drop, drop, drop, drop, drop, drop);
    const { waits, wait } = noted();
    const options = { baseUrl: server.url, retries: 5, backoffMs: 100, maxBackoffMs: 500 };
    expect((await failed(transportOf(options, wait).json(read))).code).toBe('connection-failed');
    expect(waits).toEqual([100, 200, 400, 500, 500]);
    expect(server.asked).toHaveLength(6);
  });

  test('never what begins something', async () => {
    const server = await scriptServer(drop, problem(503, 'store-failed'));
    const agent = new CountersignClient({ baseUrl: server.url }).getAgent('desk');
    expect((await failed(agent.generate('Hi'))).code).toBe('connection-failed');
    expect((await failed(agent.stream('Hi'))).code).toBe('store-failed');
    expect(server.asked).toHaveLength(2);
  });

  test.each([400, 401, 403, 404, 409, 422, 429, 500])('never what was answered with %i', async (status) => {
    const server = await scriptServer(problem(status, 'forbidden'));
    expect((await failed(transportOf({ baseUrl: server.url }).json(read))).status).toBe(status);
    expect(server.asked).toHaveLength(1);
  });

  test('not where the server asks for a longer time than anybody waits', async () => {
    const server = await scriptServer(problem(503, 'server-closing', { retryAfter: 600 }));
    const { details } = await failed(transportOf({ baseUrl: server.url }).json(read));
    expect(details.retryAfter).toBe(600);
    expect(server.asked).toHaveLength(1);
  });

  test('a decision has the same id each time, its own or a new one', async () => {
    const server = await scriptServer(
      drop,
      problem(503, 'store-failed'),
      json(202, { accepted: true }),
      drop,
      json(202, { accepted: true }),
      json(202, { accepted: true }),
    );
    const client = new CountersignClient({ baseUrl: server.url, backoffMs: 0 });
    const call = { runId: 'r', toolCallId: 'c', stop: 1 };
    await client.approvals.approve(call);
    await client.approvals.approve({ ...call, decisionId: 'mine' });
    await client.approvals.approve(call);
    const ids = server.asked.map(({ body }) => JSON.parse(body).decisionId);
    expect(ids[0]).toMatch(/^[0-9a-f]{32}$/);
    expect(ids).toEqual([ids[0], ids[0], ids[0], 'mine', 'mine', expect.stringMatching(/^[0-9a-f]{32}$/)]);
    expect(ids[5]).not.toBe(ids[0]);
  });
});

describe('what is thrown', () => {
  test('what the server said, with all that it said', async () => {
    const said = {
      error: 'The body is not valid: stop: is missing.',
      code: 'invalid-request',
      status: 400,
      runId: 'r',
      toolCallId: 'c',
      expected: 'a stop',
      todo: 'Name it.',
      issues: [
        { field: 'stop', message: 'is missing' },
        { field: '', message: 'odd' },
      ],
    };
    const server = await scriptServer(json(400, said));
    const error = await failed(transportOf({ baseUrl: server.url }).json(read));
    const { message, code, status, runId, toolCallId, expected, todo, issues } = error;
    expect({ error: message, code, status, runId, toolCallId, expected, todo, issues }).toEqual(said);
    expect(error.details.issues).toEqual(['stop: is missing', 'odd']);
    expect(JSON.parse(JSON.stringify(error))).toEqual(said);
  });

  test.each([401, 403, 404, 413, 500])(
    'a page of a proxy with %i is told apart, and not repeated',
    async (status) => {
      const server = await scriptServer(page(status));
      const error = await failed(transportOf({ baseUrl: server.url }).json(read));
      expect([error.code, error.status]).toEqual(['bad-answer', status]);
      expect(error.message).toMatch(
        /Something else than a Countersign server answered, with status \d+\..*baseUrl/,
      );
      expect(JSON.stringify(error)).not.toContain('secret');
    },
  );

  const nothing: Reply = (response) => void response.writeHead(200).end();
  test.each([
    ['a page where JSON should be', page(200), 500],
    ['nothing', nothing, 500],
    ['JSON of somebody else', json(403, { message: 'Forbidden' }), 403],
  ])('%s is told apart', async (_, reply, status) => {
    const server = await scriptServer(reply);
    const error = await failed(transportOf({ baseUrl: server.url }).json(read));
    expect([error.code, error.status]).toEqual(['bad-answer', status]);
    expect(server.asked).toHaveLength(1);
  });

  test('JSON where events should be', async () => {
    const server = await scriptServer(json(200, {}));
    const agent = new CountersignClient({ baseUrl: server.url }).getAgent('desk');
    expect((await failed(agent.stream('Hi'))).code).toBe('bad-answer');
  });

  test('no server at all, with why', async () => {
    const { url } = await scriptServer();
    const baseUrl = url.replace(/\d+$/, '1');
    const error = await failed(transportOf({ baseUrl, retries: 0 }).json(read));
    expect([error.code, error.status]).toEqual(['connection-failed', 503]);
    expect(error.cause).toBeInstanceOf(Error);
  });
});

describe('what is sent', () => {
  test('the address: base, prefix, escaped ids, query', async () => {
    const fine = json(200, {});
    const server = await scriptServer(fine, fine, fine, fine);
    const call = { runId: 'r/1 ?#', toolCallId: 'a~b' };
    await new CountersignClient({ baseUrl: `${server.url}/` }).approvals.get(call);
    await new CountersignClient({ baseUrl: server.url, apiPrefix: 'v1/' }).approvals.get(call);
    await new CountersignClient({ baseUrl: server.url, apiPrefix: '' }).approvals.get(call);
    await new CountersignClient({ baseUrl: server.url }).approvals.list({
      toolName: 'a&b',
      agentId: undefined,
      fromDate: new Date(0),
      perPage: 2,
    });
    expect(server.asked.map(({ url }) => url)).toEqual([
      '/api/approvals/r%2F1%20%3F%23/a~b',
      '/v1/approvals/r%2F1%20%3F%23/a~b',
      '/approvals/r%2F1%20%3F%23/a~b',
      '/api/approvals?toolName=a%26b&fromDate=1970-01-01T00%3A00%3A00.000Z&perPage=2',
    ]);
  });

  test.each(['', '.', '..'])('an id that would lead to another route is refused: %j', (id) => {
    expect(() => pathOf`/approvals/${id}/${'c'}`).toThrow(CountersignClientError);
  });

  test('headers, also those that are made for each request', async () => {
    const server = await scriptServer(json(200, {}), drop, json(200, {}));
    await new CountersignClient({ baseUrl: server.url, headers: { authorization: 'Bearer a' } }).listAgents();
    let count = 0;
    const headers = async () => ({ authorization: `Bearer ${++count}` });
    await new CountersignClient({ baseUrl: server.url, headers, backoffMs: 0 }).listAgents();
    expect(server.asked.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer a',
      'Bearer 1',
      'Bearer 2',
    ]);
  });

  test('through the fetch that it is given, which is no method of anything', async () => {
    const seen: unknown[] = [];
    async function strict(this: unknown, url: unknown, init?: RequestInit) {
      seen.push(this, url, init?.credentials);
      return Response.json({ agents: 0 });
    }
    const client = new CountersignClient({
      baseUrl: '',
      fetch: strict as typeof fetch,
      credentials: 'include',
    });
    expect(await client.listAgents()).toEqual({ agents: 0 });
    expect(seen).toEqual([undefined, '/api/agents', 'include']);
  });
});

describe('an abort', () => {
  const stay = () => {};

  test.each(['of the call', 'of the client'])(
    '%s ends a request, with its reason, and nothing is sent again',
    async (whose) => {
      const server = await scriptServer(stay);
      const controller = new AbortController();
      const { signal } = controller;
      const ofClient = whose === 'of the client';
      const client = new CountersignClient({
        baseUrl: server.url,
        ...(ofClient ? { abortSignal: signal } : {}),
      });
      const listed = client.listAgents(ofClient ? {} : { abortSignal: signal });
      await server.came(1);
      controller.abort(new Error('enough'));
      await expect(listed).rejects.toThrow('enough');
      await expect(client.listAgents({ abortSignal: signal })).rejects.toThrow('enough');
      expect(server.asked).toHaveLength(1);
    },
  );

  test('ends the wait before the next attempt', async () => {
    const server = await scriptServer(drop);
    const controller = new AbortController();
    const client = new CountersignClient({
      baseUrl: server.url,
      backoffMs: 3_600_000,
      maxBackoffMs: 3_600_000,
    });
    const listed = client.listAgents({ abortSignal: controller.signal });
    await server.came(1);
    controller.abort(new Error('enough'));
    await expect(listed).rejects.toThrow('enough');
  });
});
