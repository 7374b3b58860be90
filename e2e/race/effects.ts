/** What tools did to the world: a database of its own, with nothing in it that could refuse a second time. */
import { DatabaseSync } from 'node:sqlite';

export interface Effect {
  readonly runId: string;
  readonly toolCallId: string;
  /** The arguments that the tool was given, as JSON. */
  readonly args: string;
}

export interface Effects {
  add(effect: Effect): void;
  all(): Effect[];
  of(runId: string, toolCallId: string): number;
  close(): void;
}

export function openEffects(path: string): Effects {
  const database = new DatabaseSync(path);
  database.exec('PRAGMA busy_timeout = 20000');
  database.exec('PRAGMA synchronous = OFF');
  database.exec('CREATE TABLE IF NOT EXISTS effects (run_id TEXT, tool_call_id TEXT, args TEXT)');
  const add = database.prepare('INSERT INTO effects VALUES (?, ?, ?)');
  const count = database.prepare(
    'SELECT count(*) AS count FROM effects WHERE run_id = ? AND tool_call_id = ?',
  );
  return {
    add: ({ runId, toolCallId, args }) => void add.run(runId, toolCallId, args),
    all: () =>
      database
        .prepare('SELECT run_id AS runId, tool_call_id AS toolCallId, args FROM effects')
        .all() as unknown as Effect[],
    of: (runId, toolCallId) => Number(count.get(runId, toolCallId)?.count),
    close: () => database.close(),
  };
}
