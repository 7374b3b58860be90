/**
 * One page of the list with 100 and with 100,000 runs that wait, on a SQLite file and on PostgreSQL: medians and
 * their ratio. The runs are written through the store, as an agent would. Run: npm run bench:list
 * (PostgreSQL comes through npm; POSTGRES_URL takes another one.)
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PostgresStore } from 'countersign/postgres';
import { SQLiteStore } from 'countersign/sqlite';
import { startPostgres } from '../test/support/postgres.ts';
import { median, verdict } from './measure.mjs';

const few = 100;
const many = Number(process.env.RUNS ?? 100_000);
const rounds = Number(process.env.ROUNDS ?? 101);
/** Times the page with few. */
const bound = 2;

const queries = {
  'first page': { status: 'suspended', limit: 100 },
  'of an agent': { status: 'suspended', limit: 100, agentId: 'desk' },
  'of a thread': { status: 'suspended', limit: 100, threadId: 'thread-1' },
  'of a person': { status: 'suspended', limit: 100, resourceId: 'person-1' },
  'of all states': { status: 'all', limit: 100 },
};

/** Ninety-nine of a hundred runs are of other threads and persons, but these have a full page either way. */
function batchOf(index, runs) {
  const runId = `run-${String(index).padStart(9, '0')}`;
  const mine = index % Math.max(1, Math.floor(runs / few)) === 0;
  const at = 1_700_000_000_000 + index;
  const request = {
    v: 1,
    type: 'call-requested',
    runId,
    at,
    toolCallId: 'one',
    step: 0,
    toolName: 'refund',
    raw: { order: `o-${index}` },
    textHash: 'h',
    fingerprint: 'f',
    gate: 'held',
  };
  return {
    id: `batch-${index}`,
    runId,
    expectedVersion: 0,
    events: [JSON.stringify({ v: 1, type: 'run-started', runId, at }), JSON.stringify(request)],
    head: {
      agentId: mine ? 'desk' : `desk-${index % 50}`,
      threadId: mine ? 'thread-1' : `thread-${index}`,
      resourceId: mine ? 'person-1' : `person-${index % 5000}`,
      head: 'waiting',
      workers: [],
      suspendedSince: at,
    },
    opened: [
      {
        runId,
        toolCallId: 'one',
        stop: 1,
        kind: 'held',
        toolName: 'refund',
        since: at,
        requestSeq: 2,
        stopSeq: 2,
      },
    ],
    closed: [],
    records: [],
    outcomes: [],
    durability: 'relaxed',
  };
}

async function fill(store, runs) {
  for (let start = 0; start < runs; start += 1000) {
    const count = Math.min(1000, runs - start);
    await Promise.all(
      Array.from({ length: count }, (_, index) => store.create(batchOf(start + index, runs))),
    );
  }
}

/** Interleaved, so that a busy machine is busy for both. */
async function compare(name, small, large) {
  for (const [what, query] of Object.entries(queries)) {
    const times = [[], []];
    for (let round = -10; round < rounds; round++) {
      for (const [index, store] of [small, large].entries()) {
        const start = performance.now();
        const { runs } = await store.list(query);
        const time = performance.now() - start;
        if (runs.length === 0 || runs[0].calls.length === 0) throw new Error(`${what}: the page is empty`);
        if (round >= 0) times[index].push(time);
      }
    }
    const [one, other] = times.map(median);
    console.log(
      `${name}, ${what}: ${few} waiting ${one.toFixed(3)} ms, ${many} waiting ${other.toFixed(3)} ms, ratio ${(other / one).toFixed(2)} (at most ${bound}: ${verdict(other / one <= bound)})`,
    );
  }
}

const folder = mkdtempSync(join(tmpdir(), 'countersign-list-'));
const stores = [];
let server;
try {
  const pairs = {
    SQLite: (name) => new SQLiteStore({ path: join(folder, `${name}.db`) }),
    PostgreSQL: (name) =>
      new PostgresStore({ connectionString: url, schemaName: `list_${name}_${process.pid}` }),
  };
  server = process.env.POSTGRES_URL === undefined ? await startPostgres() : undefined;
  const url = process.env.POSTGRES_URL ?? server.url;
  for (const [name, open] of Object.entries(pairs)) {
    const [small, large] = [open('few'), open('many')];
    stores.push(small, large);
    await fill(small, few);
    await fill(large, many);
    await compare(name, small, large);
  }
} finally {
  for (const store of stores) await store.close();
  await server?.remove();
  rmSync(folder, { recursive: true });
}
