/** The result of a load, for people. */
import type { LoadResult } from './load.ts';

/** @param shown broken promises that are named. */
export function loadText(what: string, result: LoadResult, shown = 20): string {
  const lines = [
    `${what}: ${result.doubles} doubles, ${result.problems.length} broken promises`,
    `  chats ${result.chats}, left waiting ${result.waiting}; calls approved or resumed ${result.approved}, declined ${result.declined}`,
    `  approved calls: finished ${result.finished}, interrupted with a row ${result.interruptedWithRow}, without ${result.interruptedWithoutRow}`,
    `  decisions ${result.questions}: accepted ${result.accepted}, already decided ${result.alreadyDecided}, cut off ${result.unanswered}`,
    `  servers killed ${result.kills}, calls resolved ${result.resolved}; ${result.seconds.toFixed(1)} s`,
  ];
  return [...lines, ...result.problems.slice(0, shown).map((problem) => `  BROKEN ${problem}`)].join('\n');
}
