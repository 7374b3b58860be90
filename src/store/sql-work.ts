/**
 * How the statements that SQL stores share are written: each operation is a generator, which yields a statement and is
 * given its rows. So a synchronous driver runs it without an await, and an asynchronous one runs the very same.
 */
import type { ListOrder } from '../core/feed.ts';
import type { Position } from './listing.ts';

export type Value = string | number | null;

export interface Query {
  /** With `?` for each parameter, and no `?` but these. */
  readonly sql: string;
  readonly params: readonly Value[];
  /** It is answered by one row, `{ changed }`: how many rows it wrote. In SQLite that is far cheaper than RETURNING. */
  readonly counts?: true;
}

export type Row = Readonly<Record<string, unknown>>;

export type Work<Result> = Generator<Query, Result, readonly Row[]>;

/** Rows of one INSERT: few enough that each count keeps a prepared statement of its own. */
const rowsAtOnce = 8;

/** The statements for 1, 2 … rows. */
export function insertTexts(table: string, columns: readonly string[], ending = ''): readonly string[] {
  const row = `(${columns.map(() => '?').join(', ')})`;
  return Array.from({ length: rowsAtOnce }, (_, index) => {
    const rows = Array(index + 1)
      .fill(row)
      .join(', ');
    return `INSERT INTO ${table} (${columns.join(', ')}) VALUES ${rows} ${ending}`;
  });
}

/** The statements that insert rows. */
export function inserts(texts: readonly string[], rows: readonly (readonly Value[])[]): Query[] {
  const queries: Query[] = [];
  for (let start = 0; start < rows.length; start += rowsAtOnce) {
    const chunk = rows.slice(start, start + rowsAtOnce);
    queries.push({ sql: texts[chunk.length - 1] as string, params: chunk.flat() });
  }
  return queries;
}

/** Statements of which no answer is needed. */
export function* each(queries: readonly Query[]): Work<void> {
  for (const query of queries) yield query;
}

/** The thread and the resource of a row that has them. */
export function named(row: Row): { threadId?: string; resourceId?: string } {
  return {
    ...(row.thread_id === null ? {} : { threadId: row.thread_id as string }),
    ...(row.resource_id === null ? {} : { resourceId: row.resource_id as string }),
  };
}

/** What holds of the rows that come after a position in the order of a list. */
export function afterPosition(
  { since, id }: Position,
  sinceColumn: string,
  idColumn: string,
  order: ListOrder = 'newest',
): Query {
  const [before, after] = order === 'oldest' ? ['>', '<'] : ['<', '>'];
  return {
    sql: `${sinceColumn} ${before}= ? AND (${sinceColumn} ${before} ? OR ${idColumn} ${after} ?)`,
    params: [since, since, id],
  };
}
