// Compiles src/ into a fresh dist/, which is never there by halves: a build that fails leaves the last one alone.
import { mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { root, runNode } from './toolchain.mjs';

const made = mkdtempSync(join(root, '.dist-'));
const compiler = [
  'node_modules/typescript/bin/tsc',
  '-p',
  'tsconfig.build.json',
  '--outDir',
  join(made, 'dist'),
];
process.exitCode = await runNode(compiler);
if (process.exitCode === 0) replace(join(root, 'dist'), join(made, 'dist'));
rmSync(made, { recursive: true, force: true });

/** Two builds at once may both come here: the last one stays. */
function replace(target, made) {
  const old = `${made}-old`;
  for (let attempt = 1; ; attempt++) {
    try {
      renameSync(target, old);
    } catch (error) {
      if (error.code !== 'ENOENT') throw error;
    }
    try {
      renameSync(made, target);
      return;
    } catch (error) {
      if (attempt === 5 || !['ENOTEMPTY', 'EEXIST'].includes(error.code)) throw error;
      rmSync(old, { recursive: true, force: true });
    }
  }
}
