import { CountersignError } from '../core/errors.ts';
import { type AsyncDatabase, AsyncStore, type AsyncStoreOptions } from './async-store.ts';
import { isInMemory, openLibsql } from './libsql-database.ts';

export interface LibSQLStoreOptions extends AsyncStoreOptions {
  /** Names the store. The default is 'libsql'. */
  readonly id?: string | undefined;
  /**
   * 'file:runs.db', which is made if it is not there, in a directory that is; ':memory:', gone with the process; or
   * a server: 'libsql:…', 'https:…', 'wss:…'.
   */
  readonly url: string;
  /** For a server that asks for it. */
  readonly authToken?: string | undefined;
}

/**
 * Keeps runs in LibSQL, by the package @libsql/client. Several processes on one machine may open a file at once, and
 * any number may share a server. It connects when it is first used.
 * @throws `invalid-option`; its methods reject with `dependency-missing` when @libsql/client is not installed, and
 * with `store-failed` when the file cannot be opened or a newer release wrote it.
 */
export class LibSQLStore extends AsyncStore<AsyncDatabase> {
  readonly persistent: boolean;

  constructor(options: LibSQLStoreOptions) {
    const { id = 'libsql', url, authToken } = options;
    if (typeof url !== 'string' || !(url === ':memory:' || /^(file|libsql|https?|wss?):/.test(url))) {
      throw new CountersignError('invalid-option', 'The option "url" is not valid.', {
        expected: `'file:runs.db', ':memory:', or the url of a server: 'libsql:…', 'https:…' or 'wss:…'`,
      });
    }
    super({ ...options, id }, () => openLibsql({ url, authToken }));
    this.persistent = !isInMemory(url);
  }
}
