// Checks the types of everything, then the public types as users without exactOptionalPropertyTypes see them,
// then each app that has a configuration of its own.
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { root, runNode } from './toolchain.mjs';

const namesIn = (directory) => (existsSync(join(root, directory)) ? readdirSync(join(root, directory)) : []);

const projects = ['tsconfig.json'];
if (namesIn('test-types').length > 0) projects.push('tsconfig.types-loose.json');
for (const app of namesIn('apps')) {
  if (existsSync(join(root, 'apps', app, 'tsconfig.json'))) projects.push(`apps/${app}/tsconfig.json`);
}

for (const project of projects) {
  const code = await runNode(['node_modules/typescript/bin/tsc', '--noEmit', '-p', project]);
  if (code !== 0) process.exitCode = code;
}
