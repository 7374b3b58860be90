/** A refund desk over a real provider package and a real SQLite file: one file, one wire, as many agents as needed. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  Agent,
  type AgentConfig,
  type AgentOutput,
  type AgentStream,
  Countersign,
  createTool,
  type DecisionOptions,
  type Message,
  type MessagesInput,
  type RunOptions,
  type SuspendPayload,
} from 'countersign';
import { SQLiteStore } from 'countersign/sqlite';
import { expect, onTestFinished } from 'vitest';
import { z } from 'zod';
import type { JsonObject } from '../../src/core/json.ts';
import type { Wire } from './wire.ts';
import type { WireFormat, WireRequest } from './wire-formats.ts';
import { problemsOf } from './wire-rules.ts';

/** Who decides: the agent that began the run, or each time another one, on a SQLite handle of its own. */
export interface Setting {
  readonly name: string;
  readonly cold: boolean;
  readonly face: 'stream' | 'generate';
}

export const settings: readonly Setting[] = [
  { name: 'warm, streamed', cold: false, face: 'stream' },
  { name: 'warm, generated', cold: false, face: 'generate' },
  { name: 'cold, streamed', cold: true, face: 'stream' },
  { name: 'cold, generated', cold: true, face: 'generate' },
];

/** Each side of both choices once; that they make no difference to what is sent is a test of its own. */
export const acrossSettings = settings.filter(({ cold, face }) => cold === (face === 'generate'));

export interface Told {
  readonly runId: string;
  readonly text: string;
  readonly finishReason: string;
  /** The calls that wait. */
  readonly payloads: readonly SuspendPayload[];
  readonly messages: readonly Message[];
  readonly error: { readonly code: string; readonly message: string } | undefined;
}

type Choice = Omit<DecisionOptions, 'runId'>;

export interface Desk {
  /** What the tools did, in the order in which they did it. */
  readonly effects: readonly string[];
  /** Another agent on a handle of its own. */
  another(): Agent;
  start(messages?: MessagesInput, options?: RunOptions): Promise<Told>;
  approve(runId: string, choice?: Choice): Promise<Told>;
  decline(runId: string, choice?: Choice): Promise<Told>;
  resume(data: unknown, runId: string, choice?: Choice): Promise<Told>;
  continueRun(runId: string): Promise<Told>;
}

const instructions = 'You are the refund desk. Be brief.';

export function openDesk(setting: Setting, model: () => AgentConfig['model'], more: DeskTools = {}): Desk {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-wire-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const effects: string[] = [];
  const another = (): Agent => {
    const storage = new SQLiteStore({ path: join(folder, 'runs.db') });
    onTestFinished(() => storage.close());
    const agent = new Agent({
      id: 'desk',
      model: model(),
      instructions,
      tools: { ...toolsOf(effects), ...more },
      defaultOptions: { maxRetries: 0 },
    });
    return new Countersign({ agents: { agent }, storage }).getAgent('desk');
  };
  const first = another();
  const decider = (): Agent => (setting.cold ? another() : first);
  const told = (opened: { stream(): Promise<AgentStream>; generate(): Promise<AgentOutput> }) =>
    setting.face === 'stream' ? opened.stream().then(toldByStream) : opened.generate().then(toldByOutput);
  const decide = (verdict: 'approve' | 'decline', options: DecisionOptions): Promise<Told> => {
    const agent = decider();
    return told({
      stream: () => agent[`${verdict}ToolCall`](options),
      generate: () => agent[`${verdict}ToolCallGenerate`](options),
    });
  };
  return {
    effects,
    another,
    start: (messages = 'Refund order 7.', options = {}) =>
      told({
        stream: () => first.stream(messages, options),
        generate: () => first.generate(messages, options),
      }),
    approve: (runId, choice) => decide('approve', { ...choice, runId }),
    decline: (runId, choice) => decide('decline', { ...choice, runId }),
    resume(data, runId, choice) {
      const agent = decider();
      return told({
        stream: () => agent.resumeStream(data, { ...choice, runId }),
        generate: () => agent.resumeGenerate(data, { ...choice, runId }),
      });
    },
    continueRun(runId) {
      const agent = decider();
      return told({
        stream: () => agent.continueRun({ runId }),
        generate: () => agent.continueRunGenerate({ runId }),
      });
    },
  };
}

type DeskTools = Exclude<AgentConfig['tools'], undefined | ((...given: never[]) => unknown)>;

function toolsOf(effects: string[]) {
  return {
    refund: createTool({
      id: 'refund',
      description: 'Refunds an order.',
      inputSchema: z.object({
        order: z.number(),
        amount: z.number(),
        currency: z.string().default('EUR'),
      }),
      requireApproval: true,
      execute: async ({ order, amount, currency }) => {
        effects.push(`refund ${order} ${amount} ${currency}`);
        if (amount > 1000) throw new Error('The bank refused.');
        return { refunded: amount };
      },
    }),
    find: createTool({
      id: 'find',
      description: 'Finds an order.',
      inputSchema: z.object({ order: z.number() }),
      execute: async ({ order }) => {
        effects.push(`find ${order}`);
        if (order === 0) throw new Error('There is no such order.');
        return `Order ${order}: one chair.`;
      },
    }),
    ask: createTool({
      id: 'ask',
      description: 'Asks a colleague.',
      inputSchema: z.object({ question: z.string() }),
      suspendSchema: z.object({ question: z.string() }),
      resumeSchema: z.object({ answer: z.string() }),
      execute: async ({ question }, { agent }) => {
        if (agent.resumeData === undefined) return agent.suspend({ question });
        effects.push(`ask ${agent.resumeData.answer}`);
        return { answer: agent.resumeData.answer };
      },
    }),
  };
}

async function toldByStream(stream: AgentStream): Promise<Told> {
  await stream.consumeStream();
  const error = await stream.error;
  return {
    runId: stream.runId,
    text: error ? '' : await stream.text,
    finishReason: await stream.finishReason,
    payloads: await stream.suspendPayloads,
    messages: await stream.messages,
    error,
  };
}

async function toldByOutput(output: AgentOutput): Promise<Told> {
  const { runId, text, finishReason, suspendPayloads: payloads, messages, error } = output;
  return { runId, text, finishReason, payloads, messages, error };
}

/** Every request so far, read; fails when the provider would have refused one of them. */
export async function requestsOf(wire: Wire, format: WireFormat): Promise<readonly WireRequest[]> {
  const received = await wire.received();
  wire.sent.forEach((body, index) => {
    expect(problemsOf(format.name, body, received.slice(0, index)), `request ${index}`).toEqual([]);
    expect(offered(format.read(body))).toEqual(deskTools);
    expect(format.read(body).instructions).toBe(instructions);
  });
  return wire.sent.map((body) => format.read(body));
}

function offered({ tools }: WireRequest): JsonObject {
  return Object.fromEntries(
    tools.map(({ name, description, schema }) => {
      const { properties = {}, required = [] } = schema;
      return [name, { description, properties, required }];
    }),
  ) as JsonObject;
}

/** What every request must tell of the desk's tools: what the model writes, before defaults are filled in. */
const deskTools = {
  refund: {
    description: 'Refunds an order.',
    properties: {
      order: { type: 'number' },
      amount: { type: 'number' },
      currency: { type: 'string', default: 'EUR' },
    },
    required: ['order', 'amount'],
  },
  find: {
    description: 'Finds an order.',
    properties: { order: { type: 'number' } },
    required: ['order'],
  },
  ask: {
    description: 'Asks a colleague.',
    properties: { question: { type: 'string' } },
    required: ['question'],
  },
};
