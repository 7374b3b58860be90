/** `--restart`: one process asks and ends, another one, started after it, decides and finishes. */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { print } from './print.ts';

export async function runInTwoProcesses(): Promise<number> {
  const args = process.argv.slice(2).filter((arg) => arg !== '--restart');
  const first = await run([...args, '--leave']);
  if (first !== 0) return first;
  return run(args);
}

function run(args: readonly string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    const main = fileURLToPath(new URL('main.ts', import.meta.url));
    const child = spawn(process.execPath, [main, ...args], { stdio: 'inherit' });
    print.note(`\n── Process ${child.pid} has started.`);
    child.on('error', reject);
    child.on('exit', (code) => {
      print.note(`── Process ${child.pid} has ended.`);
      resolve(code ?? 1);
    });
  });
}
