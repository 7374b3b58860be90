/** A tool that finds out while it runs that it needs something from a person, and waits for it. */
import { Agent, createTool } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { z } from 'zod';

const bookTable = createTool({
  id: 'book-table',
  description: 'Books a table in a restaurant',
  inputSchema: z.object({ restaurant: z.string(), time: z.string() }),
  suspendSchema: z.object({ question: z.string(), free: z.array(z.string()) }),
  resumeSchema: z.object({ time: z.string() }),
  execute: async ({ restaurant, time }, { agent }) => {
    const free = ['18:00', '21:30'];
    // After a resume, `execute` begins again from its first line, with the same input and with `resumeData`.
    const wanted = agent.resumeData?.time ?? time;
    if (!free.includes(wanted)) {
      return agent.suspend({ question: `${restaurant} is full at ${wanted}. When else?`, free });
    }
    console.log(`booked: ${restaurant} at ${wanted}`);
    return { booked: wanted };
  },
});

const model = scriptedModel([
  { calls: [{ toolName: 'book-table', args: { restaurant: 'Nori', time: '20:00' } }] },
  'You have a table at Nori at 21:30.',
]);
const agent = new Agent({ id: 'suspend-and-resume', model, tools: { bookTable } });
const stream = await agent.stream('A table at Nori at eight, please');

for await (const chunk of stream.fullStream) {
  if (chunk.type === 'tool-call-suspended') {
    const { toolCallId, suspendPayload } = chunk.payload;
    console.log(`suspended: ${suspendPayload.question} free: ${suspendPayload.free.join(', ')}`);

    // Data that does not fit the resumeSchema is refused, and the call keeps waiting.
    await agent.resumeStream({ time: 2130 }, { runId: stream.runId, toolCallId }).catch((error) => {
      console.log(`refused: ${error.code}`);
    });
    const resumed = await agent.resumeStream({ time: '21:30' }, { runId: stream.runId, toolCallId });
    console.log(await resumed.text);
  }
}
