/** What is asked of a run as a whole: to go on where it is stalled, or to end. */
import type { Hono } from 'hono';
import type { Agent } from '../agent/agent.ts';
import { agentMissing } from './answer-approval.ts';
import { bodyOf } from './body.ts';
import { described } from './describe.ts';
import type { ServerEnv } from './env.ts';
import { type Fields, text } from './field.ts';
import { checkMayMove, findRun } from './found-run.ts';
import { type Identity, personOf } from './identity.ts';
import type { ServerParts } from './parts.ts';

const path = ['runId'];
const cancelFields: Fields = { reason: text };
const errors = ['agent-missing', 'forbidden', 'run-ended', 'run-not-found'] as const;

export function runRoutes(app: Hono<ServerEnv>, parts: ServerParts): void {
  const at = (verb: string): `${string}/:runId/${string}` => `${parts.basePath}/runs/:runId/${verb}`;

  app.post(
    at('continue'),
    described({
      summary: 'Tries the failed model call of a stalled run again',
      tag: 'runs',
      path,
      body: {},
      answer: 'Accepted',
      status: 202,
      errors: [...errors, 'run-not-stalled'],
    }),
    async (c) => {
      await bodyOf(c, {});
      const { runId, agent, by } = await movable(parts, c.get('identity'), c.req.param('runId'));
      await agent.continueRun({ runId, ...by });
      return c.json({ accepted: true, runId }, 202);
    },
  );
  app.post(
    at('cancel'),
    described({
      summary: 'Ends a run: what waits is cancelled, what runs is told so and awaited',
      tag: 'runs',
      path,
      body: cancelFields,
      answer: 'Cancelled',
      errors,
    }),
    async (c) => {
      const { reason } = (await bodyOf(c, cancelFields)) as { reason?: string };
      const { runId, agent, by } = await movable(parts, c.get('identity'), c.req.param('runId'));
      return c.json(await agent.cancelRun({ runId, ...(reason === undefined ? {} : { reason }), ...by }));
    },
  );
}

/**
 * A run that this identity may move or end.
 * @throws `run-not-found`, `forbidden` for who may only see it, `agent-missing`.
 */
async function movable(parts: ServerParts, identity: Identity | undefined, id: string) {
  const { facts } = await findRun(parts, identity, id);
  const { runId, agentId } = facts;
  checkMayMove(parts, identity, facts);
  const agent: Agent | undefined = parts.agents.get(agentId);
  if (agent === undefined) throw agentMissing(facts);
  return { runId, agent, by: personOf(identity) };
}
