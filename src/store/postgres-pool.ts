/** What the store needs of `pg`, by its shape: whoever has no types of it can use the store, too. */
import { CountersignError } from '../core/errors.ts';

export interface PostgresResult {
  readonly command: string;
  readonly rows: readonly Readonly<Record<string, unknown>>[];
}

export interface PostgresStatement {
  readonly text: string;
  /** A statement with a name is prepared once for each connection. */
  readonly name?: string;
  readonly values?: unknown[];
  /** Milliseconds after which the connection is given up. */
  readonly query_timeout?: number;
}

export interface PostgresConnection {
  query(statement: PostgresStatement): Promise<PostgresResult>;
  on(event: 'error', listener: (error: Error) => void): unknown;
  off(event: 'error', listener: (error: Error) => void): unknown;
}

/** A connection of the pool, given back by `release`, or closed with `release(true)`. */
export interface PooledConnection extends PostgresConnection {
  /** Whether it sends statements before it has the answers of those before. */
  readonly pipeline?: boolean;
  release(destroy?: boolean): void;
}

/** A connection of its own, that only listens. */
export interface ListeningConnection extends PostgresConnection {
  connect(): Promise<unknown>;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'end', listener: () => void): unknown;
  on(event: 'notification', listener: (message: { readonly payload?: string | undefined }) => void): unknown;
  unref?(): void;
  end(): Promise<void>;
}

/** A `Pool` of the package `pg`. */
export interface PostgresPool {
  connect(): Promise<PooledConnection>;
  on(event: 'error', listener: (error: Error) => void): unknown;
  off(event: 'error', listener: (error: Error) => void): unknown;
  end(): Promise<void>;
}

/** How long to wait for a connection, and for an answer, before it is given up as lost. */
const connectTimeout = 10_000;
const answerTimeout = 30_000;

/** @throws `dependency-missing` without pg. */
export async function newPool(connectionString: string, max: number | undefined): Promise<PostgresPool> {
  const { Pool } = await loadPg();
  return new Pool({
    connectionString,
    ...(max === undefined ? {} : { max }),
    // Sends statements without waiting for the answers of those before. Older versions ignore it and wait.
    pipeline: true,
    keepAlive: true,
    connectionTimeoutMillis: connectTimeout,
    query_timeout: answerTimeout,
    application_name: 'countersign',
  });
}

async function loadPg(): Promise<Pick<typeof import('pg'), 'Pool'>> {
  try {
    const loaded = await import('pg');
    return loaded.default ?? loaded;
  } catch (cause) {
    throw new CountersignError('dependency-missing', 'PostgresStore needs the package pg.', {
      todo: 'Run: npm install pg',
      cause,
    });
  }
}

/** A new connection as those of the pool are. Undefined where the pool does not tell how. */
export function listeningConnection(pool: PostgresPool): ListeningConnection | undefined {
  const { Client, options } = pool as {
    readonly Client?: new (options: unknown) => ListeningConnection;
    readonly options?: unknown;
  };
  return Client === undefined ? undefined : new Client(options);
}
