/** A server process, as the one that started it sees it. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { FromServer, ServerOptions, ToServer } from './messages.ts';

export interface ServerProcess {
  readonly url: string;
  readonly warnings: readonly string[];
  /** Resolves when the process has said this once. */
  said(type: FromServer['type']): Promise<void>;
  tell(message: ToServer): void;
  /** SIGKILL. Resolves when it is gone. */
  kill(): Promise<void>;
  /** Resolves with what it wrote, when it ended before it was killed. */
  readonly ended: Promise<string>;
}

/** Resolves when it listens. */
export async function startServer(options: ServerOptions): Promise<ServerProcess> {
  const child = fork(join(import.meta.dirname, 'process.ts'), [JSON.stringify(options)], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    // Not those of the test runner.
    execArgv: [],
  });
  const warnings: string[] = [];
  const said = new Map<FromServer['type'], PromiseWithResolvers<void>>();
  const saying = (type: FromServer['type']): PromiseWithResolvers<void> => {
    const known = said.get(type) ?? Promise.withResolvers<void>();
    said.set(type, known);
    return known;
  };
  const listening = Promise.withResolvers<string>();
  const ended = Promise.withResolvers<string>();
  let wrote = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (data: string) => {
      wrote += data;
    });
  const gone = once(child, 'close');
  let wasKilled = false;
  void gone.then(() => {
    if (!wasKilled) ended.resolve(wrote);
    listening.reject(new Error(`The server did not start: ${wrote}`));
  });
  child.on('message', (message: FromServer) => {
    if (message.type === 'warned') warnings.push(message.message);
    if (message.type === 'listening') listening.resolve(message.url);
    saying(message.type).resolve();
  });
  return {
    url: await listening.promise,
    warnings,
    said: (type) => saying(type).promise,
    tell: (message) => void child.send(message),
    async kill() {
      wasKilled = true;
      child.kill('SIGKILL');
      await gone;
    },
    ended: ended.promise,
  };
}
