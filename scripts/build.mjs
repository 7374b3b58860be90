// Compiles src/ into a fresh dist/.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { root, runNode } from './toolchain.mjs';

rmSync(join(root, 'dist'), { recursive: true, force: true });
process.exitCode = await runNode(['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json']);
