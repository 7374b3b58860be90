// Which Node runs this repository, and how a script starts another one under it.
// Everything in scripts/ is plain JavaScript that also runs under Node 20 with nothing installed.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));

/** The oldest Node that works here: the first that runs `.ts` files without a flag. Users need only 22.13. */
export const oldestNode = '22.18.0';

const platform = process.platform === 'win32' ? 'win' : process.platform;

/** Name of the npm package that holds Node for this machine, or undefined where there is none. */
export const nodePackage = ['linux-x64', 'linux-arm64', 'win-x64'].includes(`${platform}-${process.arch}`)
  ? `node-${platform}-${process.arch}`
  : undefined;

/** Path of the Node that npm installed, or of the one that runs now where npm has none. */
export function nodeBinary() {
  if (nodePackage === undefined) return process.execPath;
  const path = join(root, 'node_modules', nodePackage, 'bin', platform === 'win' ? 'node.exe' : 'node');
  return existsSync(path) ? path : process.execPath;
}

export function isOlder(version, than) {
  return version.localeCompare(than, 'en', { numeric: true }) < 0;
}

/** The environment in which `node` is the repository's, also for what a child starts. */
function environment() {
  const path = `${join(root, 'node_modules', '.bin')}${delimiter}${process.env.PATH ?? ''}`;
  const plain = process.stdout.isTTY || process.env.FORCE_COLOR !== undefined ? {} : { NO_COLOR: '1' };
  return { ...process.env, ...plain, PATH: path };
}

/**
 * Runs a JavaScript or TypeScript file, its path taken from the root, under the repository's Node.
 * Resolves to its exit code.
 *
 * A shell remembers where it found `node`: in `node a.mjs && node b.mjs`, where a.mjs installs the newer Node,
 * b.mjs still gets the old one. So whatever needs the newer one is started from here.
 */
export function runNode(args) {
  return new Promise((resolve, reject) => {
    const child = spawn(nodeBinary(), args, { cwd: root, stdio: 'inherit', env: environment() });
    // A terminal sends Ctrl-C to the child as well: wait for it to end in its own way.
    const wait = () => {};
    const forward = (signal) => child.kill(signal);
    process.on('SIGINT', wait);
    process.on('SIGTERM', forward);
    child.on('error', reject);
    child.on('close', (code, signal) => {
      process.off('SIGINT', wait);
      process.off('SIGTERM', forward);
      resolve(code ?? 128 + constants.signals[signal]);
    });
  });
}

/** Like `runNode`, but waits, and returns what was printed instead of showing it. */
export function captureNode(args, cwd = root) {
  const result = spawnSync(nodeBinary(), args, { cwd, env: environment(), encoding: 'utf8' });
  if (result.error !== undefined) throw result.error;
  return { code: result.status ?? 1, output: `${result.stdout}${result.stderr}` };
}
