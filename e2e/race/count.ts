/**
 * Owns the count after a race: what the decisions say, what the world says, and whether they agree. Pure. It knows
 * nothing of the product but the records that it keeps.
 */
import type { DecisionRecord } from '../../src/core/store.ts';
import type { Effect } from './effects.ts';
import { checkHistory, type HistoryEntry } from './history.ts';
import type { Ending } from './messages.ts';

/** What is left of a run. */
export interface RunEnd {
  readonly kind: 'open' | 'ended' | 'missing';
  readonly records: readonly DecisionRecord[];
}

export interface RaceFacts {
  readonly runs: ReadonlyMap<string, RunEnd>;
  /** The calls that each run has. */
  callIdsOf(runId: string): readonly string[];
  /** The arguments that a person saw of a call, as JSON. */
  shownOf(runId: string, toolCallId: string): string | undefined;
  readonly effects: readonly Effect[];
  readonly history: readonly HistoryEntry[];
  readonly ending: Ending;
}

export interface RaceCount {
  /** Each is a broken promise. */
  readonly problems: readonly string[];
  readonly doubles: number;
  readonly approved: number;
  readonly declined: number;
  /** Approved calls that finished by themselves, with one row. */
  readonly finished: number;
  /** Approved calls that a person had to resolve, with and without a row when that was looked at. */
  readonly interruptedWithRow: number;
  readonly interruptedWithoutRow: number;
  readonly questions: number;
  readonly accepted: number;
  readonly alreadyDecided: number;
  /** Without an answer, or with one that leaves it open. */
  readonly unknown: number;
}

export function countRace({ runs, callIdsOf, shownOf, effects, history, ending }: RaceFacts): RaceCount {
  const problems: string[] = [];
  const counts = {
    doubles: 0,
    approved: 0,
    declined: 0,
    finished: 0,
    interruptedWithRow: 0,
    interruptedWithoutRow: 0,
  };
  const rows = Map.groupBy(effects, ({ runId, toolCallId }) => `${runId}/${toolCallId}`);
  for (const { runId, toolCallId, args } of effects) {
    if (!runs.has(runId) || !callIdsOf(runId).includes(toolCallId))
      problems.push(`${runId}/${toolCallId}: a row of nobody`);
    else if (args !== shownOf(runId, toolCallId)) problems.push(`${runId}/${toolCallId}: ran with ${args}`);
  }
  for (const [runId, end] of runs) {
    if (end.kind !== 'ended') problems.push(`${runId}: is ${end.kind}, not ended`);
    for (const toolCallId of callIdsOf(runId)) {
      const key = `${runId}/${toolCallId}`;
      const count = rows.get(key)?.length ?? 0;
      if (count > 1) {
        counts.doubles++;
        problems.push(`${key}: DOUBLE, ran ${count} times`);
      }
      if (end.kind === 'ended') {
        const records = end.records.filter((record) => record.toolCallId === toolCallId);
        problems.push(...callProblems(records, count, counts).map((problem) => `${key}: ${problem}`));
      }
    }
  }
  for (const runId of ending.unlisted) problems.push(`${runId}: was neither ended nor listed`);
  for (const { runId, toolCallId } of ending.undecided)
    problems.push(`${runId}/${toolCallId}: nobody decided it`);
  const records = [...runs.values()].flatMap((end) => end.records.filter(({ stop }) => stop === 1));
  problems.push(...checkHistory(history, records), ...wrongPeople(history, records));
  return { problems, ...counts, ...answersIn(history) };
}

/** Decisions that are recorded as taken by somebody who did not ask for them. */
function wrongPeople(history: readonly HistoryEntry[], records: readonly DecisionRecord[]): string[] {
  const askedBy = new Map(
    history.flatMap((entry) =>
      entry.kind === 'asked' && entry.decision ? [[entry.decision.token, entry.decision.by]] : [],
    ),
  );
  return records
    .filter(({ decisionId = '', by }) => askedBy.has(decisionId) && askedBy.get(decisionId) !== by?.id)
    .map(({ runId, toolCallId, by }) => `${runId}/${toolCallId}: is recorded as decided by ${by?.id}`);
}

/** One decision, and as many rows as it and what followed allow. */
function callProblems(
  records: readonly DecisionRecord[],
  rows: number,
  counts: {
    approved: number;
    declined: number;
    finished: number;
    interruptedWithRow: number;
    interruptedWithoutRow: number;
  },
): string[] {
  const decision = records.find(({ stop }) => stop === 1);
  const state = decision?.outcome?.state;
  switch (decision?.verdict) {
    case undefined:
      return ['no decision is recorded'];
    case 'decline':
      counts.declined++;
      return [
        ...(rows > 0 ? [`was declined, and ran ${rows} times`] : []),
        ...(state === 'declined' ? [] : [`was declined, and is recorded as ${state}`]),
      ];
    case 'approve':
    case 'resume': {
      counts.approved++;
      const resolution = records.findLast(({ verdict }) => verdict === 'resolve')?.resolution;
      if (resolution === undefined) {
        counts.finished++;
        const isWrong = rows !== 1 || state !== 'finished';
        return isWrong ? [`was approved, is recorded as ${state}, and has ${rows} rows`] : [];
      }
      const happened = typeof resolution === 'object' && 'output' in resolution;
      if (happened) counts.interruptedWithRow++;
      else counts.interruptedWithoutRow++;
      const expected = happened || resolution === 'run-again' ? 1 : 0;
      return rows === expected ? [] : [`was resolved (${JSON.stringify(resolution)}), and has ${rows} rows`];
    }
    default:
      return [`its decision is recorded as ${decision?.verdict}`];
  }
}

function answersIn(
  history: readonly HistoryEntry[],
): Pick<RaceCount, 'questions' | 'accepted' | 'alreadyDecided' | 'unknown'> {
  const questions = history.filter((entry) => entry.kind === 'asked' && entry.decision !== undefined);
  const asked = new Set(questions.map(({ ask }) => ask));
  const answers = history.flatMap((entry) =>
    entry.kind === 'told' && asked.has(entry.ask) ? [entry.answer.type] : [],
  );
  const accepted = answers.filter((type) => type === 'accepted').length;
  const alreadyDecided = answers.filter((type) => type === 'already-decided').length;
  return {
    questions: questions.length,
    accepted,
    alreadyDecided,
    unknown: questions.length - accepted - alreadyDecided,
  };
}
