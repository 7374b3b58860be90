/**
 * Owns the table K × path: for each kind of fault and each path of the product, the test that shows it impossible
 * there, what will show it, or why it cannot occur. SPEC.md carries it as `renderCoverage` makes it.
 */
import { cells, doesNotApply, issue, type Row, test } from './coverage-cells.ts';
import { type Path, paths } from './coverage-paths.ts';

export const kindsOfFault = {
  K1: 'A declined, undecided or malformed decision still executes',
  K2: 'A stale or wrong decision hits another call',
  K3: 'One decision executes twice',
  K4: 'The model decides for itself',
  K5: 'The flag is lost on some path',
  K6: 'Several held calls in one step',
  K7: 'Neighbours of a held call are lost, blocked or asked about too',
  K8: 'Listed but cannot be resumed',
  K9: 'Nested approvals swallowed, restarted or mis-addressed',
  K10: 'The provider rejects the history',
  K11: 'Lost on reload, wrong on recall',
  K12: 'State too big, not serialisable, or later than its announcement',
  K13: 'Context, identity, tools or options change on resume',
  K14: 'The resumed stream has another shape',
  K15: 'The wrong person decides',
  K16: 'Timeouts',
  K17: 'A new message or an abort while something waits',
  K18: 'Auto-resume pollutes or confuses',
  K19: 'Finished runs linger',
  K20: 'Decline semantics',
} as const;

export type KindOfFault = keyof typeof kindsOfFault;

const faces = ['stream', 'generate'] as const;
const kept = ['in-memory store', 'SQLite store', 'warm', 'cold'] as const;
const tools = ['agent tool', 'dynamic tool', 'AI SDK tool', 'client tool'] as const;
const world = [...faces, ...kept, ...tools] as const;
const verdicts = ['approve', 'decline', 'resume'] as const;
const others = ['continueRun', 'cancelRun', 'listSuspendedRuns'] as const;
const today = [...world, ...verdicts, ...others] as const;

const durability = [issue('durability'), 'PostgreSQL', 'LibSQL', 'several processes'] as const;
const conversations = [
  issue('conversations'),
  'toolset',
  'sub-agent',
  'memory',
  'thread decisions',
  'auto-resume',
] as const;
const http = [issue('http'), 'HTTP', 'client', 'UI protocol'] as const;
const mcp = [issue('mcp'), 'MCP'] as const;
const later = [durability, conversations, http, mcp] as const;

export const coverage: Readonly<Record<KindOfFault, Row>> = {
  K1: cells([test('k01-declined-never-executes'), ...today], ...later),
  K2: cells([test('k02-wrong-decision'), ...today], ...later),
  K3: cells(
    [test('k03-one-decision-once'), ...world, ...verdicts],
    [test('bad-input-model-and-store'), ...others],
    ...later,
  ),
  K4: cells(
    [test('k04-model-decides-nothing'), ...world, ...verdicts, 'listSuspendedRuns'],
    [doesNotApply('it names no call, and is told nothing that a model wrote'), 'continueRun', 'cancelRun'],
    ...later,
  ),
  K5: cells(
    [test('k05-every-path-holds'), ...world, 'approve', 'listSuspendedRuns'],
    [
      doesNotApply('whether a call is held was decided and stored before this is called'),
      'decline',
      'resume',
      'continueRun',
      'cancelRun',
    ],
    ...later,
  ),
  K6: cells(
    [test('k06-several-held'), ...world, ...verdicts, 'cancelRun', 'listSuspendedRuns'],
    [doesNotApply('no call waits in a step whose model call is tried again'), 'continueRun'],
    ...later,
  ),
  K7: cells(
    [test('k07-neighbours'), ...world, ...verdicts, 'listSuspendedRuns'],
    [doesNotApply('no call is open in a step whose model call is tried again'), 'continueRun'],
    [doesNotApply('it ends all calls of the run: K17'), 'cancelRun'],
    ...later,
  ),
  K8: cells([test('k08-listed-then-moved'), ...today], ...later),
  K9: cells([issue('conversations'), ...today], ...later),
  K10: cells(
    [test('k10-valid-prompts'), ...world, ...verdicts, 'continueRun'],
    [doesNotApply('no model is asked after it'), 'cancelRun', 'listSuspendedRuns'],
    ...later,
  ),
  K11: cells([issue('conversations'), ...today], ...later),
  K12: cells(
    [test('k12-what-is-stored'), ...faces, ...kept, 'agent tool', 'approve', 'listSuspendedRuns'],
    [test('bad-input'), 'dynamic tool', 'AI SDK tool', 'client tool'],
    [test('bad-input-decisions'), 'resume'],
    [doesNotApply('it stores an event without content'), 'decline', 'continueRun', 'cancelRun'],
    ...later,
  ),
  K13: cells(
    [test('k13-nothing-changes'), ...world, ...verdicts, 'continueRun'],
    [doesNotApply('it takes no options and runs no tool'), 'cancelRun', 'listSuspendedRuns'],
    ...later,
  ),
  K14: cells(
    [test('k14-same-grammar'), 'stream', ...kept, ...tools, ...verdicts, 'continueRun'],
    [doesNotApply('nothing is streamed'), 'generate', 'listSuspendedRuns'],
    [doesNotApply('it returns no stream; what it does to open ones is K17'), 'cancelRun'],
    ...later,
  ),
  K15: cells([issue('http'), ...today], ...later),
  K16: cells(
    [test('k16-waits-for-good'), ...world, 'approve', 'decline', 'cancelRun', 'listSuspendedRuns'],
    [issue('deadlines'), 'resume', 'continueRun'],
    ...later,
  ),
  K17: cells(
    [
      test('bad-input-cancel'),
      ...faces,
      ...kept,
      'agent tool',
      'client tool',
      'approve',
      'decline',
      ...others,
    ],
    [doesNotApply('what cancels a run asks for no tool'), 'dynamic tool', 'AI SDK tool'],
    [issue('conversations'), 'resume'],
    ...later,
  ),
  K18: cells(
    [test('bad-input-decisions'), ...faces, ...kept, 'agent tool', 'resume'],
    [issue('conversations'), 'dynamic tool', 'AI SDK tool', 'client tool', 'approve', 'decline', ...others],
    ...later,
  ),
  K19: cells([test('k19-nothing-lingers'), ...today], ...later),
  K20: cells(
    [test('k20-declined'), ...world, ...verdicts],
    [doesNotApply('it declines nothing'), 'continueRun', 'cancelRun', 'listSuspendedRuns'],
    ...later,
  ),
};

/** What the package exports, and the paths that lead through it. A name that is new must be put here. */
export const pathsOfExports: Readonly<Record<string, readonly Path[] | 'no path'>> = {
  Agent: ['agent tool', 'dynamic tool', 'AI SDK tool', 'client tool'],
  Countersign: ['warm', 'cold'],
  CountersignError: 'no path',
  InMemoryStore: ['in-memory store'],
  RequestContext: 'no path',
  SQLiteStore: ['SQLite store'],
  createTool: ['agent tool', 'client tool'],
  fingerprint: 'no path',
  isCountersignError: 'no path',
};

export const pathsOfMethods: Readonly<Record<string, readonly Path[] | 'no path'>> = {
  stream: ['stream'],
  generate: ['generate'],
  approveToolCall: ['approve', 'stream'],
  approveToolCallGenerate: ['approve', 'generate'],
  declineToolCall: ['decline', 'stream'],
  declineToolCallGenerate: ['decline', 'generate'],
  resumeStream: ['resume', 'stream'],
  resumeGenerate: ['resume', 'generate'],
  continueRun: ['continueRun', 'stream'],
  continueRunGenerate: ['continueRun', 'generate'],
  cancelRun: ['cancelRun'],
  listSuspendedRuns: ['listSuspendedRuns'],
};

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
        if (cell.type === 'test') return cell.file.replace(/^(k\d+)-.*|\.test\.ts$/, '$1');
        return cell.type === 'issue' ? `_${cell.name}_` : `– [${noteOf(cell.why)}]`;
      });
      return `| **${kind}** | ${rendered.join(' | ')} |`;
    }),
  ];
  const lines = [
    ...Object.entries(kindsOfFault).map(([kind, title]) => `- **${kind}** ${title}`),
    '',
    'A cell names the file in `test/scenarios/` that fills it (`k01` is the one that begins so), or in italics the issue that will.',
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
