// Installs what a package-lock.json asks for if it is not there. Says nothing when it is.
// Runs under Node 20 with nothing installed.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './toolchain.mjs';

const install = 'npm ci --loglevel=error --no-audit --no-fund --include=dev --include=optional';

export function fail(message) {
  console.error(`countersign: ${message}`);
  process.exit(1);
}

function packagesIn(lockFile) {
  try {
    return JSON.parse(readFileSync(join(root, lockFile), 'utf8')).packages ?? {};
  } catch {
    return undefined;
  }
}

/** npm writes down what it installed when it is done: compare that with what the lock asks for. */
function isInstalled(directory, needed) {
  const lock = join(directory, 'package-lock.json');
  const wanted = packagesIn(lock);
  const installed = packagesIn(join(directory, 'node_modules', '.package-lock.json'));
  if (wanted === undefined) fail(`${lock} is missing or is not JSON: restore it from git.`);
  if (installed === undefined) return false;
  return Object.entries(wanted).every(([path, entry]) => {
    if (!path.startsWith('node_modules/') || entry.link === true) return true;
    const found = installed[path];
    if (found === undefined) return entry.optional === true && path !== `node_modules/${needed}`;
    return found.version === entry.version && found.integrity === entry.integrity;
  });
}

/**
 * @param directory from the root
 * @param needed the name of an optional package that is wanted all the same, if there is one
 */
export function installPackages(directory, needed) {
  if (isInstalled(directory, needed)) return;
  const lock = join(directory, 'package-lock.json');
  const modules = join(directory, 'node_modules');
  console.log(`countersign: installing the packages of ${lock} into ${modules} (npm ci) …`);
  const result = spawnSync(install, {
    cwd: join(root, directory),
    shell: true,
    stdio: ['ignore', 'inherit', 'pipe'],
    encoding: 'utf8',
  });
  const errors = result.stderr ?? '';
  process.stderr.write(errors);
  if (result.status === 0) return;
  const offline = /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|ENOTCACHED/.test(errors);
  fail(
    offline
      ? 'the npm registry cannot be reached, and the packages are not installed yet. ' +
          'Connect to the network (or set npm’s `registry` or `proxy`) and try again.'
      : 'npm ci failed; its message is above. Nothing else was run.',
  );
}
