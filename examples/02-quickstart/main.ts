/** The smallest use: a tool that needs a person, and a stream that says so. */
import { Agent, createTool } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { z } from 'zod';

const deleted: string[] = [];

const deleteRecord = createTool({
  id: 'delete-record',
  description: 'Deletes a record by its id',
  inputSchema: z.object({ id: z.string() }),
  requireApproval: true,
  execute: async ({ id }) => {
    deleted.push(id);
    return { deleted: true };
  },
});

// In your code: model: 'openai/gpt-5-mini', or any model object of the AI SDK.
const model = scriptedModel([
  { text: 'I will delete it.', calls: [{ toolName: 'delete-record', args: { id: 'abc-123' } }] },
  'The record abc-123 is gone.',
]);

// Alone, an agent keeps its runs in this process, and warns once that it does. Example 07 keeps them in a file.
const agent = new Agent({ id: 'quickstart', model, tools: { deleteRecord } });
const stream = await agent.stream('Delete the record abc-123');

for await (const chunk of stream.fullStream) {
  if (chunk.type === 'text-delta') process.stdout.write(chunk.payload.text);
  if (chunk.type === 'tool-call-approval') {
    const { toolCallId, toolName, args } = chunk.payload;
    console.log(`\nheld: ${toolName} ${JSON.stringify(args)}, deleted so far: ${deleted.length}`);

    // Here a person would be asked.
    const approved = await agent.approveToolCall({ runId: stream.runId, toolCallId });
    for await (const text of approved.textStream) process.stdout.write(text);
  }
}
console.log(`\ndeleted: ${deleted.join(', ')}`);
