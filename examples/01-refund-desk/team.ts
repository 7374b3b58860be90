/** `--team`: a supervisor that touches nothing itself, and two specialists. What they hold is asked at the top. */
import { Agent, type ModelInput } from 'countersign';
import type { toolsFor } from './tools.ts';

export function teamFor(model: ModelInput, tools: ReturnType<typeof toolsFor>): Agent {
  const { findOrder, issueRefund, emailCustomer } = tools;
  const orders = new Agent({
    id: 'orders',
    description: 'Looks up orders and refunds them.',
    instructions: `You are the specialist for orders of a small shop.
Look up the order, then refund what the customer is owed, in one call. Say what happened.
A person may decline a call. Then say so, with the reason, and do not try it again.`,
    model,
    tools: { findOrder, issueRefund },
  });
  const letters = new Agent({
    id: 'letters',
    description: 'Writes to customers.',
    instructions: `You are the specialist for letters of a small shop.
Send one mail about what you are told. A person may decline it. Then say so, and do not try it again.`,
    model,
    tools: { emailCustomer },
  });
  return new Agent({
    id: 'front-desk',
    instructions: `You answer customers of a small shop, and delegate: orders and refunds to one specialist,
mails to another. Have a refund carried out first, and then a mail written about it, once.
If a refund was declined, tell the customer why, and have no mail written.`,
    model,
    agents: { orders, letters },
  });
}
