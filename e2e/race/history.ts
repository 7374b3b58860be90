/**
 * Owns whether what was told to those who asked can be true: for each (run, call, stop) there must be one order of
 * events, each between its question and its answer, in which the first decision wins and every answer is right
 * (a linearizable register that is written once). Pure.
 */
import type { DecisionRecord } from '../../src/core/store.ts';

/** A question. `at` is microseconds of a clock that all processes share. */
export interface Asked {
  readonly kind: 'asked';
  /** Unique. */
  readonly ask: string;
  readonly at: number;
  readonly runId: string;
  readonly toolCallId: string;
  readonly stop: number;
  /** What is asked for; left out when somebody only looks. */
  readonly decision?: { readonly token: string; readonly verdict: string; readonly by?: string };
}

export type Answer =
  /** The decision with the token that was asked with is the one that counts. */
  | { readonly type: 'accepted' }
  | { readonly type: 'already-decided'; readonly token: string; readonly verdict: string }
  /** Seen by looking: the stop waits, or it does not any more. */
  | { readonly type: 'waiting' }
  | { readonly type: 'not-waiting' }
  /** It may have happened or not. */
  | { readonly type: 'unknown'; readonly code: string }
  /** Nothing happened, for a reason that no race explains. */
  | { readonly type: 'refused'; readonly code: string };

export interface Told {
  readonly kind: 'told';
  readonly ask: string;
  readonly at: number;
  readonly answer: Answer;
}

export type HistoryEntry = Asked | Told;

interface Operation {
  readonly asked: Asked;
  readonly told?: Told;
}

/** What is wrong, in words; empty when an order explains all. */
export function checkHistory(
  entries: readonly HistoryEntry[],
  records: Iterable<Pick<DecisionRecord, 'runId' | 'toolCallId' | 'stop' | 'verdict' | 'decisionId'>>,
): string[] {
  const { operations, problems } = operationsOf(entries);
  const byStop = Map.groupBy(operations, ({ asked }) => stopKey(asked));
  const recorded = new Map([...records].map((record) => [stopKey(record), record]));
  for (const [key, ofStop] of byStop) {
    const record = recorded.get(key);
    const found = checkStop(
      ofStop,
      record && { token: record.decisionId ?? '(no token)', verdict: record.verdict },
    );
    problems.push(...found.map((problem) => `${key}: ${problem}`));
  }
  for (const key of recorded.keys()) {
    if (!byStop.has(key)) problems.push(`${key}: a decision is recorded that nobody asked for`);
  }
  return problems;
}

function stopKey({ runId, toolCallId, stop }: { runId: string; toolCallId: string; stop: number }): string {
  return `${runId}/${toolCallId}/${stop}`;
}

function operationsOf(entries: readonly HistoryEntry[]): { operations: Operation[]; problems: string[] } {
  const problems: string[] = [];
  const asked = new Map<string, Asked>();
  const told = new Map<string, Told>();
  for (const entry of entries) {
    const map: Map<string, HistoryEntry> = entry.kind === 'asked' ? asked : told;
    if (map.has(entry.ask)) problems.push(`question ${entry.ask} was ${entry.kind} twice`);
    map.set(entry.ask, entry);
  }
  for (const [ask, { at }] of told) {
    const question = asked.get(ask);
    if (question === undefined) problems.push(`answer ${ask} has no question`);
    else if (at < question.at) problems.push(`answer ${ask} came before its question`);
  }
  const operations = [...asked].map(([ask, question]): Operation => {
    const answer = told.get(ask);
    return { asked: question, ...(answer ? { told: answer } : {}) };
  });
  return { operations, problems };
}

interface Winner {
  readonly token: string;
  readonly verdict: string;
}

function checkStop(operations: readonly Operation[], record: Winner | undefined): string[] {
  const problems: string[] = [];
  const winners = new Map<string, string>();
  const decided: Operation[] = [];
  const undecided: Operation[] = [];
  for (const operation of operations) {
    const answer = operation.told?.answer;
    switch (answer?.type) {
      case 'accepted':
        if (operation.asked.decision) addWinner(operation.asked.decision, 'was told that it won');
        else problems.push(`${operation.asked.ask} only looked, and was told that it won`);
        decided.push(operation);
        break;
      case 'already-decided':
        addWinner(answer, `was named as the winner to ${operation.asked.ask}`);
        decided.push(operation);
        break;
      case 'not-waiting':
        decided.push(operation);
        break;
      case 'waiting':
        undecided.push(operation);
        break;
      case 'refused':
        problems.push(`${operation.asked.ask} was refused with ${answer.code}`);
    }
  }
  if (record) addWinner(record, 'is recorded');
  function addWinner({ token, verdict }: Winner, why: string): void {
    const known = winners.get(token);
    if (known === undefined) winners.set(token, verdict);
    else if (known !== verdict) problems.push(`${token} ${why} as ${verdict}, elsewhere as ${known}`);
  }
  if (winners.size > 1) problems.push(`there are ${winners.size} winners: ${[...winners.keys()].join(', ')}`);
  if (winners.size > 0 && record === undefined) problems.push('the decision that was told is not recorded');
  if (winners.size !== 1) return problems;
  const [[token, verdict] = ['', '']] = winners;
  const asking = operations.filter(({ asked }) => asked.decision?.token === token);
  if (asking.length === 0) return [...problems, `the winner ${token} was never asked for`];
  const otherwise = asking.find(({ asked }) => asked.decision?.verdict !== verdict);
  if (otherwise)
    problems.push(`${token} asked for ${otherwise.asked.decision?.verdict} and won as ${verdict}`);
  if (!hasMoment(asking, decided, undecided))
    problems.push(`no moment for ${token} explains who saw what, and when`);
  return problems;
}

/**
 * Whether there is a moment at which the decision can have happened: while one of those who asked for it waited for
 * an answer, not after an answer that knew of it, not before a question whose answer did not.
 */
function hasMoment(
  asking: readonly Operation[],
  decided: readonly Operation[],
  undecided: readonly Operation[],
): boolean {
  const earliest = Math.max(...undecided.map(({ asked }) => asked.at), Number.NEGATIVE_INFINITY);
  const latest = Math.min(
    ...decided.map(({ told }) => told?.at ?? Number.POSITIVE_INFINITY),
    Number.POSITIVE_INFINITY,
  );
  return asking.some(({ asked, told }) => {
    // Whoever was told something is done then; whoever was not may still have decided later, before the end.
    const end = told && told.answer.type !== 'unknown' ? told.at : Number.POSITIVE_INFINITY;
    return Math.max(asked.at, earliest) <= Math.min(end, latest);
  });
}
