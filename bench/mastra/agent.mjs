/** Mastra's side of the comparison: its own agent, tool and LibSQL store as its documentation has them. */
import { Mastra } from '@mastra/core';
import { Agent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { LibSQLStore } from '@mastra/libsql';
import { z } from 'zod';

/** An agent in a registry with a store on a file of its own. No memory; all else is Mastra's default. */
export function openMastra({ path, model, instructions, onDelete }) {
  const deleteTool = createTool({
    id: 'delete-record',
    description: 'Delete a record by ID',
    inputSchema: z.object({ id: z.string() }),
    requireApproval: true,
    execute: async ({ id }) => onDelete(id),
  });
  const agent = new Agent({
    id: 'bench',
    name: 'bench',
    instructions,
    model,
    tools: { 'delete-record': deleteTool },
  });
  const storage = new LibSQLStore({ id: 'bench', url: `file:${path}` });
  const mastra = new Mastra({ agents: { bench: agent }, storage, logger: false });
  return { agent: mastra.getAgent('bench'), close: () => mastra.shutdown() };
}
