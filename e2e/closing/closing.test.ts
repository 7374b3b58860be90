/** A server that is told to end: what can finish finishes, another process takes over the rest, nothing runs twice. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { eventsIn } from '../../src/server/test-support/desk.ts';
import { temporaryFile } from '../../test/spec/temporary-file.ts';
import type { Orders, Told } from './process.ts';

interface Server {
  readonly child: ChildProcess;
  readonly url: string;
  readonly told: Told[];
  /** Resolves when it has said this. */
  says(message: Told): Promise<void>;
}

async function start(orders: Orders): Promise<Server> {
  const child = fork(join(import.meta.dirname, 'process.ts'), [JSON.stringify(orders)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    // Not those of the test runner.
    execArgv: [],
  });
  const gone = once(child, 'close');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await gone;
  });
  const told: Told[] = [];
  child.on('message', (message: Told) => told.push(message));
  const until = async <T>(look: () => T | undefined): Promise<T> => {
    for (;;) {
      const seen = look();
      if (seen !== undefined) return seen;
      await once(child, 'message');
    }
  };
  const url = await until(() => told.find((message) => message.told === 'listens')?.url);
  const isSaid = (message: Told) => told.some((one) => JSON.stringify(one) === JSON.stringify(message));
  return {
    child,
    url,
    told,
    says: async (message) => void (await until(() => isSaid(message) || undefined)),
  };
}

/** Begins a run; resolves with its id, and with how its stream ended. */
async function begin({ url }: Server, messages: string) {
  const response = await fetch(`${url}/api/agents/desk/stream`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ messages }),
  });
  const [first, all] = (response.body as ReadableStream<Uint8Array<ArrayBuffer>>).tee();
  const { value } = await first.getReader().read();
  const { runId } = JSON.parse(
    new TextDecoder().decode(value).split('\n\n')[0]?.slice('data: '.length) ?? '',
  );
  return { runId: runId as string, text: new Response(all).text() };
}

test('at SIGTERM', async () => {
  const database = temporaryFile('runs.db');
  const [first, second] = await Promise.all([
    start({ database, within: 2500, neverEnds: true }),
    start({ database, within: 2500, neverEnds: false }),
  ]);
  const [heldUp, stuck, thought] = [
    await begin(first, 'held up'),
    await begin(first, 'stuck'),
    await begin(first, 'thought over'),
  ];
  await Promise.all([
    first.says({ told: 'entered', what: 'held up' }),
    first.says({ told: 'entered', what: 'stuck' }),
    first.says({ told: 'asked', what: 'thought over' }),
  ]);
  // What is cut off is not told how it ended.
  const cut = Promise.allSettled([stuck.text, thought.text]);
  const gone = once(first.child, 'exit');
  first.child.kill('SIGTERM');
  await first.says({ told: 'closing' });
  await expect(fetch(`${first.url}/healthz`)).rejects.toThrow();
  first.child.send('go on');
  expect(eventsIn(await heldUp.text).at(-1)).toMatchObject({ type: 'finish' });
  expect(await gone).toEqual([null, 'SIGTERM']);
  expect((await cut).map(({ status }) => status)).toEqual(['rejected', 'rejected']);

  const follow = async ({ runId }: { runId: string }) =>
    eventsIn(await (await fetch(`${second.url}/api/runs/${runId}/events`)).text());
  const [ended, waits] = [await follow(thought), await follow(stuck)];
  expect(ended.at(-1)?.payload.stepResult.reason).toBe('stop');
  expect(waits.at(-1)?.payload.stepResult.reason).toBe('suspended');
  const listed = await (await fetch(`${second.url}/api/approvals?status=interrupted`)).json();
  expect(listed).toMatchObject({
    approvals: [{ runId: stuck.runId, toolName: 'work', state: 'interrupted' }],
  });
  const entered = [...first.told, ...second.told].filter(({ told }) => told === 'entered');
  expect(entered).toHaveLength(3);
  expect(second.told.filter(({ told }) => told !== 'listens')).toEqual([
    { told: 'asked', what: 'thought over' },
  ]);
});
