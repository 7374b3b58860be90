// Checks the package as a user gets it: which files are in it, what publint and attw say of it, and that each
// export loads and has types that compile.
import { execSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { captureNode, root } from './toolchain.mjs';

// Inside node_modules, so that the unpacked package finds its dependencies.
const work = join(root, 'node_modules', '.countersign-package');
const unpacked = join(work, 'node_modules', 'countersign');
const bin = (path) => join(root, 'node_modules', path);
const allowedFile = /^(dist\/.+\.(js|d\.ts)|package\.json|docs\/.+\.md|[A-Z]+\.md|LICENSE)$/;
const testFile = /\.test\.|\/fixtures\/|\/test-support\//;

/** Packs and unpacks the package; returns the path of the archive and the names of the files in it. */
function pack() {
  rmSync(work, { recursive: true, force: true });
  mkdirSync(unpacked, { recursive: true });
  const command = 'npm pack --ignore-scripts --json --loglevel=error --pack-destination';
  const [packed] = JSON.parse(execSync(`${command} "${work}"`, { cwd: root, encoding: 'utf8' }));
  const archive = join(work, packed.filename);
  execSync(`tar -xzf "${packed.filename}" --strip-components=1 -C node_modules/countersign`, { cwd: work });
  return { archive, files: packed.files.map((file) => file.path) };
}

function writeConsumer(specifiers) {
  const imports = specifiers.map((specifier, index) => `import * as module${index} from '${specifier}';`);
  const names = specifiers.map((_, index) => `module${index}`);
  writeFileSync(
    join(work, 'consumer.ts'),
    `${imports.join('\n')}\nexport const all = [${names.join(', ')}];\n`,
  );
  writeFileSync(join(work, 'package.json'), '{ "type": "module", "private": true }\n');
  const shared = { target: 'es2023', strict: true, noEmit: true, types: ['node'], skipLibCheck: false };
  for (const module of ['nodenext', 'preserve']) {
    const config = { compilerOptions: { ...shared, module }, files: ['consumer.ts'] };
    writeFileSync(join(work, `tsconfig.${module}.json`), JSON.stringify(config));
  }
}

/** The client where there is no Node: with the types of a page, and no others. */
function writePage() {
  const text = `import { CountersignClient } from 'countersign/client';
for await (const chunk of await new CountersignClient({ baseUrl: '' }).getAgent('desk').stream('Hi')) chunk.type;
`;
  writeFileSync(join(work, 'page.ts'), text);
  const compilerOptions = {
    ...{ target: 'es2023', lib: ['es2023', 'dom'], module: 'preserve', types: [] },
    ...{ strict: true, exactOptionalPropertyTypes: true, noEmit: true, skipLibCheck: false },
  };
  writeFileSync(join(work, 'tsconfig.page.json'), JSON.stringify({ compilerOptions, files: ['page.ts'] }));
}

/** Shows what a command printed only if it failed. */
function run(title, args, isOurs = () => true) {
  const { code, output } = captureNode(args, work);
  const lines = output.split('\n').filter((line) => line.trim() !== '');
  const onlyTheirs = lines.length > 0 && !lines.some(isOurs);
  const failed = code !== 0 && !onlyTheirs;
  console.log(`${failed ? 'FAILED' : 'ok    '} ${title}`);
  if (failed) console.log(lines.filter(isOurs).join('\n'));
  return !failed;
}

/** Compiles the consumer with every declaration it reaches; those of other packages are not ours to mend. */
function compile(module) {
  const args = [bin('typescript/bin/tsc'), '--pretty', 'false', '-p', `tsconfig.${module}.json`];
  return run(
    module === 'page' ? 'types of the client in a page' : `types of every export (${module})`,
    args,
    (line) => !/^(\.\.\/|\s)/.test(line),
  );
}

const { archive, files } = pack();
const manifest = JSON.parse(readFileSync(join(unpacked, 'package.json'), 'utf8'));
const specifiers = Object.keys(manifest.exports)
  .filter((key) => !key.endsWith('.json'))
  .map((key) => key.replace('.', manifest.name));
writeConsumer(specifiers);
writePage();

const unexpected = files.filter((file) => !allowedFile.test(file) || testFile.test(file));
for (const file of unexpected) console.error(`package: ${file} must not be published`);

const loading = specifiers.map((specifier) => `await import('${specifier}');`).join(' ');
const checks = [
  unexpected.length === 0,
  run('publint', [bin('publint/src/cli.js'), '--strict', '--pack', 'false', unpacked]),
  run('attw', [bin('@arethetypeswrong/cli/dist/index.js'), '--profile', 'esm-only', '--no-emoji', archive]),
  run('loading of every export', ['--input-type=module', '--eval', loading]),
  compile('nodenext'),
  compile('preserve'),
  compile('page'),
];
rmSync(work, { recursive: true, force: true });
process.exitCode = checks.every(Boolean) ? 0 : 1;
