/**
 * Pause and approve over HTTP beside the same in process, interleaved in one run: runs a second, many at once, medians
 * and the ratio. Server and clients share this process, so that both sides have the same machine; what HTTP adds is
 * counted twice that way, once for who asks. Run: npm run bench:http
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, Countersign, createTool } from 'countersign';
import { bearerTokens, createServer, serve } from 'countersign/server';
import { SQLiteStore } from 'countersign/sqlite';
import { z } from 'zod';
import { latencyModel, median, rate, verdict } from './measure.mjs';

const rounds = Number(process.env.ROUNDS ?? 15);
const atOnce = 50;
const runsARound = 200;
/** Over HTTP at least so many times the runs a second of in process. */
const bound = 0.25;
const folder = mkdtempSync(join(tmpdir(), 'countersign-bench-'));
let effects = 0;

const deleteTool = createTool({
  id: 'delete-record',
  description: 'Delete a record by ID',
  inputSchema: z.object({ id: z.string() }),
  requireApproval: true,
  execute: async () => {
    effects++;
    return { deleted: true };
  },
});
const agent = new Agent({ id: 'bench', model: latencyModel(), tools: { deleteTool } });
const storage = new SQLiteStore({ path: join(folder, 'runs.db') });
const countersign = new Countersign({ agents: { agent }, storage });
const limits = { requestsPerMinute: 1e9, streams: 1e6 };
const auth = { authenticate: bearerTokens({ token: { id: 'ada', resourceId: 'ada' } }) };
const server = await serve(createServer({ countersign, auth, limits, logger: false }), { port: 0 });

const headers = { authorization: 'Bearer token', 'content-type': 'application/json' };
const post = (path, body) =>
  fetch(`${server.url}/api/agents/bench/${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
const messages = 'Delete record abc-123';

/** The chunks of an answer of server-sent events. */
const chunksIn = (text) =>
  text
    .split('\n\n')
    .filter((event) => event.startsWith('data: {'))
    .map((event) => JSON.parse(event.slice('data: '.length)));
const textIn = (chunks) =>
  chunks.map(({ type, payload }) => (type === 'text-delta' ? payload.text : '')).join('');

const faces = {
  generate: {
    async inProcess() {
      const { runId, suspendPayload } = await agent.generate(messages, { memory: { resource: 'ada' } });
      const { toolCallId } = suspendPayload;
      return (await agent.approveToolCallGenerate({ runId, toolCallId })).text;
    },
    async overHttp() {
      const { runId, suspendPayload } = await (await post('generate', { messages })).json();
      const { toolCallId } = suspendPayload;
      return (await (await post('approve-tool-call-generate', { runId, toolCallId })).json()).text;
    },
  },
  stream: {
    async inProcess() {
      const stream = await agent.stream(messages, { memory: { resource: 'ada' } });
      for await (const _ of stream.fullStream);
      const approved = await agent.approveToolCall({ runId: stream.runId });
      for await (const _ of approved.fullStream);
      return approved.text;
    },
    async overHttp() {
      const held = chunksIn(await (await post('stream', { messages })).text()).find(
        ({ type }) => type === 'tool-call-approval',
      );
      const { runId, payload } = held;
      const decision = { runId, toolCallId: payload.toolCallId };
      return textIn(chunksIn(await (await post('approve-tool-call', decision)).text()));
    },
  },
};

for (const [face, sides] of Object.entries(faces)) {
  const rates = { inProcess: [], overHttp: [] };
  for (let round = -2; round < rounds; round++) {
    for (const side of round % 2 ? ['inProcess', 'overHttp'] : ['overHttp', 'inProcess']) {
      const measured = await rate(sides[side], { atOnce, runs: runsARound });
      if (round >= 0) rates[side].push(measured);
    }
  }
  const [http, here] = [median(rates.overHttp), median(rates.inProcess)];
  const ratio = http / here;
  console.log(
    `pause + approve, ${face}, ${atOnce} at once: over HTTP ${http.toFixed(0)} runs/s (${(2 * http).toFixed(0)} requests/s), ` +
      `in process ${here.toFixed(0)} runs/s, ratio ${ratio.toFixed(2)} (at least ${bound}: ${verdict(ratio >= bound)})`,
  );
}
const expected = Object.keys(faces).length * 2 * (rounds + 2) * runsARound;
if (effects !== expected) throw new Error(`${effects} effects, not ${expected}.`);
await server.close();
await storage.close();
rmSync(folder, { recursive: true });
