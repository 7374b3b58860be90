import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import {
  checkAiSdk,
  checkBrowserSafe,
  checkCoreImports,
  checkCoreSize,
  checkCycles,
  checkDependencies,
  checkExports,
  checkLayers,
  checkLength,
  checkModuleState,
  checks,
} from './architecture.ts';
import type { SourceFile } from './source-text.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

const source: SourceFile[] = globSync('src/**/*.{ts,tsx}', { cwd: root }).map((path) => ({
  path: path.replaceAll('\\', '/'),
  text: readFileSync(join(root, path), 'utf8'),
}));

/** A tree from `path: text` pairs. */
function tree(files: Record<string, string>): SourceFile[] {
  return Object.entries(files).map(([path, text]) => ({ path, text }));
}

const lines = (count: number): string => 'f();\n'.repeat(count);

describe('the source', () => {
  test.each(Object.entries(checks))('%s', (_, check) => {
    expect(check(source)).toEqual([]);
  });

  test('every package that is imported is declared', () => {
    const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    const declared = new Set(Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies }));
    expect(checkDependencies(source, declared)).toEqual([]);
  });
});

describe('layers', () => {
  test.each([
    ['src/core/run.ts', "import { x } from '../store/sql.ts';"],
    ['src/core/run.ts', "import type { X } from '../agent/agent.ts';"],
    ['src/store/sql.ts', "import { x } from '../stream/chunk.ts';"],
    ['src/team/delegate.ts', "export { x } from '../conversation/recall.ts';"],
    ['src/engine/local.ts', "await import('../agent/agent.ts');"],
    ['src/agent/agent.ts', "import '../server/app.ts';"],
    ['src/agent/agent.ts', "import { scripted } from '../testing/index.ts';"],
    ['src/testing/index.ts', "import { app } from '../server/app.ts';"],
    ['src/client/client.ts', "import { x } from '../react/hooks.ts';"],
    ['src/client/client.ts', "import { CountersignError } from '../core/errors.ts';"],
    ['src/client/client.ts', "import type { Approval } from '../server/approvals.ts';"],
    ['src/core/run.ts', "import { x } from '../index.ts';"],
  ])('%s may not %s', (path, text) => {
    expect(checkLayers(tree({ [path]: text }))).toHaveLength(1);
  });

  test('a file outside of every layer is reported', () => {
    expect(checkLayers(tree({ 'src/helpers.ts': '', 'src/misc/helpers.ts': '' }))).toHaveLength(2);
  });

  test('imports from below are fine, and so is everything in the entry point and in tests', () => {
    const files = tree({
      'src/index.ts': "export { app } from './server/app.ts';",
      'src/agent/agent.ts': "import { x } from '../core/run.ts';\nimport { y } from './registry.ts';",
      'src/testing/index.ts': "import { Agent } from '../agent/agent.ts';",
      'src/core/run.test.ts': "import { x } from '../store/memory.ts';",
      'src/client/answers.ts': "import type { Chunk } from '../stream/chunk.ts';",
    });
    expect(checkLayers(files)).toEqual([]);
  });
});

describe('cycles', () => {
  test('a cycle is reported, type imports included', () => {
    const files = tree({
      'src/core/a.ts': "import { b } from './b.ts';",
      'src/core/b.ts': "import type { C } from './deep/c.ts';",
      'src/core/deep/c.ts': "export { a } from '../a.ts';",
    });
    expect(checkCycles(files)).toEqual([
      'import cycle: src/core/a.ts → src/core/b.ts → src/core/deep/c.ts → src/core/a.ts',
    ]);
  });

  test('two ways to the same file are no cycle', () => {
    const files = tree({
      'src/core/a.ts': "import { b } from './b.ts';\nimport { c } from './c.ts';",
      'src/core/b.ts': "import { c } from './c.ts';",
      'src/core/c.ts': '',
    });
    expect(checkCycles(files)).toEqual([]);
  });
});

describe('size', () => {
  test('a long file is reported, earlier in core', () => {
    expect(checkLength(tree({ 'src/core/a.ts': lines(301) }))).toHaveLength(1);
    expect(checkLength(tree({ 'src/store/a.ts': lines(401) }))).toHaveLength(1);
    const files = {
      'src/core/a.ts': lines(300),
      'src/store/a.ts': lines(400),
      'src/core/a.test.ts': lines(900),
    };
    expect(checkLength(tree(files))).toEqual([]);
  });

  test('too much code in core is reported', () => {
    const file = { 'src/core/a.ts': lines(2000), 'src/core/b.ts': lines(300) };
    expect(checkCoreSize(tree(file))).toEqual([]);
    expect(checkCoreSize(tree({ ...file, 'src/core/c.ts': 'f();' }))).toEqual([
      'src/core has 2301 lines of code, at most 2300 are allowed',
    ]);
  });
});

describe('what core and the browser import', () => {
  test.each([
    "import { z } from 'zod';",
    "import { createHash } from 'node:crypto';",
    "import { StandardSchemaV1 } from '@standard-schema/spec';",
    "const { generateText } = await import('ai');",
    "import { x } from '../store/sql.ts';",
  ])('core may not %s', (text) => {
    expect(checkCoreImports(tree({ 'src/core/a.ts': text }))).toHaveLength(1);
  });

  test('core may import itself, canonicalize and the types of Standard Schema', () => {
    const text = [
      "import type { StandardSchemaV1 } from '@standard-schema/spec';",
      "import canonicalize from 'canonicalize';",
      "import { x } from './b.ts';",
    ].join('\n');
    expect(checkCoreImports(tree({ 'src/core/a.ts': text }))).toEqual([]);
  });

  test.each(['src/core/a.ts', 'src/client/a.ts', 'src/react/a.tsx'])('%s may not import Node', (path) => {
    expect(checkBrowserSafe(tree({ [path]: "import { readFile } from 'node:fs/promises';" }))).toHaveLength(
      1,
    );
    expect(checkBrowserSafe(tree({ [path]: "import crypto from 'crypto';" }))).toHaveLength(1);
  });

  test('a store may import Node', () => {
    expect(checkBrowserSafe(tree({ 'src/store/sqlite.ts': "import 'node:sqlite';" }))).toEqual([]);
  });
});

describe('the AI SDK', () => {
  test.each([
    ['src/models/ids.ts', "import { generateText } from 'ai';"],
    ['src/agent/agent.ts', "import { type ModelMessage } from 'ai';"],
    ['src/testing/index.ts', "import { MockLanguageModelV4 } from 'ai/test';"],
    ['src/store/sql.ts', "import type { ModelMessage } from 'ai';"],
    ['src/index.ts', "export type { LanguageModelV4 } from '@ai-sdk/provider';"],
    ['src/models/ai-sdk.ts', "import { APICallError } from '@ai-sdk/provider';"],
  ])('%s may not %s', (path, text) => {
    expect(checkAiSdk(tree({ [path]: text }))).toHaveLength(1);
  });

  test('one file runs it, three layers know its types', () => {
    const files = tree({
      'src/models/ai-sdk.ts': "const sdk = await import('ai');\nimport { jsonSchema } from 'ai';",
      'src/models/ids.ts': "import type { LanguageModelV4 } from '@ai-sdk/provider';",
      'src/agent/agent.ts': "import type { ModelMessage } from 'ai';",
      'src/testing/model.ts': "type Sdk = typeof import('ai');",
      'src/store/sql.test.ts': "import { generateText } from 'ai';",
    });
    expect(checkAiSdk(files)).toEqual([]);
  });
});

describe('dependencies', () => {
  const declared = new Set(['ai', '@scope/name']);

  test('a package that is not declared is reported', () => {
    const files = tree({
      'src/testing/index.ts': "import { test } from 'vitest';\nawait import('@scope/other');",
    });
    expect(checkDependencies(files, declared)).toHaveLength(2);
  });

  test('declared packages, Node, own files and types are fine', () => {
    const text = [
      "import { generateText } from 'ai/internal';",
      "import { name } from '@scope/name/part';",
      "import { join } from 'node:path';",
      "import { x } from './x.ts';",
      "import type { Y } from 'y';",
    ].join('\n');
    expect(checkDependencies(tree({ 'src/store/sql.ts': text }), declared)).toEqual([]);
  });
});

describe('module state and exports', () => {
  test.each([
    'let count = 0;',
    'export let count = 0;',
    'var count = 0;',
    'const count = new Map<string, number>();',
    'const count: Set<string> = new Set();',
    'const count: string[] = [];',
  ])('%s is module-level state', (text) => {
    expect(checkModuleState(tree({ 'src/core/a.ts': `f();\n${text}\n` }))).toEqual([
      'src/core/a.ts has module-level state: count',
    ]);
  });

  test('constants and local variables are none', () => {
    const text =
      "const names = new Set(['a']);\nfunction f() {\n  let count = 0;\n}\nconst s = `\nlet x = 1;\n`;\n";
    expect(checkModuleState(tree({ 'src/core/a.ts': text }))).toEqual([]);
  });

  test.each([
    'export default function f() {}',
    'export { f as default };',
    "export * from './b.ts';",
    "export type * from './b.ts';",
    "export * as b from './b.ts';",
  ])('%s is reported', (text) => {
    expect(checkExports(tree({ 'src/core/a.ts': text }))).toHaveLength(1);
  });

  test('named exports are fine, and comments and strings are not code', () => {
    const text =
      "// export default x\nexport const text = 'export * from here';\nexport { f } from './b.ts';\n";
    expect(checkExports(tree({ 'src/core/a.ts': text }))).toEqual([]);
  });
});
