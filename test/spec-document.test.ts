import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { CountersignError, errorCodes } from '../src/core/errors.ts';
import { invariantRows, renderCallTable, section } from './spec-document.ts';

const read = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');
const document = read('SPEC.md');

test('the table of states and moves is the one that the code has', () => {
  expect(section(document, 'call-table')).toBe(renderCallTable());
});

test('each invariant names a test that is there', () => {
  const rows = invariantRows(section(document, 'invariants') ?? '');
  expect(rows.map((row) => row.number)).toEqual(Array.from({ length: 11 }, (_, index) => String(index + 1)));
  for (const { number, tests } of rows) {
    expect(tests.length, `invariant ${number} names no test`).toBeGreaterThan(0);
    for (const { file, title } of tests) {
      expect(existsSync(new URL(`../${file}`, import.meta.url)), `${number}: ${file}`).toBe(true);
      expect(read(file), `${number}: ${file}`).toContain(title);
    }
  }
});

test('the list of errors has every code, with its status', () => {
  const rows = [...read('docs/guides/errors.md').matchAll(/^\| `([a-z-]+)` \| (\d{3}) \|/gm)];
  const listed = rows.map(([, code, status]) => `${code} ${status}`);
  const expected = errorCodes.map((code) => `${code} ${new CountersignError(code, '').status}`);
  expect(listed.toSorted()).toEqual(expected.toSorted());
});

test('a table that differs, and a test that is not there, are seen', () => {
  expect(section('<!-- x -->\nother\n<!-- /x -->', 'x')).toBe('other');
  expect(section(document, 'no such table')).toBeUndefined();
  expect(
    invariantRows('| # | says | test |\n| --- | --- | --- |\n| 1 | it | `a.ts`: one; `b.ts`: two |'),
  ).toEqual([
    {
      number: '1',
      tests: [
        { file: 'a.ts', title: 'one' },
        { file: 'b.ts', title: 'two' },
      ],
    },
  ]);
});
