/** Writes the table K × path into SPEC.md: `node test/scenarios/write-coverage.ts`. */
import { readFileSync, writeFileSync } from 'node:fs';
import { renderCoverage } from './coverage-render.ts';

const file = new URL('../../SPEC.md', import.meta.url);
const text = readFileSync(file, 'utf8');
const marked = /(<!-- scenarios -->\n)[\s\S]*?(<!-- \/scenarios -->)/;
if (!marked.test(text)) throw new Error('SPEC.md has no lines <!-- scenarios --> and <!-- /scenarios -->.');
writeFileSync(
  file,
  text.replace(marked, (_all, before: string, after: string) => `${before}\n${renderCoverage()}\n\n${after}`),
);
