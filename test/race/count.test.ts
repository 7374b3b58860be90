/** The count after a race is given worlds that broke a promise: it must be able to fail. */
import type { DecisionRecord } from 'countersign';
import { describe, expect, test } from 'vitest';
import { countRace, type RaceFacts, type RunEnd } from '../../e2e/race/count.ts';
import type { HistoryEntry } from '../../e2e/race/history.ts';

const row = (toolCallId = 'one', order = toolCallId) => ({
  runId: 'run',
  toolCallId,
  args: JSON.stringify({ order }),
});

function decided(
  verdict: 'approve' | 'decline' | 'resume',
  state: NonNullable<DecisionRecord['outcome']>['state'],
  more: Partial<DecisionRecord> = {},
): DecisionRecord {
  return {
    runId: 'run',
    toolCallId: 'one',
    stop: 1,
    agentId: 'desk',
    toolName: 'refund',
    verdict,
    at: 1,
    decisionId: 'a',
    by: { id: 'ada' },
    fingerprint: '',
    outcome: { state, at: 2 },
    ...more,
  };
}

const resolved = (resolution: DecisionRecord['resolution'], state: 'finished' | 'failed'): DecisionRecord =>
  decided('approve', state, {
    stop: 2,
    verdict: 'resolve',
    decisionId: 'b',
    ...(resolution ? { resolution } : {}),
  });

function asked(verdict: string): HistoryEntry[] {
  const question = { runId: 'run', toolCallId: 'one', stop: 1, decision: { token: 'a', verdict, by: 'ada' } };
  return [
    { kind: 'asked', ask: 'q', at: 1, ...question },
    { kind: 'told', ask: 'q', at: 2, answer: { type: 'accepted' } },
  ];
}

function facts(
  records: readonly DecisionRecord[],
  effects: RaceFacts['effects'],
  more: Partial<RaceFacts> & { kind?: RunEnd['kind'] } = {},
): RaceFacts {
  return {
    runs: new Map([['run', { kind: more.kind ?? 'ended', records }]]),
    callIdsOf: () => ['one'],
    shownOf: (_runId, toolCallId) => JSON.stringify({ order: toolCallId }),
    effects,
    history: asked(records[0]?.verdict ?? 'approve'),
    ending: {
      unlisted: [],
      undecided: [],
      resolved: { output: 0, error: 0, runAgain: 0 },
      continued: 0,
    },
    ...more,
  };
}

describe('a world in which every promise was kept', () => {
  test.each<[string, RaceFacts, object]>([
    ['approved, ran once', facts([decided('approve', 'finished')], [row()]), { approved: 1, finished: 1 }],
    ['declined, never ran', facts([decided('decline', 'declined')], []), { declined: 1, finished: 0 }],
    ['resumed, ran once', facts([decided('resume', 'finished')], [row()]), { approved: 1, finished: 1 }],
    [
      'interrupted after it had happened',
      facts([decided('approve', 'interrupted'), resolved({ output: null }, 'finished')], [row()]),
      { interruptedWithRow: 1 },
    ],
    [
      'interrupted before it happened',
      facts([decided('approve', 'interrupted'), resolved({ error: 'no' }, 'failed')], []),
      { interruptedWithoutRow: 1 },
    ],
    [
      'interrupted and run again',
      facts([decided('approve', 'interrupted'), resolved('run-again', 'finished')], [row()]),
      { interruptedWithoutRow: 1 },
    ],
  ])('%s', (_name, given, counts) => {
    expect(countRace(given)).toMatchObject({ problems: [], doubles: 0, ...counts });
  });
});

describe('a world in which one was broken', () => {
  const approved = [decided('approve', 'finished')];
  const { by: _by, ...anonymous } = decided('approve', 'finished');
  test.each<[string, RaceFacts, RegExp]>([
    ['ran twice', facts(approved, [row(), row()]), /DOUBLE, ran 2 times/],
    ['approved and recorded as finished, but nothing happened', facts(approved, []), /has 0 rows/],
    [
      'approved, and lost: it is neither finished nor interrupted',
      facts([decided('approve', 'failed')], []),
      /recorded as failed/,
    ],
    ['declined and ran', facts([decided('decline', 'declined')], [row()]), /was declined, and ran 1 times/],
    ['declined and shown as finished', facts([decided('decline', 'finished')], []), /recorded as finished/],
    ['no decision is recorded', facts([], []), /no decision is recorded/],
    [
      'an interrupted call ran although a person said that it did not',
      facts([decided('approve', 'interrupted'), resolved({ error: 'no' }, 'failed')], [row()]),
      /was resolved .* has 1 rows/,
    ],
    [
      'run again after it had happened',
      facts([decided('approve', 'interrupted'), resolved('run-again', 'finished')], [row(), row()]),
      /DOUBLE/,
    ],
    ['a run is not ended', facts(approved, [row()], { kind: 'open' }), /is open, not ended/],
    ['a run is lost', facts(approved, [row()], { kind: 'missing' }), /is missing, not ended/],
    [
      'a run was neither listed nor ended',
      facts(approved, [row()], { ending: { ...facts([], []).ending, unlisted: ['run'] } }),
      /neither ended nor listed/,
    ],
    ['it ran with other arguments', facts(approved, [row('one', 'two')]), /ran with/],
    [
      'somebody else is recorded',
      facts([decided('approve', 'finished', { by: { id: 'eve' } })], [row()]),
      /is recorded as decided by eve/,
    ],
    ['nobody is recorded', facts([anonymous], [row()]), /is recorded as decided by undefined/],
    ['a call ran that is of no run', facts(approved, [row(), row('nine')]), /a row of nobody/],
    [
      'the history does not fit the record',
      facts(approved, [row()], { history: asked('decline') }),
      /a is recorded as approve, elsewhere as decline/,
    ],
  ])('%s', (_name, given, problem) => {
    expect(countRace(given).problems.join('\n')).toMatch(problem);
  });
});
