/** A process that can be frozen, as the test sees it. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as passed } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import type { Ask, SleeperOptions, Told } from './process.ts';

export interface Sleeper {
  readonly warnings: readonly string[];
  /** Resolves with the answer; an error is `{ error: code }`. */
  ask<T>(ask: Ask): Promise<T>;
  /** Resolves when the process has stopped itself. */
  readonly frozen: Promise<void>;
  thaw(): void;
}

export function startSleeper(options: SleeperOptions): Sleeper {
  const child = fork(join(import.meta.dirname, 'process.ts'), [JSON.stringify(options)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    // Not those of the test runner.
    execArgv: [],
  });
  const ended = once(child, 'close');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  const warnings: string[] = [];
  const waiting = new Map<string, (told: Extract<Told, { answer: unknown }>) => void>();
  const freezing = Promise.withResolvers<void>();
  child.on('message', (told: Told) => {
    if (told.told === 'warned') warnings.push(told.message);
    else if (told.told === 'freezing') freezing.resolve();
    else waiting.get(told.told)?.(told);
  });
  return {
    warnings,
    ask: <T>(ask: Ask) =>
      new Promise<T>((resolve, reject) => {
        waiting.set(ask.ask, ({ answer, error }) => resolve((error ? { error } : answer) as T));
        child.once('exit', () => reject(new Error('The process ended before it answered.')));
        child.send(ask);
      }),
    frozen: freezing.promise.then(() => isStopped(child.pid as number)),
    thaw: () => child.kill('SIGCONT'),
  };
}

/** Waits for another process to be stopped: bounded, as it is about to be. */
async function isStopped(pid: number): Promise<void> {
  for (let attempt = 0; attempt < 500; attempt++) {
    const [state] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1] ?? '';
    if (state === 'T') return;
    await passed(10);
  }
  throw new Error('The process did not stop.');
}

/** Asks another process until it says what is waited for: bounded, and only over processes. */
export async function until<T>(look: () => Promise<T>, isIt: (seen: T) => boolean): Promise<T> {
  for (let attempt = 0; attempt < 400; attempt++) {
    const seen = await look();
    if (isIt(seen)) return seen;
    await passed(25);
  }
  throw new Error('What was waited for did not come.');
}
