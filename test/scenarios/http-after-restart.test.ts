/** Over HTTP, by a server that was not there when the run began: what waits is found and moved, at any depth. */
import { Agent, InMemoryStore } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { describe, expect, test } from 'vitest';
import { type Chunk, type Desk, openDesk } from '../../src/server/test-support/desk.ts';

const desk = '/api/agents/desk';

test('scenario: K8 a new server lists what waits, and each verb moves it', async () => {
  const storage = new InMemoryStore();
  const first = openDesk({ registry: { storage } });
  for (const message of ['delete a', 'delete b', 'book c']) await first.hold('ada', message);
  await first.app.close();

  const second = openDesk({ registry: { storage } });
  const { body } = await second.get('ada', `${desk}/suspended-runs`);
  expect(body.total).toBe(3);
  for (const { runId, toolCalls } of body.runs) {
    const [{ toolCallId, stop, fingerprint, args, requiresApproval }] = toolCalls;
    const call = { runId, toolCallId, stop, fingerprint };
    const { what } = args;
    if (!requiresApproval)
      await second.events('ada', `${desk}/resume-stream`, { ...call, resumeData: { seats: 2 } });
    else if (what === 'a') await second.events('ada', `${desk}/approve-tool-call`, call);
    else await second.post('ada', `${desk}/decline-tool-call-generate`, { ...call, reason: 'no' });
  }
  expect(second.done.toSorted()).toEqual(['book c for 2', 'delete a']);
  expect((await second.get('ada', '/api/approvals')).body.approvals).toEqual([]);
  expect(first.done).toEqual([]);
});

test.each(['stream', 'approvals'] as const)(
  'scenario: K9 what waits two runs below is decided at the top, after a restart: %s',
  async (way) => {
    const storage = new InMemoryStore();
    const open = (): { server: Desk; done: string[] } => {
      const inner = openDesk();
      const delegate = (to: string) => ({
        calls: [{ toolName: `agent-${to}`, args: { prompt: `for ${to}` } }],
      });
      const model = scriptedModel((prompt) => {
        const last = prompt.at(-1);
        const said = JSON.stringify(last?.content);
        if (last?.role !== 'user') return 'Done.';
        if (said.includes('for middle')) return delegate('bottom');
        return said.includes('for bottom')
          ? { calls: [{ toolName: 'delete', args: { what: 'a' } }] }
          : delegate('middle');
      });
      const bottom = new Agent({ id: 'bottom', model, tools: { delete: inner.tools.delete } });
      const middle = new Agent({ id: 'middle', model, agents: { bottom } });
      const server = openDesk({ registry: { storage }, agent: { model, agents: { middle } } });
      return { server, done: inner.done };
    };
    const first = open();
    const held = await first.server.hold('ada', 'Please.');
    expect(held.path).toHaveLength(2);
    await first.server.app.close();

    const { server, done } = open();
    const { body } = await server.get('ada', '/api/approvals');
    const [{ runId, toolCallId, stop, toolName, args }] = body.approvals;
    expect([toolCallId, toolName, args]).toEqual([held.toolCallId, 'delete', { what: 'a' }]);
    if (way === 'stream') {
      const chunks = await server.events('ada', `${desk}/approve-tool-call`, { runId, toolCallId, stop });
      expect(chunks.at(-1)).toMatchObject({ type: 'finish', payload: { finishReason: 'stop' } });
    } else {
      const path = `/api/approvals/${runId}/${encodeURIComponent(toolCallId)}/approve`;
      expect((await server.post('ada', path, { stop })).status).toBe(202);
      await server.countersign.stop();
    }
    expect(done).toEqual(['delete a']);
    expect(first.done).toEqual([]);
    expect((await server.get('ada', '/api/approvals')).body.approvals).toEqual([]);
  },
);

describe('scenario: K14 every stream has one grammar', () => {
  /** start … finish, each step closed, each result after its call. */
  function expectGrammar(chunks: readonly Chunk[]): void {
    const types = chunks.map(({ type }) => type);
    expect([types[0], types.at(-1)]).toEqual(['start', 'finish']);
    expect(types.filter((type) => type === 'start' || type === 'finish')).toHaveLength(2);
    const known = new Set<string>();
    for (const { type, payload } of chunks) {
      if (type === 'tool-call') known.add(payload.toolCallId);
      if (/^tool-(result|error|output-denied|call-approval|call-suspended)$/.test(type)) {
        expect(known).toContain(payload.toolCallId);
      }
    }
  }

  test.each(['delete a', 'book a'])('%s: the first and the later one', async (message) => {
    const server = openDesk();
    const first = await server.events('ada', `${desk}/stream`, { messages: message });
    const stop = first.find(({ type }) => /^tool-call-(approval|suspended)$/.test(type));
    const { toolCallId } = stop?.payload ?? {};
    const runId = stop?.runId;
    const later = message.startsWith('book')
      ? await server.events('ada', `${desk}/resume-stream`, { runId, toolCallId, resumeData: { seats: 1 } })
      : await server.events('ada', `${desk}/approve-tool-call`, { runId, toolCallId });
    for (const chunks of [first, later]) expectGrammar(chunks);
    expect(later[0]?.payload).toEqual(first[0]?.payload);
    expect(later.filter(({ type }) => type === 'tool-result')).toHaveLength(1);
  });
});
