/** The code of a document: all its ```ts blocks are one program, type-checked as one and run as one. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll } from 'vitest';
import { type Ended, runExample } from './run-example.ts';

export const root = fileURLToPath(new URL('..', import.meta.url));

export interface Document {
  readonly text: string;
  /** Its ```ts blocks, one after the other. Fragments that cannot run are ```typescript. */
  readonly program: string;
  /** What its comments `// → …` say that is printed, line by line. */
  readonly printed: readonly string[];
  /** Where its links to files lead, from the root. */
  readonly links: readonly string[];
}

/** @param path from the root. */
export function readDocument(path: string): Document {
  const text = readFileSync(join(root, path), 'utf8');
  const program = [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map((match) => match[1]).join('\n');
  return {
    text,
    program,
    printed: [...program.matchAll(/^ *\/\/ → (.*)$/gm)].map((match) => match[1] ?? ''),
    links: [...text.matchAll(/\]\(([^):#]+)(?:#[^)]*)?\)/g)].map((match) =>
      normalize(join(dirname(path), match[1] ?? '')),
    ),
  };
}

/** Where the programs of a test file lie: inside the repository, where its packages are found, ignored by git. */
export interface Workplace {
  /** Type-checks programs, by name, in one run of the compiler. */
  check(programs: Readonly<Record<string, string>>): Promise<Ended>;
  /**
   * Runs a program whose models are what `model()` returns, with its databases in the workplace.
   * @param model code that declares `model`.
   */
  run(name: string, model: string, program: string, env?: Readonly<Record<string, string>>): Promise<Ended>;
}

/** A workplace that is gone when the tests of the file are. */
export function workplace(name: string): Workplace {
  mkdirSync(join(root, '.countersign'), { recursive: true });
  const folder = mkdtempSync(join(root, '.countersign', `${name}-`));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return {
    check(programs) {
      for (const [file, text] of Object.entries(programs)) writeFileSync(join(folder, `${file}.ts`), text);
      const include = Object.keys(programs).map((file) => `${file}.ts`);
      // Whether a reader uses what the last lines declare is not the question.
      const config = { include, exclude: [], compilerOptions: { noUnusedLocals: false } };
      const extended = { extends: '../../tsconfig.json', ...config };
      writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(extended));
      return runExample('node_modules/typescript/bin/tsc', ['--noEmit', '-p', folder]);
    },
    run(file, model, program, env = {}) {
      const path = join(folder, `run-${file}.ts`);
      const text = `${model}${program}`
        .replaceAll("model: 'openai/gpt-5-mini'", 'model: model()')
        .replaceAll(/path: '([a-z-]+\.db)'/g, (_, database: string) => {
          return `path: ${JSON.stringify(join(folder, `${file}-${database}`))}`;
        });
      writeFileSync(path, text);
      return runExample(relative(root, path), [], env);
    },
  };
}
