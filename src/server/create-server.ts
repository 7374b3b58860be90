/** Owns how a request goes through the server: what is checked before its route, and in which order. */

import { Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { cors } from 'hono/cors';
import { secureHeaders } from 'hono/secure-headers';
import { openAPIRouteHandler } from 'hono-openapi';
import { type Countersign, registryInside } from '../agent/countersign.ts';
import { Memory } from '../agent/memory.ts';
import { refuseOption } from '../agent/refuse-option.ts';
import { withinCaller } from '../agent/telemetry.ts';
import { CountersignError, isCountersignError } from '../core/errors.ts';
import { type Auth, accessBy } from './access.ts';
import { agentRoutes, countedAs } from './agent-routes.ts';
import { approvalRoutes } from './approval-routes.ts';
import { cutOff } from './body.ts';
import { chatRoutes } from './chat-routes.ts';
import type { ServerEnv } from './env.ts';
import { feedTail } from './feed-tail.ts';
import { healthRoutes } from './health-routes.ts';
import { checkedIdentity } from './identity.ts';
import { limitsOf, places, rateLimit, type ServerLimits } from './limits.ts';
import { logError, loggerOf, logHeldTools, requestLog, type ServerLogger } from './log.ts';
import { loopbackOnly, peerOf } from './loopback.ts';
import type { Accept, ServerParts } from './parts.ts';
import { problemResponse } from './problem.ts';
import { runRoutes } from './run-routes.ts';
import { schemas } from './schemas.ts';
import { acceptOf } from './start-options.ts';
import { threadRoutes } from './thread-routes.ts';
import { timer } from './timer.ts';

export interface ServerConfig {
  readonly countersign: Countersign;
  /** Who is asking, and what they may. Left out, the server serves its own machine only. */
  readonly auth?: Auth | undefined;
  /** Which other origins' pages may call it. Left out: none. */
  readonly cors?:
    | { readonly origin: string | readonly string[]; readonly credentials?: boolean | undefined }
    | undefined;
  readonly limits?: ServerLimits | undefined;
  /** What a body may say beside `messages`, `memory`, `maxSteps` and a true `requireToolApproval`. */
  readonly accept?: Accept | undefined;
  /** Before every route but `/healthz` and `/readyz`. Default '/api'. */
  readonly basePath?: string | undefined;
  /** A pino logger, or anything like it; `false` for none. Default: JSON lines on standard output. */
  readonly logger?: ServerLogger | false | undefined;
}

/** What `serve` needs to know of an app. */
export const serverInside: unique symbol = Symbol('countersign.server');

/** A Hono app: it has `fetch`, and fits into another app with `route('/', server)`. */
export type CountersignServer = Hono<ServerEnv> & {
  /**
   * Refuses new requests with 503, and resolves when what goes on in the background has come to rest. What does not
   * within the time is left to other processes, as after a crash.
   */
  close(options?: { readonly within?: number | undefined }): Promise<void>;
  /** @internal */
  readonly [serverInside]: { readonly isLoopbackOnly: boolean };
};

/**
 * Serves the agents of a registry over HTTP.
 * @example const app = createServer({ countersign, auth: { authenticate: bearerTokens({ … }) } });
 * @throws `invalid-option`.
 */
export function createServer(config: ServerConfig): CountersignServer {
  const { countersign, auth, basePath = '/api' } = config;
  if (!/^(\/[\w.~-]+)+$/.test(basePath)) {
    refuseOption('basePath', "a path such as '/api', without a slash at its end");
  }
  if (auth !== undefined && typeof auth.authenticate !== 'function') {
    refuseOption('auth', '{ authenticate: (request) => identity or null, canRead?, canDecide? }');
  }
  const { worker, byId } = countersign[registryInside];
  const limits = limitsOf(config.limits);
  const logger = loggerOf(config.logger);
  const parts: ServerParts = {
    countersign,
    worker,
    memory: new Memory({ storage: worker.store }),
    agents: byId,
    access: accessBy(auth),
    accept: acceptOf(config.accept),
    limits,
    streams: places(limits.streams),
    feed: feedTail(worker.store.feed, (error) => logError(logger, error, 'the feed of approvals ended')),
    logger,
    basePath,
  };
  const state = { isClosing: false };
  const app = new Hono<ServerEnv>();
  guard(app, config, parts, state);
  healthRoutes(app, parts, state);
  agentRoutes(app, parts);
  chatRoutes(app, parts);
  approvalRoutes(app, parts);
  runRoutes(app, parts);
  threadRoutes(app, parts);
  const info = { title: 'Countersign', version: '1', description: 'Agents whose sensitive tool calls wait.' };
  const security = auth ? { security: [{ bearer: [] }] } : {};
  const components = {
    schemas: schemas as Record<string, object>,
    ...(auth ? { securitySchemes: { bearer: { type: 'http' as const, scheme: 'bearer' } } } : {}),
  };
  app.get(
    `${basePath}/openapi.json`,
    openAPIRouteHandler(app, { documentation: { info, components, ...security }, excludeStaticFile: false }),
  );
  app.notFound(() => {
    return problemResponse(new CountersignError('route-not-found', 'There is no such route.'));
  });
  app.onError((error, c) => {
    if (!isCountersignError(error) || error.status >= 500) {
      logError(logger, error, 'error', { method: c.req.method });
    }
    return problemResponse(error);
  });
  logHeldTools(byId.values(), logger);
  return Object.assign(app, {
    [serverInside]: { isLoopbackOnly: auth === undefined },
    async close({ within = 10_000 }: { within?: number | undefined } = {}) {
      state.isClosing = true;
      parts.feed.close();
      const enough = timer(within);
      await Promise.race([countersign.stop(), enough.over]);
      enough.stop();
    },
  });
}

/** What happens before a route. Bound to our own paths, so that an app that this one is mounted into keeps its others. */
function guard(
  app: Hono<ServerEnv>,
  { countersign, auth, cors: allowed }: ServerConfig,
  { logger, limits, basePath }: ServerParts,
  state: { readonly isClosing: boolean },
): void {
  const rate = rateLimit(limits.requestsPerMinute, () => performance.now());
  // Apart, so that who is known is let in whatever others at the same address try.
  const failures = rateLimit(limits.requestsPerMinute, () => performance.now());
  const routes = `${basePath}/*`;
  const { telemetry } = countersign[registryInside];
  if (telemetry) app.use(routes, (c, next) => withinCaller(telemetry.opentelemetry, c.req.raw.headers, next));
  for (const path of [routes, '/healthz', '/readyz']) {
    app.use(path, requestLog(logger));
    app.use(path, secureHeaders());
    app.use(path, async (c, next) => {
      await next();
      if (!c.res.headers.has('cache-control')) c.res.headers.set('cache-control', 'no-store');
    });
    if (auth === undefined) app.use(path, loopbackOnly());
  }
  if (allowed) {
    const { origin, credentials = false } = allowed;
    const maxAge = 600;
    app.use(routes, cors({ origin: typeof origin === 'string' ? origin : [...origin], credentials, maxAge }));
  }
  app.use(routes, async (c, next) => {
    if (state.isClosing) {
      throw new CountersignError('server-closing', 'This server is closing.', { retryAfter: 1 });
    }
    if (auth) {
      const identity = checkedIdentity(await auth.authenticate(c.req.raw));
      if (identity === undefined) {
        failures.take(peerOf(c) ?? '');
        throw new CountersignError('unauthenticated', 'It is not known who you are.', {
          expected: 'what this server authenticates by, for instance authorization: Bearer <token>',
        });
      }
      c.set('identity', identity);
    }
    rate.take(countedAs(c));
    await next();
  });
  const limited = bodyLimit({
    maxSize: limits.bodyBytes,
    onError: () => {
      throw new CountersignError('too-large', 'The body is too large.', {
        expected: `at most ${limits.bodyBytes} bytes`,
      });
    },
  });
  app.use(routes, async (c, next) => {
    // It reads a body that does not say how long it is.
    await limited(c, async () => {}).catch((error: unknown) => {
      throw isCountersignError(error) ? error : cutOff();
    });
    await next();
  });
}
