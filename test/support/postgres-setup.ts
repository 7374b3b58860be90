/**
 * One PostgreSQL server for a run of vitest, started when the first test asks for it. Tests run in processes of their
 * own: they ask by connecting to a socket, and are told the url.
 */
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { TestProject } from 'vitest/node';
import { type PostgresServer, startPostgres } from './postgres.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** The port that tells where the server is. */
    readonly postgresPort: number;
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  let server: Promise<PostgresServer> | undefined;
  const teller = createServer((socket) => {
    socket.on('error', () => {});
    server ??= startPostgres();
    server.then(
      ({ url }) => socket.end(url),
      (error: Error) => socket.end(`failed: ${error.message}`),
    );
  }).listen(0, '127.0.0.1');
  await once(teller, 'listening');
  const address = teller.address();
  if (address === null || typeof address === 'string') throw new Error('The socket has no port.');
  project.provide('postgresPort', address.port);
  return async () => {
    teller.close();
    await server?.then(
      (started) => started.remove(),
      () => {},
    );
  };
}
