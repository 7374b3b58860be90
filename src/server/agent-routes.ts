/** The routes of the specification: agents, their runs, and decisions on them. */
import type { Context, Hono } from 'hono';
import type { Agent } from '../agent/agent.ts';
import type { MessagesInput } from '../agent/types.ts';
import { CountersignError } from '../core/errors.ts';
import type { AgentOutput } from '../stream/output.ts';
import { agentCard } from './agent-card.ts';
import { bodyOf, queryOf } from './body.ts';
import { decisionFields, decisionOf, resumeFields } from './decide.ts';
import { described } from './describe.ts';
import type { ServerEnv } from './env.ts';
import type { ServerParts } from './parts.ts';
import { problemOf } from './problem.ts';
import { sendApproval, sendFields } from './send-approval.ts';
import { eventStream, type Told } from './sse.ts';
import { startFields, startOptions } from './start-options.ts';
import { listFields, suspendedRuns } from './suspended-runs.ts';

type Ctx = Context<ServerEnv>;

export function agentRoutes(app: Hono<ServerEnv>, parts: ServerParts): void {
  const { countersign, basePath, accept } = parts;
  const at = (path: string): string => `${basePath}/agents${path}`;
  const agentOf = (c: Ctx): Agent => countersign.getAgent(c.req.param('agentId') ?? '');
  const path = ['agentId'];

  app.get(at(''), described({ summary: 'The agents of this server', tag: 'agents' }), (c) => {
    const cards = Object.entries(countersign.agents).map(([key, agent]) => [key, agentCard(agent)]);
    return c.json(Object.fromEntries(cards));
  });
  app.get(at('/:agentId'), described({ summary: 'An agent', tag: 'agents', path }), (c) =>
    c.json(agentCard(agentOf(c))),
  );

  const starts = startFields(accept);
  const started = async (c: Ctx) => {
    const agent = servedAgent(parts, c);
    const body = await bodyOf(c, starts);
    const options = startOptions(parts, agent, c.get('identity'), body);
    return { agent, messages: body.messages as MessagesInput, options };
  };
  app.post(
    at('/:agentId/stream'),
    described({ summary: 'Begins a run', tag: 'agents', path, body: starts, answer: 'events' }),
    (c) =>
      streamed(parts, c, async () => {
        const { agent, messages, options } = await started(c);
        return agent.stream(messages, options);
      }),
  );
  app.post(
    at('/:agentId/generate'),
    described({
      summary: 'Begins a run, and answers when it waits or ends',
      tag: 'agents',
      path,
      body: starts,
    }),
    async (c) => {
      const { agent, messages, options } = await started(c);
      return outputJson(await agent.generate(messages, options));
    },
  );

  for (const verdict of ['approve', 'decline'] as const) {
    const summary = verdict === 'approve' ? 'Approves a held call' : 'Declines a held or suspended call';
    const decision = async (c: Ctx) => {
      const agent = agentOf(c);
      const body = await bodyOf(c, decisionFields);
      return { agent, options: await decisionOf(parts, agent, c.get('identity'), body, 'decide') };
    };
    app.post(
      at(`/:agentId/${verdict}-tool-call`),
      described({ summary, tag: 'agents', path, body: decisionFields, answer: 'events' }),
      (c) =>
        streamed(parts, c, async () => {
          const { agent, options } = await decision(c);
          return agent[`${verdict}ToolCall`](options);
        }),
    );
    app.post(
      at(`/:agentId/${verdict}-tool-call-generate`),
      described({
        summary: `${summary}, and answers when the run waits or ends`,
        tag: 'agents',
        path,
        body: decisionFields,
      }),
      async (c) => {
        const { agent, options } = await decision(c);
        return outputJson(await agent[`${verdict}ToolCallGenerate`](options));
      },
    );
  }

  app.post(
    at('/:agentId/resume-stream'),
    described({
      summary: 'Resumes a call that suspended itself, with data',
      tag: 'agents',
      path,
      body: resumeFields,
      answer: 'events',
    }),
    (c) =>
      streamed(parts, c, async () => {
        const agent = agentOf(c);
        const body = await bodyOf(c, resumeFields);
        const options = await decisionOf(parts, agent, c.get('identity'), body, 'resume');
        return agent.resumeStream(body.resumeData, options);
      }),
  );

  app.post(
    at('/:agentId/send-tool-approval'),
    described({ summary: 'Decides by conversation', tag: 'agents', path, body: sendFields }),
    async (c) => {
      const agent = agentOf(c);
      return c.json(await sendApproval(parts, agent, c.get('identity'), await bodyOf(c, sendFields)));
    },
  );

  app.get(
    at('/:agentId/suspended-runs'),
    described({ summary: "The agent's runs that wait", tag: 'agents', path, query: listFields }),
    async (c) => c.json(await suspendedRuns(parts, agentOf(c), c.get('identity'), queryOf(c, listFields))),
  );
}

/** The agent that a run is begun with. @throws `agent-not-found`. */
export function servedAgent({ countersign }: ServerParts, c: Ctx): Agent {
  const agent = countersign.getAgent(c.req.param('agentId') ?? '');
  // Run by itself, an agent below would be without what the agents above it hold.
  if (Object.values(countersign.agents).includes(agent)) return agent;
  throw new CountersignError('agent-not-found', `The agent "${agent.id}" is only there for others.`, {
    agentId: agent.id,
    expected: 'an agent that the registry itself names',
  });
}

/** The key under which an identity's requests and streams are counted. */
export function countedAs(c: Ctx): string {
  return c.get('identity')?.id ?? '';
}

/** Answers with a leg, in one of the identity's places for streams. */
export async function streamed(
  { streams, logger }: ServerParts,
  c: Ctx,
  begin: () => Promise<Told>,
): Promise<Response> {
  const leave = streams.take(countedAs(c));
  try {
    return eventStream(await begin(), leave, (message) => logger.warn({}, message));
  } catch (error) {
    leave();
    throw error;
  }
}

function outputJson(output: AgentOutput): Response {
  return Response.json(output.error ? { ...output, error: problemOf(output.error) } : output);
}
