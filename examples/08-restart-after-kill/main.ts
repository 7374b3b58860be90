/**
 * Processes die by kill -9: one while a call waits, one in the middle of the call. What waits is kept; what may have
 * happened is not run again by itself, but shown to a person who looks and says.
 */
import { spawn } from 'node:child_process';
import { appendFileSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Agent, Countersign, createTool } from 'countersign';
import { SQLiteStore } from 'countersign/sqlite';
import { scriptedModel } from 'countersign/testing';
import { z } from 'zod';

const [folder = '.countersign/restart-after-kill', part] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const bankStatement = join(folder, 'bank-statement');

function openBank() {
  const sendMoney = createTool({
    id: 'send-money',
    inputSchema: z.object({ to: z.string(), amount: z.number() }),
    requireApproval: true,
    execute: async ({ to, amount }) => {
      appendFileSync(bankStatement, `${amount} to ${to}\n`);
      console.log('  the money is sent; this process is killed now');
      // The answer of the bank never comes.
      await new Promise(() => setInterval(() => {}, 1000));
    },
  });
  const model = scriptedModel((prompt) =>
    prompt.at(-1)?.role === 'tool'
      ? 'Ada has her 50.'
      : { calls: [{ toolName: 'send-money', args: { to: 'Ada', amount: 50 } }] },
  );
  const bank = new Agent({ id: 'bank', model, tools: { sendMoney } });
  const storage = new SQLiteStore({ path: join(folder, 'runs.db') });
  // A worker that has not been heard of for a second is dead. The default, 20 seconds, suits networks better.
  const heartbeat = { every: 200, lease: 1000 };
  return { bank, countersign: new Countersign({ agents: { bank }, storage, heartbeat }) };
}

if (part === 'ask') {
  const { bank } = openBank();
  const { finishReason } = await bank.generate('Send Ada 50');
  console.log(`  ${finishReason}; this process is killed now`);
  setInterval(() => {}, 1000);
} else if (part === 'approve') {
  const { bank } = openBank();
  const { runs } = await bank.listSuspendedRuns();
  for (const { runId, toolCalls } of runs) {
    for (const { toolCallId, toolName, args } of toolCalls) {
      console.log(`  still waiting: ${toolName} ${JSON.stringify(args)}`);
      await bank.approveToolCallGenerate({ runId, toolCallId });
    }
  }
} else if (part === 'recover') {
  const { bank, countersign } = openBank();
  countersign.start();
  // In a product a reviewer's page shows the list; here we ask until the dead worker is known to be dead.
  let run = (await bank.listSuspendedRuns({ status: 'interrupted' })).runs[0];
  for (; run === undefined; run = (await bank.listSuspendedRuns({ status: 'interrupted' })).runs[0]) {
    await countersign.sweep();
  }
  const toolCallId = run.toolCalls[0]?.toolCallId as string;
  console.log(
    `  interrupted: ${run.toolCalls[0]?.toolName}; the bank says: ${readFileSync(bankStatement, 'utf8').trim()}`,
  );
  const output = { sent: 50 };
  const { text } = await bank.resolveInterruptedCallGenerate({ runId: run.runId, toolCallId, output });
  console.log(`  ${text}`);
  await countersign.stop();
  console.log(`sent altogether: ${readFileSync(bankStatement, 'utf8').trim()}`);
} else {
  for (const next of ['ask', 'approve', 'recover']) {
    console.log(`process "${next}"`);
    const child = spawn(process.execPath, [import.meta.filename, folder, next], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      process.stdout.write(text);
      if (text.includes('is killed now')) child.kill('SIGKILL');
    });
    await new Promise((resolve) => child.on('close', resolve));
  }
}
