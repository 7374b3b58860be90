/** Approvals over all agents, and the events of a run. */
import type { Context, Hono } from 'hono';
import { inPlace, streamed } from './agent-routes.ts';
import { agentMissing, answerApproval, verbs } from './answer-approval.ts';
import { approvalEvents, eventsFields } from './approval-events.ts';
import { approvalsFields, listApprovals, readApproval } from './approvals.ts';
import { bodyOf, queryOf } from './body.ts';
import type { Verb } from './decide.ts';
import { decisionsFields, readDecisions } from './decisions.ts';
import { described } from './describe.ts';
import type { ServerEnv } from './env.ts';
import { digits, type Fields } from './field.ts';
import { findRun } from './found-run.ts';
import type { ServerParts } from './parts.ts';
import { eventResponse } from './sse.ts';

const path = ['runId', 'toolCallId'];
const observeFields: Fields = { afterEvent: digits };

export function approvalRoutes(app: Hono<ServerEnv>, parts: ServerParts): void {
  const { basePath } = parts;
  const call = (c: Context<ServerEnv>) => ({
    runId: c.req.param('runId') ?? '',
    toolCallId: c.req.param('toolCallId') ?? '',
  });

  app.get(
    `${basePath}/approvals`,
    described({
      summary: 'What waits for a person, over all agents',
      tag: 'approvals',
      query: approvalsFields,
      answer: 'Approvals',
      errors: ['forbidden', 'invalid-option'],
    }),
    async (c) => c.json(await listApprovals(parts, c.get('identity'), queryOf(c, approvalsFields))),
  );
  app.get(
    `${basePath}/approvals/events`,
    described({
      summary: 'What happens to calls that wait, as it happens; goes on after the header Last-Event-ID',
      tag: 'approvals',
      query: eventsFields,
      answer: 'feed',
      errors: ['forbidden', 'invalid-option'],
    }),
    (c) =>
      inPlace(parts, c, async (leave) => {
        const { lastEventId = c.req.header('last-event-id'), ...filter } = queryOf(c, eventsFields);
        const asked = lastEventId === undefined ? filter : { ...filter, lastEventId };
        return eventResponse(await approvalEvents(parts, c.get('identity'), asked), leave);
      }),
  );
  app.get(
    `${basePath}/decisions`,
    described({
      summary: 'The record of decisions',
      tag: 'approvals',
      query: decisionsFields,
      answer: 'Decisions',
      errors: ['forbidden', 'invalid-option'],
    }),
    async (c) => c.json(await readDecisions(parts, c.get('identity'), queryOf(c, decisionsFields))),
  );
  app.get(
    `${basePath}/approvals/:runId/:toolCallId`,
    described({
      summary: 'A call as it stands, with its decisions',
      tag: 'approvals',
      path,
      answer: 'Approval',
      errors: ['call-not-found', 'run-not-found'],
    }),
    async (c) => c.json(await readApproval(parts, c.get('identity'), call(c))),
  );
  for (const verb of Object.keys(verbs) as Verb[]) {
    const { summary, fields, errors } = verbs[verb];
    app.post(
      `${basePath}/approvals/:runId/:toolCallId/${verb}`,
      described({
        summary,
        tag: 'approvals',
        path,
        body: fields,
        answer: 'Recorded',
        status: 202,
        errors,
      }),
      async (c) => {
        const body = await bodyOf(c, fields);
        return c.json(await answerApproval(parts, c.get('identity'), call(c), verb, body), 202);
      },
    );
  }

  app.get(
    `${basePath}/runs/:runId/events`,
    described({
      summary: 'Follows a run from its beginning, or after an event, until it waits or ends',
      tag: 'runs',
      path: ['runId'],
      query: observeFields,
      answer: 'events',
      errors: ['agent-missing', 'run-not-found'],
    }),
    (c) =>
      streamed(parts, c, async () => {
        const { afterEvent } = queryOf(c, observeFields);
        const { facts } = await findRun(parts, c.get('identity'), c.req.param('runId'));
        const agent = parts.agents.get(facts.agentId);
        if (agent === undefined) throw agentMissing(facts);
        return agent.observe({
          runId: facts.runId,
          ...(afterEvent === undefined ? {} : { afterEvent: Number(afterEvent) }),
        });
      }),
  );
}
