/** The table K × path as SPEC.md shows it. */
import { coverage, type KindOfFault, kindsOfFault } from './coverage.ts';
import { type Path, paths } from './coverage-paths.ts';

function shortName(file: string): string {
  return file.replace(/^test\/scenarios\//, '').replace(/^(k\d+)-.*|\.test\.ts$/, '$1');
}

/** The table as Markdown: what is open today, what comes later, and why some cells have no test. */
export function renderCoverage(): string {
  const notes: string[] = [];
  const noteOf = (text: string): number => {
    if (!notes.includes(text)) notes.push(text);
    return notes.indexOf(text) + 1;
  };
  const names = Object.keys(paths) as Path[];
  const table = (columns: readonly Path[]): string[] => [
    `| | ${columns.join(' | ')} |`,
    `|---|${columns.map(() => '---|').join('')}`,
    ...(Object.keys(coverage) as KindOfFault[]).map((kind) => {
      const rendered = columns.map((path) => {
        const cell = coverage[kind][path];
        if (cell === undefined) return '';
        if (cell.type === 'test') return shortName(cell.file);
        return cell.type === 'issue' ? `_${cell.name}_` : `– [${noteOf(cell.why)}]`;
      });
      return `| **${kind}** | ${rendered.join(' | ')} |`;
    }),
  ];
  const lines = [
    ...Object.entries(kindsOfFault).map(([kind, title]) => `- **${kind}** ${title}`),
    '',
    'A cell names the file in `test/scenarios/`, or by its path, that fills it (`k01` is the one that begins so), or in italics the issue that will.',
    '',
    ...table(names.filter((path) => paths[path].isBuilt)),
    '',
    'Later:',
    '',
    ...table(names.filter((path) => !paths[path].isBuilt)),
    '',
    'Not applicable because:',
    '',
  ];
  return [...lines, ...notes.map((note, index) => `${index + 1}. ${note}`)].join('\n');
}
