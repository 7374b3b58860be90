/** The attacked process: a server on a SQLite file, whose tools write what they do into a database of their own. */
import { subscribe } from 'node:diagnostics_channel';
import type { Server } from 'node:http';
import { z } from 'zod';
import { Agent, Countersign, createTool, Memory } from '../../src/index.ts';
import { bearerTokens, createServer, jwt, serve } from '../../src/server/index.ts';
import { SQLiteStore } from '../../src/store/sqlite.ts';
import { type ScriptedCall, scriptedModel } from '../../src/testing/scripted-model.ts';
import { openEffects } from '../race/effects.ts';
import { type Footprint, people, type Question, type Told, tokenOf, type VictimOptions } from './world.ts';

const options = JSON.parse(process.argv[2] ?? '') as VictimOptions;
const tell = (message: Told): void => void process.send?.(message);

const effects = openEffects(options.effects);
const inputSchema = z.object({ what: z.string() });
const doing = (id: string) => ({
  id,
  inputSchema,
  execute: async (input: { what: string }, { runId, toolCallId }: { runId: string; toolCallId: string }) => {
    effects.add({ runId, toolCallId, args: JSON.stringify({ id, ...input }) });
    return { did: input.what };
  },
});
const book = createTool({
  id: 'book',
  inputSchema,
  resumeSchema: z.object({ seats: z.number() }),
  execute: async ({ what }, { runId, toolCallId, agent: { resumeData, suspend } }) => {
    if (!resumeData) return suspend({ question: `How many seats for ${what}?` });
    effects.add({ runId, toolCallId, args: JSON.stringify({ id: 'book', what, ...resumeData }) });
    return { booked: what };
  },
});
const tools = {
  delete: createTool({ ...doing('delete'), requireApproval: true }),
  pay: createTool({ ...doing('pay'), requireApproval: true, approver: 'reviewer' }),
  look: createTool(doing('look')),
  book,
  /** Carried out by who asks: without `execute`. */
  sign: createTool({ id: 'sign', inputSchema, requireApproval: true, approver: 'reviewer' }),
};

let gate = Promise.withResolvers<void>();

/** The last user's words say what is asked for: `delete a and pay b`, `clerk pay a`, `wait`, `pour 4` (MB of text). */
const model = scriptedModel((prompt) => {
  const last = prompt.at(-1);
  if (last?.role !== 'user') return 'Done.';
  const [part] = last.content;
  const text = part?.type === 'text' ? part.text : '';
  if (text === 'wait') return { text: 'There.', delayUntil: gate.promise };
  const megabytes = Number(/^pour (\d+)$/.exec(text)?.[1] ?? 0);
  if (megabytes > 0) return { text: 'x'.repeat(megabytes * 1024 * 1024), delayUntil: gate.promise };
  const order = /^clerk (.*)$/.exec(text)?.[1];
  if (order) return { calls: [{ toolName: 'agent-clerk', args: { prompt: order } }] };
  const calls: ScriptedCall[] = text.split(' and ').flatMap((words) => {
    const [toolName = '', what] = words.split(' ');
    return what && Object.hasOwn(tools, toolName) ? [{ toolName, args: { what } }] : [];
  });
  return calls.length > 0 ? { calls } : 'Hello.';
});

const clerk = new Agent({ id: 'clerk', description: 'Does what it is told', model, tools });
const agents = {
  desk: new Agent({ id: 'desk', model, tools }),
  chat: new Agent({ id: 'chat', model, tools, memory: new Memory() }),
  lead: new Agent({ id: 'lead', model, agents: { clerk } }),
  other: new Agent({ id: 'other', model }),
};
const storage = new SQLiteStore({ path: options.database });
const countersign = new Countersign({ agents, storage });
countersign.start();

const tokens = Object.entries(people).map(([who, identity]) => [tokenOf(who as never), identity]);
const { auth = 'tokens' } = options;
const authenticate =
  typeof auth === 'object'
    ? jwt({
        ...auth,
        audience: 'desk',
        identityOf: ({ sub, roles }) => ({
          id: sub ?? '',
          resourceId: sub ?? '',
          ...(roles ? { roles: roles as string[] } : {}),
        }),
      })
    : bearerTokens(Object.fromEntries(tokens));
const app = createServer({
  countersign: countersign as unknown as Countersign,
  ...(auth === 'none' ? {} : { auth: { authenticate } }),
  limits: options.limits,
  accept: options.accept,
  ...(options.cors ? { cors: { origin: options.cors, credentials: true } } : {}),
});

let http: Server | undefined;
subscribe('http.server.request.start', (message) => {
  http = (message as { server: Server }).server;
});
const server = await serve(app, { port: 0 });

async function footprint(): Promise<Footprint> {
  // What was asked stays in the scripted model, which is no part of what is looked at.
  (model.calls as unknown[]).length = 0;
  for (let time = 0; time < 3; time++) {
    await new Promise((resolve) => setImmediate(resolve));
    globalThis.gc?.();
  }
  const { heapUsed, external } = process.memoryUsage();
  return { heap: heapUsed, outside: external };
}

function polluted(): string[] {
  const keys: string[] = [];
  for (const key in {}) keys.push(key);
  return keys;
}

async function answerTo(question: Question): Promise<unknown> {
  switch (question.ask) {
    case 'memory':
      return footprint();
    case 'polluted':
      return polluted();
    case 'timeouts':
      return { headers: http?.headersTimeout, request: http?.requestTimeout };
    case 'prompts':
      return (model.calls as unknown as { prompt: unknown }[]).splice(0).map(({ prompt }) => prompt);
    case 'answer':
      gate.resolve();
      gate = Promise.withResolvers<void>();
      return undefined;
    case 'stop':
      await server.close({ within: 2000 });
      await storage.close();
      effects.close();
      setImmediate(() => process.disconnect?.());
      return undefined;
  }
}

process.on('message', ({ number, ...question }: Question & { number: number }) => {
  void answerTo(question as Question).then((answer) => tell({ told: 'answer', number, answer }));
});
process.on('disconnect', () => process.exit(0));
tell({ told: 'ready', port: server.port });
