/** Runs an example as a process of its own, for the tests. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs a file, its path taken from the root, under the repository's Node. No key of yours reaches it.
 * @param input what comes from stdin; left out, it is closed.
 */
export function runExample(
  path: string,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
  input = '',
): Promise<Ended> {
  const { OPENAI_API_KEY, ANTHROPIC_API_KEY, COUNTERSIGN_MODEL, FORCE_COLOR, ...rest } = process.env;
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['scripts/run.mjs', path, ...args], {
      cwd: root,
      env: { ...rest, ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
      timeout: 50_000,
    });
    child.stdin.end(input);
    const output = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].setEncoding('utf8').on('data', (text: string) => {
        output[name] += text;
      });
    }
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, ...output }));
  });
}

/** A folder that is gone when the test is. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-example-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
