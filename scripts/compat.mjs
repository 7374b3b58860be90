// The clients that people already have, unchanged, against our server: npm run compat. They have a package.json and a
// lock of their own in e2e/compat, installed by the first run.
import { findBrowser } from './browser.mjs';
import { installPackages } from './install.mjs';
import { one, runStages, vitest } from './stages.mjs';

const directory = 'e2e/compat';

installPackages(directory);

function browser() {
  const path = findBrowser();
  if (path !== undefined) {
    process.env.CHROMIUM_PATH = path;
    console.log(path);
    return { passed: 1, failed: 0, skipped: 0 };
  }
  console.log(
    'No Chromium was found, so the pages are not tested. Install one (Debian: apt-get install chromium), ' +
      'or set CHROMIUM_PATH.',
  );
  delete process.env.CHROMIUM_PATH;
  return process.env.CI ? { passed: 0, failed: 1, skipped: 0 } : { passed: 0, failed: 0, skipped: 1 };
}

await runStages({
  types: () => one(['node_modules/typescript/bin/tsc', '--noEmit', '-p', `${directory}/tsconfig.json`]),
  browser,
  clients: () => vitest(['--config', `${directory}/vitest.config.ts`]),
});
