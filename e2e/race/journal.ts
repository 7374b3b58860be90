/** A file that each process appends its history to: what is written survives kill -9, each line whole. */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import type { Answer, Asked, HistoryEntry } from './history.ts';

export interface Journal {
  asked(question: Omit<Asked, 'kind' | 'ask' | 'at'>): string;
  told(ask: string, answer: Answer): void;
}

/** Microseconds of the machine's monotonic clock, the same in all of its processes. */
function now(): number {
  return Number(process.hrtime.bigint()) / 1000;
}

/** @param name of the process, unique. */
export function openJournal(path: string, name: string): Journal {
  let asks = 0;
  const write = (entry: HistoryEntry): void => appendFileSync(path, `${JSON.stringify(entry)}\n`);
  return {
    asked(question) {
      const ask = `${name}#${++asks}`;
      write({ kind: 'asked', ask, at: now(), ...question });
      return ask;
    },
    told: (ask, answer) => write({ kind: 'told', ask, at: now(), answer }),
  };
}

export function readJournal(path: string): HistoryEntry[] {
  if (!existsSync(path)) return [];
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line.endsWith('}'))
    .map((line) => JSON.parse(line) as HistoryEntry);
}
