import { describe, expect, test } from 'vitest';
import { codeOnly, countCodeLines, importsOf, withoutComments } from './source-text.ts';

describe('importsOf', () => {
  test.each([
    ["import a from 'x';", 'x', false],
    ['import a, { b } from "x";', 'x', false],
    ["import * as a from 'x';", 'x', false],
    ["import {\n  a,\n  type B, // don't\n} from 'x';", 'x', false],
    ["import { type A } from 'x';", 'x', false],
    ["import type { A } from 'x';", 'x', true],
    ["import type A from 'x';", 'x', true],
    ["import type from 'x';", 'x', false],
    ["import 'x';", 'x', false],
    ["export { a } from 'x';", 'x', false],
    ["export type { A } from 'x';", 'x', true],
    ["export * from 'x';", 'x', false],
    ["const a = await import('x');", 'x', false],
    ['const a = import(\n  `x`,\n);', 'x', false],
    ["type A = typeof import('x');", 'x', true],
    ["import a from 'x' with { type: 'json' };", 'x', false],
  ])('%s', (text, from, typeOnly) => {
    expect(importsOf(text)).toEqual([{ from, typeOnly }]);
  });

  test.each([
    "// import a from 'x';",
    "/* import a from 'x'; */",
    'const a = "import a from \'x\';";',
    "const a = `\nimport a from 'x';\n`;",
    "export const from = 'x';",
    "const url = import.meta.url + 'x';",
  ])('%s is no import', (text) => {
    expect(importsOf(text)).toEqual([]);
  });

  test('each of several imports is found', () => {
    const text = "import a from 'a'\nimport { b } from 'b';\nexport const c = 1;\nexport { d } from 'd';\n";
    expect(importsOf(text).map((found) => found.from)).toEqual(['a', 'b', 'd']);
  });
});

describe('codeOnly and withoutComments', () => {
  test.each([
    ["f('//'); // c", "f('  ');     "],
    ['f(`a${g(`b${{ c }}`)}d`);', 'f(` ${g(` ${{ c }}`)} `);'],
    ["f(/['\"/*]/); g('a')", "f(/      /); g(' ')"],
    ["const a = b / c; f('/')", "const a = b / c; f(' ')"],
    ["f('it\\'s'); g()", "f('     '); g()"],
    ["return /'/.test(a)", 'return / /.test(a)'],
  ])('%s', (text, expected) => {
    expect(codeOnly(text)).toBe(expected);
  });

  test('strings stay where only comments go', () => {
    expect(withoutComments("f('//'); /* c\n*/ g()")).toBe("f('//');     \n   g()");
  });
});

describe('countCodeLines', () => {
  test('blank lines, comments and type declarations do not count', () => {
    const text = `
/** A comment. */
import { x } from './x.ts';

export interface A<T extends { a: string }> {
  readonly a: T; // one
  b(): { c: string };
}

type B =
  | { kind: 'a;'; f: () => void }
  | { kind: 'b' };
/* a
   b */
export const a: A = {
  // nothing
  b: 1, // something
};
`;
    expect(countCodeLines(text)).toBe(4);
  });

  test('a type in a list of imports is not a declaration', () => {
    expect(countCodeLines("import {\n  type A,\n  type B,\n} from './b.ts';\nf();\n")).toBe(5);
  });

  test('a line of a string that looks like a comment counts', () => {
    expect(countCodeLines('const a = `\n// not a comment\n`;\n')).toBe(3);
  });
});
