/** What a request carries from what is checked before its route. */
import type { Env } from 'hono';
import type { Identity } from './identity.ts';

export interface ServerEnv extends Env {
  Variables: {
    /** Undefined where the server has no `auth`. */
    identity: Identity | undefined;
  };
}
