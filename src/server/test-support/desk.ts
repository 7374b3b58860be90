/** A server over one desk agent, with people who ask it. */
import { z } from 'zod';
import { Agent } from '../../agent/agent.ts';
import { Countersign, type CountersignConfig } from '../../agent/countersign.ts';
import { createTool } from '../../agent/create-tool.ts';
import { Memory } from '../../agent/memory.ts';
import type { AgentConfig } from '../../agent/types.ts';
import type { Tool } from '../../core/tool.ts';
import { InMemoryStore } from '../../store/memory.ts';
import { type ScriptedCall, type ScriptedModel, scriptedModel } from '../../testing/scripted-model.ts';
import { bearerTokens } from '../bearer-tokens.ts';
import { type CountersignServer, createServer, type ServerConfig } from '../create-server.ts';
import type { Identity } from '../identity.ts';

export const people = {
  ada: { id: 'ada', name: 'Ada', resourceId: 'ada' },
  ben: { id: 'ben', resourceId: 'ben' },
  rita: { id: 'rita', roles: ['reviewer'] },
  /** A reviewer with runs of her own. */
  cleo: { id: 'cleo', roles: ['reviewer'], resourceId: 'ada' },
  nobody: { id: 'nobody' },
} as const satisfies Record<string, Identity>;

export type Who = keyof typeof people;

export interface Chunk {
  readonly type: string;
  readonly runId: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read payloads of every kind
  readonly payload: any;
}

export interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests read bodies of every kind
  readonly body: any;
  readonly headers: Headers;
}

export interface Desk {
  readonly app: CountersignServer;
  readonly countersign: Countersign;
  readonly model: ScriptedModel;
  readonly tools: Readonly<Record<'delete' | 'pay' | 'look' | 'book', Tool>>;
  /** What tools did, in order. */
  readonly done: string[];
  readonly logged: { readonly level: string; readonly facts: object; readonly message: string }[];
  get(who: Who | undefined, path: string): Promise<Answer>;
  post(who: Who | undefined, path: string, body: unknown): Promise<Answer>;
  /** Posts, and reads the events to their end. */
  events(who: Who | undefined, path: string, body: unknown): Promise<Chunk[]>;
  /** Begins a run that is held or suspended; its first stop's payload with the run's id. */
  hold(who: Who | undefined, message: string): Promise<Chunk['payload'] & { runId: string }>;
}

/** Asks for what the message says: `delete a`, `pay b`, `book c`, several joined by `and`; else it talks. */
function callsIn(message: string): ScriptedCall[] {
  return message.split(' and ').flatMap((part) => {
    const [toolName, what] = part.split(' ');
    return what && ['delete', 'pay', 'book', 'look'].includes(toolName ?? '')
      ? [{ toolName: toolName as string, args: { what } }]
      : [];
  });
}

export interface Plan {
  readonly server?: Partial<ServerConfig>;
  readonly agent?: Partial<AgentConfig>;
  readonly registry?: Partial<CountersignConfig>;
  /** Left out: the people by their names as tokens. `false`: none. */
  readonly auth?: ServerConfig['auth'] | false;
}

export function openDesk({ server = {}, agent = {}, registry = {}, auth }: Plan = {}): Desk {
  const done: string[] = [];
  const logged: Desk['logged'] = [];
  const note =
    (level: string) =>
    (facts: object, message: string): void => {
      logged.push({ level, facts, message });
    };
  const inputSchema = z.object({ what: z.string() });
  const doing = (id: string) => ({
    id,
    description: `Does ${id}`,
    inputSchema,
    execute: async ({ what }: { what: string }) => {
      done.push(`${id} ${what}`);
      return { did: what };
    },
  });
  const book = createTool({
    id: 'book',
    inputSchema,
    resumeSchema: z.object({ seats: z.number() }),
    execute: async ({ what }, { agent: { resumeData, suspend } }) => {
      if (!resumeData) return suspend({ question: `How many seats for ${what}?` });
      done.push(`book ${what} for ${resumeData.seats}`);
      return { booked: what };
    },
  });
  const model = scriptedModel((prompt) => {
    const last = prompt.at(-1);
    if (last?.role !== 'user') return 'Done.';
    const [part] = last.content;
    const calls = callsIn(part?.type === 'text' ? part.text : '');
    return calls.length > 0 ? { text: 'Let me. ', calls } : 'Hello.';
  });
  const tools = {
    delete: createTool({ ...doing('delete'), requireApproval: true }),
    pay: createTool({ ...doing('pay'), requireApproval: true, approver: 'reviewer' }),
    look: createTool(doing('look')),
    book,
  };
  const desk = new Agent({ id: 'desk', name: 'The desk', model, tools, ...agent });
  const other = new Agent({ id: 'other', model });
  const chat = new Agent({ id: 'chat', model, tools, memory: new Memory() });
  const countersign = new Countersign({
    agents: { desk, other, chat },
    storage: new InMemoryStore(),
    warn: () => {},
    ...registry,
  });
  const tokens = bearerTokens(people);
  const app = createServer({
    countersign: countersign as Countersign,
    ...(auth === false ? {} : { auth: auth ?? { authenticate: tokens } }),
    logger: { info: note('info'), warn: note('warn'), error: note('error') },
    ...server,
  });
  const headersOf = (who: Who | undefined) => (who ? { authorization: `Bearer ${who}` } : {});
  const answer = async (response: Response): Promise<Answer> => {
    const text = await response.text();
    return { status: response.status, body: text && JSON.parse(text), headers: response.headers };
  };
  const send = (who: Who | undefined, path: string, body: unknown): Promise<Response> =>
    Promise.resolve(
      app.request(path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headersOf(who) },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    );
  const events: Desk['events'] = async (who, path, body) => {
    const response = await send(who, path, body);
    if (response.status !== 200) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return eventsIn(await response.text());
  };
  return {
    app,
    countersign: countersign as Countersign,
    model,
    tools: tools as never,
    done,
    logged,
    get: async (who, path) => answer(await app.request(path, { headers: headersOf(who) })),
    post: async (who, path, body) => answer(await send(who, path, body)),
    events,
    async hold(who, message) {
      const chunks = await events(who, '/api/agents/desk/stream', { messages: message });
      const stop = chunks.find(({ type }) => /^tool-call-(approval|suspended)$/.test(type));
      if (stop === undefined) throw new Error(`Nothing waits: ${JSON.stringify(chunks)}`);
      return { ...stop.payload, runId: stop.runId };
    },
  };
}

/** The chunks of an answer, which must end with `[DONE]`. */
export function eventsIn(text: string): Chunk[] {
  const events = text.split('\n\n');
  const [done, empty] = events.slice(-2);
  if (done !== 'data: [DONE]' || empty !== '') throw new Error(`No end: ${text}`);
  return events.slice(0, -2).map((event) => {
    if (!event.startsWith('data: ')) throw new Error(`No event: ${event}`);
    return JSON.parse(event.slice('data: '.length));
  });
}
