/**
 * Pause and approve on a SQLite file: ours beside the AI SDK by hand, interleaved in one run, medians and ratios.
 * By hand means: the conversation saved as one JSON row when it pauses, read again for the decision, saved when it
 * ends; none of our guarantees. The model's own time is subtracted on both sides. Run: npm run bench
 * Both wait for the disk twice. The last line says how long that takes here: where it is most of the time, a ratio
 * tells of the disk (TMPDIR=/dev/shm leaves it out).
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { generateText, isStepCount, streamText, tool } from 'ai';
import { Agent, Countersign, createTool } from 'countersign';
import { SQLiteStore } from 'countersign/sqlite';
import { z } from 'zod';
import { answer, latencyModel, median, report } from './measure.mjs';

const rounds = Number(process.env.ROUNDS ?? 300);
/** Ours at most so many times by hand: docs/decisions/0005-generate-beside-generate-text.md. */
const bounds = { stream: 0.7, generate: 1.7 };
const folder = mkdtempSync(join(tmpdir(), 'countersign-bench-'));
const effects = { ours: 0, byHand: 0 };

const model = latencyModel();
const inputSchema = z.object({ id: z.string() });

const ours = (() => {
  const deleteTool = createTool({
    id: 'delete-record',
    description: 'Delete a record by ID',
    inputSchema,
    requireApproval: true,
    execute: async () => {
      effects.ours++;
      return { deleted: true };
    },
  });
  const agent = new Agent({ id: 'bench', model, tools: { deleteTool } });
  new Countersign({ agents: { agent }, storage: new SQLiteStore({ path: join(folder, 'ours.db') }) });
  return {
    async stream() {
      const stream = await agent.stream('Delete record abc-123');
      for await (const _ of stream.fullStream);
      const approved = await agent.approveToolCall({ runId: stream.runId });
      for await (const _ of approved.fullStream);
      return approved.text;
    },
    async generate() {
      const { runId } = await agent.generate('Delete record abc-123');
      return (await agent.approveToolCallGenerate({ runId })).text;
    },
  };
})();

const byHand = (() => {
  const database = new DatabaseSync(join(folder, 'by-hand.db'));
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;');
  database.exec('CREATE TABLE conversations (id TEXT PRIMARY KEY, messages TEXT NOT NULL)');
  const save = database.prepare('INSERT OR REPLACE INTO conversations VALUES (?, ?)');
  const load = database.prepare('SELECT messages FROM conversations WHERE id = ?');
  const tools = {
    'delete-record': tool({
      description: 'Delete a record by ID',
      inputSchema,
      execute: async () => {
        effects.byHand++;
        return { deleted: true };
      },
    }),
  };
  const settings = {
    model,
    tools,
    stopWhen: isStepCount(20),
    toolApproval: { 'delete-record': 'user-approval' },
  };
  const callers = {
    async stream(messages) {
      const result = streamText({ ...settings, messages });
      for await (const _ of result.fullStream);
      return { text: await result.text, messages: (await result.response).messages };
    },
    async generate(messages) {
      const result = await generateText({ ...settings, messages });
      return { text: result.text, messages: result.response.messages };
    },
  };
  const run = async (call) => {
    const id = crypto.randomUUID();
    const first = [{ role: 'user', content: 'Delete record abc-123' }];
    const paused = await call(first);
    save.run(id, JSON.stringify([...first, ...paused.messages]));
    const messages = JSON.parse(load.get(id).messages);
    const request = messages.at(-1).content.find((part) => part.type === 'tool-approval-request');
    messages.push({
      role: 'tool',
      content: [{ type: 'tool-approval-response', approvalId: request.approvalId, approved: true }],
    });
    const last = await call(messages);
    save.run(id, JSON.stringify([...messages, ...last.messages]));
    return last.text;
  };
  return { save, stream: () => run(callers.stream), generate: () => run(callers.generate) };
})();

const sides = { ours, byHand };
const disk = [];
for (const [face, bound] of Object.entries(bounds)) {
  const times = { ours: [], byHand: [] };
  for (let round = -30; round < rounds; round++) {
    for (const side of round % 2 ? ['ours', 'byHand'] : ['byHand', 'ours']) {
      model.reset();
      const start = performance.now();
      const text = await sides[side][face]();
      const time = performance.now() - start - model.time();
      if (text !== answer) throw new Error(`${side}: unexpected answer "${text}"`);
      if (round >= 0) times[side].push(time);
    }
    const start = performance.now();
    for (const text of ['[]', '[1]']) byHand.save.run('nothing', text);
    if (round >= 0) disk.push(performance.now() - start);
  }
  report(`pause + approve, ${face}`, median(times.ours), median(times.byHand), bound);
}
console.log(`two commits of one small row, each of which waits for the disk: ${median(disk).toFixed(3)} ms`);
if (effects.ours !== effects.byHand) throw new Error(`The effects differ: ${JSON.stringify(effects)}`);
rmSync(folder, { recursive: true });
