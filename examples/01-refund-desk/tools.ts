/** What the agent can do. Which calls need a person is said here, beside what they do. */
import { createTool } from 'countersign';
import { z } from 'zod';
import type { Order, Shop } from './shop.ts';

/** Refunds up to this amount, in euros, need nobody. */
const freeAmount = 100;

export function toolsFor(shop: Shop) {
  // What a tool throws becomes the result of its call: the model reads the message.
  const orderOf = (id: string): Order => {
    const order = shop.findOrder(id);
    if (order === undefined) throw new Error(`There is no order ${id}.`);
    return order;
  };

  return {
    findOrder: createTool({
      id: 'find-order',
      description: 'Finds an order by its id: customer, item and total in euros.',
      inputSchema: z.object({ orderId: z.string().describe('Empty, if the customer did not say it.') }),
      suspendSchema: z.object({ question: z.string() }),
      resumeSchema: z.object({ orderId: z.string() }),
      execute: async (input, { agent }) => {
        const orderId = input.orderId || agent.resumeData?.orderId;
        if (!orderId) return agent.suspend({ question: 'Which order is it? Its number is on the bill.' });
        shop.addLookup(orderId);
        const { customer, item, total } = orderOf(orderId);
        return { customer, item, total };
      },
    }),

    issueRefund: createTool({
      id: 'issue-refund',
      description: 'Pays money back for an order, in euros.',
      inputSchema: z.object({ orderId: z.string(), amount: z.number().positive() }),
      outputSchema: z.object({ refunded: z.number() }),
      requireApproval: ({ amount }) => amount > freeAmount,
      // Over HTTP customers talk to the desk themselves, and must not approve their own refunds.
      approver: 'reviewer',
      execute: async ({ orderId, amount }) => {
        const { total } = orderOf(orderId);
        if (amount > total) throw new Error(`The order cost ${total}, less than ${amount}.`);
        shop.addRefund(orderId, amount);
        return { refunded: amount };
      },
    }),

    emailCustomer: createTool({
      id: 'email-customer',
      description: 'Sends a mail to the customer of an order.',
      inputSchema: z.object({ orderId: z.string(), subject: z.string(), text: z.string() }),
      requireApproval: true,
      execute: async ({ orderId, subject, text }) => {
        // The address comes from the order: the model cannot choose who gets the mail.
        const { email } = orderOf(orderId);
        shop.addMail(email, subject, text);
        return { sent: true };
      },
    }),
  };
}
