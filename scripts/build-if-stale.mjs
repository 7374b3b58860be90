// Builds dist/ when a file of src/ is newer than it. Says nothing when dist/ is up to date.
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { root, runNode } from './toolchain.mjs';

function times(path) {
  const stats = statSync(join(root, path), { throwIfNoEntry: false });
  if (stats === undefined) return [];
  if (!stats.isDirectory()) return [stats.mtimeMs];
  // The directory's own time shows that a file was removed.
  return [stats.mtimeMs, ...readdirSync(join(root, path)).flatMap((name) => times(join(path, name)))];
}

const inputs = ['src', 'package.json', 'tsconfig.json', 'tsconfig.build.json'].flatMap(times);
const outputs = times('dist');

if (outputs.length === 0 || Math.max(...inputs) > Math.max(...outputs)) {
  console.log('countersign: building src into dist …');
  process.exitCode = await runNode(['scripts/build.mjs']);
}
