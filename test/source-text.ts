/** Reads just enough of a TypeScript file to check rules on it, without a compiler. */

export interface SourceFile {
  /** From the root, with forward slashes: `src/core/run.ts`. */
  readonly path: string;
  readonly text: string;
}

export interface Import {
  readonly from: string;
  /** `import type …`, `export type … from` or `typeof import(…)`: nothing of it is left at run time. */
  readonly typeOnly: boolean;
}

const comment = 'c';
const literal = 's';

/** Comments become spaces. Offsets and lines stay. */
export function withoutComments(text: string): string {
  return blank(text, (kind) => kind === comment);
}

/** Comments and what strings, templates and regular expressions hold become spaces. Offsets and lines stay. */
export function codeOnly(text: string): string {
  return blank(text, (kind) => kind === comment || kind === literal);
}

export function importsOf(text: string): Import[] {
  const code = codeOnly(text);
  const found: Import[] = [];
  const specifierAt = (quote: number): string =>
    text.slice(quote + 1, code.indexOf(code.charAt(quote), quote + 1));
  // import x from '…' · export { x } from '…' · export * from '…'
  for (const match of code.matchAll(
    /\b(?:import|export)\b(\s+type\b(?!\s*(?:,|from\b)))?[^;'"`()=]*?\bfrom\s*(?=['"])/g,
  )) {
    found.push({ from: specifierAt(match.index + match[0].length), typeOnly: match[1] !== undefined });
  }
  // import '…'
  for (const match of code.matchAll(/\bimport\s*(?=['"])/g)) {
    found.push({ from: specifierAt(match.index + match[0].length), typeOnly: false });
  }
  // import('…') · typeof import('…')
  for (const match of code.matchAll(/(\btypeof\s+)?\bimport\s*\(\s*(?=['"`])/g)) {
    found.push({ from: specifierAt(match.index + match[0].length), typeOnly: match[1] !== undefined });
  }
  return found;
}

// `type A,` also begins a line inside of an import.
const declaration = /^[ \t]*(?:export\s+)?(?:declare\s+)?(?:(interface)\s+[\w$]+|type\s+[\w$]+\s*[=<])/gm;

/** Lines of code: neither blank, nor comment, nor part of an `interface` or `type` declaration. */
export function countCodeLines(text: string): number {
  const code = codeOnly(text);
  const kept = withoutComments(text).split('');
  for (const match of code.matchAll(declaration)) {
    const end = match[1] !== undefined ? endOfInterface(code, match.index) : endOfType(code, match.index);
    for (let index = match.index; index < end; index += 1) if (kept[index] !== '\n') kept[index] = ' ';
  }
  return kept
    .join('')
    .split('\n')
    .filter((line) => line.trim() !== '').length;
}

/** The body is the first block outside of the type parameters, which may hold braces of their own. */
function endOfInterface(code: string, start: number): number {
  let braces = 0;
  let angles = 0;
  for (let index = start; index < code.length; index += 1) {
    const character = code.charAt(index);
    if (character === '<') angles += 1;
    if (character === '>' && code.charAt(index - 1) !== '=') angles -= 1;
    if (character === '{') braces += 1;
    if (character === '}') braces -= 1;
    if (character === '}' && braces === 0 && angles === 0) return index + 1;
  }
  return code.length;
}

/** The formatter ends every type declaration with a semicolon. */
function endOfType(code: string, start: number): number {
  let depth = 0;
  for (let index = start; index < code.length; index += 1) {
    const character = code.charAt(index);
    if ('{(['.includes(character)) depth += 1;
    if ('})]'.includes(character)) depth -= 1;
    if (character === ';' && depth === 0) return index + 1;
  }
  return code.length;
}

function blank(text: string, isBlanked: (kind: string) => boolean): string {
  const kinds = kindsOf(text);
  let result = '';
  for (let index = 0; index < text.length; index += 1) {
    const character = text.charAt(index);
    result += character !== '\n' && isBlanked(kinds[index] ?? '') ? ' ' : character;
  }
  return result;
}

/** For each character whether it is in a comment, in a literal (its quotes are not) or in code (''). */
function kindsOf(text: string): string[] {
  const kinds: string[] = new Array(text.length).fill('');
  // One entry for each `${` that is open, with the braces open inside it.
  const templates: number[] = [];
  let index = 0;
  const mark = (end: number, kind: string): void => {
    kinds.fill(kind, index, end);
    index = end;
  };
  while (index < text.length) {
    const character = text.charAt(index);
    const pair = text.slice(index, index + 2);
    if (pair === '//') {
      mark(orEnd(text, text.indexOf('\n', index)), comment);
    } else if (pair === '/*') {
      mark(orEnd(text, text.indexOf('*/', index + 2), 2), comment);
    } else if (character === "'" || character === '"') {
      index += 1;
      mark(endOfLiteral(text, index, character), literal);
      index += 1;
    } else if (character === '/' && startsRegExp(text, kinds, index)) {
      index += 1;
      mark(endOfRegExp(text, index), literal);
      index += 1;
    } else if (character === '`' || (character === '}' && templates.at(-1) === 0)) {
      if (character === '}') templates.pop();
      index += 1;
      mark(endOfTemplatePart(text, index), literal);
      if (text.charAt(index) === '`') index += 1;
      else {
        templates.push(0);
        index += 2;
      }
    } else {
      const open = templates.length - 1;
      if (open >= 0 && character === '{') templates[open] = (templates[open] ?? 0) + 1;
      if (open >= 0 && character === '}') templates[open] = (templates[open] ?? 0) - 1;
      index += 1;
    }
  }
  return kinds;
}

function orEnd(text: string, found: number, extra = 0): number {
  return found === -1 ? text.length : found + extra;
}

function endOfLiteral(text: string, start: number, quote: string): number {
  let index = start;
  while (index < text.length && text.charAt(index) !== quote && text.charAt(index) !== '\n') {
    index += text.charAt(index) === '\\' ? 2 : 1;
  }
  return Math.min(index, text.length);
}

function endOfTemplatePart(text: string, start: number): number {
  let index = start;
  while (index < text.length && text.charAt(index) !== '`' && text.slice(index, index + 2) !== '${') {
    index += text.charAt(index) === '\\' ? 2 : 1;
  }
  return Math.min(index, text.length);
}

function endOfRegExp(text: string, start: number): number {
  let index = start;
  let inClass = false;
  while (index < text.length && text.charAt(index) !== '\n' && (inClass || text.charAt(index) !== '/')) {
    if (text.charAt(index) === '[') inClass = true;
    if (text.charAt(index) === ']') inClass = false;
    index += text.charAt(index) === '\\' ? 2 : 1;
  }
  return Math.min(index, text.length);
}

/** A slash divides after a value, and opens a regular expression everywhere else. */
function startsRegExp(text: string, kinds: readonly string[], slash: number): boolean {
  let index = slash - 1;
  while (index >= 0 && (kinds[index] === comment || /\s/.test(text.charAt(index)))) index -= 1;
  const before = text.slice(Math.max(0, index - 20), index + 1);
  if (/\b(?:return|typeof|case|in|of|void|await|yield|delete)$/.test(before)) return true;
  return !/[\w$)\]}'"`]$/.test(before);
}
