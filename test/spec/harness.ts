/** What the specification's examples leave free: a model, a terminal, a network, a database. Each one counts. */
import type { AgentStream } from 'countersign';
import { type ScriptedModel, scriptedModel } from 'countersign/testing';
import { afterEach, beforeEach, vi } from 'vitest';

/** A `process` and a `console` that keep what they are given. */
export interface Terminal {
  readonly process: { readonly stdout: { write(text: string): void } };
  readonly console: { log(...parts: unknown[]): void };
  /** All that was written to stdout, as one text. */
  printed(): string;
  /** The arguments of each `console.log`. */
  readonly logged: unknown[][];
}

export function terminal(): Terminal {
  const texts: string[] = [];
  const logged: unknown[][] = [];
  return {
    process: { stdout: { write: (text) => void texts.push(text) } },
    console: { log: (...parts) => void logged.push(parts) },
    printed: () => texts.join(''),
    logged,
  };
}

/** A `fetch` that answers at once with one text, and the addresses that it was asked for. */
export interface Network {
  fetch(url: string): Promise<{ text(): Promise<string> }>;
  readonly asked: string[];
}

export function network(answer: string): Network {
  const asked: string[] = [];
  return {
    asked,
    async fetch(url) {
      asked.push(url);
      return { text: async () => answer };
    },
  };
}

/** The database of the quickstart. */
export interface Database {
  delete(id: string): Promise<void>;
}

/** A model that calls one tool, then answers. */
export function modelFor(toolName: string, args: unknown): ScriptedModel {
  return scriptedModel([{ calls: [{ toolName, args }] }, 'There you are.']);
}

/** The payloads of the suspensions that a stream announces, when it has ended. */
export async function suspensionsOf(stream: AgentStream): Promise<unknown[]> {
  const payloads: unknown[] = [];
  for await (const chunk of stream.fullStream) {
    if (chunk.type === 'tool-call-suspended') payloads.push(chunk.payload.suspendPayload);
  }
  return payloads;
}

/** All that the model was sent with one of its calls, as text. */
export function promptOf(model: ScriptedModel, call: number): string {
  return JSON.stringify(model.calls[call]?.prompt);
}

/** Keeps the warning of the in-memory store, which is right and not looked at here, out of the report. */
export function hushWarnings(): void {
  beforeEach(() => {
    vi.spyOn(console, 'warn').mockImplementation(() => {});
  });
  afterEach(() => {
    vi.restoreAllMocks();
  });
}
