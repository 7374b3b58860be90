/**
 * Two instances on one store, with nothing else between them: the reviewers' desk has none of the agent's code and
 * only decides; the instance that has it sees the decision in the store and brings the run to its end.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Agent, Countersign, createTool } from 'countersign';
import { SQLiteStore } from 'countersign/sqlite';
import { scriptedModel } from 'countersign/testing';
import { z } from 'zod';

const [folder = '.countersign/two-instances', part] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const storage = new SQLiteStore({ path: join(folder, 'runs.db') });

/** Has the agent. It asks, and then takes up whatever was decided elsewhere. */
async function agentInstance(): Promise<void> {
  const restart = createTool({
    id: 'restart',
    inputSchema: z.object({ server: z.string() }),
    requireApproval: true,
    execute: async ({ server }) => {
      console.log(`  agent: ${server} is restarted`);
      return { restarted: server };
    },
  });
  const model = scriptedModel((prompt) =>
    prompt.at(-1)?.role === 'tool'
      ? 'The server is back.'
      : { calls: [{ toolName: 'restart', args: { server: 'web' } }] },
  );
  const operator = new Agent({ id: 'operator', model, tools: { restart } });
  const countersign = new Countersign({ agents: { operator }, storage, sweepEvery: 100 });
  countersign.start();
  const { runId, finishReason, suspendPayload } = await operator.generate('Restart the web server');
  console.log(`  agent: ${finishReason}`);
  process.send?.({ runId, toolCallId: suspendPayload?.toolCallId });
  process.on('message', async () => {
    // The four events up to the pause are known: question, model call, its answer, the held call.
    const observed = await operator.observe({ runId, afterEvent: 4 });
    console.log(`  agent: ${await observed.text}`);
    await countersign.stop();
    process.disconnect();
  });
}

/** Has no agent. It decides what it is told of. */
function reviewInstance(): void {
  const countersign = new Countersign({ agents: {}, storage });
  process.on('message', async (call: { runId: string; toolCallId: string }) => {
    console.log('  review: Ada approves');
    const { driven } = await countersign.decideToolCall({ ...call, verdict: 'approve', by: { id: 'ada' } });
    process.send?.({ driven });
    process.disconnect();
  });
}

if (part === 'agent') await agentInstance();
else if (part === 'review') reviewInstance();
else {
  const agent = fork(import.meta.filename, [folder, 'agent']);
  const review = fork(import.meta.filename, [folder, 'review']);
  const [call] = await once(agent, 'message');
  review.send(call);
  const [{ driven }] = await once(review, 'message');
  agent.send('decided');
  await once(agent, 'close');
  console.log(`driven by the review instance: ${driven}`);
}
