/** What the lists of every store have in common: the order, the position that a cursor stands for, and limits. */
import { CountersignError } from '../core/errors.ts';
import { toBase64 } from '../core/json.ts';
import type {
  DecisionPage,
  DecisionRecord,
  HeadRow,
  ListedDecision,
  ListedRun,
  ListPage,
  ListQuery,
  ThreadPage,
  ThreadRow,
} from '../core/store.ts';

/** Up to here a total is exact. */
const totalLimit = 1000;

/** Counting stops here: one more than is told, so that "1,000" and "1,000 or more" differ. */
export const countLimit = totalLimit + 1;

/** The place of a run or a thread in its list: newest first, then by id. */
export interface Position {
  readonly since: number;
  readonly id: string;
}

/** Which page of a list is asked for. */
export type PageQuery = Pick<ListQuery, 'limit' | 'offset' | 'cursor'>;

export type Stops = Pick<HeadRow, 'suspendedSince' | 'interruptedSince' | 'stalledSince'>;

export function statusOf(stops: Stops): ListedRun['status'] {
  // A run that is stalled needs more than what its calls wait for.
  if (stops.stalledSince !== undefined) return 'stalled';
  if (stops.suspendedSince !== undefined) return 'suspended';
  return stops.interruptedSince === undefined ? 'running' : 'interrupted';
}

export function comparePositions(a: Position, b: Position): number {
  return b.since - a.since || compareTexts(a.id, b.id);
}

/** The order of UTF-8 bytes, in which databases sort: JavaScript's own differs above U+FFFF. */
export function compareTexts(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index++) {
    const difference = rank(a.charCodeAt(index)) - rank(b.charCodeAt(index));
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

/** The position that the page begins after.
 * @throws `invalid-option` for a limit, offset or cursor that is none.
 */
export function startOf(query: PageQuery): Position | undefined {
  checkLimit('list', query.limit);
  if (query.offset !== undefined && (!Number.isSafeInteger(query.offset) || query.offset < 0)) {
    throw invalidOption('list', 'offset', 'a whole number from 0');
  }
  return query.cursor === undefined ? undefined : positionAt(query.cursor);
}

/** What is read page by page. */
type Paged = 'list' | 'feed';

/** @throws `invalid-option`. */
export function checkLimit(of: Paged, limit: number): void {
  if (!Number.isSafeInteger(limit) || limit < 1) throw invalidOption(of, 'limit', 'a whole number from 1');
}

export function invalidOption(of: Paged, name: string, expected: string): CountersignError {
  return new CountersignError('invalid-option', `The option "${name}" of the ${of} is not valid.`, {
    expected,
  });
}

function cursorOf({ since, id }: Position): string {
  const text = JSON.stringify([since, id]);
  return toBase64(new TextEncoder().encode(text))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
}

function positionAt(cursor: string): Position {
  try {
    const binary = atob(cursor.replaceAll('-', '+').replaceAll('_', '/'));
    const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
    const [since, id, ...more] = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    if (Number.isFinite(since) && typeof id === 'string' && more.length === 0) return { since, id };
  } catch {
    // Falls through: whatever is wrong with it, it is not one of ours.
  }
  throw invalidCursor();
}

function invalidCursor(): CountersignError {
  return invalidOption('list', 'cursor', 'the cursor of an earlier page, unchanged');
}

export function positionOfRun({ since, runId }: ListedRun): Position {
  return { since, id: runId };
}

function positionOfThread({ updatedAt, threadId }: ThreadRow): Position {
  return { since: updatedAt, id: threadId };
}

/** @param runs one more than the limit where there are more, @param counted up to `countLimit`. */
export function pageOf(query: PageQuery, runs: readonly ListedRun[], counted: number): ListPage {
  const { shown, ...page } = cut(query, runs, counted, positionOfRun);
  return { runs: shown, ...page };
}

/** As `pageOf`, of decisions. */
export function decisionPageOf(
  query: PageQuery,
  decisions: readonly ListedDecision[],
  counted: number,
): DecisionPage {
  const { shown, ...page } = cut(query, decisions, counted, positionOfDecision);
  return { decisions: shown, ...page };
}

export function positionOfDecision(record: DecisionRecord): Position {
  return { since: record.at, id: decisionIdOf(record) };
}

/** Above every stop and every attempt, so that texts of both are in the order of their numbers. */
const stopOffset = 2 ** 40;

type DecisionKey = Pick<DecisionRecord, 'runId' | 'toolCallId' | 'stop'>;

/** One text, in the order of run, call and stop. */
function decisionIdOf({ runId, toolCallId, stop }: DecisionKey): string {
  return [runId, toolCallId, String(stop + stopOffset).padStart(13, '0')].join('\0');
}

/** @throws `invalid-option` for a cursor of something else. */
export function decisionIdParts(id: string): DecisionKey {
  const [runId = '', toolCallId = '', stop = '', ...more] = id.split('\0');
  if (!/^\d{13}$/.test(stop) || more.length > 0) throw invalidCursor();
  return { runId, toolCallId, stop: Number(stop) - stopOffset };
}

/** As `pageOf`, of threads. */
export function threadPageOf(query: PageQuery, threads: readonly ThreadRow[], counted: number): ThreadPage {
  const { shown, ...page } = cut(query, threads, counted, positionOfThread);
  return { threads: shown, ...page };
}

interface Cut<Row> extends Omit<ListPage, 'runs'> {
  readonly shown: readonly Row[];
}

function cut<Row>(
  { limit }: PageQuery,
  rows: readonly Row[],
  counted: number,
  positionOf: (row: Row) => Position,
): Cut<Row> {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return {
    shown,
    total: Math.min(counted, totalLimit),
    ...(counted > totalLimit ? { totalIsAtLeast: true as const } : {}),
    ...(last !== undefined && rows.length > shown.length ? { cursor: cursorOf(positionOf(last)) } : {}),
  };
}
