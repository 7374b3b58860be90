/** Two places where a function decides what needs a person: the tool, for its own input; the run, for all others. */
import { Agent, createTool, type PolicyFunction, RequestContext } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { z } from 'zod';

const transfer = createTool({
  id: 'transfer',
  description: 'Transfers money to an account',
  inputSchema: z.object({ to: z.string(), amount: z.number() }),
  // The tool's own word: it is asked with the validated input, and goes before the function of the run.
  requireApproval: ({ amount }) => amount > 100,
  execute: async ({ to, amount }) => `${amount} went to ${to}`,
});

const deleteNote = createTool({
  id: 'delete-note',
  description: 'Deletes a note',
  inputSchema: z.object({ id: z.number() }),
  execute: async ({ id }) => `note ${id} is deleted`,
});

const model = scriptedModel([
  {
    calls: [
      { toolName: 'transfer', args: { to: 'Ben', amount: 20 } },
      { toolName: 'transfer', args: { to: 'Ada', amount: 2000 } },
      { toolName: 'delete-note', args: { id: 7 } },
    ],
  },
  'All done.',
]);
const agent = new Agent({ id: 'conditional-approval', model, tools: { transfer, deleteNote } });

const requestContext = new RequestContext();
requestContext.set('role', 'guest');

// The function of the run: for tools that say nothing themselves. If it throws, the call is held.
const guestsMayNotDelete: PolicyFunction = (call) =>
  call.toolName.startsWith('delete-') && call.requestContext.role === 'guest';

let stream = await agent.stream('Pay Ben 20, pay Ada 2000, delete note 7', {
  requestContext,
  requireToolApproval: guestsMayNotDelete,
});

for (;;) {
  for await (const chunk of stream.fullStream) {
    if (chunk.type === 'tool-result') console.log(`ran: ${chunk.payload.result}`);
  }
  const [waiting] = await stream.suspendPayloads;
  if (waiting === undefined) break;
  console.log(`held: ${waiting.toolName} ${JSON.stringify(waiting.args)}`);
  stream = await agent.approveToolCall({
    runId: stream.runId,
    toolCallId: waiting.toolCallId,
    // A function cannot be stored. Without it here, every later call of the run would be held, to be safe.
    requireToolApproval: guestsMayNotDelete,
  });
}
console.log(await stream.text);
