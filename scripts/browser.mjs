// Finds a Chromium for the tests that need a page, and installs Debian's where it may: as root, with apt-get.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const known = ['/Applications/Google Chrome.app/Contents/MacOS/Google Chrome'];

function onThisMachine() {
  const directories = (process.env.PATH ?? '').split(delimiter).filter((path) => path !== '');
  const paths = directories.flatMap((directory) => names.map((name) => join(directory, name)));
  return [...paths, ...known].find((path) => existsSync(path));
}

/** The path of a browser, or undefined. `CHROMIUM_PATH` says which one it is to be. */
export function findBrowser() {
  const { CHROMIUM_PATH: given } = process.env;
  if (given) return existsSync(given) ? given : undefined;
  const found = onThisMachine();
  if (found !== undefined || process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) return found;
  console.log('countersign: installing chromium (apt-get) …');
  const command = 'apt-get update && apt-get install -y --no-install-recommends chromium';
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const { status, stdout, stderr } = spawnSync(command, { shell: true, encoding: 'utf8', env });
  if (status !== 0) console.error(`${stdout}${stderr}`);
  return onThisMachine();
}
