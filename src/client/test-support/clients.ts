/** Clients of a desk that is really served, over HTTP. */
import { onTestFinished } from 'vitest';
import { serve } from '../../server/serve.ts';
import type { Desk, Who } from '../../server/test-support/desk.ts';
import { CountersignClient } from '../client.ts';
import type { ClientOptions } from '../transport.ts';

/** Serves the desk until the test has ended. */
export async function clientsOf(desk: Desk) {
  const server = await serve(desk.app, { port: 0 });
  onTestFinished(() => server.close());
  return {
    url: server.url,
    clientOf: (who: Who | undefined, more: Partial<ClientOptions> = {}): CountersignClient => {
      const headers = who ? { authorization: `Bearer ${who}` } : {};
      return new CountersignClient({ baseUrl: server.url, headers, ...more });
    },
  };
}
