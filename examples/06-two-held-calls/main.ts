/** One answer of the model asks for two held calls and a free one. Each held call is decided by itself, in any order. */
import { Agent, createTool } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { z } from 'zod';

const inputSchema = z.object({ server: z.string() });

const status = createTool({
  id: 'status',
  inputSchema,
  execute: async ({ server }) => `${server} is up`,
});

const restart = createTool({
  id: 'restart',
  inputSchema,
  requireApproval: true,
  execute: async ({ server }) => `${server} was restarted`,
});

const model = scriptedModel([
  {
    calls: [
      { toolName: 'restart', args: { server: 'web' } },
      { toolName: 'restart', args: { server: 'database' } },
      { toolName: 'status', args: { server: 'mail' } },
    ],
  },
  'The web server was restarted, the database was not.',
]);
const agent = new Agent({ id: 'two-held-calls', model, tools: { status, restart } });

// The free call runs at once; the two held ones are announced together.
const output = await agent.generate('Restart web and database, and look at mail');
for (const { payload } of output.toolResults) console.log(`ran at once: ${payload.result}`);
for (const { toolName, args } of output.suspendPayloads) console.log(`held: ${toolName} ${args.server}`);

const [web, database] = output.suspendPayloads;
if (!web || !database) throw new Error('Two calls should wait.');
const { runId } = output;

const first = await agent.declineToolCallGenerate({
  runId,
  toolCallId: database.toolCallId,
  reason: 'Not during the day.',
});
console.log(`after the first decision: ${first.finishReason}, model calls: ${model.calls.length}`);

// Whoever decides last gets the model's answer.
const second = await agent.approveToolCallGenerate({ runId, toolCallId: web.toolCallId });
for (const { payload } of second.toolResults) console.log(`ran: ${payload.result}`);
console.log(`after the second decision: ${second.finishReason}, model calls: ${model.calls.length}`);
console.log(second.text);
