/** Servers on loopback for what aimock does not speak, and the connection that a provider is given to either. */
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What a provider package takes to talk to another address than its own. */
export interface Connection {
  readonly baseURL: string;
  readonly apiKey: string;
  readonly fetch: typeof fetch;
}

/** Answers its n-th request with the n-th list of output items, as OpenAI streams them. */
export async function openAiServer(answers: readonly (readonly object[])[]): Promise<Server> {
  let count = 0;
  return serverOf((_, outgoing) => {
    const response = { id: `resp_${count}`, created_at: 1, model: 'gpt-5-mini' };
    const items = (answers[count++] ?? []).map((item, index) => ({ output_index: index, item }));
    const events = [
      { type: 'response.created', response },
      ...items.map((item) => ({ type: 'response.output_item.done', ...item })),
      { type: 'response.completed', response: { ...response, usage: { input_tokens: 1, output_tokens: 1 } } },
    ];
    outgoing.end(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''));
  });
}

export async function serverOf(answer: RequestListener): Promise<Server> {
  const server = createServer((incoming, outgoing) => {
    incoming.resume();
    outgoing.setHeader('content-type', 'text/event-stream');
    answer(incoming, outgoing);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

export function urlOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}
