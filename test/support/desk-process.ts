/**
 * A desk on a SQLite file that several processes open: the test itself, and children of this file, which do what they
 * are told, tell what came of it, a line each, and exit without closing anything.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Agent, Countersign, createTool, RequestContext, type RunOptions } from 'countersign';
import { SQLiteStore } from 'countersign/sqlite';
import { z } from 'zod';
import { type Script, type ScriptedStep, scriptedModel } from '../../src/testing/scripted-model.ts';
import { watched } from './interrupted.ts';
import { kinds, type Refund, withTools } from './kinds.ts';

/** Where the runs are, and where the tools of all processes write what they did. */
export interface Place {
  readonly database: string;
  readonly effects: string;
  /** The place in `kinds` of the refund tool. */
  readonly kind: number;
}

export type Command =
  | { readonly do: 'start'; readonly options?: Pick<RunOptions, 'memory' | 'instructions' | 'modelSettings'> }
  | { readonly do: 'approve' | 'decline'; readonly options: object }
  | { readonly do: 'resume'; readonly data: unknown; readonly options: object };

export interface Orders extends Place {
  readonly script: readonly (ScriptedStep | string)[];
  readonly commands: readonly Command[];
}

export interface Effect {
  readonly tool: string;
  readonly pid: number;
  readonly input?: unknown;
  readonly tenant?: unknown;
}

export function effectsOf({ effects }: Place): Effect[] {
  if (!existsSync(effects)) return [];
  return readFileSync(effects, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}

export function openDesk({ database, effects, kind }: Place, script: Script) {
  const record = (tool: string, entry: object): void =>
    appendFileSync(effects, `${JSON.stringify({ tool, pid: process.pid, ...entry })}\n`);
  const refunds: Refund[] = [];
  const look = createTool({
    id: 'look',
    inputSchema: z.object({}),
    execute: async (_input, { requestContext }) => {
      record('look', { tenant: requestContext.get('tenant') });
      return { seen: process.pid };
    },
  });
  const slow = createTool({
    id: 'slow',
    inputSchema: z.object({}),
    requireApproval: true,
    execute: async (_input, { requestContext }) => {
      record('slow', { tenant: requestContext.get('tenant') });
      process.stdout.write(`${JSON.stringify({ inside: 'slow' })}\n`);
      await new Promise((resolve) => process.stdin.once('data', resolve));
      return { slept: true };
    },
  });
  const counted = watched(refunds, () => record('refund', { input: refunds.at(-1) }));
  const model = scriptedModel(script);
  const tools = withTools(kinds[kind]?.tools(counted, true), { look, slow });
  const agent = new Agent({ id: 'desk', model, tools });
  const store = new SQLiteStore({ path: database });
  new Countersign({ agents: { agent }, storage: store, warn: () => {} });
  return { agent, model, store };
}

async function obey(agent: Agent, command: Command): Promise<object> {
  if (command.do === 'start') {
    const requestContext = new RequestContext([['tenant', { id: 'acme' }]]);
    return agent.generate('Please do it.', { requestContext, ...command.options });
  }
  const options = command.options as Parameters<Agent['approveToolCallGenerate']>[0];
  if (command.do === 'resume') return agent.resumeGenerate(command.data, options);
  return agent[`${command.do}ToolCallGenerate`](options);
}

/** What a child tells of a leg, or of an error. */
export interface ToldByChild {
  readonly runId: string;
  readonly finishReason: string;
  readonly text: string;
  readonly suspendPayloads: readonly { readonly toolCallId: string; readonly fingerprint: string }[];
  readonly results: readonly { readonly toolCallId: string; readonly result: unknown }[];
  readonly modelCalls: number;
  readonly code?: string;
  readonly decision?: { readonly verdict: string };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const orders = JSON.parse(process.argv[2] ?? '') as Orders;
  const { agent, model } = openDesk(orders, orders.script);
  for (const command of orders.commands) {
    const told = await obey(agent, command).catch((error: object) => error);
    const { runId, finishReason, text, suspendPayloads, toolResults, code, decision } = told as {
      toolResults?: { payload: object }[];
    } & Record<string, unknown>;
    const results = toolResults?.map(({ payload }) => payload);
    const line = { runId, finishReason, text, suspendPayloads, results, code, decision };
    process.stdout.write(`${JSON.stringify({ ...line, modelCalls: model.calls.length })}\n`);
  }
  process.stdout.write('', () => process.exit(0));
}
