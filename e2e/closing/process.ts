/** A server of a desk on a SQLite file, which closes at SIGTERM. It says where it is, and is told how to go on. */
import { z } from 'zod';
import { Agent } from '../../src/agent/agent.ts';
import { Countersign } from '../../src/agent/countersign.ts';
import { createTool } from '../../src/agent/create-tool.ts';
import { createServer } from '../../src/server/create-server.ts';
import { serve } from '../../src/server/serve.ts';
import { SQLiteStore } from '../../src/store/sqlite.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';

export interface Orders {
  readonly database: string;
  /** For how long it lets go on what is open when it is to end. */
  readonly within: number;
  /** What never answers here: a tool that was told so, and a model after such a tool. */
  readonly neverEnds: boolean;
}

export type Told =
  | { readonly told: 'listens'; readonly url: string }
  | { readonly told: 'closing' }
  | { readonly told: 'entered' | 'left' | 'asked'; readonly what: string };

const { database, within, neverEnds } = JSON.parse(process.argv[2] ?? '') as Orders;
const tell = (message: Told): void => void process.send?.(message);
const goOn = new Promise<void>((resolve) => process.on('message', () => resolve()));
const never = new Promise<void>(() => {});

const work = createTool({
  id: 'work',
  inputSchema: z.object({ what: z.string() }),
  execute: async ({ what }) => {
    tell({ told: 'entered', what });
    if (what === 'held up') await goOn;
    if (what === 'stuck' && neverEnds) await never;
    tell({ told: 'left', what });
    return `did ${what}`;
  },
});

const model = scriptedModel((prompt) => {
  const what =
    ['held up', 'stuck', 'thought over'].find((name) => JSON.stringify(prompt).includes(name)) ?? '';
  if (prompt.at(-1)?.role !== 'tool') return { calls: [{ toolName: 'work', args: { what } }] };
  tell({ told: 'asked', what });
  return what === 'thought over' && neverEnds ? { delayUntil: never, text: '' } : 'Done.';
});

const desk = new Agent({ id: 'desk', model, tools: { work }, durable: true });
const countersign = new Countersign({
  agents: { desk },
  storage: new SQLiteStore({ path: database }),
  heartbeat: { every: 100, lease: 2500 },
  sweepEvery: 100,
  warn: () => {},
});
countersign.start();
process.once('SIGTERM', () => tell({ told: 'closing' }));
process.on('disconnect', () => process.exit(1));
const app = createServer({ countersign: countersign as unknown as Countersign, logger: false });
const { url } = await serve(app, { port: 0, closeOn: ['SIGTERM'], within });
tell({ told: 'listens', url });
