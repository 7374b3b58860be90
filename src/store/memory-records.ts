/** The decision records of a store in memory: by run, and in the order in which they are listed. */

import type { DecisionQuery } from '../core/feed.ts';
import type { Batch, DecisionPage, DecisionRecord, ListedDecision, RecordedOutcome } from '../core/store.ts';
import {
  compareTexts,
  countLimit,
  decisionIdParts,
  decisionPageOf,
  type Position,
  positionOfDecision,
  startOf,
} from './listing.ts';
import { ownerOf } from './owner.ts';
import { entriesOf, sortedLists } from './sorted-lists.ts';

/** Whose run it is. */
type Owner = Pick<DecisionQuery, 'threadId' | 'resourceId'>;

interface StoredRecord extends Position {
  readonly record: Pick<
    DecisionRecord,
    'runId' | 'toolCallId' | 'stop' | 'agentId' | 'toolName' | 'verdict' | 'by'
  >;
  readonly owner: Pick<ListedDecision, 'threadId' | 'resourceId'>;
  readonly batch: string;
  readonly text: string;
  outcome: string | undefined;
}

export interface MemoryRecords {
  /** Makes all texts first: what cannot be written must not be written in part. Then `keep` writes them. */
  prepare(batch: Pick<Batch, 'id' | 'runId' | 'records' | 'outcomes'>, owner: Owner): { keep(): void };
  of(runId: string): readonly DecisionRecord[];
  hasBatch(runId: string, batch: string): boolean;
  /** @throws `invalid-option` for a limit or cursor that is none. */
  page(query: DecisionQuery): DecisionPage;
  forget(runId: string): void;
  clear(): void;
}

export function memoryRecords(): MemoryRecords {
  /** By run, then by call and stop. */
  const runs = new Map<string, Map<string, StoredRecord>>();
  const lists = sortedLists<StoredRecord>();

  function put(runId: string, key: string, record: StoredRecord): void {
    const kept = runs.get(runId) ?? new Map<string, StoredRecord>();
    runs.set(runId, kept);
    if (kept.has(key)) return;
    kept.set(key, record);
    for (const list of ['', ...listsOf({ ...record.record, ...record.owner })]) lists.add(list, record);
  }

  return {
    prepare({ id, runId, records, outcomes }, owner) {
      const made = records.map((record) => [keyOf(record), storedRecord(record, owner, id)] as const);
      const texts = outcomes.map((of) => [keyOf(of), JSON.stringify(of.outcome)] as const);
      return {
        keep() {
          for (const [key, record] of made) put(runId, key, record);
          for (const [key, outcome] of texts) {
            const record = runs.get(runId)?.get(key);
            if (record) record.outcome = outcome;
          }
        },
      };
    },
    of: (runId) => [...(runs.get(runId)?.values() ?? [])].sort(compareRecords).map(recordFrom),
    hasBatch: (runId, batch) =>
      [...(runs.get(runId)?.values() ?? [])].some((record) => record.batch === batch),
    page(query) {
      const start = startOf(query);
      if (start) decisionIdParts(start.id);
      const list = lists.of(listsOf({ ...query, by: namedBy(query) }).at(-1) ?? '');
      const matching = (after: Position | undefined, count: number): StoredRecord[] =>
        entriesOf(list, query, after, count, (record) => isAskedFor(record, query));
      const found = matching(start, query.limit + 1).map((record) => ({
        ...recordFrom(record),
        ...record.owner,
      }));
      return decisionPageOf(query, found, matching(undefined, countLimit).length);
    },
    forget(runId) {
      for (const record of runs.get(runId)?.values() ?? []) {
        for (const list of ['', ...listsOf({ ...record.record, ...record.owner })]) lists.drop(list, record);
      }
      runs.delete(runId);
    },
    clear() {
      runs.clear();
      lists.clear();
    },
  };
}

type Listed = Owner & { readonly [Name in 'agentId' | 'toolName' | 'runId']?: string | undefined } & {
  readonly by?: { readonly id: string } | undefined;
};

function namedBy({ by }: DecisionQuery): { readonly id: string } | undefined {
  return by === undefined ? undefined : { id: by };
}

/** The last one leaves fewest. */
function listsOf({ agentId, toolName, resourceId, by, threadId, runId }: Listed): string[] {
  const names = { agentId, toolName, resourceId, by: by?.id, threadId, runId };
  return Object.entries(names).flatMap(([name, value]) => (value === undefined ? [] : [`${name} ${value}`]));
}

function isAskedFor({ record, owner }: StoredRecord, query: DecisionQuery): boolean {
  const facts = { ...record, ...owner, by: record.by?.id };
  return (['runId', 'agentId', 'toolName', 'threadId', 'resourceId', 'by', 'verdict'] as const).every(
    (name) => query[name] === undefined || query[name] === facts[name],
  );
}

function keyOf({ toolCallId, stop }: { readonly toolCallId: string; readonly stop: number }): string {
  return `${stop} ${toolCallId}`;
}

function storedRecord({ outcome, ...record }: DecisionRecord, owner: Owner, batch: string): StoredRecord {
  const { runId, toolCallId, stop, agentId, toolName, verdict, by } = record;
  return {
    ...positionOfDecision(record),
    record: { runId, toolCallId, stop, agentId, toolName, verdict, ...(by ? { by: { ...by } } : {}) },
    owner: ownerOf(owner),
    batch,
    text: JSON.stringify(record),
    outcome: outcome === undefined ? undefined : JSON.stringify(outcome),
  };
}

function recordFrom({ text, outcome }: StoredRecord): DecisionRecord {
  const record = JSON.parse(text) as DecisionRecord;
  return outcome === undefined ? record : { ...record, outcome: JSON.parse(outcome) as RecordedOutcome };
}

function compareRecords(a: StoredRecord, b: StoredRecord): number {
  return a.since - b.since || compareTexts(a.id, b.id);
}
