// Runs the stages of a check one after the other. A stage that fails does not hide the others. The last line is
// `N passed, N failed` with `, N skipped` where tests were skipped.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runNode } from './toolchain.mjs';

/** A stage that counts as one test, by the exit code of a file. */
export async function one(args) {
  const ok = (await runNode(args)) === 0;
  return { passed: ok ? 1 : 0, failed: ok ? 0 : 1, skipped: 0 };
}

/** A stage of vitest's tests, counted one by one. */
export async function vitest(args = []) {
  const directory = mkdtempSync(join(tmpdir(), 'countersign-'));
  const report = join(directory, 'vitest.json');
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  const code = await runNode(['node_modules/vitest/vitest.mjs', 'run', ...reporters, ...args]);
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

/** @param stages by name, each a function that resolves to its counts. Sets the exit code. */
export async function runStages(stages) {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  const summary = [];
  for (const [name, stage] of Object.entries(stages)) {
    console.log(`\n── ${name}`);
    const start = Date.now();
    const result = await stage();
    const seconds = ((Date.now() - start) / 1000).toFixed(1);
    summary.push(`${result.failed === 0 ? 'ok    ' : 'FAILED'} ${name} (${seconds} s)`);
    for (const key of Object.keys(counts)) counts[key] += result[key];
  }
  console.log(`\n${summary.join('\n')}\n`);
  tell(counts);
}

/** The last line, and the exit code that goes with it. */
export function tell({ passed, failed, skipped }) {
  if (failed > 0 || passed === 0) process.exitCode = 1;
  console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
}
