import { expect, test } from 'vitest';
import { z } from 'zod';
import type { LanguageModelV4, StreamPartV4 } from '../models/ai-sdk-types.ts';
import type { Chunk } from '../stream/chunk.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { Agent } from './agent.ts';
import { Countersign } from './countersign.ts';
import { createTool } from './create-tool.ts';

/** A model whose answer comes part by part, as it is let. */
function modelInParts() {
  let controller: ReadableStreamDefaultController<StreamPartV4> | undefined;
  const stream = new ReadableStream<StreamPartV4>({
    start(given) {
      controller = given;
    },
  });
  const model: LanguageModelV4 = {
    specificationVersion: 'v4',
    provider: 'parts',
    modelId: 'parts',
    supportedUrls: {},
    doStream: async () => ({ stream }),
    doGenerate: async () => {
      throw new Error('It streams.');
    },
  };
  const say = (...parts: StreamPartV4[]): void => {
    for (const part of parts) {
      controller?.enqueue(part);
      if (part.type === 'finish') controller?.close();
    }
  };
  return { model, say };
}

test('who begins to observe in the middle of a text is told the whole of it, at its end', async () => {
  const { model, say } = modelInParts();
  const agent = new Agent({ id: 'a', model, durable: true });
  new Countersign({ agents: { agent }, warn: () => {} });
  const stream = await agent.stream('Hi');
  const reader = stream.fullStream.getReader();
  say({ type: 'text-start', id: 't' }, { type: 'text-delta', id: 't', delta: 'one ' });
  for (let type: string | undefined; type !== 'text-delta'; ) type = (await reader.read()).value?.type;
  const observed = await agent.observe({ runId: stream.runId });
  const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } } as never;
  say(
    { type: 'text-delta', id: 't', delta: 'two' },
    { type: 'text-end', id: 't' },
    { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage },
  );
  const types: string[] = [];
  for await (const { type } of observed.fullStream) types.push(type);
  expect(types).toEqual([
    'start',
    'step-start',
    'text-start',
    'text-delta',
    'text-end',
    'step-finish',
    'finish',
  ]);
  expect(await observed.text).toBe('one two');
});

test('after the end, the finish of a run and of one below say of tokens what their usage says', async () => {
  const refund = createTool({
    id: 'refund',
    inputSchema: z.object({}),
    requireApproval: true,
    execute: () => 'done',
  });
  const asking = scriptedModel([{ calls: [{ toolName: 'refund', args: {} }] }, 'Done.']);
  const inner = new Agent({ id: 'inner', model: asking, tools: { refund } });
  const delegating = scriptedModel([
    { calls: [{ toolName: 'agent-inner', args: { prompt: 'Go.' } }] },
    'All.',
  ]);
  const outer = new Agent({ id: 'outer', model: delegating, agents: { inner } });
  new Countersign({ agents: { outer, inner }, warn: () => {} });
  const { runId, suspendPayload } = await outer.generate('Go.');
  const toolCallId = String(suspendPayload?.toolCallId);
  await outer.approveToolCallGenerate({ runId, toolCallId });
  const below = `${runId}~${toolCallId.split('~')[0]}`;
  for (const stream of [await outer.observe({ runId }), await inner.observe({ runId: below })]) {
    const chunks: Chunk[] = [];
    for await (const chunk of stream.fullStream) chunks.push(chunk);
    expect(chunks.at(-1)).toMatchObject({
      type: 'finish',
      payload: { output: { usage: await stream.usage } },
    });
  }
});
