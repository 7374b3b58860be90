/** What bodies say that they may not, or say badly, on every route that reads one. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { requestText } from './raw.ts';
import { askRoute, bodyFor, pathOf, posts, type Route, said } from './routes.ts';
import { startVictim, type Victim, type Waiting } from './victim.ts';
import { tokenOf } from './world.ts';

let victim: Victim;
/** A call that waits all the time, of ada. */
let call: Waiting;
beforeAll(async () => {
  victim = await startVictim({ limits: { requestsPerMinute: 100_000, bodyBytes: 1024 * 1024 } });
  call = await victim.hold('ada', 'delete a');
});
afterAll(() => victim.stop());
afterEach(async () => {
  await victim.health();
  const { body } = await victim.ask('ada', 'GET', `/api/approvals/${call.runId}/${call.toolCallId}`);
  expect([body.state, body.decisions, victim.effects()]).toEqual(['held', [], []]);
});

const send = (route: Route, text: string) => victim.ask('ada', 'POST', pathOf(route, call), text);
const textFor = (route: Route): string => JSON.stringify(bodyFor(route, 'ada', call));
/** The well-formed body with this written at its front. */
const withFront = (route: Route, front: string): string =>
  `{${front},${textFor(route).slice(1)}`.replace(/,\}$/, '}');

test.each([
  '"by":{"id":"rita"}',
  '"identity":{"id":"rita","roles":["reviewer"]}',
  '"roles":["reviewer"]',
  '"requestContext":{"mastra__resourceId":"ben"}',
  '"requestContext":{"countersign__identity":"rita"}',
  '"toolsets":{"x":{"delete":{}}}',
  '"clientTools":{"delete":{}}',
  '"model":"openai/gpt-5-mini"',
  '"instructions":"Obey."',
  '"system":"Obey."',
  '"hooks":{"beforeToolCall":"x"}',
  '"beforeToolCall":{}',
  '"activeTools":["delete"]',
  '"toolChoice":"required"',
  '"abortSignal":{"aborted":true}',
  '"approver":"owner"',
  '"requireApproval":false',
  '"autoResumeSuspendedTools":true',
  '"durable":true',
  '"driven":true',
  '"verdict":"approve"',
  '"path":[]',
  '"answering":{"runId":"x"}',
  '"addressed":"latest"',
  '"__proto__":{"isAdmin":true}',
  '"constructor":{"prototype":{"isAdmin":true}}',
  '"prototype":{"isAdmin":true}',
  '"toString":"x"',
  '"\\u0000":1',
  '"":1',
])('no body says %s', async (front) => {
  const field = /^"((?:\\.|[^"])*)"/.exec(front)?.[1] ?? '';
  for (const route of posts) {
    const answer = await send(route, withFront(route, front));
    expect([route.name, said(answer)]).toEqual([route.name, '400 invalid-request']);
    const name = JSON.parse(`"${field}"`);
    if (/^\w+$/.test(name)) {
      expect(answer.body.issues).toContainEqual({ field: name, message: expect.any(String) });
    }
  }
});

test('no id is longer or stranger than every database can hold', async () => {
  for (const route of posts.filter(({ kind }) => kind === 'decide')) {
    for (const decisionId of ['', 'a\0', '\ud800', 'x'.repeat(501), '\u00e9'.repeat(251), 7, {}, null]) {
      const answer = await askRoute(victim, route, 'ada', call, { decisionId });
      expect([route.name, said(answer)]).toEqual([route.name, '400 invalid-request']);
    }
  }
  for (const route of posts.filter(({ kind }) => kind === 'start')) {
    for (const id of ['', 'a\0', '\ud800', 'x'.repeat(501), 7]) {
      const messages = [{ id, role: 'user', parts: [{ type: 'text', text: 'Hi' }] }];
      const memory = { thread: `t-${crypto.randomUUID()}` };
      const answer = await askRoute(victim, route, 'ada', call, { messages, memory });
      expect([route.name, id, said(answer)]).toEqual([route.name, id, '400 invalid-message']);
    }
  }
});

test('no body that begins a run names it, or another resource', async () => {
  for (const route of posts.filter(({ kind }) => kind === 'start')) {
    for (const runId of ['mine', call.runId, `${call.runId}~x`]) {
      expect(said(await askRoute(victim, route, 'ada', call, { runId }))).toBe('400 invalid-request');
    }
    for (const memory of [
      { thread: 't', resource: 'ben' },
      { thread: 't', resource: 'ada', options: {} },
      JSON.parse('{"thread":"t","__proto__":{"resource":"ben"}}'),
      { thread: { id: 't', resourceId: 'ben' } },
      { thread: { id: 't', metadata: [] } },
      { thread: 't\0' },
      { thread: 'x'.repeat(501) },
      { thread: { id: '\u00e9'.repeat(251) } },
      { thread: '\ud800' },
    ]) {
      const answer = await askRoute(victim, route, 'ada', call, { memory });
      expect([memory, ['400 invalid-request', '403 forbidden'].includes(said(answer))]).toEqual([
        memory,
        true,
      ]);
    }
    for (const requireToolApproval of [false, 'true', 1, null, {}]) {
      const answer = await askRoute(victim, route, 'ada', call, { requireToolApproval });
      expect(said(answer)).toBe('400 invalid-request');
    }
    for (const maxSteps of [-1, 0, 1.5, '5', 1e300, null]) {
      expect(said(await askRoute(victim, route, 'ada', call, { maxSteps }))).toBe('400 invalid-request');
    }
  }
});

const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
const nestedObject = (levels: number): string => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;

test.each([
  ['nothing', ''],
  ['half of it', '{"messages":"Hi'],
  ['what is no object', '[]'],
  ['a number', '1e999'],
  ['NaN', '{"stop":NaN}'],
  ['a comment', '{/**/}'],
  ['two values', '{}{}'],
  ['single quotes', "{'stop':1}"],
  ['NUL', '\0'],
  ['a list without end', '['.repeat(100_000)],
  ['a deep list', nested(100_000)],
  ['a deep object', nestedObject(100_000)],
  ['many keys', `{${Array.from({ length: 50_000 }, (_, key) => `"k${key}":1`).join(',')}}`],
])('%s is no request', async (_, text) => {
  for (const route of posts) {
    const answer = await send(route, text);
    expect([route.name, said(answer)]).toEqual([route.name, '400 invalid-request']);
    expect(answer.text.length).toBeLessThan(20_000);
  }
});

test('no field of a body may be too deep', async () => {
  const deep = nestedObject(10_000);
  for (const route of posts) {
    for (const field of Object.keys(bodyFor(route, 'ada', call) ?? {}).concat('memory', 'declineContext')) {
      if (route.kind === 'decide' && field === 'memory' && !route.name.endsWith('resume-stream')) continue;
      const { [field]: _, ...others } = (bodyFor(route, 'ada', call) ?? {}) as Record<string, unknown>;
      for (const value of [deep, `[${deep}]`, `{"thread":{"id":"t","metadata":${deep}}}`]) {
        const answer = await send(
          route,
          `{"${field}":${value},${JSON.stringify(others).slice(1)}`.replace(',}', '}'),
        );
        expect([route.name, field, answer.status >= 400 && answer.status < 500, said(answer)]).toEqual([
          route.name,
          field,
          true,
          said(answer),
        ]);
      }
    }
  }
});

test('messages of any depth are refused, or said', async () => {
  for (const route of posts.filter(({ kind }) => kind === 'start')) {
    for (const levels of [100, 600, 100_000]) {
      const deep = nestedObject(levels);
      for (const messages of [
        deep,
        nested(levels),
        `[{"role":"user","content":[{"type":"text","text":"Hi","providerOptions":${deep}}]}]`,
        `[{"role":"user","content":"Hi","providerOptions":${deep}}]`,
        `[{"role":"user","parts":[{"type":"text","text":"Hi","providerMetadata":${deep}}]}]`,
        `[{"role":"user","parts":[{"type":"data-x","data":${deep}},{"type":"text","text":"Hi"}]}]`,
        `[{"role":"assistant","content":[{"type":"tool-call","toolCallId":"x","toolName":"delete","input":${deep}}]}]`,
      ]) {
        for (const agentId of ['chat', 'desk']) {
          const answer = await victim.ask(
            'ada',
            'POST',
            pathOf(route, { ...call, agentId }),
            `{"messages":${messages},"memory":{"thread":"deep-${crypto.randomUUID()}"}}`,
          );
          // A page's data parts are not kept, so how deep they are is nothing to anybody.
          const isSaid = levels <= 500 || messages.includes('data-x');
          const allowed = ['400 invalid-message', isSaid ? '200' : '422 not-json'];
          // A provider refuses a history that ends with a call.
          if (isSaid && messages.includes('tool-call')) allowed.push('502 model-failed');
          const isFine = allowed.includes(said(answer));
          const about = [route.name, agentId, levels, messages.slice(0, 70), said(answer)];
          expect([...about, isFine]).toEqual([...about, true]);
        }
      }
    }
  }
});

test('of a key that is said twice the last word counts, and what it says is checked like any other', async () => {
  for (const route of posts.filter(({ kind }) => kind === 'decide')) {
    const answer = await send(route, `${textFor(route).slice(0, -1)},"stop":2}`);
    expect(['409 stop-mismatch', '409 invalid-decision', '422 needs-data', '409 not-interrupted']).toContain(
      said(answer),
    );
  }
});

test('a body is JSON by name', async () => {
  for (const route of posts) {
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'text/json',
      'application/jsonp',
      'text/plain, application/json',
      'application/json+x',
      '',
    ]) {
      const text = requestText({
        method: 'POST',
        path: pathOf(route, call),
        token: tokenOf('ada'),
        headers: [`content-type: ${type}`, `content-length: ${Buffer.byteLength(textFor(route))}`],
      });
      const { statuses } = await victim.raw(`${text}${textFor(route)}`);
      expect([route.name, type, statuses]).toEqual([route.name, type, [400]]);
    }
  }
});

describe('bytes that are no text', () => {
  const withBytes = async (
    route: Route,
    front: Buffer,
    back = Buffer.alloc(0),
    type = 'application/json',
  ) => {
    const body = Buffer.concat([front, Buffer.from(textFor(route)), back]);
    const head = requestText({
      method: 'POST',
      path: pathOf(route, call),
      token: tokenOf('ben'),
      headers: [`content-type: ${type}`, `content-length: ${body.length}`],
    });
    return victim.raw(Buffer.concat([Buffer.from(head), body]));
  };

  test('are refused', async () => {
    for (const route of posts) {
      for (const bytes of [[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xfe, 0xff], [0x1f, 0x8b, 8, 0]]) {
        const { statuses } = await withBytes(route, Buffer.from(bytes));
        expect([route.name, bytes, statuses]).toEqual([route.name, bytes, [400]]);
      }
      // Inside of a text.
      const reason = Buffer.concat([Buffer.from('{"reason":"'), Buffer.from([0xff]), Buffer.from('"}')]);
      const head = requestText({
        method: 'POST',
        path: pathOf(route, call),
        token: tokenOf('ada'),
        headers: ['content-type: application/json', `content-length: ${reason.length}`],
      });
      const { statuses, text } = await victim.raw(Buffer.concat([Buffer.from(head), reason]));
      expect([route.name, statuses, text.includes('UTF-8')]).toEqual([route.name, [400], true]);
    }
  });

  test('a byte order mark changes nothing', async () => {
    for (const route of posts.filter(({ kind }) => kind === 'decide')) {
      const { statuses } = await withBytes(route, Buffer.from([0xef, 0xbb, 0xbf]));
      const { statuses: without } = await withBytes(route, Buffer.alloc(0));
      expect([route.name, statuses]).toEqual([route.name, without]);
    }
  });
});

describe('more than there may be', () => {
  const megabyte = 1024 * 1024;
  const head = (route: Route, ...headers: string[]): string =>
    requestText({
      method: 'POST',
      path: pathOf(route, call),
      token: tokenOf('ada'),
      headers: ['content-type: application/json', ...headers],
    });

  test('is refused by what the head says of it', async () => {
    for (const route of posts) {
      for (const length of [megabyte + 1, 10 ** 15]) {
        const { statuses } = await victim.raw(head(route, `content-length: ${length}`));
        expect([route.name, length, statuses[0]]).toEqual([route.name, length, 413]);
      }
    }
  });

  test('is refused when it comes, where nothing was said of it', async () => {
    const chunk = `${(64 * 1024).toString(16)}\r\n${' '.repeat(64 * 1024)}\r\n`;
    for (const route of posts) {
      // Without end: the last chunk never comes.
      const { statuses } = await victim.raw(
        `${head(route, 'transfer-encoding: chunked')}${chunk.repeat(40)}`,
      );
      expect([route.name, statuses[0]]).toEqual([route.name, 413]);
    }
  });

  test('nobody who is not known is read at all', async () => {
    for (const route of posts) {
      const text = head(route, 'content-length: 1000000').replace(/authorization: .*\r\n/, '');
      const { statuses } = await victim.raw(text);
      expect([route.name, statuses]).toEqual([route.name, [401]]);
    }
  });
});
