/** For each operation of the OpenAPI document: what must be there, and a request that succeeds. */
import { z } from 'zod';
import { createTool } from '../../agent/create-tool.ts';
import { Memory } from '../../agent/memory.ts';
import { interruptedDesk, stalledDesk } from './broken-desks.ts';
import { type Desk, openDesk, type Plan, type Who } from './desk.ts';

export interface Sample {
  readonly desk: Desk;
  readonly who: Who;
  readonly url: string;
  readonly body?: unknown;
  /** Lets go on what the answer waits for. */
  readonly release?: () => void;
}

type Start = (desk: Desk) => Promise<Omit<Sample, 'who' | 'desk'> & { readonly who?: Who }>;

const messages = 'delete a';

const held = async (desk: Desk) => {
  const { runId, toolCallId, stop, fingerprint } = await desk.hold('ada', messages);
  return { runId, toolCallId, stop, fingerprint };
};
const asking = async (desk: Desk) => {
  const { runId, toolCallId, stop } = await desk.hold('ada', 'book a');
  return { runId, toolCallId, stop };
};

const decided =
  (verb: string): Start =>
  async (desk) => {
    const { stop: _, ...body } = await held(desk);
    return { url: `/api/agents/desk/${verb}`, body: { ...body, reason: 'Because.', decisionId: 'd-1' } };
  };

const judged =
  (verb: string): Start =>
  async (desk) => {
    const { runId, toolCallId, stop, fingerprint } = await held(desk);
    return {
      url: `/api/approvals/${runId}/${toolCallId}/${verb}`,
      body: { stop, fingerprint, reason: 'Because.' },
    };
  };

const thread = async (desk: Desk): Promise<string> => {
  const memory = { thread: { id: 't-1', title: 'A talk', metadata: { color: 'red' } } };
  await desk.post('ada', '/api/agents/chat/generate', { messages: 'Hi', memory });
  return '/api/memory/threads/t-1';
};

const samples: Readonly<Record<string, Start>> = {
  'get /healthz': async () => ({ url: '/healthz' }),
  'get /readyz': async () => ({ url: '/readyz' }),
  'get /api/agents': async () => ({ url: '/api/agents' }),
  'get /api/agents/{agentId}': async () => ({ url: '/api/agents/desk' }),
  'post /api/agents/{agentId}/stream': async () => ({ url: '/api/agents/desk/stream', body: { messages } }),
  'post /api/agents/{agentId}/generate': async () => ({
    url: '/api/agents/desk/generate',
    body: { messages, maxSteps: 3, requireToolApproval: true, memory: { thread: 't' } },
  }),
  'post /api/agents/{agentId}/approve-tool-call': decided('approve-tool-call'),
  'post /api/agents/{agentId}/approve-tool-call-generate': decided('approve-tool-call-generate'),
  'post /api/agents/{agentId}/decline-tool-call': decided('decline-tool-call'),
  'post /api/agents/{agentId}/decline-tool-call-generate': decided('decline-tool-call-generate'),
  'post /api/agents/{agentId}/resume-stream': async (desk) => ({
    url: '/api/agents/desk/resume-stream',
    body: { ...(await asking(desk)), resumeData: { seats: 2 } },
  }),
  'post /api/agents/{agentId}/send-tool-approval': async (desk) => {
    const memory = { thread: 't-1' };
    const { body } = await desk.post('ada', '/api/agents/chat/generate', { messages, memory });
    const { toolCallId } = body.suspendPayload;
    return {
      url: '/api/agents/chat/send-tool-approval',
      body: { threadId: 't-1', resourceId: 'ada', toolCallId, approved: true },
    };
  },
  'post /api/agents/{agentId}/chat': async () => ({
    url: '/api/agents/chat/chat',
    body: {
      id: 't-1',
      trigger: 'submit-message',
      messages: [{ id: 'm-1', role: 'user', parts: [{ type: 'text', text: messages }] }],
    },
  }),
  'get /api/agents/{agentId}/suspended-runs': async (desk) => {
    await asking(desk);
    await held(desk);
    return { url: '/api/agents/desk/suspended-runs?perPage=1&status=all' };
  },
  'get /api/approvals': async (desk) => {
    await asking(desk);
    await held(desk);
    return { who: 'rita', url: '/api/approvals?perPage=1' };
  },
  'get /api/approvals/{runId}/{toolCallId}': async (desk) => {
    const { runId, toolCallId } = await asking(desk);
    return { url: `/api/approvals/${runId}/${toolCallId}` };
  },
  'post /api/approvals/{runId}/{toolCallId}/approve': judged('approve'),
  'post /api/approvals/{runId}/{toolCallId}/decline': judged('decline'),
  'post /api/approvals/{runId}/{toolCallId}/resume': async (desk) => {
    const { runId, toolCallId, stop } = await asking(desk);
    return { url: `/api/approvals/${runId}/${toolCallId}/resume`, body: { stop, data: { seats: 2 } } };
  },
  'get /api/runs/{runId}/events': async (desk) => ({
    url: `/api/runs/${(await held(desk)).runId}/events?afterEvent=1`,
  }),
  'post /api/runs/{runId}/cancel': async (desk) => ({
    url: `/api/runs/${(await held(desk)).runId}/cancel`,
    body: { reason: 'Never mind.' },
  }),
  'get /api/memory/threads': async (desk) => {
    await thread(desk);
    return { url: '/api/memory/threads?perPage=1' };
  },
  'get /api/memory/threads/{threadId}': async (desk) => ({ url: await thread(desk) }),
  'get /api/memory/threads/{threadId}/messages': async (desk) => ({ url: `${await thread(desk)}/messages` }),
};

/** Those that begin on a desk on which something went wrong. */
const samplesAfter: Readonly<Record<string, (plan: Plan) => Promise<Omit<Sample, 'who'>>>> = {
  'post /api/approvals/{runId}/{toolCallId}/resolve': async (plan) => {
    const { desk, held: call } = await interruptedDesk(plan);
    const { body } = await desk.get('ada', '/api/approvals?status=interrupted');
    const { stop } = body.approvals[0];
    return {
      desk,
      url: `/api/approvals/${call.runId}/${call.toolCallId}/resolve`,
      body: { stop, output: { did: 'a' } },
    };
  },
  'get /api/agents/{agentId}/chat/{threadId}/stream': async (plan) => {
    const inside = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    const look = createTool({
      id: 'look',
      inputSchema: z.object({ what: z.string() }),
      execute: async () => {
        inside.resolve();
        await gate.promise;
        return 'seen';
      },
    });
    const desk = openDesk({ ...plan, agent: { memory: new Memory(), tools: { look } } });
    const parts = [{ type: 'text', text: 'look a' }];
    void desk.events('ada', '/api/agents/desk/chat', {
      id: 't-1',
      messages: [{ id: 'm', role: 'user', parts }],
    });
    await inside.promise;
    return { desk, url: '/api/agents/desk/chat/t-1/stream', release: gate.resolve };
  },
  'post /api/runs/{runId}/continue': async (plan) => {
    const { desk, runId } = await stalledDesk(plan);
    return { desk, url: `/api/runs/${runId}/continue`, body: {} };
  },
};

/** @throws for an operation that is not in the tables. */
export async function startSample(name: string, plan: Plan = {}): Promise<Sample> {
  const [start, startAfter] = [samples[name], samplesAfter[name]];
  if (startAfter) return { who: 'ada', ...(await startAfter(plan)) };
  if (start === undefined) throw new Error(`There is no sample of a request for "${name}".`);
  const desk = openDesk(plan);
  return { desk, who: 'ada', ...(await start(desk)) };
}
