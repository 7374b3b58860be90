/** What the server logs: who asked for what, and what came of it. Never a body, an argument or a token. */
import type { MiddlewareHandler } from 'hono';
import { routePath } from 'hono/route';
import { pino } from 'pino';
import type { Agent } from '../agent/agent.ts';
import { subAgent } from '../agent/types.ts';
import { messageOf } from '../core/errors.ts';
import { heldBy, heldTools } from './agent-card.ts';
import type { ServerEnv } from './env.ts';

/** A pino logger, or anything that takes `(facts, message)`. */
export interface ServerLogger {
  info(facts: object, message: string): void;
  warn(facts: object, message: string): void;
  error(facts: object, message: string): void;
}

const silent: ServerLogger = { info: () => {}, warn: () => {}, error: () => {} };

/** @param given `false` for none; left out, JSON lines on standard output. */
export function loggerOf(given: ServerLogger | false | undefined): ServerLogger {
  return given === false ? silent : (given ?? pino({ name: 'countersign' }));
}

/** Logs what went wrong, in a form that every logger writes out: text. */
export function logError(logger: ServerLogger, error: unknown, message: string, facts: object = {}): void {
  const { stack, cause } = error instanceof Error ? error : new Error(messageOf(error));
  logger.error({ ...facts, error: stack, ...(cause ? { cause: messageOf(cause) } : {}) }, message);
}

export function requestLog(logger: ServerLogger): MiddlewareHandler<ServerEnv> {
  return async (c, next) => {
    const began = performance.now();
    await next();
    const { status } = c.res;
    const facts = {
      method: c.req.method,
      route: routePath(c, -1),
      status,
      ms: Math.round(performance.now() - began),
      by: c.get('identity')?.id,
      runId: c.req.param('runId'),
    };
    if (status >= 500) logger.error(facts, 'request failed');
    else logger.info(facts, 'request');
  };
}

/** Says at start which tools are held, and who may approve them. @param agents with all below them. */
export function logHeldTools(agents: Iterable<Agent>, logger: ServerLogger): void {
  for (const agent of agents) {
    const agentId = agent.id;
    const { config, defaultOptions } = agent[subAgent];
    for (const tool of heldTools(agent)) logger.info({ agentId, ...tool }, 'held tool');
    const held = heldBy(defaultOptions.requireToolApproval);
    if (held && config.agents)
      logger.info({ agentId, held }, 'delegations are held, and what agents below call');
    for (const what of ['tools', 'agents'] as const) {
      if (typeof config[what] === 'function') {
        logger.info({ agentId }, `further ${what} are chosen for each request`);
      }
    }
  }
}
