/** Puts the parts together: one agent, a team of three, or one that chats, its tools on the shop's database, and a file where paused runs live. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Agent, Countersign, Memory, type ModelInput } from 'countersign';
import { SQLiteStore } from 'countersign/sqlite';
import { openShop, type Shop } from './shop.ts';
import { teamFor } from './team.ts';
import { toolsFor } from './tools.ts';

const instructions = `You answer customers of a small shop.
Look up the order before anything else. Refund what the customer is owed, in one call.
When the refund has been carried out, mail the customer about it, once. Then tell the customer what happened.
A person may decline a call. Then say so, with the reason, do not try it again, and send no mail.`;

/** `--chat`: it remembers, and may take the answer to a tool's question from the customer's next message. */
function chatDesk(model: ModelInput, tools: ReturnType<typeof toolsFor>, memory: Memory): Agent {
  return new Agent({
    id: 'chat-desk',
    model,
    instructions: `You chat with customers. ${instructions}`,
    tools,
    memory,
    defaultOptions: { autoResumeSuspendedTools: true },
  });
}

export interface Desk {
  readonly agent: Agent;
  readonly memory: Memory;
  readonly shop: Shop;
  close(): Promise<void>;
}

export function openDesk(folder: string, model: ModelInput, kind: 'one' | 'team' | 'chat'): Desk {
  mkdirSync(folder, { recursive: true });
  const shop = openShop(join(folder, 'shop.db'));
  const storage = new SQLiteStore({ path: join(folder, 'runs.db') });
  const tools = toolsFor(shop);
  const memory = new Memory();
  const made = {
    one: () => new Agent({ id: 'refund-desk', model, instructions, tools }),
    team: () => teamFor(model, tools),
    chat: () => chatDesk(model, tools, memory),
  };
  const refundDesk = made[kind]();
  const { agents } = new Countersign({ agents: { refundDesk }, storage });
  return {
    agent: agents.refundDesk,
    memory,
    shop,
    async close() {
      await storage.close();
      shop.close();
    },
  };
}
