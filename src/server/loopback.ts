/**
 * A server without `auth` serves its own machine only: not another host that reaches it, and not a page of another
 * origin in a browser on it (also when a name was made to point here).
 */
import type { Context, MiddlewareHandler } from 'hono';
import { CountersignError } from '../core/errors.ts';
import type { ServerEnv } from './env.ts';

/** Whether a host name or address is this machine's own. */
export function isLoopback(hostname: string): boolean {
  const name = hostname.toLowerCase().replace(/^\[(.*)\]$/, '$1');
  return (
    name === 'localhost' ||
    name.endsWith('.localhost') ||
    name === '::1' ||
    /^(::ffff:)?127(\.\d{1,3}){3}$/.test(name)
  );
}

export function loopbackOnly(): MiddlewareHandler<ServerEnv> {
  return async (c, next) => {
    const host = c.req.header('host');
    const origin = c.req.header('origin');
    const hosts = [
      new URL(c.req.url).hostname,
      ...(host === undefined ? [] : [hostnameOf(`http://${host}`)]),
    ];
    const origins = origin === undefined ? [] : [hostnameOf(origin)];
    const peer = peerOf(c);
    if (![...hosts, ...origins, ...(peer === undefined ? [] : [peer])].every(isLoopback)) {
      throw new CountersignError('forbidden', 'This server has no auth, so it serves its own machine only.', {
        expected: 'a Host and an Origin of this machine (localhost, 127.0.0.1, [::1])',
        todo: 'Give createServer an auth.',
      });
    }
    await next();
  };
}

/** '' where there is none: that is no loopback. */
function hostnameOf(url: string): string {
  return URL.canParse(url) ? new URL(url).hostname : '';
}

/** The address that a request comes from, where the platform tells it (Node). */
export function peerOf(c: Context<ServerEnv>): string | undefined {
  const env = c.env as { incoming?: { socket?: { remoteAddress?: string } } } | undefined;
  return env?.incoming?.socket?.remoteAddress;
}
