/** Servers on loopback for what aimock does not speak, and the connection that a provider is given to either. */
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** What a provider package takes to talk to another address than its own. */
export interface Connection {
  readonly baseURL: string;
  readonly apiKey: string;
  readonly fetch: typeof fetch;
}

/** Answers its n-th request with the n-th list of output items, whole or streamed, as OpenAI does. */
export async function openAiServer(answers: readonly (readonly object[])[]): Promise<Server> {
  let count = 0;
  return serverOf((body, outgoing) => {
    const output = answers[count] ?? [];
    const response = { id: `resp_${count++}`, created_at: 1, model: 'gpt-5-mini' };
    const completed = { ...response, usage: { input_tokens: 1, output_tokens: 1 } };
    if ((JSON.parse(body) as { stream?: boolean }).stream !== true) {
      outgoing.setHeader('content-type', 'application/json');
      outgoing.end(JSON.stringify({ ...completed, output }));
      return;
    }
    const events = [
      { type: 'response.created', response },
      ...output.map((item, index) => ({ type: 'response.output_item.done', output_index: index, item })),
      { type: 'response.completed', response: completed },
    ];
    outgoing.end(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''));
  });
}

/** @param answer given the body of the request. */
export async function serverOf(answer: (body: string, outgoing: ServerResponse) => void): Promise<Server> {
  const server = createServer(async (incoming, outgoing) => {
    const body = await text(incoming);
    outgoing.setHeader('content-type', 'text/event-stream');
    answer(body, outgoing);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

export function urlOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}
