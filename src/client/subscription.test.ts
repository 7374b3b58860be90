import { describe, expect, test } from 'vitest';
import { type ApprovalEvent, CountersignClient, type CountersignClientError } from './index.ts';
import { type SubscribeOptions, subscription } from './subscription.ts';
import { drop, events, page, problem, type Reply, scriptServer } from './test-support/script-server.ts';
import { transportOf } from './transport.ts';

const call = { runId: 'r', toolCallId: 'c', stop: 1, agentId: 'desk', toolName: 'pay', at: 1 };
const event = (id: string, name: string, data: object = {}): string =>
  `id: ${id}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
const ready = event('0', 'ready');
const opened = (id: string): string => event(id, 'opened', { ...call, kind: 'held' });

/** Reads so many events of a subscription to a server with this script. */
async function read(count: number, replies: readonly Reply[], options: SubscribeOptions = {}) {
  const server = await scriptServer(...replies);
  const waits: number[] = [];
  const gone: string[] = [];
  const told: ApprovalEvent[] = [];
  // Silence is what never ends here: the timer of a read is one that only its abort ends.
  const wait = async (milliseconds: number, signal?: AbortSignal): Promise<void> => {
    if (milliseconds === 45_000) return new Promise((_, reject) => signal?.addEventListener('abort', reject));
    waits.push(milliseconds);
  };
  const transport = transportOf({ baseUrl: server.url }, wait);
  const onDisconnect = ({ code }: CountersignClientError) => void gone.push(code);
  let error: unknown;
  try {
    for await (const one of subscription(transport, { onDisconnect, ...options }, () => 1)) {
      told.push(one);
      if (told.length === count) break;
    }
  } catch (thrown) {
    error = thrown;
  }
  const asked = server.asked.map(({ url, headers }) => [url, headers['last-event-id']]);
  return { told: told.map(({ type, id }) => `${type} ${id}`), all: told, waits, gone, asked, error };
}

test('events are told with where they are', async () => {
  const by = { id: 'rita' };
  const text = [
    ready,
    opened('1'),
    event('2', 'decided', { ...call, decision: { verdict: 'approve', by, reason: 'fine' } }),
    event('3', 'settled', { ...call, state: 'finished' }),
    event('4', 'reset'),
  ].join(': still here\n\n');
  const { all } = await read(5, [events(text, 'stay')]);
  expect(all).toEqual([
    { type: 'ready', id: '0' },
    { type: 'opened', id: '1', ...call, kind: 'held' },
    { type: 'decided', id: '2', ...call, decision: { verdict: 'approve', by, reason: 'fine' } },
    { type: 'settled', id: '3', ...call, state: 'finished' },
    { type: 'reset', id: '4' },
  ]);
});

test('a connection that ends is made again, where it was', async () => {
  const { told, asked, gone, waits } = await read(4, [
    events(`${ready}${opened('1')}`, 'break'),
    events(opened('2')),
    events(opened('3'), 'stay'),
  ]);
  expect(told).toEqual(['ready 0', 'opened 1', 'opened 2', 'opened 3']);
  expect(asked.map(([, id]) => id)).toEqual([undefined, '1', '2']);
  expect(gone).toEqual(['connection-failed', 'connection-failed']);
  expect(waits).toEqual([1000, 1000]);
});

test('half an event before the break is not told, and not taken for seen', async () => {
  const { told, asked } = await read(2, [
    events(`${ready}id: 1\nevent: opened\ndata: {"runId":`, 'break'),
    events(opened('1'), 'stay'),
  ]);
  expect(told).toEqual(['ready 0', 'opened 1']);
  expect(asked.map(([, id]) => id)).toEqual([undefined, '0']);
});

test('it goes on after an event that one names, with filters', async () => {
  const options = { lastEventId: '41', agentId: 'desk', toolName: 'pay', threadId: 't', resourceId: 'ada' };
  const { asked } = await read(1, [events(opened('42'), 'stay')], options);
  expect(asked).toEqual([
    ['/api/approvals/events?agentId=desk&toolName=pay&threadId=t&resourceId=ada', '41'],
  ]);
});

test('it waits ever longer while the server is away, and from the beginning when it was there', async () => {
  const { waits, told } = await read(2, [
    drop,
    page(502),
    problem(503, 'server-closing'),
    problem(500, 'internal'),
    problem(429, 'too-many-requests', {}, { 'retry-after': '60' }),
    drop,
    drop,
    events(ready, 'break'),
    events(opened('1'), 'stay'),
  ]);
  expect(waits).toEqual([1000, 2000, 4000, 8000, 60_000, 30_000, 30_000, 1000]);
  expect(told).toEqual(['ready 0', 'opened 1']);
});

test('the server says how long to wait', async () => {
  const { waits } = await read(2, [events(`retry: 200\n${ready}`), drop, events(opened('1'), 'stay')]);
  expect(waits).toEqual([200, 400]);
});

test('but never to come back without a pause', async () => {
  const { waits } = await read(2, [events(`retry: 0\n${ready}`), drop, events(opened('1'), 'stay')]);
  expect(waits).toEqual([100, 200]);
});

test('it waits ever longer for one that answers and ends without an event', async () => {
  const empty = [events(''), events(': hello\n\n'), events('', 'break')];
  const { waits } = await read(2, [...empty, events(ready), ...empty, events(opened('1'), 'stay')]);
  expect(waits).toEqual([1000, 2000, 4000, 1000, 2000, 4000, 8000]);
});

test('a connection that was quiet, but went on speaking, was a good one', async () => {
  let speak = (): void => {};
  const quiet: Reply = (response, asked) => {
    events(':\n\n', 'stay')(response, asked);
    speak = () => void response.end(':\n\n');
  };
  const server = await scriptServer(drop, drop, quiet, events(ready, 'stay'));
  const waits: number[] = [];
  let reads = 0;
  const wait = async (milliseconds: number): Promise<void> => {
    if (milliseconds !== 45_000) return void waits.push(milliseconds);
    if (++reads === 2) speak();
    await Promise.withResolvers<void>().promise;
  };
  for await (const _ of subscription(transportOf({ baseUrl: server.url }, wait), {}, () => 1)) break;
  expect(waits).toEqual([1000, 2000, 1000]);
});

test.each([
  [401, 'unauthenticated'],
  [403, 'forbidden'],
  [404, 'route-not-found'],
  [400, 'invalid-request'],
])('what the server refuses (%i) is thrown', async (status, code) => {
  const { error, asked } = await read(9, [events(ready), problem(status, code)]);
  expect(error).toMatchObject({ status, code });
  expect(asked).toHaveLength(2);
});

test('an event that is no JSON is thrown', async () => {
  const { error } = await read(9, [events('data: <html>\n\n')]);
  expect(error).toMatchObject({ code: 'bad-answer' });
});

test('clients that were cut off together come back at different times', async () => {
  const server = await scriptServer(drop, events(ready, 'stay'));
  const waits: number[] = [];
  const wait = async (milliseconds: number): Promise<void> => {
    if (milliseconds === 45_000) await Promise.withResolvers<void>().promise;
    waits.push(milliseconds);
  };
  const transport = transportOf({ baseUrl: server.url }, wait);
  for await (const _ of subscription(transport, {}, () => 0)) break;
  expect(waits).toEqual([500]);
});

test('a connection that says nothing for too long is given up', async () => {
  const server = await scriptServer(events(ready, 'stay'), events(opened('1'), 'stay'));
  let reads = 0;
  const wait = async (milliseconds: number): Promise<void> => {
    // The first read gets the bytes of the event, the second one nothing.
    if (milliseconds === 45_000 && ++reads !== 2) await Promise.withResolvers<void>().promise;
  };
  const told: string[] = [];
  const gone: string[] = [];
  const onDisconnect = ({ message }: Error) => void gone.push(message);
  for await (const { id } of subscription(transportOf({ baseUrl: server.url }, wait), { onDisconnect })) {
    told.push(id);
    if (id === '1') break;
  }
  expect(told).toEqual(['0', '1']);
  expect(gone).toEqual(['Nothing was heard for too long.']);
});

describe('an abort', () => {
  test('ends the events, also while it waits to connect', async () => {
    const server = await scriptServer(events(ready, 'stay'), drop);
    for (const count of [1, 2]) {
      const controller = new AbortController();
      const { signal } = controller;
      const client = new CountersignClient({ baseUrl: server.url });
      const told: string[] = [];
      const onEvent = ({ type }: ApprovalEvent) => {
        told.push(type);
        controller.abort();
      };
      const onDisconnect = () => controller.abort();
      await client.approvals.subscribe({ onEvent, onDisconnect, abortSignal: signal });
      expect(told).toEqual(count === 1 ? ['ready'] : []);
      for await (const _ of client.approvals.subscribe({ abortSignal: signal })) expect.unreachable();
      expect(server.asked).toHaveLength(count);
    }
  });

  test('of the client ends it, too', async () => {
    const server = await scriptServer(events(ready, 'stay'));
    const controller = new AbortController();
    const client = new CountersignClient({ baseUrl: server.url, abortSignal: controller.signal });
    for await (const _ of client.approvals.subscribe()) controller.abort();
    expect(server.asked).toHaveLength(1);
  });
});

test('who stops reading closes the connection', async () => {
  const closed = Promise.withResolvers<void>();
  const server = await scriptServer((response, asked) => {
    response.on('close', closed.resolve);
    events(ready, 'stay')(response, asked);
  });
  for await (const _ of new CountersignClient({ baseUrl: server.url }).approvals.subscribe()) break;
  await closed.promise;
});

test('what onEvent throws ends it', async () => {
  const server = await scriptServer(events(ready, 'stay'));
  const onEvent = () => {
    throw new Error('mine');
  };
  const { approvals } = new CountersignClient({ baseUrl: server.url });
  await expect(approvals.subscribe({ onEvent })).rejects.toThrow('mine');
});
