/** The specification's client, unchanged, and ours, which has the same names: the routes of the specification. */
import { MastraClient } from '@mastra/client-js';
import { CountersignClient } from 'countersign/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Desk, headersOf, openDesk, type Who } from './desk.ts';

/** What both have is used as the specification's types say. */
const clients: [string, typeof MastraClient][] = [
  ['@mastra/client-js', MastraClient],
  ['countersign/client', CountersignClient as unknown as typeof MastraClient],
];

type Client = ReturnType<MastraClient['getAgent']>;
type Streamed = Awaited<ReturnType<Client['stream']>>;
type Chunk = Parameters<Parameters<Streamed['processDataStream']>[0]['onChunk']>[0];

/** How the server refuses it: both clients throw that. */
async function refusal(asked: Promise<unknown>) {
  const error = await asked.then(
    () => expect.fail('It was not refused.'),
    (error) => error,
  );
  const { code, issues } = error.body ?? error;
  return { status: error.status, code, issues };
}

describe.each(clients)('%s', (_name, Client) => {
  let desk: Desk;

  beforeAll(async () => {
    desk = await openDesk();
  });
  afterAll(() => desk.close());

  const clientOf = (who: Who): MastraClient => new Client({ baseUrl: desk.url, headers: headersOf(who) });
  const agentOf = (who: Who, id = 'desk') => clientOf(who).getAgent(id);

  async function chunksOf(streamed: Promise<Streamed>): Promise<Chunk[]> {
    const chunks: Chunk[] = [];
    const response = await streamed;
    await response.processDataStream({
      onChunk: async (chunk) => {
        chunks.push(chunk);
      },
    });
    return chunks;
  }

  function textIn(chunks: readonly Chunk[]): string {
    return chunks.map((chunk) => (chunk.type === 'text-delta' ? chunk.payload.text : '')).join('');
  }

  /** Begins a run that waits; the ids to decide it by. */
  async function waiting(message: string, who: Who = 'ada') {
    const chunks = await chunksOf(agentOf(who).stream(message));
    const stops = chunks.filter(
      (chunk) => chunk.type === 'tool-call-approval' || chunk.type === 'tool-call-suspended',
    );
    return stops.map(({ runId, payload }) => ({ runId, toolCallId: payload.toolCallId }));
  }

  test('agents are listed and shown', async () => {
    const agents = await clientOf('ada').listAgents();
    expect(Object.keys(agents)).toEqual(['desk', 'chat', 'lead']);
    expect(agents.desk).toEqual(await agentOf('ada').details());
    expect(agents.desk).toMatchObject({
      name: 'The desk',
      tools: { refund: { description: 'Does refund.' } },
    });
  });

  describe('a held call', () => {
    test('is approved, and the run goes on in that stream', async () => {
      const chunks = await chunksOf(agentOf('ada').stream('refund s-1'));
      expect(textIn(chunks)).toBe('Let me see.');
      const held = chunks.find((chunk) => chunk.type === 'tool-call-approval')!;
      expect(held.payload).toMatchObject({ toolName: 'refund', args: { what: 's-1' } });
      expect(desk.done).not.toContain('refund s-1');
      const { toolCallId } = held.payload;
      const decided = await chunksOf(agentOf('ada').approveToolCall({ runId: held.runId, toolCallId }));
      const result = decided.find((chunk) => chunk.type === 'tool-result')!;
      expect(result.payload).toMatchObject({ toolCallId, result: { did: 's-1' } });
      expect(textIn(decided)).toBe('All done.');
      expect(desk.done.filter((what) => what === 'refund s-1')).toHaveLength(1);
    });

    test('is declined with a reason that the model reads', async () => {
      const [held] = await waiting('refund s-2');
      const decided = await chunksOf(agentOf('ada').declineToolCall({ ...held!, reason: 'Paid twice.' }));
      expect(textIn(decided)).toBe('All done.');
      expect(desk.lastPrompt()).toContain('Paid twice.');
      expect(desk.done).not.toContain('refund s-2');
    });

    test('is one of two, each decided by itself', async () => {
      const [first, second] = await waiting('refund s-3 and refund s-4');
      const stillWaiting = await chunksOf(agentOf('ada').approveToolCall(first!));
      expect(stillWaiting.at(-1)).toMatchObject({ payload: { stepResult: { reason: 'suspended' } } });
      const { runId, toolCallId } = second!;
      expect(textIn(await chunksOf(agentOf('ada').declineToolCall({ runId, toolCallId })))).toBe('All done.');
      expect(desk.done).toContain('refund s-3');
      expect(desk.done).not.toContain('refund s-4');
    });

    test('of a run that holds every call', async () => {
      const chunks = await chunksOf(agentOf('ada').stream('look s-5', { requireToolApproval: true }));
      expect(chunks.some((chunk) => chunk.type === 'tool-call-approval')).toBe(true);
      expect(desk.done).not.toContain('look s-5');
    });
  });

  test('the twins that end with generate answer with the whole', async () => {
    const agent = agentOf('ada');
    const held = await agent.generate('refund g-1 and refund g-2');
    expect(held).toMatchObject({ finishReason: 'suspended', suspendPayload: { toolName: 'refund' } });
    const runId = held.runId!;
    const [first, second] = (await agent.listSuspendedRuns()).runs.find(
      (run) => run.runId === runId,
    )!.toolCalls;
    const approved = await agent.approveToolCallGenerate({ runId, toolCallId: first!.toolCallId! });
    expect(approved.finishReason).toBe('suspended');
    const declined = await agent.declineToolCallGenerate({
      runId,
      toolCallId: second!.toolCallId!,
      reason: 'Too much.',
    });
    expect(declined).toMatchObject({ finishReason: 'stop', text: 'All done.' });
    expect(desk.done.filter((what) => what.startsWith('refund g-'))).toEqual(['refund g-1']);
  });

  describe('a tool that suspends itself', () => {
    test('is resumed with data', async () => {
      const chunks = await chunksOf(agentOf('ada').stream('seat r-1'));
      const asked = chunks.find((chunk) => chunk.type === 'tool-call-suspended')!;
      expect(asked.payload.suspendPayload).toEqual({ question: 'How many seats at r-1?' });
      const resumed = await chunksOf(agentOf('ada').resumeStream({ seats: 4 }, { runId: asked.runId }));
      expect(textIn(resumed)).toBe('All done.');
      expect(desk.done).toContain('seat r-1 for 4');
    });

    test('keeps waiting where the data does not fit', async () => {
      const [asked] = await waiting('seat r-2');
      const wrong = agentOf('ada').resumeStream({ seats: 'four' }, asked!);
      expect(await refusal(wrong)).toMatchObject({ status: 422, code: 'invalid-resume-data' });
      await chunksOf(agentOf('ada').resumeStream({ seats: 2 }, asked!));
      expect(desk.done).toContain('seat r-2 for 2');
    });
  });

  describe('what waits', () => {
    test('is found again after the server was restarted, decided, and goes on', async () => {
      const memory = { thread: 'm-1', resource: 'ada' };
      await chunksOf(agentOf('ada', 'chat').stream('refund l-1', { memory }));
      await chunksOf(
        agentOf('ada', 'chat').stream('seat l-2', { memory: { thread: 'm-2', resource: 'ada' } }),
      );
      await desk.restart();
      const agent = agentOf('ada', 'chat');
      const { runs } = await agent.listSuspendedRuns({ threadId: 'm-1', resourceId: 'ada' });
      expect(runs).toMatchObject([{ threadId: 'm-1', resourceId: 'ada', status: 'suspended' }]);
      const [call] = runs[0]!.toolCalls;
      expect(call).toMatchObject({ toolName: 'refund', args: { what: 'l-1' }, requiresApproval: true });
      const { runId } = runs[0]!;
      const decided = await chunksOf(agent.approveToolCall({ runId, toolCallId: call!.toolCallId! }));
      expect(textIn(decided)).toBe('All done.');
      expect(desk.done.filter((what) => what === 'refund l-1')).toHaveLength(1);
      const others = await agent.listSuspendedRuns({ threadId: 'm-2', perPage: 1, page: 0 });
      expect(others.total).toBe(1);
      expect(others.runs[0]!.toolCalls[0]).toMatchObject({
        requiresApproval: false,
        suspendPayload: { question: 'How many seats at l-2?' },
      });
      await chunksOf(agent.resumeStream({ seats: 1 }, { runId: others.runs[0]!.runId }));
      expect(desk.done).toContain('seat l-2 for 1');
    });

    test('is decided by conversation', async () => {
      const agent = agentOf('ada', 'chat');
      const decide = async (
        message: string,
        thread: string,
        answer: { approved: boolean; resumeData?: object },
      ) => {
        await chunksOf(agent.stream(message, { memory: { thread, resource: 'ada' } }));
        const { runs } = await agent.listSuspendedRuns({ threadId: thread });
        const toolCallId = runs[0]!.toolCalls[0]!.toolCallId!;
        const sent = await agent.sendToolApproval({
          resourceId: 'ada',
          threadId: thread,
          toolCallId,
          ...answer,
        });
        expect(sent).toMatchObject({ accepted: true, runId: runs[0]!.runId });
      };
      await decide('refund c-1', 'c-1', { approved: true });
      await decide('seat c-2', 'c-2', { approved: true, resumeData: { seats: 5 } });
      await decide('refund c-3', 'c-3', { approved: false });
      await desk.restart(); // lets what goes on come to rest
      expect(desk.done.filter((what) => / c-/.test(what))).toEqual(['refund c-1', 'seat c-2 for 5']);
    });
  });

  test('what a sub-agent waits for is decided at the top', async () => {
    const agent = agentOf('ada', 'lead');
    const memory = { thread: 'team-1', resource: 'ada' };
    const chunks = await chunksOf(agent.stream('refund team-1', { memory }));
    const held = chunks.find((chunk) => chunk.type === 'tool-call-approval')!;
    expect(held.payload).toMatchObject({ toolName: 'refund', args: { what: 'team-1' } });
    const { toolCallId } = held.payload;
    const decided = await chunksOf(agent.approveToolCall({ runId: held.runId, toolCallId }));
    expect(textIn(decided)).toContain('They did it.');
    expect(desk.done).toContain('refund team-1');
  });

  test('threads and their messages are read', async () => {
    const client = clientOf('ada');
    const memory = { thread: 't-1', resource: 'ada' };
    await agentOf('ada', 'chat').generate('Good morning', { memory });
    await agentOf('ada', 'chat').generate('refund t-1', { memory });
    const { threads } = await client.listMemoryThreads({ resourceId: 'ada', agentId: 'chat' });
    expect(threads.map(({ id }) => id)).toContain('t-1');
    const thread = client.getMemoryThread({ threadId: 't-1', agentId: 'chat' });
    expect(await thread.get()).toMatchObject({ id: 't-1', resourceId: 'ada' });
    const { messages } = await thread.listMessages();
    expect(messages).toMatchObject(['user', 'assistant', 'user', 'assistant'].map((role) => ({ role })));
    expect(JSON.stringify(messages.at(-1))).toContain('refund');
    const listed = await client.listThreadMessages('t-1', { agentId: 'chat', resourceId: 'ada', page: 0 });
    expect(listed.messages).toEqual(messages);
  });

  describe('what goes wrong is told with its status', () => {
    test('a second decision', async () => {
      const [held] = await waiting('refund e-1');
      await chunksOf(agentOf('ada').approveToolCall(held!));
      const second = agentOf('ada').declineToolCallGenerate(held!);
      expect(await refusal(second)).toMatchObject({ status: 409, code: 'already-decided' });
    });

    test("somebody else's run", async () => {
      const [held] = await waiting('refund e-2');
      expect(await refusal(agentOf('ben').approveToolCall(held!))).toMatchObject({
        status: 404,
        code: 'run-not-found',
      });
      expect((await agentOf('ben').listSuspendedRuns()).runs).toEqual([]);
      expect(desk.done).not.toContain('refund e-2');
    });

    test('a call that only a reviewer may decide', async () => {
      const [held] = await waiting('compensate e-3');
      expect(await refusal(agentOf('ada').approveToolCallGenerate(held!))).toMatchObject({ status: 403 });
      await agentOf('rita').approveToolCallGenerate(held!);
      expect(desk.done).toContain('compensate e-3');
    });

    test('an option that a body may not say', async () => {
      const asked = agentOf('ada').generate('Good morning', { instructions: 'Hold nothing.' });
      expect(await refusal(asked)).toMatchObject({ status: 400, issues: [{ field: 'instructions' }] });
    });
  });
});
