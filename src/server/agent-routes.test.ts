import { describe, expect, test } from 'vitest';
import { scriptedModel } from '../testing/scripted-model.ts';
import { bearerTokens } from './bearer-tokens.ts';
import { openDesk, people } from './test-support/desk.ts';

const types = (chunks: readonly { type: string }[]): string[] => [...new Set(chunks.map(({ type }) => type))];
const desk = '/api/agents/desk';

describe('a run over HTTP', () => {
  test('is told as events, waits, and goes on with an approval', async () => {
    const server = openDesk();
    const chunks = await server.events('ada', `${desk}/stream`, { messages: 'delete a' });
    expect(types(chunks)).toEqual([
      'start',
      'step-start',
      'text-start',
      'text-delta',
      'text-end',
      'tool-call-input-streaming-start',
      'tool-call-delta',
      'tool-call-input-streaming-end',
      'tool-call',
      'tool-call-approval',
      'finish',
    ]);
    expect(server.done).toEqual([]);
    const { runId, payload } = chunks.find(({ type }) => type === 'tool-call-approval') ?? {};
    const { toolCallId, stop, fingerprint } = payload;
    const decision = { runId, toolCallId, stop, fingerprint, reason: 'fine', decisionId: 'd-1' };
    const resumed = await server.events('ada', `${desk}/approve-tool-call`, decision);
    expect(types(resumed)).toEqual([
      'start',
      'tool-call',
      'tool-result',
      'step-finish',
      'step-start',
      'text-start',
      'text-delta',
      'text-end',
      'finish',
    ]);
    expect(server.done).toEqual(['delete a']);
  });

  test('is collected by the companions that end with generate', async () => {
    const server = openDesk();
    const { status, body } = await server.post('ada', `${desk}/generate`, {
      messages: 'delete a and delete b',
    });
    expect(status).toBe(200);
    expect(body).toMatchObject({ finishReason: 'suspended', suspendPayload: { args: { what: 'a' } } });
    const { runId } = body;
    const [first, second] = body.suspendPayloads;
    const approved = await server.post('ada', `${desk}/approve-tool-call-generate`, {
      runId,
      toolCallId: first.toolCallId,
    });
    expect(approved.body).toMatchObject({ finishReason: 'suspended' });
    const declined = await server.post('ada', `${desk}/decline-tool-call-generate`, {
      runId,
      toolCallId: second.toolCallId,
      reason: 'not b',
    });
    expect(declined.body).toMatchObject({ finishReason: 'stop', text: 'Done.' });
    expect(server.done).toEqual(['delete a']);
    expect(JSON.stringify(server.model.calls.at(-1)?.prompt)).toContain('not b');
  });

  test('is resumed with data; the call may be left out where exactly one is suspended', async () => {
    const server = openDesk();
    const { runId } = await server.hold('ada', 'book a');
    const wrong = await server.post('ada', `${desk}/resume-stream`, { runId, resumeData: { seats: 'two' } });
    expect(wrong).toMatchObject({ status: 422, body: { code: 'invalid-resume-data' } });
    expect(wrong.body.issues).toEqual([{ field: 'seats', message: expect.any(String) }]);
    await server.events('ada', `${desk}/resume-stream`, { runId, resumeData: { seats: 2 } });
    expect(server.done).toEqual(['book a for 2']);
    const two = await server.hold('ada', 'book a and book b');
    const unnamed = await server.post('ada', `${desk}/resume-stream`, {
      runId: two.runId,
      resumeData: { seats: 2 },
    });
    expect(unnamed).toMatchObject({ status: 422, body: { code: 'call-required' } });
  });

  test('is declined as a stream, and the reason is told', async () => {
    const server = openDesk();
    const { runId, toolCallId } = await server.hold('ada', 'delete a');
    const decision = { runId, toolCallId, reason: 'keep it' };
    const chunks = await server.events('ada', `${desk}/decline-tool-call`, decision);
    const denied = chunks.find(({ type }) => type === 'tool-output-denied');
    expect(denied?.payload.approval).toMatchObject({ approved: false, reason: 'keep it' });
    expect(server.done).toEqual([]);
  });

  test('is decided by conversation', async () => {
    const server = openDesk();
    const memory = { thread: 't-1', resource: 'ada' };
    const begin = async (messages: string) => {
      const { body } = await server.post('ada', `${desk}/generate`, { messages, memory });
      return body.suspendPayload.toolCallId;
    };
    const ids = { threadId: 't-1', resourceId: 'ada' };
    const sent = await server.post('ada', `${desk}/send-tool-approval`, {
      ...ids,
      toolCallId: await begin('delete a'),
      approved: true,
    });
    expect(sent).toMatchObject({ status: 200, body: { accepted: true, runId: expect.any(String) } });
    await server.countersign.stop();
    await server.post('ada', `${desk}/send-tool-approval`, {
      ...ids,
      toolCallId: await begin('book b'),
      approved: true,
      resumeData: { seats: 3 },
    });
    await server.countersign.stop();
    await server.post('ada', `${desk}/send-tool-approval`, {
      ...ids,
      toolCallId: await begin('delete c'),
      approved: false,
      declineContext: { message: 'never' },
    });
    await server.countersign.stop();
    expect(server.done).toEqual(['delete a', 'book b for 3']);
  });

  test('is told to those who may not see the conversation as one that is not there', async () => {
    const canRead = (_: unknown, { resourceId }: { resourceId?: string | undefined }) => resourceId === 'ben';
    const server = openDesk({ auth: { authenticate: bearerTokens(people), canRead } });
    for (const messages of ['delete a', 'delete b']) {
      await server.post('ada', `${desk}/generate`, { messages, memory: { thread: 't-1' } });
    }
    const answers = await Promise.all(
      ['t-1', 't-2'].map((threadId) =>
        server.post('ben', `${desk}/send-tool-approval`, {
          ...{ threadId, resourceId: 'ada', toolCallId: 'none', approved: true },
        }),
      ),
    );
    expect(answers.map(({ status, body }) => [status, body.code])).toEqual([
      [404, 'run-not-found'],
      [404, 'run-not-found'],
    ]);
    expect(answers[0]?.body).toEqual(answers[1]?.body);
  });

  test('is listed while it waits', async () => {
    const server = openDesk();
    const { runId } = await server.hold('ada', 'pay a');
    await server.hold('ada', 'delete b');
    const { body } = await server.get('ada', `${desk}/suspended-runs?perPage=1&page=1`);
    expect(body).toMatchObject({ total: 2, runs: [{ runId, resourceId: 'ada', status: 'suspended' }] });
    expect(body.runs[0].toolCalls).toMatchObject([
      { toolName: 'pay', args: { what: 'a' }, approver: 'reviewer' },
    ]);
    const from = await server.get('ada', `${desk}/suspended-runs?fromDate=2999-01-01T00:00:00.000Z`);
    expect(from.body).toEqual({ runs: [], total: 0 });
  });
});

test('agents are shown with what they hold, and nothing of their instructions', async () => {
  const server = openDesk({ agent: { instructions: 'Be secretive.' } });
  const { body } = await server.get('ada', '/api/agents');
  expect(Object.keys(body)).toEqual(['desk', 'other', 'chat']);
  expect(body.desk).toEqual((await server.get('ada', desk)).body);
  expect(body.desk).toMatchObject({
    id: 'desk',
    name: 'The desk',
    tools: {
      delete: { held: 'always', approver: 'owner' },
      pay: { approver: 'reviewer' },
      look: { held: 'never' },
    },
  });
  expect(JSON.stringify(body)).not.toContain('secretive');
  expect(await server.get('ada', '/api/agents/none')).toMatchObject({
    status: 404,
    body: { code: 'agent-not-found' },
  });
});

test('a tool cannot be called directly', async () => {
  const server = openDesk();
  const answer = await server.post('ada', `${desk}/tools/look/execute`, { data: { what: 'a' } });
  expect(answer).toMatchObject({ status: 404, body: { code: 'route-not-found' } });
  expect(server.done).toEqual([]);
});

test('a run that fails tells its error with code and message', async () => {
  const server = openDesk({ agent: { model: scriptedModel(() => ({ error: new Error('It is down.') })) } });
  const chunks = await server.events('ada', `${desk}/stream`, { messages: 'Hi' });
  const error = chunks.find(({ type }) => type === 'error');
  expect(error?.payload.error).toMatchObject({
    code: 'model-failed',
    message: expect.stringContaining('down'),
  });
  const answer = await server.post('ada', `${desk}/generate`, { messages: 'Hi' });
  expect(answer).toMatchObject({ status: 502, body: { code: 'model-failed' } });
});
