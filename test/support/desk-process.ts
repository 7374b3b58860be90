/**
 * A desk on a SQLite file that several processes open: the test itself, and children of this file, which do what they
 * are told, tell what came of it, a line each, and exit without closing anything.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { UIMessage } from 'ai';
import { Agent, Countersign, createTool, Memory, RequestContext, type RunOptions } from 'countersign';
import { SQLiteStore } from 'countersign/sqlite';
import { z } from 'zod';
import { type Script, type ScriptedStep, scriptedModel } from '../../src/testing/scripted-model.ts';
import { askingTool } from './answering.ts';
import { watched } from './interrupted.ts';
import { kinds, type Refund, withTools } from './kinds.ts';

/** Where the runs are, and where the tools of all processes write what they did. */
export interface Place {
  readonly database: string;
  readonly effects: string;
  /** The place in `kinds` of the refund tool. */
  readonly kind: number;
  /** Whether the desk has a memory, and a tool that asks for a city. */
  readonly remembers?: boolean;
}

type StartOptions = Pick<
  RunOptions,
  'memory' | 'instructions' | 'modelSettings' | 'autoResumeSuspendedTools'
>;

export type Command =
  | { readonly do: 'start'; readonly message?: string; readonly options?: StartOptions }
  | { readonly do: 'recall'; readonly of: Parameters<Memory['recall']>[0] }
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

export function openDesk({ database, effects, kind, remembers }: Place, script: Script) {
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
  const answers: string[] = [];
  const answered = watched(answers, () => record('ask', { input: answers.at(-1) }));
  const tools = withTools(kinds[kind]?.tools(counted, true), {
    look,
    slow,
    ...(remembers ? { ask: askingTool(answered) } : {}),
  });
  const memory = new Memory();
  const agent = new Agent({ id: 'desk', model, tools, ...(remembers ? { memory } : {}) });
  const store = new SQLiteStore({ path: database });
  new Countersign({ agents: { agent }, storage: store, warn: () => {} });
  return { agent, model, store, memory };
}

type Desk = ReturnType<typeof openDesk>;

async function obey({ agent, memory }: Desk, command: Command): Promise<object> {
  if (command.do === 'start') {
    const requestContext = new RequestContext([['tenant', { id: 'acme' }]]);
    return agent.generate(command.message ?? 'Please do it.', { requestContext, ...command.options });
  }
  if (command.do === 'recall') return memory.recall(command.of);
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
  /** The names of the tools of each of these calls. */
  readonly offered: readonly (readonly string[])[];
  /** What was recalled. */
  readonly messages?: readonly UIMessage[];
  readonly code?: string;
  readonly decision?: { readonly verdict: string };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const orders = JSON.parse(process.argv[2] ?? '') as Orders;
  const desk = openDesk(orders, orders.script);
  for (const command of orders.commands) {
    const told = await obey(desk, command).catch((error: object) => error);
    const { runId, finishReason, text, suspendPayloads, toolResults, code, decision, messages } = told as {
      toolResults?: { payload: object }[];
    } & Record<string, unknown>;
    const results = toolResults?.map(({ payload }) => payload);
    const line = { runId, finishReason, text, suspendPayloads, results, code, decision, messages };
    const { calls } = desk.model;
    const offered = calls.map(({ tools = [] }) => tools.map(({ name }) => name));
    process.stdout.write(`${JSON.stringify({ ...line, modelCalls: calls.length, offered })}\n`);
  }
  process.stdout.write('', () => process.exit(0));
}
