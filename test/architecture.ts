/**
 * The rules of the source that no linter knows, each a function from files to what is wrong with them.
 * Tests may import what they like; they are left out everywhere.
 */
import { isBuiltin } from 'node:module';
import { posix } from 'node:path';
import { codeOnly, countCodeLines, type Import, importsOf, type SourceFile } from './source-text.ts';

export type Check = (files: readonly SourceFile[]) => string[];

const aboveStore = ['core', 'stream', 'models', 'store'];
const aboveTeam = [...aboveStore, 'conversation', 'team'];
const aboveAgent = [...aboveTeam, 'engine', 'agent'];

/** What each layer may import besides itself. */
const below: Readonly<Record<string, readonly string[]>> = {
  core: [],
  stream: ['core'],
  models: ['core'],
  store: ['core'],
  conversation: aboveStore,
  team: aboveStore,
  engine: aboveTeam,
  agent: [...aboveTeam, 'engine'],
  server: aboveAgent,
  cli: [...aboveAgent, 'server'],
  testing: aboveAgent,
  client: [],
  react: ['client'],
};

/** Whose types alone it may import: nothing of them is left in what runs. */
const typesBelow: Readonly<Record<string, readonly string[]>> = { client: ['core', 'stream'] };

const maximalLines = { core: 300, elsewhere: 400 };
const maximalCoreCode = 2300;

export function checkLayers(files: readonly SourceFile[]): string[] {
  return product(files).flatMap(({ path, text }) => {
    if (path === 'src/index.ts') return [];
    const layer = layerOf(path);
    const allowed = below[layer];
    if (allowed === undefined)
      return [`${path} is in no layer: a new one belongs in the table of test/architecture.ts`];
    return importsOf(text)
      .filter(isRelative)
      .map((found) => ({ ...found, target: targetOf(path, found) }))
      .filter(({ target, typeOnly }) => {
        const types = typeOnly ? (typesBelow[layer] ?? []) : [];
        return ![layer, ...allowed, ...types].includes(layerOf(target));
      })
      .map(({ target }) => `${path} imports ${target}, and ${layer} is not above ${layerOf(target)}`);
  });
}

/** Imports of types count: a file that cannot be read without another one is not below it. */
export function checkCycles(files: readonly SourceFile[]): string[] {
  const edges = new Map(
    product(files).map(({ path, text }) => [
      path,
      importsOf(text)
        .filter(isRelative)
        .map((found) => targetOf(path, found)),
    ]),
  );
  const problems: string[] = [];
  const finished = new Set<string>();
  const visit = (path: string, trail: readonly string[]): void => {
    const start = trail.indexOf(path);
    if (start !== -1) {
      problems.push(`import cycle: ${[...trail.slice(start), path].join(' → ')}`);
      return;
    }
    if (finished.has(path)) return;
    for (const target of edges.get(path) ?? []) visit(target, [...trail, path]);
    finished.add(path);
  };
  for (const path of edges.keys()) visit(path, []);
  return problems;
}

export function checkLength(files: readonly SourceFile[]): string[] {
  return product(files).flatMap(({ path, text }) => {
    const lines = text.trimEnd().split('\n').length;
    const maximum = layerOf(path) === 'core' ? maximalLines.core : maximalLines.elsewhere;
    return lines > maximum ? [`${path} has ${lines} lines, at most ${maximum} are allowed`] : [];
  });
}

export function checkCoreSize(files: readonly SourceFile[]): string[] {
  const core = product(files).filter(({ path }) => layerOf(path) === 'core');
  const lines = core.reduce((sum, { text }) => sum + countCodeLines(text), 0);
  return lines > maximalCoreCode
    ? [`src/core has ${lines} lines of code, at most ${maximalCoreCode} are allowed`]
    : [];
}

export function checkCoreImports(files: readonly SourceFile[]): string[] {
  return eachImport(files, (path, found) => {
    if (layerOf(path) !== 'core' || found.from === 'canonicalize') return undefined;
    if (found.from === '@standard-schema/spec' && found.typeOnly) return undefined;
    if (isRelative(found) && layerOf(targetOf(path, found)) === 'core') return undefined;
    return `${path} imports ${found.from}: core imports its own files, canonicalize and the types of @standard-schema/spec`;
  });
}

export function checkBrowserSafe(files: readonly SourceFile[]): string[] {
  return eachImport(files, (path, found) =>
    ['core', 'client', 'react'].includes(layerOf(path)) && isBuiltin(found.from)
      ? `${path} imports ${found.from}: this layer also runs in browsers`
      : undefined,
  );
}

export function checkAiSdk(files: readonly SourceFile[]): string[] {
  return eachImport(files, (path, found) => {
    const isSdk = found.from === 'ai' || found.from.startsWith('ai/');
    if (!isSdk && found.from !== '@ai-sdk/provider') return undefined;
    if (isSdk && path === 'src/models/ai-sdk.ts') return undefined;
    if (!found.typeOnly)
      return `${path} imports ${found.from} by value: only src/models/ai-sdk.ts runs the AI SDK`;
    if (['models', 'agent', 'testing'].includes(layerOf(path))) return undefined;
    return `${path} imports types of ${found.from}: only models, agent and testing know the AI SDK`;
  });
}

/** What the repository has installed for itself is missing at a user's. */
export function checkDependencies(files: readonly SourceFile[], declared: ReadonlySet<string>): string[] {
  return eachImport(files, (path, found) => {
    if (found.typeOnly || isRelative(found) || isBuiltin(found.from)) return undefined;
    const name = found.from.split('/', found.from.startsWith('@') ? 2 : 1).join('/');
    return declared.has(name)
      ? undefined
      : `${path} imports ${found.from}, which package.json names in neither dependencies nor peerDependencies`;
  });
}

export function checkModuleState(files: readonly SourceFile[]): string[] {
  const variable =
    /^(?:export\s+)?(?:(?:let|var)\s+(\w+)|const\s+(\w+)[^=\n]*=\s*(?:new\s+(?:Map|Set)(?:<[^\n]*>)?\(\)|\[\]|\{\});)/gm;
  return product(files).flatMap(({ path, text }) =>
    [...codeOnly(text).matchAll(variable)].map(
      (match) => `${path} has module-level state: ${match[1] ?? match[2] ?? match[0]}`,
    ),
  );
}

export function checkExports(files: readonly SourceFile[]): string[] {
  return product(files).flatMap(({ path, text }) => {
    const code = codeOnly(text);
    const problems: string[] = [];
    if (/\bexport\s+default\b|\bas\s+default\b/.test(code)) problems.push(`${path} has a default export`);
    if (/\bexport\s+(?:type\s+)?\*/.test(code)) problems.push(`${path} has an export *`);
    return problems;
  });
}

export const checks: Readonly<Record<string, Check>> = {
  'a file imports only from layers below': checkLayers,
  'no import cycles': checkCycles,
  'no file is too long': checkLength,
  'core stays small': checkCoreSize,
  'core imports nothing but itself and canonicalize': checkCoreImports,
  'what runs in browsers imports nothing of Node': checkBrowserSafe,
  'only src/models/ai-sdk.ts runs the AI SDK': checkAiSdk,
  'no module-level mutable state': checkModuleState,
  'no default exports and no export *': checkExports,
};

/** The files that are published: no tests, and no folders that only tests use. */
function product(files: readonly SourceFile[]): SourceFile[] {
  return files.filter(({ path }) => !/\.test\.tsx?$|\/(?:fixtures|test-support)\//.test(path));
}

function eachImport(
  files: readonly SourceFile[],
  problemOf: (path: string, found: Import) => string | undefined,
): string[] {
  return product(files).flatMap(({ path, text }) =>
    importsOf(text)
      .map((found) => problemOf(path, found))
      .filter((problem) => problem !== undefined),
  );
}

function layerOf(path: string): string {
  const [, layer, ...rest] = path.split('/');
  return layer !== undefined && rest.length > 0 ? layer : path;
}

function isRelative(found: Import): boolean {
  return found.from.startsWith('.');
}

function targetOf(path: string, found: Import): string {
  return posix.join(posix.dirname(path), found.from);
}
