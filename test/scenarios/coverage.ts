/**
 * Owns the table K × path: for each kind of fault and each path of the product, the test that shows it impossible
 * there, what will show it, or why it cannot occur. SPEC.md shows it.
 */
import { type Cell, cells, doesNotApply, issue, type Row, test } from './coverage-cells.ts';
import type { Path } from './coverage-paths.ts';

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
const kept = ['in-memory store', 'SQLite store', 'LibSQL', 'PostgreSQL', 'warm', 'cold'] as const;
const tools = ['agent tool', 'dynamic tool', 'AI SDK tool', 'client tool'] as const;
const world = [...faces, ...kept, ...tools] as const;
const verdicts = ['approve', 'decline', 'resume'] as const;
const others = ['continueRun', 'cancelRun', 'listSuspendedRuns'] as const;
const today = [...world, ...verdicts, ...others] as const;

const http = [issue('http'), 'UI protocol'] as const;
const mcp = [issue('mcp'), 'MCP'] as const;

/** The paths that came with durability. */
function durability(
  processes: Cell,
  resolve: Cell,
  observe: Cell,
  thread: Cell,
): readonly (readonly [Cell, Path])[] {
  return [
    [processes, 'several processes'],
    [resolve, 'resolve interrupted'],
    [observe, 'observe'],
    [thread, 'thread decisions'],
  ];
}

/** What comes later, the tools that a caller brings along, conversations, the server, and its client. */
function later(
  toolset: Cell,
  memory: Cell,
  overHttp: Cell = issue('http'),
  client: Cell = overHttp,
): readonly (readonly [Cell, ...Path[]])[] {
  return [[toolset, 'toolset'], [memory, 'memory'], [overHttp, 'HTTP'], [client, 'client'], http, mcp];
}

/** The path of auto-resume, by what follows `auto-resume` in the name of the file. */
function answered(what?: string): readonly [Cell, Path] {
  return [test(what === undefined ? 'auto-resume' : `auto-resume-${what}`), 'auto-resume'];
}

const twoProcesses = test('two-processes');
const races = test('e2e/race/kinds');
const interrupted = test('interrupted');
const neighbours = test('interrupted-neighbours');
const observed = test('observed');
const byThread = test('thread-decisions');
const afterThread = test('thread-decisions-after');
const loaded = test('memory-loaded');
const turns = test('memory-turns');
const keptInThread = test('memory-kept');
const toolsets = test('toolsets');
const toolsetsLater = test('toolsets-later');
const inConversations = test('memory-decisions');
const inTeams = test('team-thread');
const overHttp = test('http-decisions');
const afterRestart = test('http-after-restart');
const byClient = test('client');
const talk = test('two-processes-talk');
const besideAnswers = test('auto-resume-tools');
const aroundAnswers = test('auto-resume-around');
const nestedSets = test('toolsets-nested');
const heldInTalk = test('memory-held');
const overHttpLater = issue('http');
const decidedBefore = doesNotApply('whether a call is held was decided and stored before this is called');

export const coverage: Readonly<Record<KindOfFault, Row>> = {
  K1: cells(
    [test('k01-declined-never-executes'), ...today],
    ...durability(twoProcesses, interrupted, observed, byThread),
    [test('team-decisions'), 'sub-agent'],
    answered('calls'),
    ...later(toolsets, heldInTalk, overHttp),
  ),
  K2: cells(
    [test('k02-wrong-decision'), ...today],
    ...durability(twoProcesses, interrupted, observed, byThread),
    [test('team-decisions'), 'sub-agent'],
    answered('calls'),
    ...later(toolsets, heldInTalk, overHttp),
  ),
  K3: cells(
    [test('k03-one-decision-once'), ...world, ...verdicts],
    [test('bad-input-model-and-store'), ...others],
    ...durability(races, interrupted, observed, byThread),
    [test('team-decisions'), 'sub-agent'],
    answered('races'),
    ...later(toolsetsLater, heldInTalk, overHttp),
  ),
  K4: cells(
    [test('k04-model-decides-nothing'), ...world, ...verdicts, 'listSuspendedRuns'],
    [doesNotApply('it names no call, and is told nothing that a model wrote'), 'continueRun', 'cancelRun'],
    ...durability(
      twoProcesses,
      interrupted,
      doesNotApply('it is told nothing that a model wrote, and moves nothing'),
      byThread,
    ),
    [test('team-model'), 'sub-agent'],
    answered('model'),
    ...later(toolsetsLater, inConversations),
  ),
  K5: cells(
    [test('k05-every-path-holds'), ...world, 'approve', 'listSuspendedRuns'],
    [decidedBefore, 'decline', 'resume', 'continueRun', 'cancelRun'],
    ...durability(twoProcesses, decidedBefore, decidedBefore, decidedBefore),
    [test('team-model'), 'sub-agent'],
    answered('options'),
    ...later(toolsets, heldInTalk, overHttp, byClient),
  ),
  K6: cells(
    [test('k06-several-held'), ...world, ...verdicts, 'cancelRun', 'listSuspendedRuns'],
    [doesNotApply('no call waits in a step whose model call is tried again'), 'continueRun'],
    ...durability(races, neighbours, observed, afterThread),
    [test('team-neighbours'), 'sub-agent'],
    answered('calls'),
    ...later(toolsets, inConversations),
  ),
  K7: cells(
    [test('k07-neighbours'), ...world, ...verdicts, 'listSuspendedRuns'],
    [doesNotApply('no call is open in a step whose model call is tried again'), 'continueRun'],
    [doesNotApply('it ends all calls of the run: K17'), 'cancelRun'],
    ...durability(twoProcesses, neighbours, observed, afterThread),
    [test('team-neighbours'), 'sub-agent'],
    answered('calls'),
    ...later(toolsets, heldInTalk),
  ),
  K8: cells(
    [test('k08-listed-then-moved'), ...today],
    ...durability(races, interrupted, observed, afterThread),
    [test('team-neighbours'), 'sub-agent'],
    answered('teams'),
    ...later(toolsets, inConversations, afterRestart, byClient),
  ),
  K9: cells(
    [test('k09-nested'), ...faces, ...kept, ...verdicts, 'cancelRun', 'listSuspendedRuns', 'sub-agent'],
    [test('team-model'), ...tools],
    [doesNotApply('no call waits in a step whose model call is tried again'), 'continueRun'],
    ...durability(
      test('e2e/crash/crash'),
      test('team-interrupted'),
      test('k09-nested'),
      test('team-neighbours'),
    ),
    answered('teams'),
    ...later(nestedSets, inTeams, afterRestart, byClient),
  ),
  K10: cells(
    [test('k10-valid-prompts'), ...world, ...verdicts, 'continueRun'],
    [doesNotApply('no model is asked after it'), 'cancelRun', 'listSuspendedRuns'],
    ...durability(twoProcesses, neighbours, doesNotApply('no model is asked after it'), afterThread),
    [test('team-model'), 'sub-agent'],
    answered('told'),
    ...later(toolsetsLater, turns),
  ),
  K11: cells(
    [loaded, ...today],
    ...durability(talk, loaded, doesNotApply('it tells a run, and loads nothing'), loaded),
    [inTeams, 'sub-agent'],
    answered('told'),
    ...later(nestedSets, loaded),
  ),
  K12: cells(
    [test('k12-what-is-stored'), ...faces, ...kept, 'agent tool', 'approve', 'listSuspendedRuns'],
    [test('bad-input'), 'dynamic tool', 'AI SDK tool', 'client tool'],
    [test('bad-input-decisions'), 'resume'],
    [doesNotApply('it stores an event without content'), 'decline', 'continueRun', 'cancelRun'],
    ...durability(races, neighbours, doesNotApply('it stores nothing'), afterThread),
    [test('team-context'), 'sub-agent'],
    answered('told'),
    ...later(nestedSets, keptInThread),
  ),
  K13: cells(
    [test('k13-nothing-changes'), ...world, ...verdicts, 'continueRun'],
    [doesNotApply('it takes no options and runs no tool'), 'cancelRun', 'listSuspendedRuns'],
    ...durability(
      twoProcesses,
      neighbours,
      doesNotApply('it takes no options and runs no tool'),
      afterThread,
    ),
    [test('team-context'), 'sub-agent'],
    answered('options'),
    ...later(toolsets, keptInThread),
  ),
  K14: cells(
    [test('k14-same-grammar'), 'stream', ...kept, ...tools, ...verdicts, 'continueRun'],
    [doesNotApply('nothing is streamed'), 'generate', 'listSuspendedRuns'],
    [doesNotApply('it returns no stream; what it does to open ones is K17'), 'cancelRun'],
    ...durability(
      twoProcesses,
      neighbours,
      observed,
      doesNotApply('it returns no stream: who wants to follow observes'),
    ),
    [test('team-stream'), 'sub-agent'],
    answered('told'),
    ...later(toolsetsLater, heldInTalk, afterRestart, byClient),
  ),
  K15: cells(
    [overHttpLater, ...today],
    ...durability(overHttpLater, overHttpLater, overHttpLater, overHttpLater),
    [overHttpLater, 'sub-agent'],
    answered('model'),
    ...later(overHttpLater, overHttpLater, overHttp),
  ),
  K16: cells(
    [test('k16-waits-for-good'), ...world, 'approve', 'decline', 'cancelRun', 'listSuspendedRuns'],
    [issue('deadlines'), 'resume', 'continueRun'],
    ...durability(races, neighbours, observed, afterThread),
    [test('team-stream'), 'sub-agent'],
    [doesNotApply('the turn that answers waits for no person'), 'auto-resume'],
    ...later(nestedSets, heldInTalk),
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
    [test('suspended-meanwhile'), 'resume'],
    ...durability(twoProcesses, neighbours, observed, afterThread),
    [test('team-stream'), 'sub-agent'],
    answered('races'),
    ...later(toolsetsLater, turns),
  ),
  K18: cells(
    [test('bad-input-decisions'), ...faces, ...kept, 'agent tool', 'resume'],
    [besideAnswers, 'dynamic tool', 'AI SDK tool', 'client tool'],
    [test('auto-resume'), 'approve', 'decline', ...others],
    ...durability(talk, aroundAnswers, aroundAnswers, aroundAnswers),
    [besideAnswers, 'sub-agent'],
    answered(),
    ...later(besideAnswers, aroundAnswers),
  ),
  K19: cells(
    [test('k19-nothing-lingers'), ...today],
    ...durability(races, neighbours, observed, afterThread),
    [test('team-stream'), 'sub-agent'],
    answered('told'),
    ...later(toolsetsLater, keptInThread),
  ),
  K20: cells(
    [test('k20-declined'), ...world, ...verdicts],
    [doesNotApply('it declines nothing'), 'continueRun', 'cancelRun', 'listSuspendedRuns'],
    ...durability(twoProcesses, doesNotApply('it declines nothing'), observed, afterThread),
    [test('team-decisions'), 'sub-agent'],
    answered('races'),
    ...later(toolsets, inConversations),
  ),
};
