/**
 * The approval flow of a page, over two server processes on one store: what waits is found by whichever server
 * answers, and decided there, also when the one that began it is gone.
 */
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { postgresUrl } from '../../test/support/postgres-schema.ts';
import { type Effects, openEffects } from '../race/effects.ts';
import { databases, type Place, temporaryFolder } from '../race/places.ts';
import { type Browser, browserAt, type Chunk } from './browser.ts';
import { type ServerProcess, startServer } from './server-process.ts';

const people = [
  { id: 'ada', resourceId: 'ada' },
  { id: 'ben', resourceId: 'ben' },
  { id: 'rita', roles: ['reviewer'] },
];
const desk = '/agents/desk';

const typesOf = (chunks: readonly Chunk[]): string[] =>
  chunks.map(({ type }) => type).filter((type, index, types) => type !== types[index - 1]);

const textOf = (chunks: readonly Chunk[]): string =>
  chunks.map(({ type, payload }) => (type === 'text-delta' ? payload.text : '')).join('');

const ofType = (chunks: readonly Chunk[], type: string): Chunk['payload'][] =>
  chunks.filter((chunk) => chunk.type === type).map(({ payload }) => payload);

describe.each(databases.filter(({ name }) => name !== 'libsql'))('two servers on $name', (database) => {
  const { folder, remove } = temporaryFolder();
  const effectsFile = join(folder, 'effects.db');
  let place: Place;
  let effects: Effects;
  let servers: { a: ServerProcess; b: ServerProcess };
  const start = (port?: number): Promise<ServerProcess> =>
    startServer({ place, effects: effectsFile, people, ...(port === undefined ? {} : { port }) });
  const at = (name: 'a' | 'b', who = 'ada'): Browser => browserAt(servers[name].url, who);

  beforeAll(async () => {
    place = await database.create(folder, postgresUrl);
    effects = openEffects(effectsFile);
    const a = await start();
    servers = { a, b: await start() };
  });
  afterAll(async () => {
    await Promise.all([servers.a.kill(), servers.b.kill()]);
    effects.close();
    remove();
  });

  let isKilled = false;
  async function killA(): Promise<void> {
    isKilled = true;
    await servers.a.kill();
  }
  /** As a page sees it: the same address, another process. */
  async function startAgain(): Promise<void> {
    servers.a = await start(Number(new URL(servers.a.url).port));
    isKilled = false;
  }
  beforeEach(async () => {
    if (isKilled) await startAgain();
  });

  /** Begins a run at A and reads its stream to the end: what it announced last. */
  async function begin(thread: string, messages: string): Promise<Chunk['payload'] & { runId: string }> {
    const opened = await at('a').open(`${desk}/stream`, { messages, memory: { thread } });
    const chunks = await opened.all();
    expect(chunks.at(-1)).toMatchObject({ type: 'finish', payload: { finishReason: 'suspended' } });
    const stop = chunks.findLast(({ type }) => /^tool-call-(approval|suspended)$/.test(type));
    return { ...stop?.payload, runId: stop?.runId };
  }

  /** What a page finds when it is loaded again. */
  async function found(name: 'a' | 'b', thread: string) {
    const path = `${desk}/suspended-runs?threadId=${thread}&resourceId=ada`;
    const { status, body } = await at(name).get(path);
    expect(status).toBe(200);
    return body.runs as {
      runId: string;
      toolCalls: (Chunk['payload'] & { requiresApproval: boolean })[];
    }[];
  }

  const rows = (runId: string): string[] =>
    effects
      .all()
      .filter((effect) => effect.runId === runId)
      .map(({ toolCallId, args }) => `${toolCallId} ${args}`);

  /** That the run has ended everywhere: nobody lists it, and the decision is kept. */
  async function expectDecided(thread: string, runId: string, toolCallId: string, decision: object) {
    for (const name of ['a', 'b'] as const) {
      expect(await found(name, thread)).toEqual([]);
      const { body } = await at(name).get(`/approvals/${runId}/${encodeURIComponent(toolCallId)}`);
      expect(body.decisions).toMatchObject([{ by: { id: 'ada' }, ...decision }]);
    }
  }

  test('held at A, which is killed; found and approved at B, with the stream of the rest', async () => {
    const held = await begin('t-approve', 'refund o-1');
    const { runId, toolCallId } = held;
    expect(held).toMatchObject({ toolName: 'refund', args: { order: 'o-1' } });
    await killA();

    const [run] = await found('b', 't-approve');
    const [call] = run?.toolCalls ?? [];
    const { fingerprint, args } = held;
    expect(run?.toolCalls).toHaveLength(1);
    expect(call).toMatchObject({ toolCallId, requiresApproval: true, fingerprint, args, stop: 1 });
    expect(await at('b', 'ben').get(`${desk}/suspended-runs`)).toMatchObject({ body: { runs: [] } });
    expect(rows(runId)).toEqual([]);

    const decision = { runId, toolCallId, stop: call.stop, fingerprint };
    const rest = await (await at('b').open(`${desk}/approve-tool-call`, decision)).all();
    expect(typesOf(rest)).toEqual([
      'start',
      'tool-call',
      'tool-result',
      'step-finish',
      'step-start',
      'text-start',
      'text-delta',
      'text-end',
      'step-finish',
      'finish',
    ]);
    expect(ofType(rest, 'tool-call')).toMatchObject([{ toolCallId, replayed: true }]);
    expect(ofType(rest, 'tool-result')).toMatchObject([{ toolCallId, result: { done: args } }]);
    expect(rest.at(-1)).toMatchObject({ runId, payload: { finishReason: 'stop' } });
    expect(rows(runId)).toEqual([`${toolCallId} {"order":"o-1"}`]);

    await startAgain();
    await expectDecided('t-approve', runId, toolCallId, { verdict: 'approve' });
    const again = await at('a').post(`${desk}/approve-tool-call-generate`, decision);
    expect(again).toMatchObject({ status: 409, body: { code: 'already-decided' } });
    const { body } = await at('a').get('/memory/threads/t-approve/messages');
    expect(body.messages.map(({ role }: { role: string }) => role)).toEqual(['user', 'assistant']);
    expect(rows(runId)).toHaveLength(1);
  });

  test('held at A, which is started again; found at A by the same address, and declined there', async () => {
    const { runId, toolCallId } = await begin('t-decline', 'refund o-2');
    await killA();
    await startAgain();
    const [run] = await found('a', 't-decline');
    expect(run?.toolCalls).toMatchObject([{ toolCallId, requiresApproval: true, args: { order: 'o-2' } }]);
    const decision = { runId, toolCallId, reason: 'Not this month.' };
    const rest = await (await at('a').open(`${desk}/decline-tool-call`, decision)).all();
    expect(ofType(rest, 'tool-output-denied')).toMatchObject([{ toolCallId }]);
    // The model repeats what it was told.
    expect(textOf(rest)).toContain('Not this month.');
    expect(rest.at(-1)).toMatchObject({ type: 'finish', payload: { finishReason: 'stop' } });
    expect(rows(runId)).toEqual([]);
    await expectDecided('t-decline', runId, toolCallId, { verdict: 'decline', reason: 'Not this month.' });
  });

  test('suspended at A; found at B with what it asked, and resumed there', async () => {
    const asked = await begin('t-resume', 'book o-3');
    const [run] = await found('b', 't-resume');
    const { runId } = asked;
    expect(run?.toolCalls).toMatchObject([
      { requiresApproval: false, suspendPayload: { question: 'How many seats for o-3?' } },
    ]);
    const wrong = await at('b').post(`${desk}/resume-stream`, { runId, resumeData: { seats: 'two' } });
    expect(wrong.status).toBe(422);
    expect(await found('a', 't-resume')).toHaveLength(1);
    // Only one call is suspended: it need not be named.
    const rest = await (
      await at('b').open(`${desk}/resume-stream`, { runId, resumeData: { seats: 2 } })
    ).all();
    expect(ofType(rest, 'tool-result')).toMatchObject([{ result: { done: { order: 'o-3' } } }]);
    expect(rows(runId)).toEqual(['book-o-3 {"order":"o-3"}']);
    await expectDecided('t-resume', runId, asked.toolCallId, { verdict: 'resume' });
  });

  test('without streams: two calls held at A, one approved and one declined at B', async () => {
    const messages = 'refund o-4, refund o-5';
    const begun = await at('a').post(`${desk}/generate`, { messages, memory: { thread: 't-generate' } });
    expect(begun).toMatchObject({ status: 200, body: { finishReason: 'suspended' } });
    const { runId, suspendPayload } = begun.body;
    expect(suspendPayload).toMatchObject({ toolCallId: 'refund-o-4', toolName: 'refund' });
    const [run] = await found('b', 't-generate');
    const [first, second] = run?.toolCalls ?? [];
    const decline = { runId, toolCallId: first.toolCallId };
    const half = await at('b').post(`${desk}/decline-tool-call-generate`, decline);
    expect(half).toMatchObject({ status: 200, body: { finishReason: 'suspended' } });
    const approve = { runId, toolCallId: second.toolCallId };
    const whole = await at('b').post(`${desk}/approve-tool-call-generate`, approve);
    expect(whole).toMatchObject({ status: 200, body: { runId, finishReason: 'stop' } });
    expect(whole.body.text).toMatch(/^Done: /);
    expect(rows(runId)).toEqual(['refund-o-5 {"order":"o-5"}']);
    await expectDecided('t-generate', runId, approve.toolCallId, { verdict: 'approve' });
  });

  test('decided at B while the stream of A is open: it ends, and the stream of B carries the rest', async () => {
    const body = { messages: 'refund o-6, look o-7', memory: { thread: 't-open' } };
    const stream = await at('a').open(`${desk}/stream`, body);
    const { runId, payload } = await stream.until('tool-call-approval');
    await servers.a.said('looking');
    const decision = { runId, toolCallId: payload.toolCallId };
    const rest = await at('b').open(`${desk}/approve-tool-call`, decision);
    const first = await stream.all();
    expect(first.at(-1)).toMatchObject({
      type: 'finish',
      payload: { finishReason: 'suspended', decided: true },
    });
    expect(ofType(first, 'tool-result')).toEqual([]);
    await rest.until('tool-result');
    servers.a.tell({ type: 'look' });
    const chunks = await rest.all();
    expect(ofType(chunks, 'tool-result')[0]).toMatchObject({ result: { done: { order: 'o-6' } } });
    // The result of A may be stored right before the end: the answer to it is told in any case.
    expect(textOf(chunks)).toMatch(/^Done: .*"seen":"o-7"/);
    expect(chunks.at(-1)).toMatchObject({ type: 'finish', payload: { finishReason: 'stop' } });
    expect(rows(runId)).toEqual(['refund-o-6 {"order":"o-6"}']);
    await expectDecided('t-open', runId, payload.toolCallId, { verdict: 'approve' });
  });

  test('begun and decided at A, on the approvals route; followed at B to its end', async () => {
    const { runId, toolCallId, stop } = await begin('t-follow', 'refund o-8');
    const before = await (await at('b').open(`/runs/${runId}/events`)).all();
    expect(before.at(-1)).toMatchObject({ type: 'finish', payload: { finishReason: 'suspended' } });
    const decided = await at('a').post(`/approvals/${runId}/${toolCallId}/approve`, { stop });
    expect(decided).toMatchObject({ status: 202, body: { accepted: true, driven: true } });
    const followed = await (await at('b').open(`/runs/${runId}/events`)).all();
    expect(followed.at(-1)).toMatchObject({ type: 'finish', payload: { finishReason: 'stop' } });
    expect(rows(runId)).toEqual(['refund-o-8 {"order":"o-8"}']);
    await expectDecided('t-follow', runId, toolCallId, { verdict: 'approve' });
  });

  test('scenario: K15 held at A: at B others see and decide nothing, and the owner decides only what is theirs', async () => {
    const held = await begin('t-others', 'compensate o-10');
    const { runId, toolCallId } = held;
    const decision = { runId, toolCallId, stop: 1 };
    for (const [who, status] of [
      ['ben', 404],
      ['ada', 403],
    ] as const) {
      const other = at('b', who);
      expect((await other.post(`${desk}/approve-tool-call-generate`, decision)).status).toBe(status);
      expect((await other.post(`/approvals/${runId}/${toolCallId}/approve`, { stop: 1 })).status).toBe(
        status,
      );
    }
    expect((await at('b', 'ben').get('/approvals')).body.approvals).toEqual([]);
    expect(rows(runId)).toEqual([]);
    const decided = await at('b', 'rita').post(`${desk}/approve-tool-call-generate`, decision);
    expect(decided).toMatchObject({ status: 200, body: { finishReason: 'stop' } });
    expect(rows(runId)).toEqual(['compensate-o-10 {"order":"o-10"}']);
    const { body } = await at('a').get(`/approvals/${runId}/${toolCallId}`);
    expect(body.decisions).toMatchObject([{ by: { id: 'rita' } }]);
  });

  test('held in a sub-agent at A, which is started again; found with its path at B, and approved there', async () => {
    const held = await begin('t-below', 'ask the clerk: refund o-9');
    expect(held.toolCallId).toBe('to-clerk~refund-o-9');
    await killA();
    await startAgain();
    const [run] = await found('b', 't-below');
    const { runId, toolCallId } = held;
    expect(run?.toolCalls).toMatchObject([
      { toolCallId, path: [{ agentId: 'clerk', toolCallId: 'to-clerk' }] },
    ]);
    const rest = await (await at('b').open(`${desk}/approve-tool-call`, { runId, toolCallId })).all();
    expect(rest.at(-1)).toMatchObject({ type: 'finish', payload: { finishReason: 'stop' } });
    expect(rows(runId)).toEqual(['to-clerk~refund-o-9 {"order":"o-9"}']);
    await expectDecided('t-below', runId, toolCallId, { verdict: 'approve' });
  });
});
