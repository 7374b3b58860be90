/** What a leg brings, and a model port that answers by a script: for tests of the loop. */
import { setImmediate as immediate } from 'node:timers/promises';
import { messagesOf } from '../../models/prompt.ts';
import { requestOf } from '../../models/request.ts';
import { RequestContext } from '../context.ts';
import { type Json, sha256 } from '../json.ts';
import type { Clock } from '../log.ts';
import type { ModelRequest, ModelResponse, ResponsePart } from '../model.ts';
import type { NamedTool, Parts } from '../parts.ts';
import type { Schema } from '../schema.ts';
import type { Tool } from '../tool.ts';
import { me } from './events.ts';

/** A clock that moves when it is read, and whose sleepers wait for nobody. */
export function fakeClock(): Clock & { readonly slept: number[] } {
  let time = 1000;
  const slept: number[] = [];
  return {
    slept,
    now: () => ++time,
    async sleep(milliseconds) {
      slept.push(milliseconds);
    },
  };
}

/** A schema that gives what a function makes of the value; a function that throws refuses. */
export function schemaOf<T = unknown>(read: (value: unknown) => T = (value) => value as T): Schema<T> {
  return {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate(value: unknown) {
        try {
          return { value: read(value) };
        } catch (thrown) {
          return { issues: [{ message: (thrown as Error).message, path: ['id'] }] };
        }
      },
      jsonSchema: { input: () => ({ type: 'object' }) },
    },
  } as unknown as Schema<T>;
}

export function namedTools(tools: readonly Tool[], aliases: Readonly<Record<string, string>> = {}) {
  return new Map<string, NamedTool>(
    tools.map((tool) => [tool.id, { tool, alias: aliases[tool.id] ?? tool.id }]),
  );
}

export interface TestParts extends Parts {
  readonly warnings: string[];
}

export function partsOf(tools: readonly Tool[], over: Partial<Parts> = {}): TestParts {
  const warnings: string[] = [];
  const history = over.history ?? [];
  const parts: TestParts = {
    messagesOf: (run) => messagesOf(run, history),
    requestOf: (run) => requestOf(run, parts),
    me,
    model: scriptedPort([]),
    tools: namedTools(tools),
    instructions: undefined,
    history: [],
    options: { maxSteps: 20, maxRetries: 0, toolCallConcurrency: 10 },
    policies: { holdEverything: false, functions: [] },
    hooks: [],
    context: () => new RequestContext([['tenant', 'acme']]),
    workspace: undefined,
    clock: fakeClock(),
    limits: { args: 10_000, payload: 10_000, result: 10_000 },
    sha256,
    mayBegin: () => true,
    noteBegun: () => {},
    warnings,
    warn: (message) => warnings.push(message),
    ...over,
  };
  return parts;
}

/** A call as a model writes it. */
export function callPart(
  toolCallId: string,
  toolName = 'refund',
  raw: Json = { id: toolCallId },
): ResponsePart {
  return { type: 'call', toolCallId, toolName, raw };
}

export function responseOf(...content: readonly ResponsePart[]): ModelResponse {
  return {
    content,
    finishReason: content.some((part) => part.type === 'call') ? 'tool-calls' : 'stop',
    usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15 },
  };
}

export const textPart = (text: string): ResponsePart => ({ type: 'text', text });

type Answer = ModelResponse | Error | ((request: ModelRequest) => Promise<ModelResponse>);

/** A model port that gives these answers in order and keeps what it was asked. */
export function scriptedPort(
  answers: readonly Answer[],
): Parts['model'] & { readonly requests: ModelRequest[] } {
  const requests: ModelRequest[] = [];
  return {
    modelId: 'test',
    requests,
    async call(request) {
      const answer = answers[requests.push(request) - 1];
      if (answer === undefined) throw new Error('The script has run out.');
      if (answer instanceof Error) throw answer;
      return typeof answer === 'function' ? answer(request) : answer;
    },
  };
}

/** A promise that the test settles. */
export function held<T = void>(): {
  readonly promise: Promise<T>;
  readonly release: (value: T) => void;
  readonly fail: (error: unknown) => void;
} {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  return { promise, release: resolve, fail: reject };
}

/** Waits turn by turn of the event loop, without a clock, for what must come true. */
export async function until(isTrue: () => unknown): Promise<void> {
  for (let turns = 0; !isTrue(); turns++) {
    if (turns === 100_000) throw new Error('It never comes true.');
    await turn();
  }
}

/** One turn of the event loop: whatever can go on by itself goes on. */
export const turn = (): Promise<void> => immediate();
