/** A real HTTP server that answers each request as the script says, in order: for faults that ours does not have. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export interface Asked {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export type Reply = (response: ServerResponse, asked: Asked) => void;

export interface ScriptServer {
  readonly url: string;
  readonly asked: Asked[];
  /** Resolves when that many requests have come. */
  came(count: number): Promise<void>;
}

export async function scriptServer(...replies: readonly Reply[]): Promise<ScriptServer> {
  const asked: Asked[] = [];
  let waiting: { readonly count: number; readonly arrived: () => void }[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const piece of request) body += piece;
    const { method, url, headers } = request;
    asked.push({ method, url, headers, body });
    const reply = replies[asked.length - 1];
    if (reply) reply(response, asked.at(-1) as Asked);
    else response.writeHead(500).end(`No reply for request ${asked.length}.`);
    waiting = waiting.filter(({ count, arrived }) => asked.length < count || arrived());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    came: (count) =>
      new Promise((resolve) => {
        if (asked.length >= count) resolve();
        else waiting.push({ count, arrived: resolve });
      }),
  };
}

export const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): Reply =>
  (response) =>
    void response
      .writeHead(status, { 'content-type': 'application/json', ...headers })
      .end(JSON.stringify(body));

export const problem = (status: number, code: string, more: object = {}, headers = {}): Reply =>
  json(status, { error: `It is ${code}.`, code, status, ...more }, headers);

export const page =
  (status: number): Reply =>
  (response) =>
    void response
      .writeHead(status, { 'content-type': 'text/html' })
      .end('<html>secret words of a proxy</html>');

/** Closes the connection before anything was said. */
export const drop: Reply = (response) => void response.destroy();

/** Events, then the end, or a broken connection. */
export const events =
  (text: string, end: 'end' | 'break' | 'stay' = 'end'): Reply =>
  (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.flushHeaders();
    response.write(text, () => {
      if (end === 'end') response.end();
      if (end === 'break') response.destroy();
    });
  };
