// The long forms of the races and crash tests: npm run torture, or npm run torture -- race-sqlite for one part.
// Exits with 1 when a promise was broken.
import { runNode } from './toolchain.mjs';

process.exitCode = await runNode(['e2e/race/torture.ts', ...process.argv.slice(2)]);
