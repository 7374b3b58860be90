/** Without a stream: `generate` returns when a person must act, and `finishReason` says so. */
import { Agent, createTool } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { z } from 'zod';

const published: string[] = [];

const publish = createTool({
  id: 'publish',
  description: 'Publishes a post',
  inputSchema: z.object({ title: z.string() }),
  requireApproval: true,
  execute: async ({ title }) => {
    published.push(title);
    return { published: title };
  },
});

// The second answer is what the model makes of a decline: it reads the reason as the result of its call.
const model = scriptedModel([
  { calls: [{ toolName: 'publish', args: { title: 'We are the best' } }] },
  { text: 'I will be more modest.', calls: [{ toolName: 'publish', args: { title: 'We try hard' } }] },
  'It is published as "We try hard".',
]);
const agent = new Agent({ id: 'generate', model, tools: { publish } });

let output = await agent.generate('Publish a post about us');
while (output.finishReason === 'suspended') {
  const { toolCallId, toolName, args } = output.suspendPayload;
  const decision = { runId: output.runId, toolCallId };
  console.log(`held: ${toolName} "${args.title}"`);
  if (args.title.includes('best')) {
    output = await agent.declineToolCallGenerate({ ...decision, reason: 'Too loud.' });
    console.log('declined: Too loud.');
  } else {
    output = await agent.approveToolCallGenerate(decision);
    console.log('approved');
  }
}
console.log(output.text);
console.log(`published: ${published.join(', ')}`);
