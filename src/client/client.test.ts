import { isCountersignError } from 'countersign';
import { expect, test } from 'vitest';
import { openDesk } from '../server/test-support/desk.ts';
import { openWorld } from '../server/test-support/operations.ts';
import { stalledDesk } from '../server/test-support/stalled-desk.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { type ClientChunk, CountersignClientError, type RunStream } from './index.ts';
import { clientsOf } from './test-support/clients.ts';

async function opened(plan?: Parameters<typeof openDesk>[0]) {
  const desk = openDesk(plan);
  const { clientOf } = await clientsOf(desk);
  return { desk, client: clientOf('ada'), clientOf };
}

async function chunksOf(stream: RunStream): Promise<ClientChunk[]> {
  const chunks: ClientChunk[] = [];
  await stream.processDataStream({ onChunk: (chunk) => chunks.push(chunk) });
  return chunks;
}

/** The call that a stream announced, with its run. */
function waitingIn(chunks: readonly ClientChunk[]) {
  for (const chunk of chunks) {
    if (chunk.type === 'tool-call-approval' || chunk.type === 'tool-call-suspended') {
      const { toolCallId, stop, fingerprint } = chunk.payload;
      return { runId: chunk.runId, toolCallId, stop, fingerprint };
    }
  }
  throw new Error('Nothing waits.');
}

test('streams a run, and each verb goes on with it', async () => {
  const { desk, client } = await opened();
  const agent = client.getAgent('desk');
  const held = async (message: string) => waitingIn(await chunksOf(await agent.stream(message)));

  const approved = await chunksOf(await agent.approveToolCall(await held('delete a')));
  expect(approved.map(({ type }) => type)).toContain('tool-result');
  const declined = await chunksOf(await agent.declineToolCall({ ...(await held('delete b')), reason: 'no' }));
  expect(declined.find(({ type }) => type === 'tool-output-denied')).toMatchObject({
    payload: { approval: { reason: 'no' } },
  });
  await chunksOf(await agent.resumeStream({ seats: 2 }, await held('book c')));
  const { toolCallId: _unnamed, ...onlyRun } = await held('book d');
  await chunksOf(await agent.resumeStream({ seats: 3 }, onlyRun));
  expect(desk.done).toEqual(['delete a', 'book c for 2', 'book d for 3']);
});

test('generates, and each verb goes on with it', async () => {
  const { desk, client } = await opened();
  const agent = client.getAgent('desk');
  const held = async (message: string) => {
    const output = await agent.generate(message);
    if (output.finishReason !== 'suspended') throw new Error(output.finishReason);
    return { runId: output.runId, toolCallId: output.suspendPayload.toolCallId };
  };
  expect((await agent.approveToolCallGenerate(await held('delete a'))).text).toBe('Done.');
  const no = await agent.declineToolCallGenerate({ ...(await held('delete b')), reason: 'keep it' });
  expect(JSON.stringify(no.messages)).toContain('keep it');
  expect((await agent.generate('look c', { requireToolApproval: true })).suspendPayloads).toHaveLength(1);
  expect((await agent.generate([{ role: 'user', parts: [{ type: 'text', text: 'Hi' }] }])).text).toBe(
    'Hello.',
  );
  expect(desk.done).toEqual(['delete a']);
});

test('a reader that goes away, by an abort or a break, changes nothing for the run', async () => {
  const { desk, client } = await opened();
  const agent = client.getAgent('desk');
  const { runId, toolCallId } = waitingIn(await chunksOf(await agent.stream('delete a')));
  const controller = new AbortController();
  const stream = await agent.approveToolCall({ runId, toolCallId, abortSignal: controller.signal });
  controller.abort();
  await expect(chunksOf(stream)).rejects.toThrow('aborted');
  const again = await agent.stream('look b');
  for await (const _ of again) break;
  const followed = await chunksOf(await agent.observe({ runId }));
  expect(followed.at(-1)).toMatchObject({ type: 'finish', payload: { finishReason: 'stop' } });
  await desk.countersign.stop();
  expect(desk.done.toSorted()).toEqual(['delete a', 'look b']);
});

test('tells of agents, runs, threads and messages what the routes tell', async () => {
  const { desk, client, clientOf } = await opened();
  const told = async (path: string) => (await desk.get('ada', `/api${path}`)).body;
  const chat = client.getAgent('chat');
  const output = await chat.generate('delete a', { memory: { thread: { id: 't-1', title: 'One' } } });

  expect(await client.listAgents()).toEqual(await told('/agents'));
  expect(await chat.details()).toEqual(await told('/agents/chat'));
  expect((await chat.details()).tools.pay).toMatchObject({ held: 'always', approver: 'reviewer' });
  const day = 24 * 3600 * 1000;
  const [fromDate, toDate] = [new Date(Date.now() - day), new Date(Date.now() + day)];
  const listed = await chat.listSuspendedRuns({
    threadId: 't-1',
    status: 'all',
    perPage: 5,
    page: 0,
    fromDate,
    toDate,
  });
  expect(listed).toEqual(await told('/agents/chat/suspended-runs?threadId=t-1'));
  expect(listed.runs).toMatchObject([{ runId: output.runId, suspendedAt: expect.any(String) }]);
  expect((await chat.listSuspendedRuns({ toDate: fromDate })).runs).toEqual([]);

  expect(await client.listMemoryThreads({ agentId: 'chat' })).toEqual(
    await told('/memory/threads?agentId=chat'),
  );
  const thread = client.getMemoryThread({ threadId: 't-1', agentId: 'chat' });
  expect(await thread.get()).toEqual(await told('/memory/threads/t-1?agentId=chat'));
  const messages = await told('/memory/threads/t-1/messages?perPage=1');
  expect(await thread.listMessages({ perPage: 1 })).toEqual(messages);
  expect(await client.listThreadMessages('t-1', { perPage: 1 })).toEqual(messages);
  expect(messages.messages[0].parts.at(-1).state).toBe('approval-requested');

  const all = await chunksOf(await client.observe({ runId: output.runId }));
  const later = await chunksOf(await client.observe({ runId: output.runId, afterEvent: 2 }));
  expect(all.length).toBeGreaterThan(later.length);

  const sent = { threadId: 't-1', resourceId: 'ada', toolCallId: waitingIn(all).toolCallId };
  await expect(
    clientOf('ben')
      .getAgent('chat')
      .sendToolApproval({ ...sent, approved: true }),
  ).rejects.toThrow();
  expect(await chat.sendToolApproval({ ...sent, approved: true })).toEqual({
    accepted: true,
    runId: output.runId,
    toolCallId: sent.toolCallId,
  });
  await desk.countersign.stop();
  expect(desk.done).toEqual(['delete a']);
});

test('runs are cancelled, and continued where they are stalled', async () => {
  const { desk, runId } = await stalledDesk();
  const { clientOf } = await clientsOf(desk);
  const [ada, ben] = [clientOf('ada'), clientOf('ben')];
  await expect(ben.continueRun({ runId })).rejects.toMatchObject({ code: 'run-not-found' });
  expect(await ada.getAgent('desk').continueRun({ runId })).toEqual({ accepted: true, runId });
  await desk.countersign.stop();
  expect(desk.done).toEqual(['delete a']);
  await expect(ada.cancelRun({ runId })).rejects.toMatchObject({ code: 'run-ended', status: 410 });
  const other = await desk.hold('ada', 'delete b');
  const cancelled = await ada.getAgent('desk').cancelRun({ runId: other.runId, reason: 'Never mind.' });
  expect(cancelled).toEqual({ runId: other.runId, status: 'cancelled' });
  expect((await ada.approvals.get(other)).decisions).toMatchObject([
    { verdict: 'cancel', reason: 'Never mind.' },
  ]);
});

test('approvals over all agents are listed, read and decided', async () => {
  const { desk, client, clientOf } = await opened();
  const rita = clientOf('rita');
  await desk.hold('ada', 'delete a');
  await desk.hold('ada', 'pay b');
  await desk.hold('ada', 'book c');
  const list = await client.approvals.list();
  expect(list).toEqual((await desk.get('ada', '/api/approvals')).body);
  const first = await client.approvals.list({ perPage: 1 });
  const rest = await client.approvals.list({ cursor: first.cursor });
  expect([...first.approvals, ...rest.approvals]).toEqual(list.approvals);
  const oldest = await client.approvals.list({ order: 'oldest' });
  expect(oldest.approvals).toEqual(list.approvals.toReversed());

  const by = (name: string) => {
    const found = list.approvals.find(({ toolName }) => toolName === name);
    if (found === undefined) throw new Error(`${name} does not wait.`);
    const { runId, toolCallId, stop } = found;
    return { runId, toolCallId, stop };
  };
  expect(await client.approvals.get(by('pay'))).toMatchObject({ state: 'held', mayDecide: false });
  expect(await rita.approvals.get(by('pay'))).toMatchObject({ approver: 'reviewer', mayDecide: true });
  expect(await client.approvals.approve(by('delete'))).toMatchObject({
    ...{ accepted: true, driven: true },
    decision: { verdict: 'approve', by: { id: 'ada' }, decisionId: expect.any(String) },
  });
  expect(await rita.approvals.decline({ ...by('pay'), reason: 'no' })).toMatchObject({
    decision: { reason: 'no' },
  });
  expect(await client.approvals.resume({ ...by('book'), data: { seats: 4 } })).toMatchObject({
    accepted: true,
  });
  await desk.countersign.stop();
  expect(desk.done.toSorted()).toEqual(['book c for 4', 'delete a']);
  const { state, decisions } = await client.approvals.get(by('pay'));
  expect([state, decisions[0]?.by?.id]).toEqual(['declined', 'rita']);
});

test('an interrupted call is resolved', async () => {
  const { desk, interrupt } = openWorld();
  const { runId, toolCallId } = await interrupt();
  const client = (await clientsOf(desk)).clientOf('ada');
  const { approvals } = await client.approvals.list({ status: 'interrupted' });
  const stop = approvals[0]?.stop ?? 0;
  const resolved = await client.approvals.resolve({ runId, toolCallId, stop, output: { did: 'a' } });
  expect(resolved).toMatchObject({ decision: { verdict: 'resolve', stop: 2 } });
  await desk.countersign.stop();
  expect(desk.done).toEqual([]);
});

test('what the server refuses is thrown as the server says it, and known as what it throws in its own process', async () => {
  const { desk, client, clientOf } = await opened();
  const { runId, toolCallId } = await desk.hold('ada', 'delete a');
  const path = '/api/agents/desk/approve-tool-call-generate';
  const call = { runId, toolCallId };
  await desk.post('rita', path, call);
  const asked = [
    ['ada', call, 'already-decided'],
    ['ada', { ...call, stop: 'x', by: 1 }, 'invalid-request'],
    ['ben', call, 'run-not-found'],
    [undefined, call, 'unauthenticated'],
  ] as const;
  for (const [who, body, code] of asked) {
    const answer = await desk.post(who, path, body);
    const error = await clientOf(who)
      .getAgent('desk')
      .approveToolCallGenerate(body as typeof call)
      .catch((thrown) => thrown);
    expect(error).toBeInstanceOf(CountersignClientError);
    expect([error.status, error.code]).toEqual([answer.status, code]);
    expect(error.toJSON()).toEqual(answer.body);
    expect(isCountersignError(error, code)).toBe(true);
  }
  const own = await desk.countersign
    .getAgent('desk')
    .approveToolCall(call)
    .catch((thrown: unknown) => thrown);
  const told = await client
    .getAgent('desk')
    .approveToolCall(call)
    .catch((thrown: unknown) => thrown);
  if (!isCountersignError(own) || !isCountersignError(told)) throw new Error('Neither was decided before.');
  expect(told.message).toBe(own.message);
  expect(told.details).toEqual(JSON.parse(JSON.stringify(own.details)));
  expect(told).toMatchObject({ runId, toolCallId, decision: { verdict: 'approve', by: { id: 'rita' } } });
});

test('errors of a run come as chunks, with their code', async () => {
  const model = scriptedModel((prompt) => {
    if (prompt.at(-1)?.role === 'tool') throw new Error('The model is away.');
    return { calls: [{ toolName: 'delete', args: { what: 'a' } }] };
  });
  const { client } = await opened({ agent: { model, defaultOptions: { maxRetries: 0 } } });
  const agent = client.getAgent('desk');
  const call = waitingIn(await chunksOf(await agent.stream('delete a')));
  const chunks = await chunksOf(await agent.approveToolCall(call));
  const failed = chunks.flatMap((chunk) => (chunk.type === 'error' ? [chunk.payload.error] : []));
  expect(failed).toMatchObject([{ name: 'CountersignError', code: 'run-stalled', status: 409 }]);
  const output = await agent.approveToolCallGenerate(
    waitingIn(await chunksOf(await agent.stream('delete b'))),
  );
  if (output.finishReason !== 'error') throw new Error(output.finishReason);
  expect(output.error).toMatchObject({ code: 'run-stalled', error: expect.stringContaining('away') });
});
