/** A scripted model server that speaks a provider's own wire format, and every request body that went to it. */
import { LLMock } from '@copilotkit/aimock';
import { onTestFinished } from 'vitest';
import type { JsonObject } from '../../src/core/json.ts';
import type { Connection } from './servers.ts';

/** One call, with its id and its arguments as the model writes them. */
export interface ScriptedToolCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

/** One answer of the model. */
export interface Answer {
  readonly content?: string;
  readonly toolCalls?: ScriptedToolCall[];
  readonly reasoning?: string;
  readonly reasoningSignature?: string;
}

export interface Wire {
  readonly connection: Connection;
  /** The bodies as they went over the wire, in order. */
  readonly sent: JsonObject[];
  /** The bodies that came back, in order, as far as they were read. */
  received(): Promise<readonly string[]>;
}

/** Answers the n-th request with the n-th answer, and whatever comes after the last with HTTP 400. */
export async function openWire(answers: readonly Answer[]): Promise<Wire> {
  const mock = await LLMock.create({ port: 0, logLevel: 'silent' });
  onTestFinished(() => mock.stop());
  scriptAnswers(mock, answers);
  return wireTo(`${mock.url}/v1`);
}

export function scriptAnswers(mock: LLMock, answers: readonly Answer[]): void {
  const left = [...answers];
  mock.on(
    {},
    () =>
      (left.shift() as { content: string } | undefined) ?? {
        error: { message: 'The script has no more answers.', type: 'invalid_request_error' },
        status: 400,
      },
    { chunkSize: 7 },
  );
}

/** A connection to any server that keeps what passes over it. */
export function wireTo(baseURL: string): Wire {
  const sent: JsonObject[] = [];
  const received: Promise<string>[] = [];
  return {
    sent,
    received: () => Promise.all(received),
    connection: {
      baseURL,
      apiKey: 'key',
      fetch: async (input, init) => {
        sent.push(JSON.parse(String(init?.body)) as JsonObject);
        const response = await fetch(input, init);
        received.push(response.clone().text());
        return response;
      },
    },
  };
}
