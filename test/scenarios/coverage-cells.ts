/** What a cell of the table K × path can say. */
import type { Path } from './coverage-paths.ts';

export type Cell =
  /** A path from the root of the repository. */
  | { readonly type: 'test'; readonly file: string }
  | { readonly type: 'issue'; readonly name: string }
  | { readonly type: 'does not apply'; readonly why: string };

/** A path that is missing is an empty cell. */
export type Row = Readonly<Partial<Record<Path, Cell>>>;

/** A file of this folder, or one named by its path from the root of the repository, without `.test.ts`. */
export function test(name: string): Cell {
  return { type: 'test', file: `${name.includes('/') ? name : `test/scenarios/${name}`}.test.ts` };
}

/** The issue that will fill the cell. */
export function issue(name: string): Cell {
  return { type: 'issue', name: `issue: ${name}` };
}

export function doesNotApply(why: string): Cell {
  return { type: 'does not apply', why };
}

/** A row from groups: what fills the cells of these paths. @throws when two groups name one path. */
export function cells(...groups: readonly (readonly [Cell, ...Path[]])[]): Row {
  const row: Partial<Record<Path, Cell>> = {};
  for (const [cell, ...names] of groups) {
    for (const name of names) {
      if (row[name]) throw new Error(`The path "${name}" has two cells in one row.`);
      row[name] = cell;
    }
  }
  return row;
}
