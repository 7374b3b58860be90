/**
 * A model that needs no key: a server on loopback that speaks OpenAI's protocol and answers by the script below.
 * The agent talks to it over HTTP, through the provider's own package, as to the real one.
 */
import { createOpenAI } from '@ai-sdk/openai';
import { type ChatMessage, LLMock } from '@copilotkit/aimock';

export async function startScriptedModel() {
  const server = await LLMock.create({ port: 0, logLevel: 'silent' });
  server.on({}, ({ messages }) => answer(messages));
  const openai = createOpenAI({ baseURL: `${server.url}/v1`, apiKey: 'none' });
  return {
    model: openai('gpt-5-mini'),
    about: `scripted, because no key is set (server on ${server.url}). Everything else is real.`,
    close: () => server.stop(),
  };
}

const orderId = 'ord-1042';

/** The script. It looks at nothing but the conversation, so that it can go on in another process. */
export function answer(messages: readonly ChatMessage[]) {
  const system = String(messages.find(({ role }) => role === 'system')?.content ?? '');
  const results = messages.filter(({ role }) => role === 'tool').map(({ content }) => String(content));
  if (system.includes('delegate')) return supervise(results);
  if (system.includes('specialist for orders')) return refundOrder(results);
  if (system.includes('specialist for letters')) return writeLetter(results);
  return answerCustomer(results);
}

function supervise([refunded, written]: readonly string[]) {
  if (refunded === undefined) {
    return {
      content: 'I am sorry to hear that. Our specialist for orders looks into it.',
      toolCalls: [call('agent-orders', { prompt: `Order ${orderId} arrived broken. Refund it.` })],
    };
  }
  if (!refunded.includes('are refunded')) return { content: `There is no refund. ${refunded}` };
  if (written === undefined) {
    return { toolCalls: [call('agent-letters', { prompt: `Tell the customer of ${orderId}: ${refunded}` })] };
  }
  return { content: `Your 129.90 euros are on their way. ${written}` };
}

function refundOrder([order, refund]: readonly string[]) {
  if (order === undefined) return { toolCalls: [call('find-order', { orderId })] };
  if (refund === undefined) return { toolCalls: [call('issue-refund', { orderId, amount: 129.9 })] };
  return { content: refund.includes('refunded') ? '129.90 euros are refunded.' : `Not refunded. ${refund}` };
}

function writeLetter([mail]: readonly string[]) {
  if (mail === undefined) {
    const text = 'We have refunded 129.90 euros for your ceramic lamp.';
    return { toolCalls: [call('email-customer', { orderId, subject: 'Your refund', text })] };
  }
  return { content: mail.includes('sent') ? 'A mail confirms it.' : `I sent no mail. ${mail}` };
}

function answerCustomer([order, refund, mail]: readonly string[]) {
  if (order === undefined) {
    return {
      content: 'I am sorry to hear that. Let me look at the order.',
      toolCalls: [call('find-order', { orderId })],
    };
  }
  if (refund === undefined) {
    return { toolCalls: [call('issue-refund', { orderId, amount: 129.9 })] };
  }
  if (!refund.includes('refunded')) {
    return { content: `I could not refund the order, and I will not try again. ${refund}` };
  }
  if (mail === undefined) {
    const text = 'We have refunded 129.90 euros for your ceramic lamp.';
    return { toolCalls: [call('email-customer', { orderId, subject: 'Your refund', text })] };
  }
  return mail.includes('sent')
    ? { content: 'Your 129.90 euros are on their way, and a mail confirms it.' }
    : { content: `Your 129.90 euros are on their way. I sent no mail. ${mail}` };
}

function call(name: string, args: Readonly<Record<string, unknown>>) {
  return { name, arguments: JSON.stringify(args) };
}
