/** Whether the server runs, and whether it can do anything. For load balancers: no auth, no details. */
import type { Hono } from 'hono';
import { CountersignError } from '../core/errors.ts';
import { described } from './describe.ts';
import type { ServerEnv } from './env.ts';
import type { ServerParts } from './parts.ts';
import { timer } from './timer.ts';

/** How long the store may take to answer. */
const patience = 2000;

export function healthRoutes(
  app: Hono<ServerEnv>,
  { worker }: ServerParts,
  state: { readonly isClosing: boolean },
): void {
  app.get(
    '/healthz',
    described({ summary: 'The server runs', tag: 'server', isOpen: true, answer: 'Status' }),
    (c) => c.json({ status: 'ok' }),
  );
  app.get(
    '/readyz',
    described({
      summary: 'The server takes requests, and its store answers',
      tag: 'server',
      isOpen: true,
      answer: 'Status',
      errors: ['server-closing', 'store-failed'],
    }),
    async (c) => {
      if (state.isClosing) throw new CountersignError('server-closing', 'This server is closing.');
      const patient = timer(patience);
      const late = patient.over.then((): never => {
        throw new Error('The store does not answer.');
      });
      try {
        await Promise.race([worker.store.workers.dead([worker.id], worker.lease), late]);
        return c.json({ status: 'ok' });
      } catch (cause) {
        throw new CountersignError('store-failed', 'The store does not answer.', { cause });
      } finally {
        patient.stop();
      }
    },
  );
}
