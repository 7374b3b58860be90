/** What differs between databases in the statements that they share. */

export interface Dialect {
  /** The type of ids: text that sorts by its bytes. */
  readonly id: string;
  /** Ends the CREATE TABLE of narrow tables, whose rows may lie in the tree of their key. */
  readonly clustered: string;
  /** The type of a number that an insert without it makes one more than the largest, where only one may write. */
  readonly place: string;
  /** The type of a number that each insert takes, where several write at once. */
  readonly identity?: string;
  /** A text within the JSON of the column `data`; null where there is none. */
  readonly text: (path: string) => string;
}

export const sqliteDialect: Dialect = {
  id: 'TEXT',
  clustered: ' WITHOUT ROWID',
  place: 'INTEGER',
  text: (path) => `json_extract(data, '$.${path}')`,
};

/** The characters that `JSON.stringify` escapes by their number, with what comes before. */
const escaped = String.raw`(^|[^\\])((\\\\)*)\\u[0-9a-f]{4}`;

/**
 * JSON that PostgreSQL can read: it refuses all of a text in which one escape is no character for it. Twice, as each
 * match needs the character before it.
 */
const readable = `(CASE WHEN strpos(data, '\\u') = 0 THEN data ELSE
  ${'regexp_replace('.repeat(2)}data${`, '${escaped}', '\\1\\2\uFFFD', 'g')`.repeat(2)} END)`;

export const postgresDialect: Dialect = {
  id: 'TEXT COLLATE "C"',
  clustered: '',
  place: 'BIGINT',
  identity: 'BIGINT GENERATED ALWAYS AS IDENTITY',
  text: (path) => `${readable}::json #>> '{${path.replaceAll('.', ',')}}'`,
};
