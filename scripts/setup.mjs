// Installs the packages of package-lock.json if they are not there. Says nothing when they are.
// Runs under Node 20 with nothing installed, as the first thing of `npm test` and `npm run demo`.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isOlder, nodeBinary, nodePackage, oldestNode, root } from './toolchain.mjs';

const install = 'npm ci --loglevel=error --no-audit --no-fund --include=dev --include=optional';

function fail(message) {
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
function isInstalled() {
  const wanted = packagesIn('package-lock.json');
  const installed = packagesIn(join('node_modules', '.package-lock.json'));
  if (wanted === undefined) fail('package-lock.json is missing or is not JSON: restore it from git.');
  if (installed === undefined) return false;
  return Object.entries(wanted).every(([path, entry]) => {
    if (!path.startsWith('node_modules/') || entry.link === true) return true;
    const found = installed[path];
    if (found === undefined) return entry.optional === true && path !== `node_modules/${nodePackage}`;
    return found.version === entry.version && found.integrity === entry.integrity;
  });
}

if (nodePackage === undefined && isOlder(process.versions.node, oldestNode)) {
  fail(
    `npm has no Node for ${process.platform}-${process.arch}, so this repository runs on yours, ` +
      `which is ${process.versions.node}. Please install Node ${oldestNode} or newer (nodejs.org) and try again.`,
  );
}

if (!isInstalled()) {
  console.log('countersign: installing the packages of package-lock.json into node_modules (npm ci) …');
  const result = spawnSync(install, {
    cwd: root,
    shell: true,
    stdio: ['ignore', 'inherit', 'pipe'],
    encoding: 'utf8',
  });
  const errors = result.stderr ?? '';
  process.stderr.write(errors);
  if (result.status !== 0) {
    const offline = /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|ENOTCACHED/.test(
      errors,
    );
    fail(
      offline
        ? 'the npm registry cannot be reached, and the packages are not installed yet. ' +
            'Connect to the network (or set npm’s `registry` or `proxy`) and try again.'
        : 'npm ci failed; its message is above. Nothing else was run.',
    );
  }
}

if (
  nodePackage !== undefined &&
  nodeBinary() === process.execPath &&
  isOlder(process.versions.node, oldestNode)
) {
  fail(`node_modules/${nodePackage} is incomplete. Delete node_modules and try again.`);
}
