/** The journal and the side effects of processes that are killed: a database of their own, without unique keys. */
import { DatabaseSync } from 'node:sqlite';
import { type Entry, factsOf, type Journal } from '../../test/crash/journal.ts';

type Effect = Extract<Entry, { type: 'effect' }>;

export interface FileJournal extends Journal {
  /** Makes a side effect, and calls `during` when it is made and not yet committed. */
  effect(effect: Omit<Effect, 'type'>, during: () => void): void;
  close(): void;
}

export function fileJournal(path: string): FileJournal {
  const database = new DatabaseSync(path);
  database.exec('PRAGMA busy_timeout = 10000; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL');
  database.exec(`CREATE TABLE IF NOT EXISTS entries (run_id TEXT, data TEXT);
    CREATE TABLE IF NOT EXISTS effects (run_id TEXT, call_id TEXT, tool TEXT, idempotency_key TEXT)`);
  const addEntry = database.prepare('INSERT INTO entries VALUES (?, ?)');
  const addEffect = database.prepare('INSERT INTO effects VALUES (?, ?, ?, ?)');
  const entries = database.prepare('SELECT data FROM entries WHERE run_id = ? ORDER BY rowid');
  const effects = database.prepare('SELECT * FROM effects WHERE run_id = ? ORDER BY rowid');
  return {
    note: (entry) => {
      addEntry.run(entry.runId, JSON.stringify(entry));
    },
    effect({ runId, toolCallId, toolName, key }, during) {
      database.exec('BEGIN IMMEDIATE');
      addEffect.run(runId, toolCallId, toolName, key);
      during();
      database.exec('COMMIT');
    },
    read: (runId) => [
      ...entries.all(runId).map((row) => JSON.parse(row.data as string) as Entry),
      ...effects.all(runId).map(
        (row): Effect => ({
          type: 'effect',
          runId,
          toolCallId: row.call_id as string,
          toolName: row.tool as string,
          key: row.idempotency_key as string,
        }),
      ),
    ],
    close: () => database.close(),
  };
}

/** How many side effects there are of a run. */
export function effectCount(journal: Journal, runId: string): number {
  return factsOf(journal.read(runId), 'effect').length;
}
