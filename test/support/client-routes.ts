/** Every way in which a decision comes by our client. */
import type { CountersignClient, CountersignClientError } from 'countersign/client';
import { clientsOf } from '../../src/client/test-support/clients.ts';
import type { Answer, Desk, Who } from '../../src/server/test-support/desk.ts';
import { idsOf, type Route } from './http-routes.ts';

/** What a client was answered, or threw, as an answer. */
async function answerOf(asked: Promise<object>): Promise<Answer> {
  const headers = new Headers();
  return asked.then(
    (body) => ({ status: 200, headers, body }),
    (error: CountersignClientError) => ({ status: error.status, headers, body: error.toJSON() }),
  );
}

const clients = new WeakMap<Desk, ReturnType<typeof clientsOf>>();
async function clientOf(desk: Desk, who: Who | undefined): Promise<CountersignClient> {
  const served = clients.get(desk) ?? clientsOf(desk);
  clients.set(desk, served);
  return (await served).clientOf(who);
}

const byClientOfAgents: Route = {
  name: 'the client of an agent',
  async decide(desk, who, call, verb, more = {}) {
    const agent = (await clientOf(desk, who)).getAgent('desk');
    const { data, ...others } = more as { data?: unknown };
    if (verb !== 'resume') return answerOf(agent[`${verb}ToolCallGenerate`]({ ...idsOf(call), ...more }));
    const read = async () => (await agent.resumeStream(data, { ...idsOf(call), ...others })).text();
    return answerOf(read().then(() => ({})));
  },
};

const byClientOfApprovals: Route = {
  name: 'the client of approvals',
  async decide(desk, who, call, verb, more = {}) {
    const { approvals } = await clientOf(desk, who);
    const answer = await answerOf(approvals[verb]({ stop: 1, ...idsOf(call), ...more } as never));
    await desk.countersign.stop();
    return answer;
  },
};

export const clientRoutes: readonly Route[] = [byClientOfAgents, byClientOfApprovals];
