/**
 * What a long conversation costs: pause and approve on a SQLite file in a thread of 500 messages, beside the same in
 * one of none. Interleaved in one run, medians and their difference. Each round has a thread of its own, made before
 * the clock starts. The model's own time is subtracted. Run: npm run bench:history
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, Countersign, createTool, Memory } from 'countersign';
import { SQLiteStore } from 'countersign/sqlite';
import { z } from 'zod';
import { answer, latencyModel, median, verdict } from './measure.mjs';

const rounds = Number(process.env.ROUNDS ?? 200);
const messages = Number(process.env.MESSAGES ?? 500);
/** In milliseconds, for each pause with its approval. */
const bound = 2;
const folder = mkdtempSync(join(tmpdir(), 'countersign-history-'));
const resource = 'person';

const model = latencyModel();
const memory = new Memory({ options: { lastMessages: messages } });
const deleteTool = createTool({
  id: 'delete-record',
  description: 'Delete a record by ID',
  inputSchema: z.object({ id: z.string() }),
  requireApproval: true,
  execute: async () => ({ deleted: true }),
});
const agent = new Agent({ id: 'bench', model, memory, tools: { deleteTool } });
const storage = new SQLiteStore({ path: join(folder, 'runs.db') });
const countersign = new Countersign({ agents: { agent }, storage });

/** As they are kept of turns: what a person said, and an answer of one step. */
const history = Array.from({ length: messages }, (_, index) => {
  const text = {
    type: 'text',
    text: `Message ${index} of this conversation. ${'It goes on a little. '.repeat(5)}`,
  };
  return index % 2 === 0
    ? { role: 'user', parts: [text] }
    : { role: 'assistant', metadata: { runId: 'before' }, parts: [{ type: 'step-start' }, text] };
});

async function threadOf(given) {
  const { id } = await memory.createThread({ resourceId: resource });
  if (given.length > 0) await memory.saveMessages({ threadId: id, resourceId: resource, messages: given });
  return id;
}

async function pauseAndApprove(thread) {
  const stream = await agent.stream('Delete record abc-123', { memory: { thread, resource } });
  for await (const _ of stream.fullStream);
  const approved = await agent.approveToolCall({ runId: stream.runId });
  for await (const _ of approved.fullStream);
  return approved.text;
}

const cases = { without: [], with: history };
const times = { without: [], with: [] };
for (let round = -30; round < rounds; round++) {
  for (const name of round % 2 ? ['without', 'with'] : ['with', 'without']) {
    const thread = await threadOf(cases[name]);
    model.reset();
    const start = performance.now();
    const text = await pauseAndApprove(thread);
    const time = performance.now() - start - model.time();
    if (text !== answer) throw new Error(`${name}: unexpected answer "${text}"`);
    if (round >= 0) times[name].push(time);
  }
}
await countersign.stop();
await storage.close();
rmSync(folder, { recursive: true });
const [plain, long] = [median(times.without), median(times.with)];
console.log(
  `pause + approve with ${messages} messages of memory: ${long.toFixed(3)} ms, without ${plain.toFixed(3)} ms, ${(long - plain).toFixed(3)} ms more (at most ${bound}: ${verdict(long - plain <= bound)})`,
);
