import { EventEmitter, once } from 'node:events';
import { expect, test } from 'vitest';
import { listenForChanges } from './postgres-changes.ts';

const never = 60 * 60 * 1000;

/** A connection whose LISTEN is answered, or fails, when the test says so. */
class FakeConnection extends EventEmitter {
  readonly said: string[] = [];
  readonly listening = Promise.withResolvers<{ command: string; rows: never[] }>();
  async connect(): Promise<void> {}
  query({ text }: { text: string }): Promise<{ command: string; rows: never[] }> {
    this.said.push(text);
    this.emit('said');
    return this.listening.promise;
  }
  async end(): Promise<void> {
    this.said.push('end');
    this.emit('ended');
  }
  listen(): void {
    this.listening.resolve({ command: 'LISTEN', rows: [] });
  }
  notify(payload: string): void {
    this.emit('notification', { payload });
  }
}

function faked(options: { idleMs?: number; pauseMs?: number } = {}) {
  const made: FakeConnection[] = [];
  const changes = listenForChanges({
    connect: () => {
      const connection = new FakeConnection();
      made.push(connection);
      return connection;
    },
    channel: 'countersign_public',
    idleMs: never,
    pauseMs: 0,
    ...options,
  });
  return { made, changes, newest: () => made.at(-1) as FakeConnection };
}

/** Waits for the run until the connection listens: then the first wait is over. */
async function listening(options?: { idleMs?: number }) {
  const fake = faked(options);
  const first = fake.changes.wait('run', never);
  fake.newest().listen();
  await first;
  return fake;
}

test('who waits is told when the connection begins to listen, as nobody knows what came before', async () => {
  const { made, changes } = await listening();
  expect(made.map(({ said }) => said)).toEqual([['LISTEN "countersign_public"']]);
  await changes.close();
  expect(made[0]?.said).toEqual(['LISTEN "countersign_public"', 'end']);
});

test('all who wait for a run are told, and nobody else', async () => {
  const { changes, newest } = await listening();
  const log: string[] = [];
  const waits = ['one', 'two'].map((name) => changes.wait('run', never).then(() => log.push(name)));
  await changes.wait('other', never);
  const other = changes.wait('other', never).then(() => log.push('other'));
  newest().notify('unknown');
  newest().notify('run');
  await Promise.all(waits);
  expect(log).toEqual(['one', 'two']);
  newest().notify('other');
  await other;
  await changes.close();
});

test('a change that comes between two waits ends the second at once', async () => {
  const { changes, newest } = await listening();
  newest().notify('run');
  await changes.wait('run', never);
  await changes.wait('run', 1);
  await changes.close();
});

test('without a connection the time decides', async () => {
  const changes = listenForChanges({ connect: () => undefined, channel: 'c' });
  await changes.wait('run', 1);
  const { changes: silent } = faked();
  await silent.wait('run', 1);
  await silent.close();
});

test('a lost connection comes back with the next wait, and then tells everybody', async () => {
  const { made, changes, newest } = await listening();
  const waiting = changes.wait('run', never);
  newest().emit('error', new Error('lost'));
  newest().emit('end');
  const other = changes.wait('other', never);
  expect(made).toHaveLength(2);
  newest().listen();
  await Promise.all([waiting, other]);
  expect(made[0]?.said.at(-1)).toBe('end');
  await changes.close();
});

test('one that cannot listen is tried again, but not at once', async () => {
  const { made, changes, newest } = faked({ pauseMs: never });
  const waiting = changes.wait('run', 20);
  newest().listening.reject(new Error('no'));
  await once(newest(), 'ended');
  await Promise.all([waiting, changes.wait('run', 1)]);
  expect(made).toHaveLength(1);
  await changes.close();
});

test('nobody waits: the connection is given up, and made anew when somebody does', async () => {
  const { made, changes, newest } = await listening({ idleMs: 1 });
  await once(newest(), 'ended');
  const waiting = changes.wait('run', never);
  expect(made).toHaveLength(2);
  newest().listen();
  await waiting;
  await changes.close();
});

test('closing lets everybody go', async () => {
  const { changes } = faked();
  const waiting = changes.wait('run', never);
  await changes.close();
  await waiting;
});
