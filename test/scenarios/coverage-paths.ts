/** The paths through the product on which a kind of fault could occur. */
export interface PathFacts {
  /** Whether the package has it today. Then no cell may be empty. */
  readonly isBuilt: boolean;
  /** What the text of a test file must contain, so that it can be said to go this way. */
  readonly evidence?: RegExp;
}

const everyWorld = /inEveryWorld\(|inWorlds\(/;
const everyKind = /\bof kinds\)/;

export const paths = {
  stream: { isBuilt: true, evidence: everyWorld },
  generate: { isBuilt: true, evidence: everyWorld },
  approve: { isBuilt: true, evidence: /\.approve\(|approveAndCarryOut\(|\[verb\]\(|'approve'/ },
  decline: { isBuilt: true, evidence: /\.decline\(/ },
  resume: { isBuilt: true, evidence: /\.resume\(/ },
  continueRun: { isBuilt: true, evidence: /\.continueRun\(/ },
  cancelRun: { isBuilt: true, evidence: /\.cancel\(/ },
  listSuspendedRuns: { isBuilt: true, evidence: /\.list\(|listSuspendedRuns\(/ },
  'in-memory store': { isBuilt: true, evidence: everyWorld },
  'SQLite store': { isBuilt: true, evidence: everyWorld },
  warm: { isBuilt: true, evidence: everyWorld },
  cold: { isBuilt: true, evidence: everyWorld },
  'agent tool': { isBuilt: true, evidence: /\bkinds\b|createTool\(/ },
  'dynamic tool': { isBuilt: true, evidence: new RegExp(`${everyKind.source}|tools: \\(\\) =>`) },
  'AI SDK tool': { isBuilt: true, evidence: everyKind },
  'client tool': { isBuilt: true, evidence: new RegExp(`${everyKind.source}|kinds\\[4\\]`) },
  PostgreSQL: { isBuilt: true, evidence: everyWorld },
  LibSQL: { isBuilt: true, evidence: everyWorld },
  'several processes': {
    isBuilt: true,
    evidence: /spawnChild\(|openStage\(database\)|process\.execPath|crashMatrix\(/,
  },
  'resolve interrupted': { isBuilt: true, evidence: /\.resolveCall\(/ },
  observe: { isBuilt: true, evidence: /\.observe\(/ },
  'thread decisions': { isBuilt: true, evidence: /\.send\(|sendAndFollow\(/ },
  memory: { isBuilt: true, evidence: /openConversation\(/ },
  'sub-agent': { isBuilt: true, evidence: /teamPlan\(|membersOf\(/ },
  'auto-resume': { isBuilt: true, evidence: /openAnswering\(/ },
  toolset: { isBuilt: true, evidence: /\btoolsets\b/ },
  HTTP: { isBuilt: true, evidence: /\bopenDesk\(/ },
  client: { isBuilt: true, evidence: /\bclientsOf\(/ },
  'UI protocol': { isBuilt: false },
  MCP: { isBuilt: false },
} as const satisfies Record<string, PathFacts>;

export type Path = keyof typeof paths;
