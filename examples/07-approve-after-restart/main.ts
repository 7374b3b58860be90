/** One process asks and ends. Another one lists what waits, approves it, and brings the run to its end. */
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Agent, Countersign, createTool } from 'countersign';
import { SQLiteStore } from 'countersign/sqlite';
import { scriptedModel } from 'countersign/testing';
import { z } from 'zod';

const [folder = '.countersign/approve-after-restart', part] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });

function openAgent(): Agent {
  const sendMoney = createTool({
    id: 'send-money',
    inputSchema: z.object({ to: z.string(), amount: z.number() }),
    requireApproval: true,
    execute: async ({ to, amount }) => {
      console.log(`  sent: ${amount} to ${to}`);
      return { sent: amount };
    },
  });
  // It answers by what it reads, so that it can go on in another process, as a real model does.
  const model = scriptedModel((prompt) =>
    prompt.at(-1)?.role === 'tool'
      ? 'The money is on its way.'
      : { calls: [{ toolName: 'send-money', args: { to: 'Ada', amount: 50 } }] },
  );
  const bank = new Agent({ id: 'bank', model, tools: { sendMoney } });
  const storage = new SQLiteStore({ path: join(folder, 'runs.db') });
  return new Countersign({ agents: { bank }, storage }).getAgent('bank');
}

if (part === 'ask') {
  const output = await openAgent().generate('Send Ada 50');
  console.log(`  ${output.finishReason}: this process ends now`);
} else if (part === 'approve') {
  const bank = openAgent();
  const { runs } = await bank.listSuspendedRuns();
  for (const { runId, toolCalls } of runs) {
    for (const { toolCallId, toolName, args, stop, fingerprint } of toolCalls) {
      console.log(`  waiting: ${toolName} ${JSON.stringify(args)}`);
      const output = await bank.approveToolCallGenerate({ runId, toolCallId, stop, fingerprint });
      console.log(`  ${output.text}`);
    }
  }
  console.log(`  still waiting: ${(await bank.listSuspendedRuns()).total}`);
} else {
  for (const next of ['ask', 'approve']) {
    console.log(`process "${next}"`);
    spawnSync(process.execPath, [import.meta.filename, folder, next], { stdio: 'inherit' });
  }
}
