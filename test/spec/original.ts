/** Reads the examples of the specification's page, and makes files of them that a compiler can check. */
import { freeNames } from './examples.ts';

/** The TypeScript blocks of a page, in order. */
export function typescriptBlocks(page: string): string[] {
  return [...page.matchAll(/^```typescript\n(.*?)^```$/gms)].map(([, code = '']) => code);
}

const first = /^(\s*)\/\/ Approve\b/;
const second = /^(\s*)\/\/ (?:Or|To) decline\b/;

/**
 * The page prints alternatives one after the other ("Approve", then "Or decline"): each becomes a block of its own,
 * with what stands around them.
 */
export function alternatives(block: string): string[] {
  const lines = block.split('\n');
  const begin = lines.findIndex((line) => first.test(line));
  const middle = lines.findIndex((line) => second.test(line));
  if (begin < 0 || middle < 0) return [block];
  const depth = (line: string): number => line.length - line.trimStart().length;
  const closing = lines.findIndex(
    (line, index) => index > middle && line.trim() !== '' && depth(line) < depth(lines[middle] ?? ''),
  );
  const end = closing < 0 ? lines.length : closing;
  return [
    [...lines.slice(0, middle), ...lines.slice(end)].join('\n'),
    [...lines.slice(0, begin), ...lines.slice(middle)].join('\n'),
  ];
}

/** The one change that the page's code needs. */
export function withOurImports(block: string): string {
  return block.replaceAll(/(from\s+)'@mastra\/(?:core\/(?:agent|tools)|memory)'/g, "$1'countersign'");
}

/** A module that a compiler can check: the free names that the code uses, then the code. */
export function checkable(block: string): string {
  const code = withOurImports(block);
  const needed = Object.entries(freeNames).filter(([name]) => isUsed(name, code) && !isDeclared(name, code));
  return [...needed.map(([, declaration]) => declaration), code, 'export {};', ''].join('\n');
}

function isUsed(name: string, code: string): boolean {
  return new RegExp(`(?<![\\w.'"-])${name}\\b(?!['":])`).test(code);
}

function isDeclared(name: string, code: string): boolean {
  return new RegExp(`\\b(?:const|let|function)\\s+${name}\\b|import\\s*\\{[^}]*\\b${name}\\b[^}]*\\}`).test(
    code,
  );
}

/**
 * The lines of an example that a file of ours does not hold. Formatting, comments, imports, `export` and the model
 * are allowed to differ.
 */
export function missingLines(block: string, text: string): string[] {
  const kept = bare(text);
  return block
    .split('\n')
    .map((line) => line.replace(/^\s*\/\/.*/, '').replace(/^(\s*)export /, '$1'))
    .filter((line) => !/^\s*(?:import |model: '|let stream$)/.test(line) && !kept.includes(bare(line)));
}

/** Without spaces and what a formatter adds or takes away. */
function bare(code: string): string {
  return code.replaceAll(/\/\/.*$/gm, '').replaceAll(/[\s;,'"()]/g, '');
}
