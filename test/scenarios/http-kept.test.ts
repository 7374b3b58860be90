/** Over HTTP: what is said and kept around a pause, on each family of routes: prompts, threads, options, ends. */
import { createTool, Memory } from 'countersign';
import { checkPrompt } from 'countersign/testing';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  type Answer,
  type Chunk,
  type Desk,
  eventsIn,
  openDesk,
} from '../../src/server/test-support/desk.ts';
import { type ScriptedModel, scriptedModel } from '../../src/testing/scripted-model.ts';
import { routes, stopsIn, waiting } from '../support/http-routes.ts';

const memory = { thread: 't-1' };
const inputSchema = z.object({ what: z.string() });

/** Says something in the thread. */
const say = (desk: Desk, messages: string, more: object = {}): Promise<Answer> =>
  desk.post('ada', '/api/agents/desk/generate', { messages, memory, ...more });

interface Part {
  readonly type: string;
  readonly toolCallId?: string;
  readonly state?: string;
  readonly text?: string;
  readonly approval?: { readonly id: string; readonly approved?: boolean; readonly reason?: string };
}

async function messagesOf(desk: Desk): Promise<{ id: string; role: string; parts: Part[] }[]> {
  const { body } = await desk.get('ada', '/api/memory/threads/t-1/messages');
  return body.messages;
}

describe.each(routes)('on $name', ({ decide }) => {
  test('scenario: K10 every prompt is valid: decided by halves, failed, with talk in between', async () => {
    const fails = createTool({
      id: 'pay',
      inputSchema,
      requireApproval: true,
      execute: () => {
        throw new Error('The bank is closed.');
      },
    });
    const tools = { ...openDesk().tools, pay: fails };
    const desk = openDesk({ agent: { tools, memory: new Memory() } });
    const { body } = await say(desk, 'look a and delete b and pay c and delete d');
    const { runId, suspendPayloads } = body;
    const verbs = ['approve', 'approve', 'decline'] as const;
    for (const [index, { toolCallId }] of suspendPayloads.entries()) {
      expect((await say(desk, 'Hello')).body).toMatchObject({ finishReason: 'stop', text: 'Hello.' });
      const answer = await decide(desk, 'ada', { runId, toolCallId }, verbs[index] ?? 'approve');
      expect(answer.status).toBeLessThan(300);
    }
    expect((await say(desk, 'Hello')).body.finishReason).toBe('stop');
    const prompts = desk.model.calls.map(({ prompt }) => prompt);
    expect(prompts).toHaveLength(6);
    expect(prompts.flatMap((prompt) => checkPrompt(prompt, 'all'))).toEqual([]);
    const said = JSON.stringify(prompts.at(-1));
    for (const words of ['The bank is closed.', 'execution-denied']) expect(said).toContain(words);
  });

  test('scenario: K11 a page that is closed at the announcement finds everything, then the decision', async () => {
    const desk = openDesk({ agent: { memory: new Memory() } });
    const response = await desk.app.request('/api/agents/desk/stream', {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer ada' },
      body: JSON.stringify({ messages: 'look a and delete b', memory }),
    });
    const { runId, payload } = await announced(response);
    const { toolCallId } = payload;
    await desk.countersign.stop();
    const [question, answer, ...none] = await messagesOf(desk);
    expect([question?.role, answer?.role, none]).toEqual(['user', 'assistant', []]);
    expect(answer?.parts.filter(({ type }) => type === 'text')).toMatchObject([{ text: 'Let me. ' }]);
    const states = ({ parts }: { parts: Part[] }) =>
      parts.flatMap(({ state, toolCallId: id }) => (id ? [state] : []));
    expect(states(answer!)).toEqual(['output-available', 'approval-requested']);
    expect(answer?.parts.find((part) => part.toolCallId === toolCallId)?.approval?.id).toBe(
      `${runId}::${toolCallId}::1`,
    );

    await decide(desk, 'ada', { runId, toolCallId }, 'decline', { reason: 'Keep b.' });
    const [, later, ...others] = await messagesOf(desk);
    expect([later?.id, others]).toEqual([answer?.id, []]);
    expect(states(later!)).toEqual(['output-available', 'output-denied']);
    const part = later?.parts.find((one) => one.toolCallId === toolCallId);
    expect(part?.approval).toMatchObject({ approved: false, reason: 'Keep b.' });
    expect(later?.parts.at(-1)).toMatchObject({ type: 'text', text: 'Done.' });
  });

  test('scenario: K12 decided in the tick of the announcement, with arguments that are hard to carry', async () => {
    const what = `\u0000 \u2028 \u{1f600} "\\" ${'large'.repeat(50_000)}`;
    const done: string[] = [];
    const tool = createTool({
      id: 'delete',
      inputSchema,
      requireApproval: true,
      execute: async (input) => {
        done.push(input.what);
        return { what: input.what, at: new Date(0) };
      },
    });
    const model = scriptedModel([{ calls: [{ toolName: 'delete', args: { what } }] }, 'Done.']);
    const desk = openDesk({ agent: { model, tools: { delete: tool } } });
    const response = await desk.app.request('/api/agents/desk/stream', {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer ada' },
      body: JSON.stringify({ messages: 'Please.' }),
    });
    const { runId, payload } = await announced(response);
    expect(payload.args).toEqual({ what });
    const { toolCallId, fingerprint } = payload;
    const path = `/api/approvals/${runId}/${toolCallId}`;
    expect((await desk.get('ada', path)).body).toMatchObject({ args: { what }, fingerprint });
    const answer = await decide(desk, 'ada', { runId, toolCallId }, 'approve', { fingerprint });
    expect(answer.status).toBeLessThan(300);
    expect(done).toEqual([what]);
    const told = model.calls[1]?.prompt.at(-1)?.content;
    expect(told).toMatchObject([{ output: { value: { what, at: '1970-01-01T00:00:00.000Z' } } }]);
  });

  test('scenario: K13 context, identity and options are those of the beginning, in a new server', async () => {
    const seen: unknown[] = [];
    const models: ScriptedModel[] = [];
    const open = (storage?: Desk['countersign']['storage']): Desk => {
      const tool = createTool({
        id: 'delete',
        inputSchema,
        requireApproval: true,
        execute: async (_input, { requestContext, agent }) => {
          const keys = ['tenant', 'mastra__resourceId', 'mastra__threadId'].map((key) =>
            requestContext.get(key),
          );
          seen.push([...keys, agent.resourceId, agent.threadId]);
          return {};
        },
      });
      const model = scriptedModel(() => ({ calls: [{ toolName: 'delete', args: { what: 'a' } }] }));
      models.push(model);
      return openDesk({
        agent: { model, tools: { delete: tool, look: openDesk().tools.look }, memory: new Memory() },
        server: { accept: { options: ['activeTools', 'instructions'], requestContext: ['tenant'] } },
        registry: storage ? { storage } : {},
      });
    };
    const first = open();
    const options = { activeTools: ['delete'], instructions: 'Be brief.', maxSteps: 2 };
    const { body } = await say(first, 'Please.', { ...options, requestContext: { tenant: 'acme' } });
    await first.app.close();

    const second = open(first.countersign.storage);
    const stops = [body.suspendPayload];
    for (let step = 0; step < 2; step++) {
      const { toolCallId } = stops.at(-1);
      // Somebody else decides: the run stays its owner's.
      expect(
        (await decide(second, 'rita', { runId: body.runId, toolCallId }, 'approve')).status,
      ).toBeLessThan(300);
      stops.push(...(await waiting(second)));
    }
    expect(stops).toHaveLength(2);
    expect(seen).toEqual(Array.from({ length: 2 }, () => ['acme', 'ada', 't-1', 'ada', 't-1']));
    const asked = models.flatMap(({ calls }) => calls);
    expect(asked.map(({ tools = [] }) => tools.map(({ name }) => name))).toEqual([['delete'], ['delete']]);
    expect(asked.map(({ prompt }) => prompt[0]?.content)).toEqual(['Be brief.', 'Be brief.']);
  });

  test('scenario: K16 ten years later it waits as it did, and can be decided', async () => {
    let now = Date.UTC(2026, 0, 1);
    const desk = openDesk({ registry: { clock: { now: () => now, sleep: () => new Promise(() => {}) } } });
    const held = await desk.hold('ada', 'delete a');
    const before = await waiting(desk);
    now += 10 * 365 * 24 * 60 * 60 * 1000;
    await desk.countersign.sweep();
    await desk.hold('ada', 'delete b');
    expect((await waiting(desk)).filter(({ runId }) => runId === held.runId)).toEqual(before);
    expect(before[0].since).toBe('2026-01-01T00:00:00.000Z');
    expect((await decide(desk, 'ada', held, 'approve')).status).toBeLessThan(300);
    expect(desk.done).toEqual(['delete a']);
  });

  test('scenario: K17 a new message leaves what waits; after a cancel a decision is too late', async () => {
    const desk = openDesk({ agent: { memory: new Memory() } });
    const { body } = await say(desk, 'delete a');
    const { runId, suspendPayload } = body;
    const call = { runId, toolCallId: suspendPayload.toolCallId };
    expect((await say(desk, 'Hello')).body.text).toBe('Hello.');
    expect(await waiting(desk)).toMatchObject([call]);
    await desk.countersign.getAgent('desk').cancelRun({ runId });
    for (const verb of ['approve', 'decline'] as const) {
      const late = await decide(desk, 'ada', call, verb);
      expect([late.status, late.body.code]).toEqual([410, 'run-ended']);
    }
    expect(desk.done).toEqual([]);
    expect(await waiting(desk)).toEqual([]);
    expect((await say(desk, 'delete b')).body.finishReason).toBe('suspended');
  });

  test.each([0, '', false])('scenario: K18 %j is data to resume with', async (data) => {
    const got: unknown[] = [];
    const tool = createTool({
      id: 'delete',
      inputSchema,
      resumeSchema: z.union([z.number(), z.string(), z.boolean()]),
      execute: async (_input, { agent }) => {
        if (agent.resumeData === undefined) return agent.suspend({ question: 'How many?' });
        got.push(agent.resumeData);
        return {};
      },
    });
    const desk = openDesk({ agent: { tools: { delete: tool } } });
    const asked = await desk.hold('ada', 'delete a');
    expect((await decide(desk, 'ada', asked, 'resume', { data })).status).toBeLessThan(300);
    expect(got).toEqual([data]);
    expect(await waiting(desk)).toEqual([]);
  });

  test.each(['approve', 'decline'] as const)(
    'scenario: K19 after %s and the end nothing lingers',
    async (verb) => {
      const desk = openDesk();
      const held = await desk.hold('ada', 'delete a');
      await decide(desk, 'ada', held, verb);
      expect(await desk.countersign.storage.load(held.runId, 0)).toMatchObject({ kind: 'ended' });
      expect((await desk.get('rita', '/api/approvals?status=all')).body.approvals).toEqual([]);
      const { body } = await desk.get('ada', '/api/agents/desk/suspended-runs?status=all');
      expect(body).toMatchObject({ runs: [], total: 0 });
      const path = `/api/approvals/${held.runId}/${held.toolCallId}`;
      const state = verb === 'approve' ? 'finished' : 'declined';
      expect((await desk.get('ada', path)).body).toMatchObject({ state, mayDecide: false });
      await desk.countersign.sweep();
      expect(desk.model.calls).toHaveLength(2);
    },
  );
});

test('scenario: K17 a thread can refuse a new message while something waits', async () => {
  const desk = openDesk({ agent: { memory: new Memory({ options: { whenCallsWait: 'refuse' } }) } });
  await say(desk, 'delete a');
  const refused = await say(desk, 'Hello');
  expect([refused.status, refused.body.code]).toEqual([409, 'thread-waiting']);
  expect(await waiting(desk)).toHaveLength(1);
});

test('scenario: K18 the next message answers what was asked, where the server lets it', async () => {
  const model = scriptedModel((prompt, _index, tools) => {
    const last = JSON.stringify(prompt.at(-1));
    if (prompt.at(-1)?.role === 'tool') return 'Done.';
    if (last.includes('book')) return { calls: [{ toolName: 'book', args: { what: 'a' } }] };
    const answers = last.includes('Four') && tools.some(({ name }) => name === 'resume-book');
    return answers ? { calls: [{ toolName: 'resume-book', args: { seats: 4 } }] } : 'Well.';
  });
  const server = { accept: { options: ['autoResumeSuspendedTools'] } };
  const desk = openDesk({ agent: { model, memory: new Memory() }, server });
  const auto = { autoResumeSuspendedTools: true };
  expect((await say(desk, 'Please book.', auto)).body.finishReason).toBe('suspended');
  expect((await say(desk, 'What a day.', auto)).body.text).toBe('Well.');
  expect(await waiting(desk)).toHaveLength(1);
  expect((await say(desk, 'Four of us.', auto)).body.finishReason).toBe('stop');
  expect(desk.done).toEqual(['book a for 4']);
  expect(await waiting(desk)).toEqual([]);
  for (const { tools = [] } of model.calls) {
    for (const tool of tools.filter(({ name }) => !name.startsWith('resume-'))) {
      expect(Object.keys((tool as { inputSchema: { properties: object } }).inputSchema.properties)).toEqual([
        'what',
      ]);
    }
  }
});

/** Reads up to the announcement, and goes away. */
async function announced(response: Response): Promise<Chunk> {
  const reader = (response.body as ReadableStream<Uint8Array>)
    .pipeThrough(new TextDecoderStream())
    .getReader();
  let text = '';
  for (;;) {
    const { value = '', done } = await reader.read();
    text += value;
    const events = text.split('\n\n').slice(0, -1).join('\n\n');
    const [stop] = events === '' ? [] : stopsIn(eventsIn(`${events}\n\ndata: [DONE]\n\n`));
    if (stop) {
      await reader.cancel();
      return { type: 'tool-call-approval', runId: stop.runId, payload: stop };
    }
    if (done) throw new Error(`Nothing is announced: ${text}`);
  }
}
