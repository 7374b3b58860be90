import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { Agent, type AgentStream, createTool, isCountersignError, type MessagesInput } from '../index.ts';
import { type Script, scriptedModel } from '../testing/scripted-model.ts';

const question: MessagesInput = 'Delete record abc-123';

function deleteAgent(script: Script) {
  const deleted: string[] = [];
  const deleteTool = createTool({
    id: 'delete-record',
    description: 'Delete a record by ID',
    inputSchema: z.object({ id: z.string() }),
    outputSchema: z.object({ deleted: z.boolean() }),
    requireApproval: true,
    execute: async ({ id }) => {
      deleted.push(id);
      return { deleted: true };
    },
  });
  const model = scriptedModel(script);
  const agent = new Agent({ id: 'my-agent', name: 'My Agent', model, tools: { deleteTool } });
  return { agent, deleted, model };
}

const askToDelete: Script = [
  { text: 'Let me. ', calls: [{ toolName: 'delete-record', args: { id: 'abc-123' } }] },
  'It is gone.',
];

/** The types of a stream's chunks, runs of one type as one. */
async function typesOf(stream: { fullStream: AsyncIterable<{ type: string }> }): Promise<string[]> {
  const types: string[] = [];
  for await (const { type } of stream.fullStream) if (types.at(-1) !== type) types.push(type);
  return types;
}

describe('a held call', () => {
  test('is announced, waits, and runs once when it is approved', async () => {
    const { agent, deleted } = deleteAgent(askToDelete);
    const stream = await agent.stream(question);
    let printed = '';
    for await (const chunk of stream.fullStream) {
      if (chunk.type === 'tool-call-approval') {
        expect(deleted).toEqual([]);
        expect(chunk.payload).toMatchObject({ toolName: 'delete-record', args: { id: 'abc-123' }, stop: 1 });
        const approved = await agent.approveToolCall({ runId: stream.runId });
        for await (const text of approved.textStream) printed += text;
      }
    }
    expect(deleted).toEqual(['abc-123']);
    expect(printed).toBe('It is gone.');
    expect(await stream.finishReason).toBe('suspended');
  });

  test('tells both legs in the grammar start … finish', async () => {
    const { agent } = deleteAgent(askToDelete);
    const stream = await agent.stream(question);
    expect(await typesOf(stream)).toEqual([
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
    const approved = await agent.approveToolCall({ runId: stream.runId });
    expect(await typesOf(approved)).toEqual([
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
    expect(await approved.text).toBe('It is gone.');
    expect(await approved.totalText).toBe('Let me. It is gone.');
  });

  test('does not run when it is declined, and the model is told why', async () => {
    const { agent, deleted, model } = deleteAgent(askToDelete);
    const output = await agent.generate(question);
    expect(output.finishReason).toBe('suspended');
    if (output.finishReason !== 'suspended') return;
    const declined = await agent.declineToolCallGenerate({
      runId: output.runId,
      toolCallId: output.suspendPayload.toolCallId,
      reason: 'not today',
    });
    expect(declined.text).toBe('It is gone.');
    expect(deleted).toEqual([]);
    expect(JSON.stringify(model.calls[1]?.prompt)).toContain('not today');
  });

  test('is listed while it waits, and decided once', async () => {
    const { agent, deleted } = deleteAgent(askToDelete);
    const { runId } = await agent.generate(question);
    const { runs, total } = await agent.listSuspendedRuns();
    expect(total).toBe(1);
    expect(runs[0]).toMatchObject({ runId, status: 'suspended' });
    expect(runs[0]?.toolCalls[0]).toMatchObject({
      toolName: 'delete-record',
      args: { id: 'abc-123' },
      requiresApproval: true,
    });
    const decisions = await Promise.allSettled([
      agent.approveToolCallGenerate({ runId }),
      agent.approveToolCallGenerate({ runId }),
      agent.declineToolCallGenerate({ runId }),
    ]);
    expect(decisions.filter((decision) => decision.status === 'fulfilled')).toHaveLength(1);
    for (const decision of decisions) {
      if (decision.status === 'rejected')
        expect(isCountersignError(decision.reason, 'already-decided')).toBe(true);
    }
    expect(deleted).toEqual(['abc-123']);
    expect((await agent.listSuspendedRuns({ status: 'all' })).total).toBe(0);
    await expect(agent.approveToolCall({ runId })).rejects.toMatchObject({ code: 'already-decided' });
  });
});

test('a model object in the default options goes before the model, and after that of the call', async () => {
  const model = scriptedModel(['by the agent']);
  const usual = scriptedModel(['by default', 'by default again']);
  const agent = new Agent({ id: 'usual', model, defaultOptions: { model: usual } });
  expect((await agent.generate('Who answers?')).text).toBe('by default');
  const given = scriptedModel(['by the call']);
  expect((await agent.generate('Who answers?', { model: given })).text).toBe('by the call');
  const team = new Agent({
    id: 'team',
    model: scriptedModel((prompt) =>
      prompt.at(-1)?.role === 'tool'
        ? JSON.stringify(prompt.at(-1))
        : { calls: [{ toolName: 'agent-usual', args: { prompt: 'Who answers?' } }] },
    ),
    agents: { usual: agent },
  });
  expect((await team.generate('Ask.')).text).toContain('by default again');
});

describe('how the model is asked', () => {
  function countingAgent(script: Script) {
    const asked: string[] = [];
    const { agent, model } = deleteAgent(script);
    const { doStream, doGenerate } = model;
    model.doStream = async (call) => {
      asked.push('stream');
      return doStream(call);
    };
    model.doGenerate = async (call) => {
      asked.push('whole');
      return doGenerate(call);
    };
    return { agent, asked };
  }

  test('for whole answers where the caller of the leg reads no deltas', async () => {
    const { agent, asked } = countingAgent(askToDelete);
    const { runId } = await agent.generate(question);
    await (await agent.approveToolCall({ runId })).consumeStream();
    expect(asked).toEqual(['whole', 'stream']);
  });

  test('for a stream where it reads them', async () => {
    const { agent, asked } = countingAgent(askToDelete);
    const { runId, consumeStream } = await agent.stream(question);
    await consumeStream();
    expect((await agent.approveToolCallGenerate({ runId })).text).toBe('It is gone.');
    expect(asked).toEqual(['stream', 'whole']);
  });

  test('an observer of a whole answer is told its text in one piece', async () => {
    let observed: Promise<AgentStream> | undefined;
    const { agent } = deleteAgent(async (_, index) => {
      if (index === 0) return { text: 'Let me. ', calls: [{ toolName: 'delete-record', args: { id: 'a' } }] };
      observed = agent.observe({ runId: 'run-1' });
      await observed;
      return 'It is gone.';
    });
    await agent.generate(question, { runId: 'run-1' });
    await agent.approveToolCallGenerate({ runId: 'run-1' });
    const texts: string[] = [];
    for await (const text of (await observed)?.textStream ?? []) texts.push(text);
    expect(texts).toEqual(['Let me. ', 'It is gone.']);
  });
});
