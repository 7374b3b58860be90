/** K6 and K7 as a page has them: handlers that decide while they read. */
import { Agent, type AgentStream, createTool } from 'countersign';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { askRefunds, kinds, type Refund } from '../support/kinds.ts';
import { inOneWorld } from '../support/world.ts';

function lookUp(execute: () => Promise<unknown>) {
  return createTool({
    id: 'look-up',
    inputSchema: z.object({}),
    execute: async () => (await execute()) as object,
  });
}

test('scenario: K7 quickstart with a slow free neighbour: the answer is printed once', async () => {
  const effects: Refund[] = [];
  const found = Promise.withResolvers<void>();
  const model = scriptedModel([
    { text: 'Looking. ', calls: [{ toolName: 'look-up' }, ...(askRefunds('a').calls ?? [])] },
    'The answer.',
  ]);
  const tools = { ...(kinds[0]!.tools(effects, true) as object), lookUp: lookUp(() => found.promise) };
  const agent = new Agent({ id: 'desk', model, tools });
  const stream = await agent.stream('Please do it.');
  const types: string[] = [];
  let printed = '';
  for await (const chunk of stream.fullStream) {
    types.push(chunk.type);
    if (chunk.type === 'text-delta') printed += chunk.payload.text;
    if (chunk.type === 'tool-call-approval') {
      const approved = await agent.approveToolCall({
        runId: stream.runId,
        toolCallId: chunk.payload.toolCallId,
      });
      // The neighbour ends only now: the first leg must not print what the second one prints.
      found.resolve();
      for await (const text of approved.textStream) printed += text;
    }
  }
  expect(printed).toBe('Looking. The answer.');
  expect(effects).toHaveLength(1);
  expect(model.calls).toHaveLength(2);
  expect(types.at(-1)).toBe('finish');
  expect(await stream.finishReason).toBe('suspended');
});

for (const count of [1, 2, 3, 5]) {
  inOneWorld(
    'scenario: K6',
    `a recursive handler opens one dialog for each of ${count} held calls`,
    async (open) => {
      const effects: Refund[] = [];
      const orders = Array.from({ length: count }, (_, index) => `order ${index}`);
      const scene = open({
        script: [askRefunds(...orders), 'Done.'],
        tools: kinds[0]!.tools(effects, true),
      });
      const dialogs: string[] = [];
      let printed = '';
      const handle = async (stream: AgentStream): Promise<void> => {
        for await (const chunk of stream.fullStream) {
          if (chunk.type === 'text-delta') printed += chunk.payload.text;
          if (chunk.type !== 'tool-call-approval') continue;
          dialogs.push(chunk.payload.args.order);
          const { runId } = chunk;
          await handle(await scene.first.approveToolCall({ runId, toolCallId: chunk.payload.toolCallId }));
        }
      };
      await handle(await scene.first.stream('Please do it.'));
      expect(dialogs).toEqual(orders);
      expect(effects.map(({ order }) => order)).toEqual(orders);
      expect(printed).toBe('Let me see. Done.');
      expect(scene.model.calls).toHaveLength(2);
    },
  );
}

inOneWorld('scenario: K6', 'a recursive handler over several steps, with declines', async (open) => {
  const effects: Refund[] = [];
  const scene = open({
    script: [askRefunds('a', 'b'), askRefunds('c', 'd'), 'Done.'],
    tools: kinds[0]!.tools(effects, true),
  });
  const dialogs: string[] = [];
  const handle = async (stream: AgentStream): Promise<void> => {
    for await (const chunk of stream.fullStream) {
      if (chunk.type !== 'tool-call-approval') continue;
      const { runId, payload } = chunk;
      dialogs.push(payload.args.order);
      const verdict = payload.args.order === 'b' || payload.args.order === 'c' ? 'decline' : 'approve';
      await handle(await scene.first[`${verdict}ToolCall`]({ runId, toolCallId: payload.toolCallId }));
    }
  };
  await handle(await scene.first.stream('Please do it.'));
  expect(dialogs).toEqual(['a', 'b', 'c', 'd']);
  expect(effects.map(({ order }) => order)).toEqual(['a', 'd']);
});

inOneWorld(
  'scenario: K12',
  'approved in the same tick as it is announced, without a look at the rest',
  async (open) => {
    const effects: Refund[] = [];
    const scene = open({ script: [askRefunds('a'), 'Done.'], tools: kinds[0]!.tools(effects, true) });
    const stream = await scene.first.stream('Please do it.');
    const reader = stream.fullStream.getReader();
    for (;;) {
      const { value } = await reader.read();
      if (value?.type === 'tool-call-approval') break;
      expect(value).toBeDefined();
    }
    const approved = scene.first.approveToolCall({ runId: stream.runId });
    expect(await (await approved).text).toBe('Done.');
    expect(effects).toHaveLength(1);
  },
);
