/** A process of a race, as the one that started it sees it. */
import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import type { FromProcess, ProcessOptions, ToProcess } from './messages.ts';

export interface RaceProcess {
  /** The name under which it claims, once it is known. */
  readonly worker: string | undefined;
  readonly endedBySelf: boolean;
  onEvent(listener: (message: FromProcess) => void): void;
  onWarning(listener: (message: string) => void): void;
  /** Gives it work. Resolves when that is done, with undefined when the process ended before. */
  ask(message: ToProcess): Promise<Extract<FromProcess, { type: 'finished' }> | undefined>;
  /** Lets it come to rest and exit. False when it ended before. */
  stop(): Promise<boolean>;
  /** SIGKILL. Resolves when it is gone. */
  kill(): Promise<void>;
  readonly ended: Promise<{ readonly bySelf: boolean; readonly text: string }>;
}

export function startProcess(options: ProcessOptions): RaceProcess {
  const child: ChildProcess = fork(join(import.meta.dirname, 'process.ts'), [JSON.stringify(options)], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    // Not those of the test runner.
    execArgv: [],
  });
  const events: ((message: FromProcess) => void)[] = [];
  const warnings: ((message: string) => void)[] = [];
  let worker: string | undefined;
  let wasKilled = false;
  let isStopped = false;
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (data: string) => {
      text += data;
    });
  let waiting: ((message: Extract<FromProcess, { type: 'finished' }> | undefined) => void) | undefined;
  let stopped: ((stopped: boolean) => void) | undefined;
  const gone = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const ended = gone.then(() => {
    waiting?.(undefined);
    stopped?.(isStopped);
    return { bySelf: !wasKilled && !isStopped, text };
  });
  child.on('message', (message: FromProcess) => {
    if (message.type === 'worker') worker = message.worker;
    if (message.type === 'stopped') isStopped = true;
    if (message.type === 'finished') waiting?.(message);
    if (message.type === 'warned') for (const tell of warnings) tell(message.message);
    for (const tell of events) tell(message);
  });
  const send = (message: ToProcess): void => {
    // It may have been killed meanwhile.
    if (child.connected) child.send(message, () => {});
  };
  return {
    get worker() {
      return worker;
    },
    get endedBySelf() {
      return child.exitCode !== null && !wasKilled && !isStopped;
    },
    onEvent: (listener) => void events.push(listener),
    onWarning: (listener) => void warnings.push(listener),
    ask: (message) =>
      new Promise((resolve) => {
        waiting = resolve;
        if (child.exitCode !== null || child.signalCode !== null) resolve(undefined);
        send(message);
      }),
    stop: () =>
      new Promise((resolve) => {
        stopped = resolve;
        if (child.exitCode !== null || child.signalCode !== null) resolve(isStopped);
        send({ type: 'stop' });
      }),
    async kill() {
      if (child.exitCode === null && child.signalCode === null && !isStopped) {
        wasKilled = true;
        child.kill('SIGKILL');
      }
      await gone;
    },
    ended,
  };
}
