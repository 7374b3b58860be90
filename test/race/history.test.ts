/** The checker of histories is given broken ones: it must be able to fail. */
import { describe, expect, test } from 'vitest';
import { type Answer, checkHistory, type HistoryEntry } from '../../e2e/race/history.ts';

const call = { runId: 'run', toolCallId: 'call', stop: 1 };

/** Somebody asks from one moment to another. Without an answer it was killed meanwhile. */
function asks(token: string, verdict: string, from: number, to?: number, answer?: Answer): HistoryEntry[] {
  return [
    { kind: 'asked', ask: `${token}@${from}`, at: from, ...call, decision: { token, verdict } },
    ...(to === undefined || answer === undefined
      ? []
      : [{ kind: 'told', ask: `${token}@${from}`, at: to, answer } as const]),
  ];
}

function looks(from: number, to: number, type: 'waiting' | 'not-waiting'): HistoryEntry[] {
  return [
    { kind: 'asked', ask: `look@${from}`, at: from, ...call },
    { kind: 'told', ask: `look@${from}`, at: to, answer: { type } },
  ];
}

const accepted: Answer = { type: 'accepted' };
const unknown: Answer = { type: 'unknown', code: 'store-failed' };
const lostTo = (token: string, verdict: string): Answer => ({ type: 'already-decided', token, verdict });
const record = (token: string, verdict: 'approve' | 'decline') => ({ ...call, verdict, decisionId: token });

describe('a history that one order explains', () => {
  test.each<[string, HistoryEntry[], ReturnType<typeof record>[]]>([
    ['nobody asked', [], []],
    ['one asked and won', asks('a', 'approve', 1, 2, accepted), [record('a', 'approve')]],
    [
      'two at once, the second to ask won',
      [...asks('a', 'approve', 1, 9, lostTo('b', 'decline')), ...asks('b', 'decline', 2, 8, accepted)],
      [record('b', 'decline')],
    ],
    [
      'who asks later is told the winner',
      [...asks('a', 'approve', 1, 2, accepted), ...asks('b', 'decline', 3, 4, lostTo('a', 'approve'))],
      [record('a', 'approve')],
    ],
    ['one was killed, and it had happened', asks('a', 'approve', 1), [record('a', 'approve')]],
    ['one was killed, and nothing had happened', asks('a', 'approve', 1), []],
    [
      'a killed one wins after others had looked',
      [
        ...asks('a', 'approve', 1),
        ...looks(5, 6, 'waiting'),
        ...asks('b', 'approve', 7, 8, lostTo('a', 'approve')),
      ],
      [record('a', 'approve')],
    ],
    [
      'a decision without an answer is repeated and accepted',
      [...asks('a', 'approve', 1, 2, unknown), ...asks('a', 'approve', 3, 4, accepted)],
      [record('a', 'approve')],
    ],
    [
      'an answer and a question at the same moment may be in either order',
      [...asks('a', 'approve', 1, 5, accepted), ...looks(5, 6, 'waiting')],
      [record('a', 'approve')],
    ],
    [
      'somebody looked while the decision was under way',
      [...asks('a', 'approve', 1, 9, accepted), ...looks(2, 3, 'waiting'), ...looks(4, 5, 'not-waiting')],
      [record('a', 'approve')],
    ],
  ])('%s', (_name, history, records) => {
    expect(checkHistory(history, records)).toEqual([]);
  });
});

describe('a history that is reported', () => {
  test.each<[string, HistoryEntry[], ReturnType<typeof record>[], RegExp]>([
    [
      'two winners',
      [...asks('a', 'approve', 1, 9, accepted), ...asks('b', 'decline', 2, 8, accepted)],
      [record('a', 'approve')],
      /2 winners: a, b/,
    ],
    [
      'a loser is told of another winner than the one that won',
      [
        ...asks('a', 'approve', 1, 9, accepted),
        ...asks('b', 'decline', 2, 8, lostTo('c', 'approve')),
        ...asks('c', 'approve', 2, 8, lostTo('a', 'approve')),
      ],
      [record('a', 'approve')],
      /2 winners/,
    ],
    [
      'losers are told different winners, and nobody won',
      [
        ...asks('a', 'approve', 1, 9, lostTo('b', 'decline')),
        ...asks('b', 'decline', 2, 8, lostTo('a', 'approve')),
      ],
      [],
      /2 winners/,
    ],
    ['an acknowledged decision is not recorded', asks('a', 'approve', 1, 2, accepted), [], /not recorded/],
    [
      'another decision is recorded than the acknowledged one',
      [...asks('a', 'approve', 1, 2, accepted), ...asks('b', 'decline', 1)],
      [record('b', 'decline')],
      /2 winners/,
    ],
    [
      'it is recorded with another verdict',
      asks('a', 'approve', 1, 2, accepted),
      [record('a', 'decline')],
      /a is recorded as decline, elsewhere as approve/,
    ],
    [
      'a loser is told another verdict',
      [...asks('a', 'approve', 1, 2, accepted), ...asks('b', 'approve', 3, 4, lostTo('a', 'decline'))],
      [record('a', 'approve')],
      /elsewhere as approve/,
    ],
    ['a decision is recorded that nobody asked for', [], [record('a', 'approve')], /nobody asked for/],
    [
      'the recorded one was never asked for',
      asks('a', 'approve', 1, 2, lostTo('x', 'approve')),
      [record('x', 'approve')],
      /x was never asked for/,
    ],
    [
      'a killed one asked for the opposite of what is recorded',
      asks('a', 'approve', 1),
      [record('a', 'decline')],
      /a asked for approve and won as decline/,
    ],
    [
      'an answer comes before its question',
      asks('a', 'approve', 5, 4, accepted),
      [record('a', 'approve')],
      /came before its question/,
    ],
    [
      'an answer has no question',
      [{ kind: 'told', ask: 'x', at: 1, answer: accepted }],
      [],
      /answer x has no question/,
    ],
    [
      'a question is answered twice',
      [...asks('a', 'approve', 1, 2, accepted), { kind: 'told', ask: 'a@1', at: 3, answer: accepted }],
      [record('a', 'approve')],
      /told twice/,
    ],
    [
      'somebody lost to a decision that was asked for only afterwards',
      [...asks('b', 'decline', 1, 2, lostTo('a', 'approve')), ...asks('a', 'approve', 3, 4, accepted)],
      [record('a', 'approve')],
      /no moment for a/,
    ],
    [
      'it still waits after it was acknowledged',
      [...asks('a', 'approve', 1, 2, accepted), ...looks(3, 4, 'waiting')],
      [record('a', 'approve')],
      /no moment for a/,
    ],
    [
      'it waits after a loser was told',
      [
        ...asks('a', 'approve', 1),
        ...asks('b', 'decline', 2, 3, lostTo('a', 'approve')),
        ...looks(4, 5, 'waiting'),
      ],
      [record('a', 'approve')],
      /no moment for a/,
    ],
    [
      'it is gone before anybody asked for the winner',
      [...looks(1, 2, 'not-waiting'), ...asks('a', 'approve', 3, 4, accepted)],
      [record('a', 'approve')],
      /no moment for a/,
    ],
    [
      'somebody is refused for no reason',
      [
        ...asks('a', 'approve', 1, 2, accepted),
        ...asks('b', 'approve', 3, 4, { type: 'refused', code: 'run-not-found' }),
      ],
      [record('a', 'approve')],
      /refused with run-not-found/,
    ],
  ])('%s', (_name, history, records, problem) => {
    expect(checkHistory(history, records).join('\n')).toMatch(problem);
  });
});
