/**
 * Owns the connection that listens for changes of runs. It is there while somebody waits and a little longer, and
 * comes back by itself. What it misses costs the waiting ones no more than their time.
 */
import { clearTimeout, setTimeout } from 'node:timers';
import type { ListeningConnection } from './postgres-pool.ts';

export interface Changes {
  /** Resolves when the run may have changed since the last wait for it, or after so many milliseconds. */
  wait(runId: string, milliseconds: number): Promise<void>;
  close(): Promise<void>;
}

export interface ChangesOptions {
  /** Undefined where there is no such connection. */
  readonly connect: () => ListeningConnection | undefined;
  readonly channel: string;
  /** How long the connection stays when nobody waits, and how long it takes until a lost one is made anew. */
  readonly idleMs?: number;
  readonly pauseMs?: number;
}

interface Waited {
  readonly wake: Set<() => void>;
  /** Something came when nobody waited, or the run is new here. */
  isChanged: boolean;
}

/** Runs that are remembered though nobody waits for them. */
const rememberedAtMost = 1000;

export function listenForChanges({
  connect,
  channel,
  idleMs = 10_000,
  pauseMs = 1000,
}: ChangesOptions): Changes {
  const runs = new Map<string, Waited>();
  let connection: ListeningConnection | undefined;
  let isListening = false;
  let notBefore = 0;
  let waiting = 0;
  let idle: NodeJS.Timeout | undefined;

  function open(): void {
    if (connection || performance.now() < notBefore) return;
    const opened = connect();
    if (opened === undefined) return;
    connection = opened;
    opened.on('error', () => drop(opened));
    opened.on('end', () => drop(opened));
    opened.on('notification', ({ payload }) => {
      if (payload !== undefined) changed(payload);
    });
    listen(opened).catch(() => drop(opened));
  }

  async function listen(opened: ListeningConnection): Promise<void> {
    await opened.connect();
    // Those who wait have timers of their own.
    opened.unref?.();
    await opened.query({ text: `LISTEN "${channel}"` });
    if (opened !== connection) return;
    isListening = true;
    // Nobody knows what came before.
    for (const runId of [...runs.keys()]) changed(runId);
  }

  function drop(dropped: ListeningConnection): void {
    dropped.end().catch(() => {});
    if (dropped !== connection) return;
    connection = undefined;
    isListening = false;
    notBefore = performance.now() + pauseMs;
  }

  function changed(runId: string): void {
    const run = runs.get(runId);
    if (run === undefined) return;
    if (run.wake.size === 0) run.isChanged = true;
    for (const wake of [...run.wake]) wake();
  }

  function forgetSome(): void {
    if (runs.size <= rememberedAtMost) return;
    for (const [runId, { wake }] of runs) if (wake.size === 0) runs.delete(runId);
  }

  function close(): void {
    clearTimeout(idle);
    const closed = connection;
    connection = undefined;
    isListening = false;
    closed?.end().catch(() => {});
    for (const { wake } of [...runs.values()]) for (const one of [...wake]) one();
    runs.clear();
  }

  function rest(): void {
    idle = setTimeout(close, idleMs);
    idle.unref();
  }

  return {
    wait(runId, milliseconds) {
      forgetSome();
      const run = runs.get(runId) ?? { wake: new Set(), isChanged: true };
      runs.set(runId, run);
      open();
      if (isListening && run.isChanged) {
        run.isChanged = false;
        if (waiting === 0) {
          clearTimeout(idle);
          rest();
        }
        return Promise.resolve();
      }
      clearTimeout(idle);
      waiting++;
      return new Promise((resolve) => {
        const wake = (): void => {
          clearTimeout(timer);
          run.wake.delete(wake);
          run.isChanged = false;
          waiting--;
          if (waiting === 0) rest();
          resolve();
        };
        const timer = setTimeout(wake, milliseconds);
        run.wake.add(wake);
      });
    },
    async close() {
      close();
      clearTimeout(idle);
    },
  };
}
