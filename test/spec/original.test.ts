/** The specification's page itself: each of its examples is accounted for, kept as it is, and type-checks. */
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { type Example, examples } from './examples.ts';
import { alternatives, checkable, missingLines, typescriptBlocks } from './original.ts';
import { temporaryDirectory } from './temporary-file.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const pagePath = join(root, '../shared/spec/agent-approval.md');
const isThere = existsSync(pagePath);
const title = isThere
  ? 'the page of the specification'
  : `the page of the specification (skipped: ${pagePath} is not there)`;

const blocks = isThere ? typescriptBlocks(readFileSync(pagePath, 'utf8')) : [];

function blockOf(example: Example): string {
  const found = blocks.filter((block) => block.includes(example.mark));
  expect(found, `the mark of "${example.name}" stands in one example`).toHaveLength(1);
  return found[0] ?? '';
}

/** The examples that a file of tests executes on each store: named where they are, or in its constant `examples`. */
function executedOnEachStore(text: string): string[] {
  return [...text.matchAll(/(?:\bonEachStore\(\s*|\bconst examples = )('[^']*'|\[[^\]]*\])/g)].flatMap(
    ([, names = '']) => [...names.matchAll(/'([^']*)'/g)].map(([, name = '']) => name),
  );
}

/** The modules to check: each alternative of each example, with the example that it goes on from. */
function modules(): Map<string, string> {
  const files = new Map<string, string>();
  for (const example of examples) {
    const before = examples.find(({ name }) => name === example.continues);
    for (const [index, code] of alternatives(blockOf(example)).entries()) {
      const name = `${example.name.replaceAll(' ', '-')}-${index + 1}.ts`;
      files.set(name, checkable(before ? `${blockOf(before)}\n${code}` : code));
    }
  }
  return files;
}

const strict = { strict: true, exactOptionalPropertyTypes: false };
const configurations: [string, object][] = [
  ['strict', strict],
  ['strict with exactOptionalPropertyTypes', { ...strict, exactOptionalPropertyTypes: true }],
  ['strict with the types of browsers', { ...strict, lib: ['es2024', 'esnext.iterator', 'dom'] }],
];

/** What the TypeScript compiler says of the files, a line for each problem. */
async function diagnose(files: ReadonlyMap<string, string>, options: object): Promise<string[]> {
  const directory = temporaryDirectory();
  symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'), 'junction');
  for (const [name, text] of files) writeFileSync(join(directory, name), text);
  writeFileSync(join(directory, 'package.json'), '{ "type": "module" }');
  const compilerOptions = {
    target: 'es2023',
    lib: ['es2024', 'esnext.iterator'],
    module: 'nodenext',
    types: ['node'],
    paths: { countersign: [join(root, 'src/index.ts')] },
    allowImportingTsExtensions: true,
    skipLibCheck: true,
    noEmit: true,
    ...options,
  };
  writeFileSync(
    join(directory, 'tsconfig.json'),
    JSON.stringify({ compilerOptions, files: [...files.keys()] }),
  );
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  const output = await new Promise<string>((resolve, reject) => {
    execFile(process.execPath, [compiler, '--pretty', 'false', '-p', directory], (error, stdout, stderr) => {
      // A compiler that did not start has no exit code of its own, and must not look like one without complaints.
      if (error && (typeof error.code !== 'number' || stdout === ''))
        reject(new Error(stderr, { cause: error }));
      else resolve(stdout);
    });
  });
  return output.split('\n').filter((line) => line.trim() !== '');
}

describe.skipIf(!isThere)(title, () => {
  test('has nineteen TypeScript examples, and each is in our list once', () => {
    expect(blocks).toHaveLength(19);
    expect(examples).toHaveLength(19);
    expect(new Set(examples.map(blockOf)).size).toBe(19);
  });

  test.each(examples)('our tests hold the code of "$name"', (example) => {
    const text = readFileSync(join(root, 'test/spec', example.executedIn), 'utf8');
    expect(missingLines(blockOf(example), text)).toEqual([]);
    const changed = text
      .replaceAll(/runId/g, 'run')
      .replaceAll('execute:', 'run:')
      .replaceAll('toolName', 'name')
      .replaceAll('stream', 'flow')
      .replaceAll('defaultOptions', 'options');
    expect(missingLines(blockOf(example), changed)).not.toEqual([]);
  });

  test('each example is executed on each store', () => {
    const folder = join(root, 'test/spec');
    const executed = readdirSync(folder)
      .filter((file) => file.endsWith('.test.ts'))
      .flatMap((file) => executedOnEachStore(readFileSync(join(folder, file), 'utf8')));
    expect(examples.filter(({ name }) => !executed.includes(name))).toEqual([]);
  });

  test('alternatives are taken apart', () => {
    const split = new Map(examples.map((example) => [example.name, alternatives(blockOf(example))]));
    const several = [...split].filter(([, parts]) => parts.length > 1);
    expect(several.map(([name]) => name)).toEqual(['request approval', 'generate', 'supervisor']);
    for (const [, [approve = '', decline = '']] of several) {
      expect(approve).toMatch(/\.approveToolCall/);
      expect(approve).not.toMatch(/\.declineToolCall/);
      expect(decline).toMatch(/\.declineToolCall/);
      expect(decline).not.toMatch(/\.approveToolCall/);
    }
  });

  test.each(configurations)('every example type-checks: %s', { timeout: 60_000 }, async (_, options) => {
    const files = modules();
    // 19 examples, three of them with two alternatives.
    expect(files.size).toBe(22);
    expect(await diagnose(files, options)).toEqual([]);
  });

  test('a broken example is reported', { timeout: 60_000 }, async () => {
    const breaks: [string, string, string][] = [
      ['quickstart-1.ts', "chunk.type === 'tool-call-approval'", "chunk.type === 'tool-call-aproval'"],
      ['request-approval-1.ts', 'requireToolApproval: true', 'requireToolApprovals: true'],
      ['request-approval-2.ts', 'chunk.payload.toolName', 'chunk.payload.name'],
      ['tool-level-approval-1.ts', 'inputData.location', 'inputData.place'],
      ['approval-by-suspend-1.ts', "reason: 'Approval required.'", 'reason: 7'],
      ['auto-resume-agent-1.ts', 'memory: new Memory()', 'memory: new Map()'],
      ['after-a-restart-1.ts', "threadId: 'thread-123'", 'threadId: 123'],
      ['supervisor-1.ts', 'agents: { dataAgent }', 'agents: { dataAgent: findUserTool }'],
      ['supervisor-2.ts', 'runId: stream.runId', 'run: stream.runId'],
    ];
    const files = modules();
    for (const [name, right, wrong] of breaks) {
      const code = files.get(name) ?? '';
      expect(code, name).toContain(right);
      files.set(name, code.replace(right, wrong));
    }
    const problems = await diagnose(files, strict);
    const reported = new Set(
      problems.flatMap((line) => /^[\w-]+\.ts(?=\()/.exec(line.split('/').at(-1) ?? '') ?? []),
    );
    expect([...reported].sort()).toEqual(breaks.map(([name]) => name).sort());
  });
});
