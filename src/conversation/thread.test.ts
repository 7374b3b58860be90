import { describe, expect, test } from 'vitest';
import { type Event, eventText } from '../core/event.ts';
import type { ListedRun, OpenRun, Store } from '../core/store.ts';
import { requested, runId, runStarted, stepFinished, stepStarted } from '../core/test-support/events.ts';
import { InMemoryStore } from '../store/memory.ts';
import { openRunsOf, spokenInThread, type ThreadPlaces } from './thread.ts';

const thread = { threadId: 'thread-1', resourceId: 'user-1' };
const held: Event[] = [
  runStarted({ ...thread, memory: {} }),
  stepStarted(),
  stepFinished(0, ['c1']),
  requested('c1', 'held'),
];

/** A store in which this run is listed, and found so. */
function runsWith(found: Awaited<ReturnType<Store['load']>>): ThreadPlaces['runs'] {
  const listed = { runId, agentId: 'agent-1', status: 'suspended', since: 1, calls: [] } as ListedRun;
  return [{ list: async () => ({ runs: [listed], total: 1 }), load: async () => found }];
}

const open: OpenRun = { kind: 'open', version: held.length, events: held.map(eventText) };

async function threadsWith(
  ...messages: { id: string; text: string; at: number; of?: string; index?: number }[]
) {
  const { threads } = new InMemoryStore();
  await threads.create({ ...thread, createdAt: 0, updatedAt: 0 });
  const rows = messages.map(({ id, text, at, of = '', index = 0 }) => ({
    threadId: 'thread-1',
    messageId: id,
    at,
    runId: of,
    index,
    data: JSON.stringify({ id, role: 'user', parts: [{ type: 'text', text }] }),
  }));
  await threads.save('thread-1', rows, 9);
  return threads;
}

async function read(
  places: ThreadPlaces,
  range: Parameters<typeof spokenInThread>[2] = {},
): Promise<string[]> {
  const spoken = await spokenInThread(places, 'thread-1', range, await openRunsOf(places, thread));
  return spoken.map(
    ({ message: { id, parts } }) =>
      `${id} ${parts.map((part) => ('text' in part ? part.text : '')).join('')}`,
  );
}

describe('the messages of a thread', () => {
  test('are those that are stored and those of its open runs, in one order', async () => {
    const threads = await threadsWith({ id: 'a', text: 'before', at: 0 }, { id: 'z', text: 'after', at: 2 });
    const places = { threads, runs: runsWith(open) };
    const all = ['a before', `${runId}:0 Go.`, 'message-1 text 0', 'z after'];
    expect(await read(places)).toEqual(all);
    expect(await read(places, { last: 2 })).toEqual(all.slice(2));
    const key = (index: number) => ({ at: 1, runId, index });
    expect(await read(places, { from: key(0), to: key(0) })).toEqual(all.slice(1, 2));
    expect(await openRunsOf(places, thread, runId)).toEqual([]);
  });

  test('of a run that ends while they are read are there once, as they were stored', async () => {
    const threads = await threadsWith(
      { id: `${runId}:0`, text: 'Go.', at: 1, of: runId },
      { id: 'message-1', text: 'the whole answer', at: 1, of: runId, index: 1 },
    );
    const expected = [`${runId}:0 Go.`, 'message-1 the whole answer'];
    expect(await read({ threads, runs: runsWith(open) })).toEqual(expected);
    const ended = { kind: 'ended', runId, agentId: 'agent-1', at: 9, outcome: {}, records: [] } as never;
    expect(await read({ threads, runs: runsWith(ended) })).toEqual(expected);
    expect(await read({ threads, runs: runsWith(undefined) })).toEqual(expected);
  });

  test('one that an open run says again keeps its place', async () => {
    const threads = await threadsWith(
      { id: 'mine', text: 'old', at: 0 },
      { id: 'z', text: 'later', at: 0, index: 1 },
    );
    const again = runStarted({
      ...thread,
      memory: { again: { at: 0, runId: '', index: 0 } },
      messageIds: ['mine'],
    });
    const places = { threads, runs: runsWith({ ...open, version: 1, events: [eventText(again)] }) };
    expect(await read(places)).toEqual(['mine Go.', 'z later']);
  });
});
