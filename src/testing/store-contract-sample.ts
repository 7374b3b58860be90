/** Runs, batches and calls for the checks of the store contract: small, plausible, each with ids of its own. */
import assert from 'node:assert/strict';
import type { Outcome } from '../core/event.ts';
import type {
  Batch,
  DecisionRecord,
  HeadRow,
  MessageQuery,
  MessageRow,
  OpenCall,
  Store,
  ThreadRow,
  Written,
} from '../core/store.ts';

/** When runs end: now, as a store forgets what ended long ago. */
export const sampleEnd = Date.now();

export const sampleOutcome: Outcome = {
  status: 'finished',
  finishReason: 'stop',
  text: 'Refunded.',
  usage: { inputTokens: 12, outputTokens: 3 },
};

export function sampleText(runId: string, seq: number): string {
  return JSON.stringify({ v: 1, type: 'sample', runId, seq });
}

export function sampleHead(change: Partial<HeadRow> = {}): HeadRow {
  return { agentId: 'agent', head: 'waiting', workers: [], suspendedSince: 1000, ...change };
}

/** @param version the expected version: 0 for the first write. */
export function sampleBatch(runId: string, version: number, change: Partial<Batch> = {}): Batch {
  return {
    id: crypto.randomUUID(),
    runId,
    expectedVersion: version,
    events: [sampleText(runId, version + 1)],
    head: sampleHead(),
    opened: [],
    closed: [],
    records: [],
    outcomes: [],
    durability: 'relaxed',
    ...change,
  };
}

export function sampleCall(runId: string, toolCallId: string, change: Partial<OpenCall> = {}): OpenCall {
  return {
    runId,
    toolCallId,
    stop: 1,
    kind: 'held',
    toolName: 'refund',
    since: 1000,
    requestSeq: 1,
    stopSeq: 1,
    ...change,
  };
}

export function sampleRecord(
  runId: string,
  toolCallId: string,
  change: Partial<DecisionRecord> = {},
): DecisionRecord {
  return {
    runId,
    toolCallId,
    stop: 1,
    agentId: 'agent',
    toolName: 'refund',
    verdict: 'approve',
    at: 2000,
    by: { id: 'ann', name: 'Ann' },
    fingerprint: 'f'.repeat(64),
    args: { amount: 100 },
    ...change,
  };
}

/** Creates a run with one event, and any change. */
export async function create(store: Store, runId: string, change: Partial<Batch> = {}): Promise<Batch> {
  const batch = sampleBatch(runId, 0, change);
  same(await store.create(batch), written(batch.events.length), `create of "${runId}"`);
  return batch;
}

/** The head of a run that nothing holds up. */
export const noStop = { suspendedSince: undefined, interruptedSince: undefined, stalledSince: undefined };

/** Creates a run by its head. */
export async function createWith(store: Store, runId: string, head: Partial<HeadRow>): Promise<void> {
  await create(store, runId, { head: sampleHead(head) });
}

/** Ends a run that is at a version. */
export async function end(store: Store, runId: string, version: number, at = sampleEnd): Promise<Batch> {
  const batch = sampleBatch(runId, version);
  same(await store.remove(batch, sampleOutcome, at), written(version + 1), `removal of "${runId}"`);
  return batch;
}

export function written(version: number): Written {
  return { ok: true, version };
}

export function refused(why: 'exists' | 'conflict' | 'gone'): Written {
  return { ok: false, why };
}

/** Equal as JSON: whether a field is `undefined` or missing is left to the store. */
export function same(actual: unknown, expected: unknown, what: string): void {
  assert.deepStrictEqual(plain(actual), plain(expected), what);
}

function plain(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}

/** The ids of all runs that a status lists, in order. */
export async function listedIds(
  store: Store,
  query: Partial<Parameters<Store['list']>[0]> = {},
): Promise<string[]> {
  const { runs } = await store.list({ status: 'all', limit: 100, ...query });
  return runs.map((run) => run.runId);
}

/** Everything that can be read of a run: compared before and after, to see that nothing changed. */
export async function everythingOf(store: Store, runId: string): Promise<unknown> {
  const { runs } = await store.list({ status: 'all', limit: 100 });
  return plain({ loaded: await store.load(runId, 0), listed: runs.filter((run) => run.runId === runId) });
}

export function sampleThread(threadId: string, change: Partial<ThreadRow> = {}): ThreadRow {
  return { threadId, resourceId: 'resource', createdAt: 1000, updatedAt: 1000, ...change };
}

/** @param at where it stands: the key's time. */
export function sampleMessage(messageId: string, at: number, change: Partial<MessageRow> = {}): MessageRow {
  return { threadId: 'thread', messageId, at, runId: 'run', index: 0, data: `"${messageId}"`, ...change };
}

/** Creates a thread with messages, and leaves its time as it was made. */
export async function createThread(
  store: Store,
  threadId: string,
  messages: readonly MessageRow[] = [],
): Promise<void> {
  const thread = sampleThread(threadId);
  same(await store.threads.create(thread), thread, `create of "${threadId}"`);
  const ofThread = messages.map((message) => ({ ...message, threadId }));
  if (messages.length > 0) same(await store.threads.save(threadId, ofThread, 1000), true, 'save');
}

/** What the messages of a thread say, in order. */
export async function saidIn(
  store: Store,
  threadId: string,
  query: Omit<MessageQuery, 'threadId'> = {},
): Promise<unknown[]> {
  const messages = await store.threads.messages({ threadId, ...query });
  return messages.map(({ data }) => JSON.parse(data));
}

/** When something was last said in a thread. */
export async function updatedAt(store: Store, threadId: string): Promise<number | undefined> {
  return (await store.threads.get(threadId))?.updatedAt;
}

/** The removal of a run that is at version 1, with what it leaves in threads. */
export function removal(runId: string, messages: readonly MessageRow[], change: Partial<Batch> = {}): Batch {
  return sampleBatch(runId, 1, { messages, ...change });
}
