/** A server as its operator would set it up, on a SQLite file, with agents whose model answers by a script. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, Countersign, createTool, Memory } from 'countersign';
import { bearerTokens, createServer, type RunningServer, serve } from 'countersign/server';
import { SQLiteStore } from 'countersign/sqlite';
import { type ScriptedCall, scriptedModel } from 'countersign/testing';
import { z } from 'zod';

/** Their names are their tokens. */
const people = {
  ada: { id: 'ada', resourceId: 'ada' },
  ben: { id: 'ben', resourceId: 'ben' },
  rita: { id: 'rita', roles: ['reviewer'] },
};

export type Who = keyof typeof people;

export const headersOf = (who: Who): { authorization: string } => ({ authorization: `Bearer ${who}` });

export interface Desk {
  readonly url: string;
  /** What tools did, in order, over all restarts. */
  readonly done: string[];
  /** What the model was told last, as text. */
  readonly lastPrompt: () => string;
  /** Until the returned function is called the model does not answer. */
  pauseModel(): () => void;
  /** Closes the server and its store, and opens others on the same file at the same address. */
  restart(meanwhile?: () => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

/** @param origin of pages that may call the server. */
export async function openDesk({ origin }: { readonly origin?: string } = {}): Promise<Desk> {
  const directory = mkdtempSync(join(tmpdir(), 'countersign-compat-'));
  const done: string[] = [];
  const prompts: string[] = [];
  let mayAnswer: Promise<void> = Promise.resolve();

  const open = async (port: number) => {
    const storage = new SQLiteStore({ path: join(directory, 'desk.db') });
    const model = scriptedModel((prompt) => {
      prompts.push(JSON.stringify(prompt));
      const last = prompt.at(-1);
      const said = last?.role === 'user' ? last.content : [];
      const message = said.map((part) => (part.type === 'text' ? part.text : '')).join(' ');
      if (message.startsWith('fail')) return { error: new Error('The model is not well.') };
      const calls = callsIn(message);
      const text = last?.role === 'user' ? 'Hello.' : 'All done.';
      return { text: calls.length > 0 ? 'Let me see.' : text, calls, delayUntil: mayAnswer };
    });
    const lead = scriptedModel((prompt) => {
      const last = prompt.at(-1);
      const [said] = last?.role === 'user' ? last.content : [];
      if (said?.type !== 'text') return 'They did it.';
      return { calls: [{ toolName: 'agent-desk', args: { prompt: said.text } }] };
    });
    const tools = toolsThatSay((what) => done.push(what));
    const desk = new Agent({ id: 'desk', name: 'The desk', description: 'Does it.', model, tools });
    const agents = {
      desk,
      chat: new Agent({ id: 'chat', model, tools, memory: new Memory() }),
      /** Asks the desk. */
      lead: new Agent({ id: 'lead', model: lead, agents: { desk }, memory: new Memory() }),
    };
    const countersign = new Countersign({ agents, storage, warn: () => {} });
    const server = await serve(
      createServer({
        countersign,
        auth: { authenticate: bearerTokens(people) },
        logger: false,
        ...(origin ? { cors: { origin } } : {}),
      }),
      { port },
    );
    return { server, storage };
  };

  let now: { server: RunningServer; storage: SQLiteStore } = await open(0);
  const { url, port } = now.server;
  const closeNow = async (): Promise<void> => {
    await now.server.close({ within: 2000 });
    await now.storage.close();
  };
  return {
    url,
    done,
    lastPrompt: () => prompts.at(-1) ?? '',
    pauseModel() {
      const { promise, resolve } = Promise.withResolvers<void>();
      mayAnswer = promise;
      return resolve;
    },
    async restart(meanwhile) {
      await closeNow();
      await meanwhile?.();
      now = await open(port);
      await answers(`${url}/healthz`);
    },
    async close() {
      await closeNow();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** Clients keep connections, and may try one that the server before has closed: not the tests' matter. */
async function answers(url: string): Promise<void> {
  const response = await fetch(url).catch(() => undefined);
  await (response ? response.text() : answers(url));
}

/** `refund a and refund b` asks for two calls; anything else is talk. */
function callsIn(message: string): ScriptedCall[] {
  return message.split(' and ').flatMap((part) => {
    const [toolName = '', what] = part.split(' ');
    return what && ['refund', 'compensate', 'seat', 'look'].includes(toolName)
      ? [{ toolName, args: { what } }]
      : [];
  });
}

function toolsThatSay(say: (what: string) => void) {
  const inputSchema = z.object({ what: z.string() });
  const doing = (id: string) => ({
    id,
    description: `Does ${id}.`,
    inputSchema,
    execute: async ({ what }: { what: string }) => {
      say(`${id} ${what}`);
      return { did: what };
    },
  });
  const seat = createTool({
    id: 'seat',
    inputSchema,
    suspendSchema: z.object({ question: z.string() }),
    resumeSchema: z.object({ seats: z.number() }),
    execute: async ({ what }, { agent: { resumeData, suspend } }) => {
      if (!resumeData) return suspend({ question: `How many seats at ${what}?` });
      say(`seat ${what} for ${resumeData.seats}`);
      return { booked: resumeData.seats };
    },
  });
  const refund = createTool({ ...doing('refund'), requireApproval: true });
  const compensate = createTool({ ...doing('compensate'), requireApproval: true, approver: 'reviewer' });
  return { refund, compensate, seat, look: createTool(doing('look')) };
}
