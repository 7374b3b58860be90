import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Store } from '../core/store.ts';
import { InMemoryStore } from '../store/memory.ts';
import { fakeClock } from '../testing/fake-clock.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { storeAround } from '../testing/store-around.ts';
import { Agent } from './agent.ts';
import { Countersign } from './countersign.ts';
import { createTool } from './create-tool.ts';
import { Memory, type MemoryConfig } from './memory.ts';
import type { AgentConfig } from './types.ts';

const thread = { threadId: 'thread-1', resourceId: 'user-1' };
const memory = { thread: thread.threadId, resource: thread.resourceId };

const refund = createTool({
  id: 'refund',
  inputSchema: z.object({}),
  requireApproval: true,
  execute: async () => ({ refunded: true }),
});

function desk(
  over: Partial<AgentConfig> = {},
  script: Parameters<typeof scriptedModel>[0] = ['One.', 'Two.', 'Three.'],
) {
  const model = scriptedModel(script);
  return { model, agent: new Agent({ id: 'desk', model, tools: { refund }, ...over }) };
}

const quiet = { warn: () => {} };
const inRegistry = (agent: Agent, storage: Store = new InMemoryStore()): Store => {
  new Countersign({ agents: { agent }, storage, ...quiet });
  return storage;
};

const textsIn = async (kept: Memory, ids = thread): Promise<string[]> => {
  const { messages } = await kept.recall(ids);
  return messages.map(({ parts }) => parts.map((part) => ('text' in part ? part.text : '')).join(''));
};

const said = (prompt: unknown): string[] => JSON.stringify(prompt).match(/(?<="text":")[^"]*/g) ?? [];

describe('threads', () => {
  const open = (): Memory => new Memory({ storage: new InMemoryStore() });

  test('are made, found, listed and deleted', async () => {
    const kept = open();
    const made = await kept.createThread({ resourceId: 'user-1', title: 'Refunds', metadata: { order: 1 } });
    expect(made).toEqual({
      id: expect.any(String),
      resourceId: 'user-1',
      title: 'Refunds',
      metadata: { order: 1 },
      createdAt: expect.any(Date),
      updatedAt: expect.any(Date),
    });
    const ids = { threadId: made.id, resourceId: 'user-1' };
    expect(await kept.getThreadById(ids)).toEqual(made);
    expect(await kept.createThread({ ...ids, title: 'Other' })).toEqual(made);
    expect(await kept.listThreads({ resourceId: 'user-1' })).toEqual({ threads: [made], total: 1 });
    expect(await kept.recall(ids)).toEqual({ messages: [] });
    expect(await kept.deleteThread(ids)).toEqual({ deleted: true, cancelledRuns: [] });
    await expect(kept.getThreadById(ids)).rejects.toMatchObject({ code: 'thread-not-found', status: 404 });
  });

  test('are listed page by page', async () => {
    const kept = open();
    for (const threadId of ['a', 'b', 'c']) await kept.createThread({ threadId, resourceId: 'user-1' });
    const first = await kept.listThreads({ resourceId: 'user-1', perPage: 2 });
    expect(first).toMatchObject({ total: 3, cursor: expect.any(String) });
    const byPage = await kept.listThreads({ resourceId: 'user-1', perPage: 2, page: 1 });
    const byCursor = await kept.listThreads({ resourceId: 'user-1', perPage: 2, cursor: first.cursor });
    expect(byPage.threads).toEqual(byCursor.threads);
    expect([...first.threads, ...byPage.threads].map(({ id }) => id).toSorted()).toEqual(['a', 'b', 'c']);
    expect(await kept.listThreads({ resourceId: 'nobody' })).toEqual({ threads: [], total: 0 });
  });

  test('of others are not there', async () => {
    const kept = open();
    await kept.createThread(thread);
    const foreign = { ...thread, resourceId: 'user-2' };
    const missing = { ...thread, threadId: 'thread-2' };
    const errorOf = async (ids: typeof thread, call: (given: typeof thread) => Promise<unknown>) =>
      call(ids).catch((error: Error) => error.message.replaceAll(ids.threadId, '…'));
    for (const call of [
      kept.getThreadById.bind(kept),
      kept.recall.bind(kept),
      kept.deleteThread.bind(kept),
    ]) {
      const told = await errorOf(foreign, call);
      expect(told).toContain('There is no thread');
      expect(told).toBe(await errorOf(missing, call));
    }
    await expect(kept.createThread(foreign)).rejects.toMatchObject({ code: 'thread-not-found' });
    await expect(kept.saveMessages({ ...foreign, messages: 'Hi' })).rejects.toMatchObject({
      code: 'thread-not-found',
    });
    expect(await kept.recall(thread)).toEqual({ messages: [] });
  });

  test.each([
    ['a resourceId', { threadId: 'a' }],
    ['a threadId that is one', { threadId: '', resourceId: 'a' }],
    ['last', { ...thread, last: 0 }],
  ])('need %s', async (_, given) => {
    await expect(open().recall(given as never)).rejects.toMatchObject({ code: 'invalid-option' });
  });

  test.each([{ perPage: 0 }, { page: -1 }, { cursor: 1 as never }])('are not listed by %o', async (given) => {
    await expect(open().listThreads({ resourceId: 'a', ...given })).rejects.toMatchObject({
      code: 'invalid-option',
    });
  });
});

describe('messages that you bring', () => {
  const ui = (id: string, text: string) => ({ id, role: 'user', parts: [{ type: 'text', text }] }) as const;

  test('of a page keep their ids and their order, and are recalled by a run', async () => {
    const kept = new Memory();
    const { agent, model } = desk({ memory: kept });
    inRegistry(agent);
    const messages = [ui('1', 'first'), { ...ui('2', 'second'), role: 'assistant' as const }];
    expect(await kept.saveMessages({ ...thread, messages })).toEqual({ messages });
    await kept.saveMessages({ ...thread, messages: [ui('3', 'third')] });
    await agent.generate('fourth', { memory });
    expect(said(model.calls[0]?.prompt)).toEqual(['first', 'second', 'third', 'fourth']);
    expect(await textsIn(kept)).toEqual(['first', 'second', 'third', 'fourth', 'One.']);
    expect((await kept.recall({ ...thread, last: 2 })).messages).toHaveLength(2);
  });

  test('of a prompt, or plain texts, are converted', async () => {
    const kept = new Memory({ storage: new InMemoryStore() });
    await kept.saveMessages({ ...thread, messages: ['Hi', { role: 'assistant', content: 'Hello' }] });
    await kept.saveMessages({ ...thread, messages: 'Bye' });
    expect(await textsIn(kept)).toEqual(['Hi', 'Hello', 'Bye']);
  });

  test('again replace what they said, in their place', async () => {
    const kept = new Memory({ storage: new InMemoryStore() });
    await kept.saveMessages({ ...thread, messages: [ui('1', 'a'), ui('2', 'b')] });
    await kept.saveMessages({ ...thread, messages: [ui('1', 'A')] });
    expect(await textsIn(kept)).toEqual(['A', 'b']);
  });

  test.each([
    [[{ id: 1, role: 'user', parts: [] }]],
    [[{ id: 'a', role: 'user', parts: 'x' }]],
    [[{ id: 'a', role: 'tool', parts: [] }]],
    [[ui('a', 'x'), 'text']],
    [[{ role: 'nobody', content: 'x' }]],
    [[]],
  ])('of another shape are refused: %o', async (messages) => {
    const kept = new Memory({ storage: new InMemoryStore() });
    await expect(kept.saveMessages({ ...thread, messages: messages as never })).rejects.toMatchObject({
      code: 'invalid-message',
    });
  });
});

describe('where a memory is', () => {
  test('alone it needs a storage', async () => {
    await expect(new Memory().recall(thread)).rejects.toMatchObject({
      code: 'invalid-option',
      message: expect.stringContaining('new Memory({ storage })'),
    });
  });

  test('in the store of its agents, of which there is one', async () => {
    const kept = new Memory();
    const { agent: one } = desk({ memory: kept });
    const two = new Agent({ id: 'two', model: scriptedModel(['Hello.']), memory: kept });
    const storage = new InMemoryStore();
    new Countersign({ agents: { one, two }, storage, ...quiet });
    await one.generate('Hi', { memory });
    await two.generate('And you?', { memory });
    expect(await textsIn(kept)).toEqual(['Hi', 'One.', 'And you?', 'Hello.']);
    expect(await textsIn(new Memory({ storage }))).toHaveLength(4);
    const { agent: elsewhere } = desk({ memory: kept });
    expect(() => inRegistry(elsewhere)).toThrow(expect.objectContaining({ code: 'invalid-agent' }));
  });

  test('in a storage of its own, whatever store the runs are in', async () => {
    const own = new InMemoryStore();
    const kept = new Memory({ storage: own });
    const { agent, model } = desk({ memory: kept }, [
      { text: 'I ask. ', calls: [{ toolName: 'refund' }] },
      'Done.',
      'Yes.',
    ]);
    const runs = inRegistry(agent);
    const { runId } = await agent.generate('Please.', { memory });
    expect(await textsIn(kept)).toEqual(['Please.', 'I ask. ']);
    expect(await own.threads.messages({ threadId: 'thread-1' })).toEqual([]);
    await agent.approveToolCallGenerate({ runId });
    expect(await textsIn(kept)).toEqual(['Please.', 'I ask. Done.']);
    await agent.generate('Again?', { memory });
    expect(said(model.calls[2]?.prompt)).toEqual(['Please.', 'I ask. ', 'Done.', 'Again?']);
    expect(await own.threads.messages({ threadId: 'thread-1' })).toHaveLength(4);
    expect(await runs.threads.get('thread-1')).toBeUndefined();
  });

  test('its own storage has the messages before the run is removed', async () => {
    const own = new InMemoryStore();
    const order: string[] = [];
    const inner = new InMemoryStore();
    const runs = storeAround(inner, {
      remove: (...given) => {
        order.push('remove');
        return inner.remove(...given);
      },
    });
    const storage = storeAround(own, {
      threads: {
        ...own.threads,
        save: (...given) => {
          order.push('save');
          return own.threads.save(...given);
        },
      },
    });
    const { agent } = desk({ memory: new Memory({ storage }) }, [
      { calls: [{ toolName: 'refund' }] },
      'Done.',
    ]);
    inRegistry(agent, runs);
    const { runId } = await agent.generate('Please.', { memory });
    await agent.approveToolCallGenerate({ runId });
    expect(order).toEqual(['save', 'remove']);
    const { agent: second } = desk({ memory: new Memory({ storage }) }, [
      { calls: [{ toolName: 'refund' }] },
    ]);
    inRegistry(second, runs);
    const waiting = await second.generate('Again.', { memory });
    await second.cancelRun({ runId: waiting.runId });
    expect(order).toEqual(['save', 'remove', 'save', 'remove']);
  });

  test('by a function of the request', async () => {
    const asked: unknown[] = [];
    const { agent, model } = desk({
      memory: ({ requestContext }) => {
        asked.push(requestContext.get('tenant'));
        return new Memory({ options: { lastMessages: 2 } });
      },
    });
    const storage = inRegistry(agent);
    for (const text of ['1', '2', '3']) await agent.generate(text, { memory });
    expect(said(model.calls[2]?.prompt)).toEqual(['2', 'Two.', '3']);
    expect(asked).toHaveLength(3);
    expect(await textsIn(new Memory({ storage }))).toHaveLength(6);
  });
});

describe('whose conversation it is', () => {
  test('an agent in no registry has one of its own', async () => {
    const kept = new Memory();
    const { agent, model } = desk({ memory: kept });
    await agent.generate('Hi');
    await agent.generate('Again');
    expect(said(model.calls[1]?.prompt)).toEqual(['Hi', 'One.', 'Again']);
    const other = desk({ memory: new Memory() });
    await other.agent.generate('Hi');
    expect(said(other.model.calls[0]?.prompt)).toEqual(['Hi']);
  });

  test('in a registry it must be named', async () => {
    const { agent, model } = desk({ memory: new Memory() });
    inRegistry(agent);
    for (const options of [{}, { memory: { thread: 'thread-1' } }]) {
      await expect(agent.generate('Hi', options)).rejects.toMatchObject({
        code: 'thread-required',
        status: 422,
      });
      await expect(agent.stream('Hi', options)).rejects.toMatchObject({ code: 'thread-required' });
    }
    expect(model.calls).toHaveLength(0);
    const plain = desk();
    inRegistry(plain.agent);
    expect((await plain.agent.generate('Hi', { memory: { thread: 'thread-1' } })).text).toBe('One.');
  });

  test('of another resource it is not there, and nothing happens', async () => {
    const kept = new Memory();
    const { agent, model } = desk({ memory: kept });
    inRegistry(agent);
    await agent.generate('Hi', { memory });
    const foreign = { ...memory, resource: 'user-2' };
    for (const options of [foreign, { ...foreign, options: { readOnly: true } }]) {
      await expect(agent.generate('Mine?', { memory: options })).rejects.toMatchObject({
        code: 'thread-not-found',
      });
      await expect(agent.stream('Mine?', { memory: options })).rejects.toMatchObject({
        code: 'thread-not-found',
      });
    }
    expect(model.calls).toHaveLength(1);
    expect(await textsIn(kept)).toEqual(['Hi', 'One.']);
  });

  test('a thread that is new is made with its title', async () => {
    const kept = new Memory();
    const { agent } = desk({ memory: kept });
    inRegistry(agent);
    const described = { id: 'thread-1', title: 'Broken order', metadata: { order: 7 } };
    await agent.generate('Hi', { memory: { thread: described, resource: 'user-1' } });
    await agent.generate('Hi', { memory: { thread: { ...described, title: 'Other' }, resource: 'user-1' } });
    expect(await kept.getThreadById(thread)).toMatchObject({ title: 'Broken order', metadata: { order: 7 } });
  });
});

test('a memory that only reads makes no thread', async () => {
  const storage = new InMemoryStore();
  const { agent } = desk({ memory: new Memory({ options: { readOnly: true } }) });
  inRegistry(agent, storage);
  expect((await agent.generate('Hi', { memory })).text).toBe('One.');
  expect(await storage.threads.get('thread-1')).toBeUndefined();
});

describe('a store that fails', () => {
  /** Saves fail as often as this says. */
  function failing(count: number) {
    const store = new InMemoryStore();
    let left = count;
    const threads = {
      ...store.threads,
      save: (...given: Parameters<Store['threads']['save']>) => {
        if (left-- > 0) throw new Error('disk full');
        return store.threads.save(...given);
      },
    };
    return storeAround(store, { threads });
  }

  const registered = (storage: Store, script?: Parameters<typeof scriptedModel>[0]) => {
    const kept = new Memory();
    const { agent } = desk({ memory: kept, defaultOptions: { maxRetries: 0 } }, script);
    const warnings: string[] = [];
    const clock = { now: () => Date.now(), sleep: async () => {} };
    new Countersign({ agents: { agent }, storage, clock, warn: (message) => warnings.push(message) });
    return { agent, kept, warnings };
  };

  test('does not lose the answer: it is kept when the store is back', async () => {
    const { agent, kept, warnings } = registered(failing(10));
    const stream = await agent.stream('Hi', { memory });
    expect(await stream.text).toBe('One.');
    expect(await textsIn(kept)).toEqual(['Hi', 'One.']);
    expect(warnings).toEqual([expect.stringContaining('the store does not answer')]);
  });

  test('a failure is told, though it cannot be kept', async () => {
    const { agent } = registered(failing(Number.POSITIVE_INFINITY), [{ error: new Error('overloaded') }]);
    const stream = await agent.stream('Hi', { memory });
    expect(await stream.finishReason).toBe('error');
    expect((await stream.error)?.code).toBe('store-failed');
  });

  test('one that is closed is said so, loudly', async () => {
    const storage = new InMemoryStore();
    const { agent } = registered(storage, async () => {
      await storage.close();
      return 'One.';
    });
    const stream = await agent.stream('Hi', { memory });
    const streamed: string[] = [];
    for await (const chunk of stream.fullStream)
      if (chunk.type === 'text-delta') streamed.push(chunk.payload.text);
    expect(streamed.join('')).toBe('One.');
    expect((await stream.error)?.code).toBe('store-closed');
  });
});

test('two turns of one millisecond keep their order', async () => {
  const clock = fakeClock();
  const kept = new Memory();
  const { agent } = desk({ memory: kept });
  new Countersign({ agents: { agent }, clock, ...quiet });
  for (const text of ['1', '2', '3']) await agent.generate(text, { memory });
  expect(await textsIn(kept)).toEqual(['1', 'One.', '2', 'Two.', '3', 'Three.']);
});

describe('options', () => {
  test.each<[string, unknown]>([
    ['lastMessages of 0', { options: { lastMessages: 0 } }],
    ['an option that is not known', { options: { readonly: true } }],
    ['a key that is not known', { store: {} }],
    ['lastMessages of half', { options: { lastMessages: 1.5 } }],
    ['lastMessages: true', { options: { lastMessages: true } }],
    ['readOnly as text', { options: { readOnly: 'yes' } }],
    ['another whenCallsWait', { options: { whenCallsWait: 'wait' } }],
  ])('%s is refused', (_, config) => {
    expect(() => new Memory(config as MemoryConfig)).toThrow(
      expect.objectContaining({ code: 'invalid-option' }),
    );
  });

  test.each([
    'createThread',
    'saveMessages',
    'recall',
    'listThreads',
    'getThreadById',
    'deleteThread',
  ] as const)('%s refuses what it does not know, and what is no object', async (method) => {
    const kept = new Memory({ storage: new InMemoryStore() });
    const ask = (options: unknown) =>
      (kept[method] as (options: never) => Promise<unknown>)(options as never);
    await expect(ask({ resourceId: 'ada', threadIt: 't' })).rejects.toMatchObject({
      code: 'invalid-option',
      message: expect.stringContaining(`There is no option "threadIt" of ${method}.`),
    });
    await expect(ask('t')).rejects.toMatchObject({ code: 'invalid-option' });
  });

  test('of a run are checked too', async () => {
    const { agent } = desk({ memory: new Memory() });
    const options = { memory: { ...memory, options: { lastMessages: -1 } } };
    await expect(agent.generate('Hi', options)).rejects.toMatchObject({ code: 'invalid-option' });
  });

  test('a memory that is none is refused', async () => {
    expect(() => desk({ memory: {} as never })).toThrow(expect.objectContaining({ code: 'invalid-agent' }));
    const { agent } = desk({ memory: () => ({}) as never });
    await expect(agent.generate('Hi')).rejects.toMatchObject({ code: 'invalid-agent' });
  });
});
