/**
 * A model that needs no key: a server on loopback that speaks OpenAI's protocol and answers by the script below.
 * The agent talks to it over HTTP, through the provider's own package, as to the real one.
 */
import { createOpenAI } from '@ai-sdk/openai';
import { type ChatMessage, LLMock } from '@copilotkit/aimock';

export async function startScriptedModel() {
  const server = await LLMock.create({ port: 0, logLevel: 'silent' });
  server.on({}, ({ messages, tools }) =>
    answer(
      messages,
      tools?.map((tool) => tool.function.name),
    ),
  );
  const openai = createOpenAI({ baseURL: `${server.url}/v1`, apiKey: 'none' });
  return {
    model: openai('gpt-5-mini'),
    about: `scripted, because no key is set (server on ${server.url}). Everything else is real.`,
    close: () => server.stop(),
  };
}

const orderId = 'ord-1042';

/** The script. It looks at nothing but the conversation, so that it can go on in another process. */
export function answer(messages: readonly ChatMessage[], tools: readonly string[] = []) {
  const system = String(messages.find(({ role }) => role === 'system')?.content ?? '');
  const results = messages.filter(({ role }) => role === 'tool').map(({ content }) => String(content));
  if (system.includes('You chat')) return chat(messages, tools);
  if (system.includes('delegate')) return supervise(results);
  if (system.includes('specialist for orders')) return refundOrder(results);
  if (system.includes('specialist for letters')) return writeLetter(results);
  return answerCustomer(results);
}

/** What the customer wrote last, and what the calls since then came to. */
function chat(messages: readonly ChatMessage[], tools: readonly string[]) {
  const place = messages.findLastIndex(({ role }) => role === 'user');
  const said = String(JSON.stringify(messages[place]?.content) ?? '');
  const since = messages.slice(place).filter(({ role }) => role === 'tool');
  const [order, refund] = since.map(({ content }) => String(content));
  const [named] = said.match(/ord-\d+/) ?? [];
  if (order === undefined) {
    const isAnswer = named !== undefined && tools.includes('resume-find-order');
    if (isAnswer) return { toolCalls: [call('resume-find-order', { orderId: named })] };
    if (named || /refund|broken/i.test(said)) {
      return { toolCalls: [call('find-order', { orderId: named ?? '' })] };
    }
    return { content: /thank/i.test(said) ? 'You are welcome.' : 'What can I do for you?' };
  }
  if (refund === undefined) {
    const { total } = JSON.parse(order) as { total?: number };
    if (total === undefined) return { content: `I did not find it. ${order}` };
    return {
      content: 'I have found it.',
      toolCalls: [call('issue-refund', { orderId: named, amount: total })],
    };
  }
  return refund.includes('refunded')
    ? { content: 'The money is on its way.' }
    : { content: `I could not refund it. ${refund}` };
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
