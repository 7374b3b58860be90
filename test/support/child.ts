/** Real processes of the desk: each does what it is ordered, and tells what came of it, a line each. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import type { Orders } from './desk-process.ts';

const pathOf = (name: string): string => fileURLToPath(new URL(`./${name}`, import.meta.url));

/** Starts one; it is gone at the latest when the test is. */
export function spawnChild(orders: Orders) {
  const child = spawn(
    process.execPath,
    ['--import', pathOf('source-imports.ts'), pathOf('desk-process.ts'), JSON.stringify(orders)],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  );
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const next = async <Line>(): Promise<Line> => {
    const { value, done } = await lines.next();
    if (done) throw new Error('The child ended early.');
    return JSON.parse(value) as Line;
  };
  return { child, next };
}
