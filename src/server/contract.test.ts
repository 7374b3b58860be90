/** Walks every operation of the OpenAPI document against the server: what it says is asked and answered is. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { beforeAll, describe, expect, test } from 'vitest';
import { startSample } from './test-support/contract-samples.ts';
import { openDesk, type Who } from './test-support/desk.ts';

interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly schema: object }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: BodySchema }>> };
  readonly responses: Readonly<Record<string, { readonly content: Readonly<Record<string, object>> }>>;
  readonly security?: readonly object[];
}

interface BodySchema {
  readonly properties: Readonly<Record<string, object>>;
  readonly required?: readonly string[];
}

const limits = { bodyBytes: 20_000 };
const plan = { server: { limits } };
const document = (await openDesk().get('ada', '/api/openapi.json')).body;
const operations = Object.entries(document.paths as Record<string, Record<string, Operation>>).flatMap(
  ([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      name: `${method} ${path}`,
      path,
      method,
      operation,
    })),
);
type Walked = (typeof operations)[number];

const ajv = new Ajv2020({ strict: false, allErrors: true });
beforeAll(() => {
  addFormats.default(ajv);
  ajv.addSchema({ $id: 'document', ...document });
});

/** What is wrong with a value by a schema of the document, in words. */
function wrongWith(pointer: readonly string[], value: unknown): string[] {
  const path = pointer
    .map((part) => part.replaceAll('~', '~0').replaceAll('/', '~1'))
    .map(encodeURIComponent);
  const validate = ajv.getSchema(`document#/${path.join('/')}`);
  if (validate === undefined) throw new Error(`The document has no ${pointer.join(' ')}.`);
  validate(value);
  return (validate.errors ?? []).map(({ instancePath, message, params }) => {
    return `${instancePath} ${message} ${JSON.stringify(params)}`;
  });
}

function ask(
  app: Pick<ReturnType<typeof openDesk>['app'], 'request'>,
  method: string,
  url: string,
  given: Ask = {},
) {
  const { who = 'ada', body, type = 'application/json' } = given;
  const text = typeof body === 'string' || body === undefined ? body : JSON.stringify(body);
  return Promise.resolve(
    app.request(url, {
      method: method.toUpperCase(),
      headers: {
        ...(who ? { authorization: `Bearer ${who}` } : {}),
        ...(text === undefined ? {} : { 'content-type': type }),
      },
      ...(text === undefined ? {} : { body: text }),
    }),
  );
}

interface Ask {
  readonly who?: Who | '';
  readonly body?: unknown;
  readonly type?: string;
}

/** Answers that are no success are the same everywhere. */
async function expectProblem({ path, method }: Walked, response: Response, status: number, code: string) {
  const body = (await response.json()) as { code: string; status: number };
  expect([response.status, body.code, body.status]).toEqual([status, code, status]);
  const at = ['paths', path, method, 'responses', 'default', 'content', 'application/json', 'schema'];
  expect(wrongWith(at, body)).toEqual([]);
}

/** The path with ids that are nowhere. */
const nowhere = (path: string): string => path.replaceAll(/\{\w+\}/g, 'nowhere');

describe.each(operations)('$name', (walked) => {
  const { name, path, method, operation } = walked;
  const isOpen = operation.security?.length === 0;
  const bodySchema = operation.requestBody?.content['application/json']?.schema;

  test('answers as the document says', async () => {
    const { desk, who, url, body, release } = await startSample(name, plan);
    if (body !== undefined) {
      const at = ['paths', path, method, 'requestBody', 'content', 'application/json', 'schema'];
      expect(wrongWith(at, body)).toEqual([]);
    }
    const response = await ask(desk.app, method, url, { who, body });
    release?.();
    const answer = await response.text();
    const [status] = Object.keys(operation.responses).filter((one) => one !== 'default');
    expect([String(response.status), response.status < 300 ? '' : answer]).toEqual([status, '']);
    const [type = '', ...others] = Object.keys(operation.responses[status as string]?.content ?? {});
    expect([response.headers.get('content-type')?.split(';')[0], others]).toEqual([type, []]);
    const at = ['paths', path, method, 'responses', status as string, 'content', type, 'schema'];
    const value = type === 'application/json' ? JSON.parse(answer) : answer;
    expect(wrongWith(at, value)).toEqual([]);
    if (type === 'application/json') expect(Object.keys(value)).not.toEqual([]);
    else expect(answer).toMatch(/^(data|event|id|:)/);
  });

  if (!isOpen)
    test('is nothing for nobody', async () => {
      const response = await ask(openDesk().app, method, nowhere(path), { who: '' });
      await expectProblem(walked, response, 401, 'unauthenticated');
    });

  if (path.includes('{'))
    test('is not found where there is nothing, and so for those who may not see it', async () => {
      const { desk, url, body } = await startSample(name, plan);
      const kind = ['run', 'agent', 'thread'].find((one) => path.includes(`{${one}Id}`));
      await expectProblem(
        walked,
        await ask(desk.app, method, nowhere(path), { body }),
        404,
        `${kind}-not-found`,
      );
      if (kind === 'agent') return;
      await expectProblem(
        walked,
        await ask(desk.app, method, url, { who: 'ben', body }),
        404,
        `${kind}-not-found`,
      );
    });

  test('takes no parameter and no field that it does not name', async () => {
    const { desk, who, url, body } = await startSample(name, plan);
    if (method === 'get') {
      const response = await ask(desk.app, method, `${url}${url.includes('?') ? '&' : '?'}more=1`, { who });
      const named = (operation.parameters ?? []).filter((one) => one.in === 'query');
      // Those without parameters do not look at them.
      if (named.length > 0) await expectProblem(walked, response, 400, 'invalid-request');
      else expect(response.status).toBe(200);
      return;
    }
    const response = await ask(desk.app, method, url, { who, body: { ...(body as object), more: 1 } });
    expect(await response.clone().json()).toMatchObject({ issues: [{ field: 'more' }] });
    await expectProblem(walked, response, 400, 'invalid-request');
  });

  if (bodySchema)
    test('refuses bodies that are none, and those that lack something', async () => {
      const { desk, who, url, body } = await startSample(name, plan);
      const broken: [Ask, number, string][] = [
        [{ body: '{"a":' }, 400, 'invalid-request'],
        [{ body: '[]' }, 400, 'invalid-request'],
        [{ body, type: 'text/plain' }, 400, 'invalid-request'],
        [{ body: { pad: 'x'.repeat(limits.bodyBytes) } }, 413, 'too-large'],
        ...(bodySchema?.required ?? []).map((field): [Ask, number, string] => {
          const { [field]: _, ...others } = body as Record<string, unknown>;
          return [{ body: others }, 400, 'invalid-request'];
        }),
      ];
      for (const [given, status, code] of broken) {
        await expectProblem(walked, await ask(desk.app, method, url, { who, ...given }), status, code);
      }
      // Nothing of that did anything.
      expect((await ask(desk.app, method, url, { who, body })).status).toBeLessThan(300);
    });

  test('is there for its methods alone', async () => {
    const methods = Object.keys(document.paths[path]);
    for (const other of ['get', 'post', 'put', 'patch', 'delete'].filter((one) => !methods.includes(one))) {
      await expectProblem(walked, await ask(openDesk().app, other, nowhere(path)), 404, 'route-not-found');
    }
  });
});

test('what a decision, a limit and a closing server refuse is told as the document says', async () => {
  const desk = openDesk({ server: { limits: { requestsPerMinute: 4 } } });
  const { runId, toolCallId, stop } = await desk.hold('ada', 'pay a');
  const at = `/api/approvals/${runId}/${toolCallId}/approve`;
  const walked = operations.find(
    ({ name }) => name === 'post /api/approvals/{runId}/{toolCallId}/approve',
  ) as Walked;
  await expectProblem(walked, await ask(desk.app, 'post', at, { body: { stop } }), 403, 'forbidden');
  const wrong = { stop: stop + 1 };
  await expectProblem(
    walked,
    await ask(desk.app, 'post', at, { who: 'rita', body: wrong }),
    409,
    'stop-mismatch',
  );
  expect((await ask(desk.app, 'post', at, { who: 'rita', body: { stop } })).status).toBe(202);
  await desk.countersign.stop();
  const late = await ask(desk.app, 'post', at, { who: 'rita', body: { stop } });
  await expectProblem(walked, late, 409, 'already-decided');
  await ask(desk.app, 'post', at, { who: 'rita', body: { stop } });
  const often = await ask(desk.app, 'post', at, { who: 'rita', body: { stop } });
  expect(Number(often.headers.get('retry-after'))).toBeGreaterThan(0);
  await expectProblem(walked, often, 429, 'too-many-requests');
  const suspended = await desk.hold('cleo', 'book a');
  const resume = `/api/approvals/${suspended.runId}/${suspended.toolCallId}`;
  const data = { stop: 1, data: { seats: 'many' } };
  await expectProblem(
    walked,
    await ask(desk.app, 'post', `${resume}/approve`, { body: { stop: 1 } }),
    422,
    'needs-data',
  );
  await expectProblem(
    walked,
    await ask(desk.app, 'post', `${resume}/resume`, { body: data }),
    422,
    'invalid-resume-data',
  );
  await desk.app.close();
  await expectProblem(walked, await ask(desk.app, 'post', at, { body: { stop } }), 503, 'server-closing');
});
