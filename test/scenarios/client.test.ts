/** Our client at a server over HTTP: what it lists can be moved, what it streams has one grammar, what is held stays so. */
import { Agent, InMemoryStore } from 'countersign';
import type { ClientChunk, CountersignClient, RunStream } from 'countersign/client';
import { scriptedModel } from 'countersign/testing';
import { expect, test } from 'vitest';
import { clientsOf } from '../../src/client/test-support/clients.ts';
import { type Desk, openDesk } from '../../src/server/test-support/desk.ts';

const deskOf = async (server: Desk) => (await clientsOf(server)).clientOf('ada').getAgent('desk');

async function chunksOf(stream: RunStream): Promise<ClientChunk[]> {
  const chunks: ClientChunk[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}

/** Sends a request, and loses the first answers. */
function losing(count: number): typeof fetch {
  let lost = 0;
  return async (...request) => {
    const response = await fetch(...request);
    if (lost++ >= count) return response;
    await response.body?.cancel();
    throw new TypeError('The answer was lost.');
  };
}

interface Call {
  readonly runId: string;
  readonly toolCallId: string;
  readonly stop: number;
}

const desk = (client: CountersignClient) => client.getAgent('desk');
const data = { seats: 2 };
const ways: readonly (readonly [
  string,
  string,
  (client: CountersignClient, call: Call) => Promise<unknown>,
])[] = [
  ['approveToolCall', 'delete a', async (client, call) => chunksOf(await desk(client).approveToolCall(call))],
  ['approveToolCallGenerate', 'delete a', (client, call) => desk(client).approveToolCallGenerate(call)],
  ['resumeStream', 'book a', async (client, call) => chunksOf(await desk(client).resumeStream(data, call))],
  ['approvals.approve', 'delete a', ({ approvals }, call) => approvals.approve(call)],
  ['approvals.resume', 'book a', ({ approvals }, call) => approvals.resume({ ...call, data })],
];

test.each(ways)(
  'scenario: K3 a decision whose answers are lost is sent again, and taken once: %s',
  async (_, message, decide) => {
    const server = openDesk();
    const { clientOf } = await clientsOf(server);
    const { runId, toolCallId } = await server.hold('ada', message);
    const call = { runId, toolCallId, stop: 1 };
    await decide(clientOf('ada', { fetch: losing(2), backoffMs: 0 }), call);
    await server.countersign.stop();
    expect(server.done).toEqual([message === 'book a' ? 'book a for 2' : message]);
    const { decisions } = await clientOf('ada').approvals.get(call);
    expect(decisions).toMatchObject([{ decisionId: expect.stringMatching(/^[0-9a-f]{32}$/) }]);
  },
);

test('scenario: K3 by conversation, a lost answer is told as lost, and the decision was taken once', async () => {
  const server = openDesk();
  const { clientOf } = await clientsOf(server);
  const output = await clientOf('ada')
    .getAgent('chat')
    .generate('delete a', { memory: { thread: 't-1' } });
  const toolCallId = output.suspendPayload?.toolCallId ?? '';
  const agent = clientOf('ada', { fetch: losing(1), backoffMs: 0 }).getAgent('chat');
  const sent = agent.sendToolApproval({ threadId: 't-1', resourceId: 'ada', toolCallId, approved: true });
  await expect(sent).rejects.toMatchObject({ code: 'connection-failed' });
  await server.countersign.stop();
  expect(server.done).toEqual(['delete a']);
});

test('scenario: K5 a flag can hold more, never less', async () => {
  const server = openDesk();
  const desk = await deskOf(server);
  for (const begin of ['stream', 'generate'] as const) {
    const loosened = desk[begin]('delete a', { requireToolApproval: false as never });
    await expect(loosened).rejects.toMatchObject({ status: 400, issues: [{ field: 'requireToolApproval' }] });
  }
  expect((await desk.generate('look a', { requireToolApproval: true })).finishReason).toBe('suspended');
  const chunks = await chunksOf(await desk.stream('look b', { requireToolApproval: true }));
  expect(chunks.map(({ type }) => type)).toContain('tool-call-approval');
  expect(server.done).toEqual([]);
});

test('scenario: K8 a new server lists what waits, and each verb moves it', async () => {
  const storage = new InMemoryStore();
  const first = openDesk({ registry: { storage } });
  for (const message of ['delete a', 'delete b', 'book c']) await first.hold('ada', message);
  await first.app.close();

  const second = openDesk({ registry: { storage } });
  const desk = await deskOf(second);
  const { runs, total } = await desk.listSuspendedRuns();
  expect(total).toBe(3);
  for (const { runId, toolCalls } of runs) {
    for (const { toolCallId, stop, fingerprint, args, requiresApproval } of toolCalls) {
      const call = { runId, toolCallId, stop, fingerprint };
      if (!requiresApproval) await chunksOf(await desk.resumeStream({ seats: 2 }, call));
      else if (args.what === 'a') await chunksOf(await desk.approveToolCall(call));
      else await desk.declineToolCallGenerate({ ...call, reason: 'no' });
    }
  }
  expect(second.done.toSorted()).toEqual(['book c for 2', 'delete a']);
  expect((await desk.listSuspendedRuns()).runs).toEqual([]);
  expect(first.done).toEqual([]);
});

test.each(['agent', 'approvals'] as const)(
  'scenario: K9 what waits in a run below is listed and decided at the top: %s',
  async (way) => {
    const inner = openDesk();
    const model = scriptedModel((prompt) => {
      const last = prompt.at(-1);
      if (last?.role !== 'user') return 'Done.';
      return JSON.stringify(last.content).includes('for below')
        ? { calls: [{ toolName: 'delete', args: { what: 'a' } }] }
        : { calls: [{ toolName: 'agent-below', args: { prompt: 'for below' } }] };
    });
    const below = new Agent({ id: 'below', model, tools: { delete: inner.tools.delete } });
    const server = openDesk({ agent: { model, agents: { below } } });
    const client = (await clientsOf(server)).clientOf('ada');
    const desk = client.getAgent('desk');
    await desk.generate('Please.');
    const [waiting] = (await client.approvals.list()).approvals;
    if (waiting === undefined) throw new Error('Nothing waits.');
    const { runId, toolCallId, stop, path } = waiting;
    expect(path).toMatchObject([{ agentId: 'below' }]);
    expect(toolCallId).toContain('~');
    if (way === 'agent') {
      expect((await desk.approveToolCallGenerate({ runId, toolCallId, stop })).finishReason).toBe('stop');
    } else {
      await client.approvals.approve({ runId, toolCallId, stop });
      await server.countersign.stop();
    }
    expect(inner.done).toEqual(['delete a']);
    expect((await client.approvals.list()).approvals).toEqual([]);
  },
);

test.each(['delete a', 'book a'])('scenario: K14 every stream has one grammar: %s', async (message) => {
  const server = openDesk();
  const client = (await clientsOf(server)).clientOf('ada');
  const desk = client.getAgent('desk');
  const first = await chunksOf(await desk.stream(message));
  const stop = first.find(({ type }) => type === 'tool-call-approval' || type === 'tool-call-suspended');
  if (stop?.type !== 'tool-call-approval' && stop?.type !== 'tool-call-suspended')
    throw new Error('No stop.');
  const call = { runId: stop.runId, toolCallId: stop.payload.toolCallId };
  const later = message.startsWith('book')
    ? await chunksOf(await desk.resumeStream({ seats: 1 }, call))
    : await chunksOf(await desk.approveToolCall(call));
  const observed = await chunksOf(await client.observe({ runId: call.runId }));
  for (const chunks of [first, later, observed]) {
    const types = chunks.map(({ type }) => type);
    expect([types[0], types.at(-1)]).toEqual(['start', 'finish']);
    expect(types.filter((type) => type === 'start' || type === 'finish')).toHaveLength(2);
    const calls = types.indexOf('tool-call');
    expect(types.indexOf('tool-result')).toSatisfy((result: number) => result === -1 || result > calls);
  }
  expect(later[0]).toMatchObject({ payload: (first[0] as { payload: object }).payload });
  expect(later.filter(({ type }) => type === 'tool-result')).toHaveLength(1);
  // Byte for byte what the route sends.
  const raw = await server.app.request(`/api/runs/${call.runId}/events`, {
    headers: { authorization: 'Bearer ada' },
  });
  expect(observed.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('')).toBe(
    (await raw.text()).replace('data: [DONE]\n\n', ''),
  );
});

test('scenario: K15 to others nothing of a run is there, and who decided is who asked', async () => {
  const server = openDesk();
  const { clientOf } = await clientsOf(server);
  const { runId, toolCallId } = await server.hold('ada', 'delete a');
  for (const who of ['ben', 'nobody'] as const) {
    const { approvals } = clientOf(who);
    expect((await approvals.list()).approvals).toEqual([]);
    expect((await clientOf(who).getAgent('desk').listSuspendedRuns()).runs).toEqual([]);
    await expect(clientOf(who).observe({ runId })).rejects.toMatchObject({ code: 'run-not-found' });
    await expect(approvals.get({ runId, toolCallId })).rejects.toMatchObject({ code: 'run-not-found' });
  }
  const forged = { runId, toolCallId, stop: 1, by: { id: 'boss' } };
  await expect(clientOf('ada').approvals.approve(forged)).rejects.toMatchObject({
    issues: [{ field: 'by' }],
  });
  await clientOf('rita').approvals.approve({ runId, toolCallId, stop: 1 });
  const { decisions } = await clientOf('ada').approvals.get({ runId, toolCallId });
  expect(decisions).toMatchObject([{ by: { id: 'rita' }, verdict: 'approve' }]);
  await server.countersign.stop();
});
