import { CountersignError } from '../core/errors.ts';
import { AsyncStore, type AsyncStoreOptions } from './async-store.ts';
import { openPostgres, type PostgresDatabase } from './postgres-database.ts';
import type { PostgresPool } from './postgres-pool.ts';

export type { PostgresPool } from './postgres-pool.ts';

export interface PostgresStoreOptions extends AsyncStoreOptions {
  /** Names the store. The default is 'postgres'. */
  readonly id?: string | undefined;
  /** Where the database is: 'postgres://user:password@host:5432/database'. Either this or `pool`. */
  readonly connectionString?: string | undefined;
  /**
   * A `Pool` of the package pg, which `close` leaves open. With its option `pipeline: true` (pg 8.22 or newer) a
   * write takes one round trip, otherwise one for each of its statements.
   */
  readonly pool?: PostgresPool | undefined;
  /** The schema of the tables, made if it is not there. The default is 'public'. */
  readonly schemaName?: string | undefined;
  /** Connections at most; one more listens while somebody follows a run. The default is that of pg, 10. */
  readonly max?: number | undefined;
}

/**
 * Keeps runs in PostgreSQL, by the package pg. Any number of processes may share a database, with no other
 * coordination. It connects when it is first used, and again after a connection was lost; what was under way then is
 * rejected, and may be tried again with the same batch.
 *
 * Every commit is as durable as the setting of the server makes it, with either durability: workers outlive the
 * server, and what a crashed server forgets they would still think stored (docs/decisions/0004).
 * @throws `invalid-option`; its methods reject with `dependency-missing` when pg is not installed, and with
 * `store-failed` when a newer release wrote the tables.
 */
export class PostgresStore extends AsyncStore<PostgresDatabase> {
  readonly persistent = true;

  constructor(options: PostgresStoreOptions) {
    const { id = 'postgres', connectionString, pool, schemaName = 'public', max } = options;
    if ((connectionString === undefined) === (pool === undefined)) {
      throw new CountersignError('invalid-option', 'A PostgresStore needs to know its database.', {
        expected: 'either "connectionString" or "pool"',
      });
    }
    if (!/^[A-Za-z_][A-Za-z0-9_$]{0,62}$/.test(schemaName)) {
      throw new CountersignError('invalid-option', 'The option "schemaName" is not valid.', {
        expected: 'at most 63 letters, digits, "_" and "$", and not a digit first',
      });
    }
    super({ ...options, id, neverRelaxed: true }, () =>
      openPostgres({ connectionString, pool, schemaName, max }),
    );
  }

  /** Resolves when the run may have changed, or after so many milliseconds. Told by LISTEN and NOTIFY. */
  async changed(runId: string, milliseconds: number): Promise<void> {
    const database = await this.database();
    await database.changed(runId, milliseconds);
  }
}
