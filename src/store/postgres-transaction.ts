/** Owns how work gets a connection to PostgreSQL, and its transaction. */
import type { PooledConnection, PostgresPool } from './postgres-pool.ts';

/**
 * In milliseconds: how long a write waits for another one of the same run, and how long a process that stands still
 * may hold others up (only where the driver waits for each answer, as then it may stop between two statements).
 */
export const begin = `BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
  SET LOCAL lock_timeout = 10000; SET LOCAL idle_in_transaction_session_timeout = 5000`;

export async function inTransaction<Result>(
  pool: PostgresPool,
  work: (connection: PooledConnection) => Promise<Result>,
  text = 'BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE',
): Promise<Result> {
  return withConnection(pool, async (connection) => {
    await connection.query({ text });
    const result = await work(connection);
    await connection.query({ text: 'COMMIT' });
    return result;
  });
}

/** A connection on which something failed is closed, and its transaction with it. */
export async function withConnection<Result>(
  pool: PostgresPool,
  work: (connection: PooledConnection) => Promise<Result>,
): Promise<Result> {
  const connection = await pool.connect();
  const ignore = (): void => {};
  connection.on('error', ignore);
  let isFailed = true;
  try {
    const result = await work(connection);
    isFailed = false;
    return result;
  } finally {
    connection.off('error', ignore);
    connection.release(isFailed);
  }
}
