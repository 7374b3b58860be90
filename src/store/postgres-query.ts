/** How statements for PostgreSQL are put together. */
import { createHash } from 'node:crypto';
import type { PostgresStatement } from './postgres-pool.ts';
import type { Value } from './sql-work.ts';

export interface PostgresQuery {
  /** With `?` for each parameter. */
  readonly sql: string;
  readonly params: readonly (Value | readonly Value[])[];
}

/** Statements of one write, in one transaction. */
export interface PostgresWrite {
  readonly queries: readonly PostgresQuery[];
  /** Which of them gives a row when the write has won. */
  readonly decisive: number;
  /** Whether readers of the feed are to be woken. */
  readonly feeds?: boolean;
  /** The threads it touches. */
  readonly threadIds?: readonly string[];
}

/** A part of a statement. */
export interface Part extends PostgresQuery {
  readonly name: string;
}

/**
 * One statement that gives the `id` column of its first part. All parts see the tables as they were before it, so none
 * may touch a row that another does.
 */
export function joined(parts: readonly Part[], id: string): PostgresQuery {
  const texts = parts.map(({ name, sql }) => `${name} AS (${sql})`);
  return {
    sql: `WITH ${texts.join(',\n')}\nSELECT ${id} FROM ${parts[0]?.name}`,
    params: parts.flatMap(({ params }) => params),
  };
}

/** Our tables are named in their schema, as a pool that is given may have another search path. */
export function statements(
  schemaName: string,
): (query: PostgresQuery) => PostgresStatement & { name: string } {
  const known = new Map<string, { readonly text: string; readonly name: string }>();
  const tables =
    /\bcountersign_(?:heads|events|calls|decisions|outcomes|workers|threads|messages|feed|feed_new|migrations)\b|(?<=DROP INDEX )\w+/g;
  const translated = (sql: string): { text: string; name: string } => {
    let count = 0;
    const text = sql.replace(tables, `"${schemaName}".$&`).replaceAll('?', () => `$${++count}`);
    return { text, name: `countersign_${createHash('sha256').update(text).digest('hex').slice(0, 32)}` };
  };
  return ({ sql, params }) => {
    const statement = known.get(sql) ?? translated(sql);
    known.set(sql, statement);
    return { ...statement, values: [...params] };
  };
}
