/** The agent of the two-process scenarios, and the child process that pauses its runs and exits. */
import { appendFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { Agent, Countersign, createTool, RequestContext } from '../../src/index.ts';
import { SQLiteStore } from '../../src/store/sqlite.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';

/** An agent on a SQLite file whose tools write what they do to another file, whichever process runs them. */
export function openProcess(databaseFile: string, effectsFile: string) {
  const record = (entry: unknown): void => appendFileSync(effectsFile, `${JSON.stringify(entry)}\n`);
  const look = createTool({
    id: 'look',
    inputSchema: z.object({}),
    execute: async () => {
      record({ tool: 'look', pid: process.pid });
      return { seen: process.pid };
    },
  });
  const refund = createTool({
    id: 'refund',
    inputSchema: z.object({ order: z.string(), amount: z.number() }),
    requireApproval: true,
    execute: async (input, { requestContext, agent }) => {
      record({ tool: 'refund', pid: process.pid, input, ...seenBy(requestContext, agent) });
      return { refunded: input.amount };
    },
  });
  const ask = createTool({
    id: 'ask',
    inputSchema: z.object({ topic: z.string() }),
    suspendSchema: z.object({ question: z.string() }),
    resumeSchema: z.object({ answer: z.string() }),
    execute: async (input, { requestContext, agent }) => {
      const { resumeData } = agent;
      record({ tool: 'ask', pid: process.pid, input, resumeData, ...seenBy(requestContext, agent) });
      if (!resumeData) return void (await agent.suspend({ question: `About ${input.topic}?` }));
      return resumeData;
    },
  });
  const model = scriptedModel((prompt) => {
    const last = prompt.at(-1);
    if (last?.role === 'tool') return 'Done.';
    const calls = [
      { toolName: 'refund', args: { order: 'o-1', amount: 12.5 }, toolCallId: 'refund-1' },
      { toolName: 'look', toolCallId: 'look-1' },
      { toolName: 'ask', args: { topic: 'tea' }, toolCallId: 'ask-1' },
    ];
    return { text: 'Working. ', calls };
  });
  const agent = new Agent({ id: 'desk', model, tools: { look, refund, ask } });
  const store = new SQLiteStore({ path: databaseFile });
  new Countersign({ agents: { agent }, storage: store });
  return { agent, model, store };
}

function seenBy(
  requestContext: RequestContext,
  agent: { threadId: string | undefined; resourceId: string | undefined },
) {
  return { tenant: requestContext.get('tenant'), threadId: agent.threadId, resourceId: agent.resourceId };
}

/** The child: pauses one run, says so in one line, and exits without closing anything. */
export async function pauseAndExit(databaseFile: string, effectsFile: string): Promise<void> {
  const { agent } = openProcess(databaseFile, effectsFile);
  const output = await agent.generate('Please do it.', {
    requestContext: new RequestContext([['tenant', { id: 'acme' }]]),
    instructions: 'Instructions of the run.',
    modelSettings: { temperature: 0.5 },
    memory: { thread: 'thread 1', resource: 'user 1' },
  });
  const { runId, finishReason, suspendPayloads } = output;
  process.stdout.write(
    `${JSON.stringify({ runId, finishReason, suspendPayloads, pid: process.pid })}\n`,
    () => process.exit(0),
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [databaseFile = '', effectsFile = ''] = process.argv.slice(2);
  await pauseAndExit(databaseFile, effectsFile);
}
