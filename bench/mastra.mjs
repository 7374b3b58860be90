/**
 * Beside Mastra's own agent, in one process, interleaved, on a SQLite file each: the time of a pause and its approval
 * (medians, the model's own time subtracted), runs a second with many at once, and the bytes that a waiting call
 * of a megabyte keeps. Both sides are called by the same code, as both have the same names. Run: npm run bench:mastra
 * Mastra comes with a lock of its own in bench/mastra, installed by the first run. Its store commits without waiting for
 * the disk (synchronous=NORMAL), ours waits twice in each run: the slower the disk, the more a ratio tells of it. The last
 * line says how long that takes here (TMPDIR=/dev/shm leaves it out).
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Agent, Countersign, createTool } from 'countersign';
import { SQLiteStore } from 'countersign/sqlite';
import { scriptedModel } from 'countersign/testing';
import { z } from 'zod';
import { installPackages } from '../scripts/install.mjs';
import { answer, latencyModel, median, rate, report, verdict } from './measure.mjs';

const rounds = Number(process.env.ROUNDS ?? 300);
const rateRounds = Math.ceil(rounds / 60);
const atOnce = 50;
const runsARound = 200;
const bounds = {
  /** Ours at most so many times the time of Mastra. */
  time: 0.2,
  /** Ours at least so many times the runs a second of Mastra. */
  rate: 5,
  /** Ours at least so many runs a second, where a commit takes no longer than so many milliseconds. */
  runsASecond: 800,
  commit: 0.5,
  /** Ours at most, for a megabyte of arguments. */
  bytes: 1.3e6,
};

installPackages('bench/mastra');
// A benchmark tells nobody that it runs.
process.env.MASTRA_TELEMETRY_DISABLED = '1';
const { openMastra } = await import('./mastra/agent.mjs');
const { dependencies } = JSON.parse(readFileSync(new URL('./mastra/package.json', import.meta.url), 'utf8'));
for (const name of ['@mastra/core', '@mastra/libsql']) console.log(`${name} ${dependencies[name]}`);

const folder = mkdtempSync(join(tmpdir(), 'countersign-bench-'));

function openOurs({ path, model, instructions, onDelete }) {
  const deleteTool = createTool({
    id: 'delete-record',
    description: 'Delete a record by ID',
    inputSchema: z.object({ id: z.string() }),
    requireApproval: true,
    execute: async ({ id }) => onDelete(id),
  });
  const agent = new Agent({ id: 'bench', instructions, model, tools: { deleteTool } });
  const storage = new SQLiteStore({ path });
  const countersign = new Countersign({ agents: { agent }, storage });
  return {
    agent,
    async close() {
      await countersign.stop();
      await storage.close();
    },
  };
}

/** Both sides with this model, on new files. `deleted` has the ids that the tool was run with. */
function openSides(name, model) {
  const open = (side, openSide) => {
    const path = join(folder, `${name}-${side}.db`);
    const deleted = [];
    const onDelete = (id) => {
      deleted.push(id);
      return { deleted: true };
    };
    return { path, deleted, ...openSide({ path, model, instructions: 'You delete records.', onDelete }) };
  };
  return { ours: open('ours', openOurs), mastra: open('mastra', openMastra) };
}

/** Reads until the run waits. */
async function pause({ agent }) {
  const stream = await agent.stream('Delete record abc-123');
  let toolCallId;
  for await (const { type, payload } of stream.fullStream) {
    if (type === 'tool-call-approval') toolCallId = payload.toolCallId;
  }
  if (toolCallId === undefined) throw new Error('Nothing waits.');
  return { runId: stream.runId, toolCallId };
}

/** Reads until the run is over; what the model said. */
async function approve({ agent }, waiting) {
  const stream = await agent.approveToolCall(waiting);
  let text = '';
  for await (const { type, payload } of stream.fullStream) if (type === 'text-delta') text += payload.text;
  return text;
}

/** Both sides, the other one first each time. */
const inTurn = (sides, round) => (round % 2 ? Object.entries(sides) : Object.entries(sides).reverse());

/** Milliseconds of one commit of a small row that waits for the disk. */
const commit = (() => {
  const database = new DatabaseSync(join(folder, 'disk.db'));
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE rows (text TEXT)');
  const insert = database.prepare('INSERT INTO rows VALUES (?)');
  return () => {
    const start = performance.now();
    insert.run('[]');
    return performance.now() - start;
  };
})();

async function measureTime() {
  const model = latencyModel();
  const sides = openSides('time', model);
  const times = { ours: [], mastra: [] };
  const commits = [];
  for (let round = -30; round < rounds; round++) {
    for (const [name, side] of inTurn(sides, round)) {
      const before = side.deleted.length;
      model.reset();
      const start = performance.now();
      const waiting = await pause(side);
      const early = side.deleted.length - before;
      const text = await approve(side, waiting);
      const time = performance.now() - start - model.time();
      if (text !== answer) throw new Error(`${name}: unexpected answer "${text}"`);
      if (early !== 0 || side.deleted.length !== before + 1)
        throw new Error(`${name}: not one effect, at its time.`);
      if (round >= 0) times[name].push(time);
    }
    const time = commit();
    if (round >= 0) commits.push(time);
  }
  report('pause + approve, stream', median(times.ours), median(times.mastra), bounds.time, 'Mastra');
  for (const side of Object.values(sides)) await side.close();
  return median(commits);
}

async function measureRate(commitTime) {
  const sides = openSides('rate', latencyModel(20));
  const rates = { ours: [], mastra: [] };
  for (let round = -2; round < rateRounds; round++) {
    for (const [name, side] of inTurn(sides, round)) {
      const before = side.deleted.length;
      const run = async () => approve(side, await pause(side));
      const measured = await rate(run, { atOnce, runs: runsARound });
      const effects = side.deleted.length - before;
      if (effects !== runsARound) throw new Error(`${name}: ${effects} effects of ${runsARound} runs.`);
      if (round >= 0) rates[name].push(measured);
    }
  }
  const [ours, mastra] = [median(rates.ours), median(rates.mastra)];
  const ratio = ours / mastra;
  const isFast = commitTime <= bounds.commit;
  console.log(
    `${atOnce} at once, a model of 20 ms: ours ${ours.toFixed(0)} runs/s, Mastra ${mastra.toFixed(0)} runs/s, ` +
      `ratio ${ratio.toFixed(1)} (at least ${bounds.rate}: ${verdict(ratio >= bounds.rate)}); ` +
      `at least ${bounds.runsASecond} runs/s where a commit takes ${bounds.commit} ms: ` +
      (isFast ? verdict(ours >= bounds.runsASecond) : 'not here'),
  );
  for (const side of Object.values(sides)) await side.close();
}

/** What the pages of the file hold, without those that are free. */
function usedBytes(path) {
  const database = new DatabaseSync(path, { readOnly: true });
  const pragma = (name) => Object.values(database.prepare(`PRAGMA ${name}`).get())[0];
  const bytes = (pragma('page_count') - pragma('freelist_count')) * pragma('page_size');
  database.close();
  return bytes;
}

async function measureBytes() {
  const ids = { small: 'abc-123', large: 'r'.repeat(1e6) };
  let id;
  const model = scriptedModel((prompt) =>
    prompt.at(-1).role === 'tool' ? answer : { calls: [{ toolName: 'delete-record', args: { id } }] },
  );
  const sides = openSides('bytes', model);
  const kept = {};
  for (const [name, side] of Object.entries(sides)) {
    // What is made once comes first.
    id = ids.small;
    await pause(side);
    const before = usedBytes(side.path);
    id = ids.large;
    const waiting = await pause(side);
    kept[name] = usedBytes(side.path) - before;
    const text = await approve(side, waiting);
    if (text !== answer) throw new Error(`${name}: unexpected answer "${text}"`);
    if (side.deleted.length !== 1 || side.deleted[0] !== ids.large)
      throw new Error(`${name}: not that effect.`);
  }
  const megabytes = (bytes) => `${(bytes / 1e6).toFixed(2)} MB`;
  console.log(
    `kept while 1 MB of arguments waits: ours ${megabytes(kept.ours)}, Mastra ${megabytes(kept.mastra)} ` +
      `(at most ${megabytes(bounds.bytes)}: ${verdict(kept.ours <= bounds.bytes)})`,
  );
  for (const side of Object.values(sides)) await side.close();
}

const commitTime = await measureTime();
await measureRate(commitTime);
await measureBytes();
console.log(`one commit of a small row that waits for the disk: ${commitTime.toFixed(3)} ms`);
rmSync(folder, { recursive: true });
