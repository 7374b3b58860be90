// Runs a file under the repository's Node: node scripts/run.mjs examples/01-refund-desk/main.ts [arguments]
import { runNode } from './toolchain.mjs';

process.exitCode = await runNode(process.argv.slice(2));
