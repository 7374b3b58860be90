/** Renders and reads the tables of SPEC.md that tests hold against the source. */
import { type CallMove, type CallState, callTable } from '../src/core/state.ts';

/** State × move of a call, as Markdown. An empty cell is an illegal move. */
export function renderCallTable(): string {
  const states = Object.keys(callTable) as CallState[];
  const moves = Object.keys(callTable.ready) as CallMove[];
  const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [
    row(['move', ...states]),
    row(['---', ...states.map(() => '---')]),
    ...moves.map((move) => row([move, ...states.map((state) => callTable[state][move] ?? '')])),
  ].join('\n');
}

/** The text between `<!-- name -->` and `<!-- /name -->`. */
export function section(document: string, name: string): string | undefined {
  const found = new RegExp(`<!-- ${name} -->\\n([\\s\\S]*?)\\n<!-- /${name} -->`).exec(document);
  return found?.[1]?.trim();
}

export interface InvariantRow {
  readonly number: string;
  /** Each `file` with the words that its test's title holds. */
  readonly tests: readonly { readonly file: string; readonly title: string }[];
}

/** The rows of the invariant table: the last cell is `file`: title; `file`: title … */
export function invariantRows(table: string): InvariantRow[] {
  return table
    .split('\n')
    .slice(2)
    .map((line) => {
      const cells = line.split('|').map((cell) => cell.trim());
      const tests = [...(cells[3] ?? '').matchAll(/`([^`]+)`: ([^;]+)/g)];
      return {
        number: cells[1] ?? '',
        tests: tests.map(([, file = '', title = '']) => ({ file, title: title.trim() })),
      };
    });
}
