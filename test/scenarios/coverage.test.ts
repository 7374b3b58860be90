/** The table K × path is complete, true to the files it names, and what SPEC.md shows. */
import { existsSync, readFileSync } from 'node:fs';
import * as main from 'countersign';
import * as client from 'countersign/client';
import * as libsql from 'countersign/libsql';
import * as postgres from 'countersign/postgres';
import * as server from 'countersign/server';
import * as sqlite from 'countersign/sqlite';
import * as testing from 'countersign/testing';
import { expect, test } from 'vitest';
import { coverage, type KindOfFault, kindsOfFault } from './coverage.ts';
import type { Row } from './coverage-cells.ts';
import { pathsOfExports, pathsOfMethods } from './coverage-exports.ts';
import { type Path, type PathFacts, paths } from './coverage-paths.ts';
import { renderCoverage } from './coverage-render.ts';

const fileOf = (path: string): URL => new URL(`../../${path}`, import.meta.url);
const specification = fileOf('SPEC.md');
const allPaths = Object.entries(paths) as [Path, PathFacts][];

/** What is wrong with the cells of one kind. */
function problemsOf(kind: KindOfFault, row: Row): string[] {
  return allPaths.flatMap(([path, { isBuilt, evidence }]) => {
    const cell = row[path];
    const where = `${kind} × ${path}`;
    if (cell === undefined) return isBuilt ? [`${where} is empty`] : [];
    if (cell.type !== 'test') return [];
    if (!existsSync(fileOf(cell.file))) return [`${where}: there is no ${cell.file}`];
    const text = readFileSync(fileOf(cell.file), 'utf8');
    if (!new RegExp(`scenario: ${kind}\\b`).test(text))
      return [`${where}: ${cell.file} has no scenario: ${kind}`];
    return evidence && !evidence.test(text) ? [`${where}: ${cell.file} does not go this way`] : [];
  });
}

test('no cell of a path that exists is empty, and each file shows what it is named for', () => {
  expect(Object.keys(coverage)).toEqual(Object.keys(kindsOfFault));
  const kinds = Object.keys(kindsOfFault) as KindOfFault[];
  expect(kinds).toEqual(Array.from({ length: 20 }, (_, index) => `K${index + 1}`));
  expect(kinds.flatMap((kind) => problemsOf(kind, coverage[kind]))).toEqual([]);
});

test('an empty cell, a missing file, a file without the scenario and a file that goes another way are found', () => {
  const { stream: _stream, ...row } = coverage.K1;
  expect(problemsOf('K1', row)).toEqual(['K1 × stream is empty']);
  const continuedBy = (file: string): string[] =>
    problemsOf('K12', { ...coverage.K12, continueRun: { type: 'test', file: `test/scenarios/${file}` } });
  expect(continuedBy('nothing.test.ts')).toEqual([
    'K12 × continueRun: there is no test/scenarios/nothing.test.ts',
  ]);
  expect(continuedBy('k20-declined.test.ts')).toEqual([
    'K12 × continueRun: test/scenarios/k20-declined.test.ts has no scenario: K12',
  ]);
  expect(continuedBy('bad-input.test.ts')).toEqual([
    'K12 × continueRun: test/scenarios/bad-input.test.ts does not go this way',
  ]);
});

test('every export of the package and every method of Agent is mapped to its paths', () => {
  const exported = [main, client, libsql, postgres, server, sqlite, testing]
    .flatMap((entry) => Object.keys(entry))
    .toSorted();
  expect(Object.keys(pathsOfExports).toSorted()).toEqual(exported);
  const methods = Object.getOwnPropertyNames(main.Agent.prototype).filter((name) => name !== 'constructor');
  expect(Object.keys(pathsOfMethods).toSorted()).toEqual(methods.toSorted());
  const mapped = [...Object.values(pathsOfExports), ...Object.values(pathsOfMethods)].flatMap((names) =>
    names === 'no path' ? [] : [...names],
  );
  // What leads through an export is built, and what is built is led to by one.
  const built = allPaths.filter(([, { isBuilt }]) => isBuilt).map(([path]) => path);
  expect([...new Set(mapped)].toSorted()).toEqual(built.toSorted());
});

test('SPEC.md shows this table', () => {
  const text = readFileSync(specification, 'utf8');
  const [, shown] = text.match(/<!-- scenarios -->\n([\s\S]*?)<!-- \/scenarios -->/) ?? [];
  expect(shown?.trim()).toBe(renderCoverage());
});
