// Everything that must hold before a change is accepted, stage after stage:
//   node scripts/test.mjs              all stages
//   node scripts/test.mjs lint types   only these
// A stage that fails does not hide the others. Each stage counts as one test, vitest's tests count one by one,
// and the last line is `N passed, N failed` with `, N skipped` where tests were skipped.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root, runNode } from './toolchain.mjs';

const counts = { passed: 0, failed: 0, skipped: 0 };

// Biome alone does not look whether somebody watches.
const colors = process.stdout.isTTY ? [] : ['--colors=off'];

const stages = {
  lint: () => one(['node_modules/@biomejs/biome/bin/biome', 'ci', '--error-on-warnings', ...colors]),
  types: () => one(['scripts/types.mjs']),
  // Before the tests, because the tests that start processes run the build.
  build: () => one(['scripts/build.mjs']),
  unit: vitest,
  package: () => one(['scripts/package-check.mjs']),
};

async function one(args) {
  const ok = (await runNode(args)) === 0;
  return { passed: ok ? 1 : 0, failed: ok ? 0 : 1, skipped: 0 };
}

async function vitest() {
  const directory = mkdtempSync(join(tmpdir(), 'countersign-'));
  const report = join(directory, 'vitest.json');
  const args = ['run', '--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  const code = await runNode(['node_modules/vitest/vitest.mjs', ...args]);
  const result = existsSync(report) ? countsIn(JSON.parse(readFileSync(report, 'utf8'))) : undefined;
  rmSync(directory, { recursive: true, force: true });
  if (result === undefined) return { passed: 0, failed: 1, skipped: 0 };
  // An error outside of any test, or no test at all.
  const unexplained = (code !== 0 || result.passed === 0) && result.failed === 0;
  return unexplained ? { ...result, failed: 1 } : result;
}

function countsIn(report) {
  // A file that could not be loaded holds no test that failed.
  const broken = report.testResults.filter(
    (file) => file.status === 'failed' && !file.assertionResults.some((test) => test.status === 'failed'),
  );
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests + broken.length,
    skipped: report.numPendingTests + report.numTodoTests,
  };
}

const chosen = process.argv.slice(2);
const unknown = chosen.filter((name) => !Object.hasOwn(stages, name));
const names = chosen.length > 0 ? chosen : Object.keys(stages);

if (unknown.length > 0) {
  console.error(`There is no stage ${unknown.join(', ')}: choose from ${Object.keys(stages).join(', ')}.`);
  counts.failed += 1;
} else if (!existsSync(join(root, 'node_modules'))) {
  console.error(
    'The packages are not installed yet: run `npm test`, or `node scripts/setup.mjs` before this.',
  );
  counts.failed += 1;
} else {
  const summary = [];
  for (const name of names) {
    console.log(`\n── ${name}`);
    const start = Date.now();
    const result = await stages[name]();
    const seconds = ((Date.now() - start) / 1000).toFixed(1);
    summary.push(`${result.failed === 0 ? 'ok    ' : 'FAILED'} ${name} (${seconds} s)`);
    for (const key of Object.keys(counts)) counts[key] += result[key];
  }
  console.log(`\n${summary.join('\n')}\n`);
}

if (counts.failed > 0 || counts.passed === 0) process.exitCode = 1;
const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : '';
console.log(`${counts.passed} passed, ${counts.failed} failed${skipped}`);
