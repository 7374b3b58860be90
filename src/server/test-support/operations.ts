/** The operations of the OpenAPI document, and for each a request that it takes. */
import { InMemoryStore } from '../../store/memory.ts';
import { crashStore } from '../../testing/crash-store.ts';
import { type Desk, openDesk, type Plan, type Who } from './desk.ts';
import { stalledDesk } from './stalled-desk.ts';

export interface Operation {
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly { readonly name: string; readonly in: 'path' | 'query' }[];
  readonly body: object | undefined;
  /** By status. */
  readonly responses: Readonly<Record<string, { readonly content?: Record<string, { schema: object }> }>>;
}

/** Values by name: each goes where the operation has it, into its path, query or body. */
export type Values = Readonly<Record<string, unknown>>;

// biome-ignore lint/suspicious/noExplicitAny: a document of any shape
export type Document = Record<string, any>;

/** The operations by `method path`. */
export function operationsOf({ paths }: Document): Readonly<Record<string, Operation>> {
  const all = Object.entries(paths as Record<string, Record<string, Document>>).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { parameters = [], requestBody, responses }]) => {
      const body = requestBody?.content['application/json'].schema;
      return [`${method} ${path}`, { method, path, parameters, body, responses }];
    }),
  );
  return Object.fromEntries(all);
}

export async function send(
  { app }: Desk,
  { method, path, parameters }: Operation,
  who: Who | undefined,
  values: Values,
): Promise<{ readonly status: number; readonly type: string; readonly text: string }> {
  const left = { ...values };
  const take = (name: string): string => {
    const value = String(left[name]);
    delete left[name];
    return encodeURIComponent(value);
  };
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => take(name));
  const inQuery = parameters.filter((one) => one.in === 'query' && one.name in left);
  const query = inQuery.map(({ name }) => `${name}=${take(name)}`);
  if (method === 'get') query.push(...Object.keys(left).map((name) => `${name}=${take(name)}`));
  const response = await app.request(query.length > 0 ? `${filled}?${query.join('&')}` : filled, {
    method: method.toUpperCase(),
    headers: {
      ...(who ? { authorization: `Bearer ${who}` } : {}),
      ...(method === 'post' ? { 'content-type': 'application/json' } : {}),
    },
    ...(method === 'post' ? { body: JSON.stringify(left) } : {}),
  });
  const type = (response.headers.get('content-type') ?? '').split(';')[0] ?? '';
  return { status: response.status, type, text: await textOf(response, type) };
}

/** Of a stream without end: its first event. */
async function textOf(response: Response, type: string): Promise<string> {
  if (type !== 'text/event-stream' || response.body === null) return response.text();
  const decoder = new TextDecoder();
  let text = '';
  for await (const bytes of response.body) {
    text += decoder.decode(bytes, { stream: true });
    if (text.startsWith('id: ')) break;
  }
  return text;
}

export interface World {
  readonly desk: Desk;
  /** Begins a run whose process dies while its call runs. */
  interrupt(): Promise<{ readonly runId: string; readonly toolCallId: string }>;
  /** Has a run of Ada's whose model failed. */
  stall(): Promise<Values>;
  /** Another server on the same store. */
  another(plan: Plan): Desk;
}

export function openWorld(plan: Plan = {}): World {
  let now = 0;
  const storage = new InMemoryStore({ now: () => now });
  const another = ({ registry, ...more }: Plan): Desk =>
    openDesk({ ...more, registry: { storage, ...registry } });
  return {
    desk: another(plan),
    another,
    stall: async () => ({ runId: (await stalledDesk({}, another)).runId }),
    async interrupt() {
      const crashing = crashStore(storage);
      const dying = openDesk({ registry: { storage: crashing } });
      const { runId, toolCallId } = await dying.hold('ada', 'delete a');
      const died = Promise.withResolvers<void>();
      dying.done.push = () => {
        crashing.die();
        died.resolve();
        return 0;
      };
      void dying.post('ada', `/api/approvals/${runId}/${toolCallId}/approve`, { stop: 1 });
      await died.promise;
      now += 60_000;
      return { runId, toolCallId };
    },
  };
}

/** Begins what the operation is about, and says which request it then takes from Ada. */
type Prepared = (world: World, message?: string) => Promise<Values>;

const nothing: Prepared = async () => ({});
const agent: Prepared = async () => ({ agentId: 'desk' });
const begins: Prepared = async (_, message = 'delete a') => ({ agentId: 'desk', messages: message });

const call =
  (usual: string, more: object = {}): Prepared =>
  async ({ desk }, message = usual) => {
    const { runId, toolCallId } = await desk.hold('ada', message);
    return { runId, toolCallId, ...more };
  };

const ofAgent =
  (usual: string, more: object = {}): Prepared =>
  async (world, message) => ({ agentId: 'desk', ...(await call(usual, more)(world, message)) });

const conversation: Prepared = async ({ desk }, messages = 'delete a') => {
  const { body } = await desk.post('ada', '/api/agents/chat/generate', {
    messages,
    memory: { thread: 't-1' },
  });
  return { runId: body.runId, threadId: 't-1', toolCallId: body.suspendPayload?.toolCallId };
};

const bySender: Prepared = async (world, message) => {
  const { toolCallId } = await conversation(world, message);
  return { agentId: 'chat', threadId: 't-1', resourceId: 'ada', toolCallId, approved: true };
};

const thread: Prepared = async (world) => {
  const { threadId } = await conversation(world);
  return { threadId, agentId: 'chat' };
};

const saying = (text: string) => ({ id: 'm-1', role: 'user', parts: [{ type: 'text', text }] });
const seats = { resumeData: { seats: 2 } };
const stop = { stop: 1 };

export const goodRequests: Readonly<Record<string, Prepared>> = {
  'get /healthz': nothing,
  'get /readyz': nothing,
  'get /api/agents': nothing,
  'get /api/agents/{agentId}': agent,
  'post /api/agents/{agentId}/stream': begins,
  'post /api/agents/{agentId}/generate': begins,
  'post /api/agents/{agentId}/approve-tool-call': ofAgent('delete a'),
  'post /api/agents/{agentId}/approve-tool-call-generate': ofAgent('delete a'),
  'post /api/agents/{agentId}/decline-tool-call': ofAgent('delete a', { reason: 'no' }),
  'post /api/agents/{agentId}/decline-tool-call-generate': ofAgent('delete a', { reason: 'no' }),
  'post /api/agents/{agentId}/resume-stream': ofAgent('book a', seats),
  'post /api/agents/{agentId}/send-tool-approval': bySender,
  'get /api/agents/{agentId}/suspended-runs': async ({ desk }) => {
    await desk.hold('ada', 'delete a and book b');
    return { agentId: 'desk', status: 'all', perPage: 5 };
  },
  'get /api/approvals': async ({ desk }) => {
    await desk.hold('ada', 'delete a and pay b and book c');
    return { status: 'all', agentId: 'desk' };
  },
  'get /api/approvals/events': async () => ({ agentId: 'desk' }),
  'get /api/decisions': async (world) => {
    await call('delete a')(world);
    const { body } = await world.desk.get('ada', '/api/approvals');
    const [{ runId, toolCallId }] = body.approvals;
    const path = '/api/agents/desk/approve-tool-call-generate';
    await world.desk.post('ada', path, { runId, toolCallId, reason: 'fine' });
    return { agentId: 'desk', verdict: 'approve' };
  },
  'get /api/approvals/{runId}/{toolCallId}': call('delete a'),
  'post /api/approvals/{runId}/{toolCallId}/approve': call('delete a', stop),
  'post /api/approvals/{runId}/{toolCallId}/decline': call('delete a', { ...stop, reason: 'no' }),
  'post /api/approvals/{runId}/{toolCallId}/resume': call('book a', { ...stop, data: { seats: 2 } }),
  'post /api/approvals/{runId}/{toolCallId}/resolve': async (world, message) => {
    const more = { stop: message ? 1 : 2, output: { did: 'a' } };
    return { ...(message ? await call(message)(world) : await world.interrupt()), ...more };
  },
  'get /api/runs/{runId}/events': async ({ desk }) => ({ runId: (await desk.hold('ada', 'delete a')).runId }),
  'post /api/runs/{runId}/continue': (world) => world.stall(),
  'post /api/runs/{runId}/cancel': async ({ desk }) => ({
    runId: (await desk.hold('ada', 'delete a')).runId,
    reason: 'Never mind.',
  }),
  'post /api/agents/{agentId}/chat': async () => ({
    agentId: 'chat',
    id: 't-1',
    messages: [saying('delete a')],
  }),
  'get /api/agents/{agentId}/chat/{threadId}/stream': async ({ desk }) => {
    const [inside, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const { doStream } = desk.model;
    desk.model.doStream = async (asked) => {
      inside.resolve();
      await gate.promise;
      return doStream.call(desk.model, asked);
    };
    void desk.events('ada', '/api/agents/chat/chat', { id: 't-1', messages: [saying('Hi')] });
    await inside.promise;
    // It goes on as soon as somebody follows it.
    const { request } = desk.app;
    desk.app.request = async (...asked) => {
      const response = await request.apply(desk.app, asked);
      gate.resolve();
      return response;
    };
    return { agentId: 'chat', threadId: 't-1' };
  },
  'get /api/memory/threads': async (world) => {
    await conversation(world);
    return { agentId: 'chat', perPage: 5 };
  },
  'get /api/memory/threads/{threadId}': thread,
  'get /api/memory/threads/{threadId}/messages': thread,
};
