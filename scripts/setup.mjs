// Installs the packages of package-lock.json if they are not there. Says nothing when they are.
// Runs under Node 20 with nothing installed, as the first thing of `npm test` and `npm run demo`.
import { fail, installPackages } from './install.mjs';
import { isOlder, nodeBinary, nodePackage, oldestNode } from './toolchain.mjs';

if (nodePackage === undefined && isOlder(process.versions.node, oldestNode)) {
  fail(
    `npm has no Node for ${process.platform}-${process.arch}, so this repository runs on yours, ` +
      `which is ${process.versions.node}. Please install Node ${oldestNode} or newer (nodejs.org) and try again.`,
  );
}

installPackages('.', nodePackage);

if (
  nodePackage !== undefined &&
  nodeBinary() === process.execPath &&
  isOlder(process.versions.node, oldestNode)
) {
  fail(`node_modules/${nodePackage} is incomplete. Delete node_modules and try again.`);
}
