/** Which paths lead through what the package exports. */
import type { Path } from './coverage-paths.ts';

/** What the package exports, and the paths that lead through it. A name that is new must be put here. */
export const pathsOfExports: Readonly<Record<string, readonly Path[] | 'no path'>> = {
  Agent: ['agent tool', 'dynamic tool', 'AI SDK tool', 'client tool', 'sub-agent'],
  Countersign: ['warm', 'cold', 'several processes'],
  CountersignError: 'no path',
  InMemoryStore: ['in-memory store'],
  LibSQLStore: ['LibSQL'],
  Memory: ['memory', 'auto-resume'],
  PostgresStore: ['PostgreSQL'],
  RequestContext: 'no path',
  SQLiteStore: ['SQLite store'],
  bearerTokens: 'no path',
  checkPrompt: 'no path',
  crashStore: 'no path',
  createServer: ['HTTP', 'UI protocol'],
  createTool: ['agent tool', 'client tool'],
  fakeClock: 'no path',
  fingerprint: 'no path',
  isCountersignError: 'no path',
  jwt: 'no path',
  promptRules: 'no path',
  scriptedModel: 'no path',
  serve: 'no path',
  storeAround: 'no path',
  storeContract: 'no path',
};

export const pathsOfMethods: Readonly<Record<string, readonly Path[] | 'no path'>> = {
  stream: ['stream', 'toolset'],
  generate: ['generate'],
  approveToolCall: ['approve', 'stream'],
  approveToolCallGenerate: ['approve', 'generate'],
  declineToolCall: ['decline', 'stream'],
  declineToolCallGenerate: ['decline', 'generate'],
  resumeStream: ['resume', 'stream'],
  resumeGenerate: ['resume', 'generate'],
  resolveInterruptedCall: ['resolve interrupted', 'stream'],
  resolveInterruptedCallGenerate: ['resolve interrupted', 'generate'],
  sendToolApproval: ['thread decisions'],
  observe: ['observe', 'stream'],
  continueRun: ['continueRun', 'stream'],
  continueRunGenerate: ['continueRun', 'generate'],
  cancelRun: ['cancelRun'],
  listSuspendedRuns: ['listSuspendedRuns'],
};
