import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Store } from '../core/store.ts';
import { InMemoryStore } from '../store/memory.ts';
import { type ScriptedModel, scriptedModel } from '../testing/scripted-model.ts';
import { Agent } from './agent.ts';
import { Countersign } from './countersign.ts';
import { createTool } from './create-tool.ts';
import { Memory } from './memory.ts';
import type { MessagesInput } from './types.ts';

const memory = { thread: 'thread', resource: 'user' };

interface Desk {
  readonly store: Store;
  readonly model: ScriptedModel;
  say(messages: MessagesInput, runId?: string): ReturnType<Agent['generate']>;
  /** What the turn was told of its answer. */
  told(): { type: string; value: unknown };
  readonly warnings: string[];
}

/** An agent whose one tool asks for a city, and then does this with it; in the second turn its model answers Rome. */
function desk(carryOut: (city: string, agent: { suspend(payload: object): unknown }) => unknown): Desk {
  const store = new InMemoryStore();
  const warnings: string[] = [];
  const model = scriptedModel([
    { calls: [{ toolName: 'ask', toolCallId: 'A' }] },
    { calls: [{ toolName: 'resume-ask', args: { city: 'Rome' }, toolCallId: 'R' }] },
    'Done.',
  ]);
  const ask = createTool({
    id: 'ask',
    inputSchema: z.object({}),
    resumeSchema: z.object({ city: z.string() }),
    execute: async (_input, { agent }) =>
      agent.resumeData === undefined
        ? agent.suspend({ question: 'Which?' })
        : (carryOut(agent.resumeData.city, agent) as object),
  });
  const agent = new Agent({ id: 'desk', model, tools: { ask }, memory: new Memory() });
  new Countersign({ agents: { agent }, storage: store, warn: (message) => warnings.push(message) });
  return {
    store,
    model,
    warnings,
    say: (messages, runId) => agent.generate(messages, { memory, runId, autoResumeSuspendedTools: true }),
    told() {
      const last = model.calls.at(-1)?.prompt.at(-1);
      const part = last?.role === 'tool' ? last.content[0] : undefined;
      if (part?.type !== 'tool-result') throw new Error('It was told nothing.');
      return part.output as { type: string; value: unknown };
    },
  };
}

const records = async (store: Store, runId: string) => {
  const found = await store.load(runId, 0);
  return found?.kind === 'ended' ? found.records : [];
};

describe('the message that answers', () => {
  test('is recorded by the id that a page gave it', async () => {
    const { say, store } = desk((city) => ({ city }));
    await say('The weather?', 'old');
    await say([{ id: 'message-7', role: 'user', parts: [{ type: 'text', text: 'Rome.' }] }]);
    expect(await records(store, 'old')).toMatchObject([
      { by: { id: 'auto-resume', messageId: 'message-7' } },
    ]);
  });

  test('is the last of several, by the id that it has in the thread', async () => {
    const { say, store } = desk((city) => ({ city }));
    await say('The weather?', 'old');
    await say(
      [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'I am back.' },
        { role: 'user', content: 'Rome.' },
      ],
      'turn',
    );
    expect(await records(store, 'old')).toMatchObject([{ by: { messageId: 'turn:2' } }]);
    const rows = await store.threads.messages({ threadId: 'thread' });
    expect(rows.map(({ messageId }) => messageId)).toContain('turn:2');
  });
});

describe('what the turn is told', () => {
  test.each([{ city: 'Rome' }, 'Rome', null, 0, ['Rome']])('is the result: %j', async (result) => {
    const { say, told } = desk(() => result);
    await say('The weather?');
    await say('Rome.');
    expect(told()).toEqual({ type: typeof result === 'string' ? 'text' : 'json', value: result });
  });

  test('is the error of a call that failed; its run is over all the same', async () => {
    const { say, told, store } = desk(() => {
      throw new Error('The weather service is closed.');
    });
    await say('The weather?', 'old');
    await say('Rome.', 'turn');
    expect(told()).toEqual({ type: 'error-text', value: 'The weather service is closed.' });
    expect(await store.load('old', 0)).toMatchObject({
      outcome: {
        status: 'finished',
        finishReason: 'answered',
        answered: { runId: 'turn', toolCallId: 'R', error: { code: 'tool-failed' } },
      },
    });
  });

  test('is what the call asks now, where it asks again', async () => {
    const { say, told } = desk((city, agent) => agent.suspend({ question: `Which ${city}?` }));
    await say('The weather?');
    await say('Rome.');
    expect(told()).toEqual({ type: 'json', value: { waiting: true, asked: { question: 'Which Rome?' } } });
  });

  test('is a result of more than a record keeps', async () => {
    const large = { text: 'x'.repeat(100_000) };
    const { say, told, store } = desk(() => large);
    await say('The weather?', 'old');
    await say('Rome.');
    expect(told()).toEqual({ type: 'json', value: large });
    expect(await records(store, 'old')).toMatchObject([{ outcome: { state: 'finished', truncated: true } }]);
  });
});

test('nobody else is asked, and nobody warned', async () => {
  const { say, warnings, model } = desk((city) => ({ city }));
  await say('The weather?');
  const turn = await say('Rome.');
  expect(turn.suspendPayloads).toEqual([]);
  expect(warnings.filter((message) => !message.includes('live in this process only'))).toEqual([]);
  expect(model.calls).toHaveLength(3);
});
