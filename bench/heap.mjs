/**
 * What a run that waits costs in memory once nobody holds its stream: 1,000 of them on a SQLite file, the heap after
 * a forced collection before and after. Run: npm run bench:heap (node --expose-gc bench/heap.mjs)
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, Countersign, createTool } from 'countersign';
import { SQLiteStore } from 'countersign/sqlite';
import { scriptedModel } from 'countersign/testing';
import { z } from 'zod';
import { verdict } from './measure.mjs';

/** In bytes for each run. */
const bound = 1024;
const runs = Number(process.env.RUNS ?? 1000);
const folder = mkdtempSync(join(tmpdir(), 'countersign-heap-'));

const refund = createTool({
  id: 'refund',
  inputSchema: z.object({ order: z.string(), why: z.string() }),
  requireApproval: true,
  execute: async () => ({ refunded: true }),
});
const args = { order: 'o-1', why: 'w'.repeat(2000) };
const scripted = scriptedModel(() => ({ text: 'I will.', calls: [{ toolName: 'refund', args }] }));
// The scripted model remembers every prompt that it was given; a real one does not.
const model = {
  ...scripted,
  doStream: (call) => scripted.doStream(call).finally(() => scripted.calls.splice(0)),
};
const agent = new Agent({ id: 'desk', model, tools: { refund } });
const storage = new SQLiteStore({ path: join(folder, 'runs.db') });
const countersign = new Countersign({ agents: { agent }, storage });

/** Begins runs, half of them with a reader that goes away in the middle, and keeps nothing. */
async function begin(count) {
  for (let index = 0; index < count; index++) {
    const stream = await agent.stream(`Refund o-1, please. ${'p'.repeat(2000)}`);
    if (index % 2 === 0) await stream.consumeStream();
    else for await (const chunk of stream.fullStream) if (chunk.type === 'tool-call-approval') break;
  }
}

async function heap() {
  for (let round = 0; round < 5; round++) {
    await new Promise((resolve) => setImmediate(resolve));
    globalThis.gc();
  }
  return process.memoryUsage().heapUsed;
}

if (!globalThis.gc) throw new Error('Run it with node --expose-gc.');
// What is made once, and what the engine compiles, comes first.
await begin(300);
const before = await heap();
await begin(runs);
const bytes = ((await heap()) - before) / runs;
const { total } = await agent.listSuspendedRuns({ perPage: 1 });
await countersign.stop();
await storage.close();
rmSync(folder, { recursive: true });
console.log(
  `heap per waiting run: ${bytes.toFixed(0)} bytes over ${runs} runs, ${total} or more wait (at most ${bound}: ${verdict(bytes < bound)})`,
);
