/** A run that waits keeps nothing in memory (scenario: K16). A count, not a time: bench/heap.mjs prints it. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

test('1,000 waiting runs whose streams were dropped cost less than 1 KB of heap each', () => {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--expose-gc', 'bench/heap.mjs'], {
    cwd: root,
    encoding: 'utf8',
  });
  expect(stderr).toBe('');
  expect(stdout).toMatch(/^heap per waiting run: -?\d+ bytes over 1000 runs, .*: met\)\n$/);
  expect(status).toBe(0);
}, 50_000);
