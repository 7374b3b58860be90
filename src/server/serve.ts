/** Serves an app on Node. */
import type { AddressInfo } from 'node:net';
import { CountersignError } from '../core/errors.ts';
import { type CountersignServer, createServer, type ServerConfig, serverInside } from './create-server.ts';
import { isLoopback } from './loopback.ts';
import { timer } from './timer.ts';

export interface ServeOptions {
  /** Default 4111; 0 for any free one. */
  readonly port?: number | undefined;
  /** The address to listen at. Default '127.0.0.1'. Others need an `auth`. */
  readonly hostname?: string | undefined;
  /**
   * Signals at which the server closes, for instance `['SIGTERM', 'SIGINT']`. Then the process ends by the signal, as it would
   * have without this (unless you listen to it, too); a second signal ends it at once. Default: none.
   */
  readonly closeOn?: readonly ('SIGHUP' | 'SIGINT' | 'SIGTERM')[] | undefined;
  /** For how many milliseconds a signal lets go on what is open. Default 10,000. */
  readonly within?: number | undefined;
}

export interface RunningServer {
  readonly url: string;
  readonly port: number;
  /**
   * Takes no more connections, lets the legs that are open end, and stops the registry. What has not come to rest after
   * so many milliseconds (default 10,000) is left to other processes, as after a crash.
   */
  close(options?: { readonly within?: number | undefined }): Promise<void>;
}

/** Any app that answers requests: ours, or yours with ours in it. */
interface App {
  fetch(request: Request, env?: unknown): Response | Promise<Response>;
}

/** How long a request may take to arrive, in milliseconds: its head, and all of it. Then it is 408. */
const arrival = { headersTimeout: 20_000, requestTimeout: 60_000, connectionsCheckingInterval: 5_000 };

/**
 * Resolves when the server listens.
 * @throws `invalid-option` for an address that others reach, where there is no `auth`.
 */
export async function serve(
  given: App | CountersignServer | ServerConfig,
  { port = 4111, hostname = '127.0.0.1', closeOn = [], within: patience }: ServeOptions = {},
): Promise<RunningServer> {
  const app: App & Partial<CountersignServer> = 'fetch' in given ? given : createServer(given);
  if (app[serverInside]?.isLoopbackOnly && !isLoopback(hostname)) {
    throw new CountersignError('invalid-option', `Without auth nothing is served at ${hostname}.`, {
      expected: "an auth, or a hostname of this machine alone: '127.0.0.1', '::1', 'localhost'",
    });
  }
  const { createAdaptorServer } = await import('@hono/node-server');
  const server = createAdaptorServer({
    fetch: (request, env) => app.fetch(request, env),
    // The process may have uses of its own for Request and Response.
    overrideGlobalObjects: false,
    serverOptions: arrival,
  });
  let isClosing = false;
  const closeIdle = (): void => {
    if (isClosing && 'closeIdleConnections' in server) server.closeIdleConnections();
  };
  // A connection is idle a moment after its answer has ended.
  server.on('request', (_request, response) => response.once('close', () => setImmediate(closeIdle)));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, hostname, resolve);
  });
  const bound = (server.address() as AddressInfo).port;
  const name = hostname.includes(':') ? `[${hostname}]` : hostname;
  const onSignal = (signal: NodeJS.Signals): void => {
    stopListening();
    void running.close({ within: patience }).finally(() => {
      // Whoever else listens was told, and ends the process when it has done its own.
      if (process.listenerCount(signal) === 0) process.kill(process.pid, signal);
    });
  };
  const stopListening = (): void => {
    for (const signal of closeOn) process.removeListener(signal, onSignal);
  };
  const running: RunningServer = {
    url: `http://${name}:${bound}`,
    port: bound,
    async close({ within = 10_000 } = {}) {
      stopListening();
      const until = performance.now() + within;
      isClosing = true;
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      await app.close?.({ within });
      // What was said last still has to reach its readers; those that read no more are not waited for.
      const enough = timer(Math.max(until - performance.now(), 0));
      await Promise.race([closed, enough.over]);
      enough.stop();
      if ('closeAllConnections' in server) server.closeAllConnections();
      await closed;
    },
  };
  for (const signal of closeOn) process.on(signal, onSignal);
  return running;
}
