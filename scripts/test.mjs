// Everything that must hold before a change is accepted, stage after stage:
//   node scripts/test.mjs              all stages
//   node scripts/test.mjs lint types   only these
// Each stage counts as one test, vitest's tests count one by one.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { one, runStages, tell, vitest } from './stages.mjs';
import { root } from './toolchain.mjs';

// Biome alone does not look whether somebody watches.
const colors = process.stdout.isTTY ? [] : ['--colors=off'];

const stages = {
  lint: () => one(['node_modules/@biomejs/biome/bin/biome', 'ci', '--error-on-warnings', ...colors]),
  types: () => one(['scripts/types.mjs']),
  // Before the tests, because the tests that start processes run the build.
  build: () => one(['scripts/build.mjs']),
  unit: () => vitest(),
  package: () => one(['scripts/package-check.mjs']),
};

const chosen = process.argv.slice(2);
const unknown = chosen.filter((name) => !Object.hasOwn(stages, name));

function refuse(message) {
  console.error(message);
  tell({ passed: 0, failed: 1, skipped: 0 });
}

if (unknown.length > 0) {
  refuse(`There is no stage ${unknown.join(', ')}: choose from ${Object.keys(stages).join(', ')}.`);
} else if (!existsSync(join(root, 'node_modules'))) {
  refuse('The packages are not installed yet: run `npm test`, or `node scripts/setup.mjs` before this.');
} else {
  const names = chosen.length > 0 ? chosen : Object.keys(stages);
  await runStages(Object.fromEntries(names.map((name) => [name, stages[name]])));
}
