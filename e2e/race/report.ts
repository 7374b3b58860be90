/** The result of a race, for people. */
import type { RaceResult } from './race.ts';

/** @param shown broken promises that are named. */
export function raceText(what: string, result: RaceResult, shown = 20): string {
  const { ending } = result;
  const lines = [
    `${what}: ${result.doubles} doubles, ${result.problems.length} broken promises`,
    `  runs ${result.runs}, calls approved ${result.approved}, declined ${result.declined}`,
    `  approved calls: finished ${result.finished}, interrupted with a row ${result.interruptedWithRow}, without ${result.interruptedWithoutRow}`,
    `  questions ${result.questions}: accepted ${result.accepted}, already decided ${result.alreadyDecided}, without an answer ${result.unknown}`,
    `  kills ${result.kills}, of which ${result.killsOnClaims} hit an open claim; stalled and continued ${ending.continued}; warnings ${result.warnings}`,
    `  ${result.seconds.toFixed(1)} s`,
  ];
  const named = result.problems.slice(0, shown).map((problem) => `  BROKEN ${problem}`);
  return [...lines, ...named].join('\n');
}
