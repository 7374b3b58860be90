/** What callers hold: a leg as a stream with promises (`stream`), or collected (`generate`). */
import type { CountersignError } from '../core/errors.ts';
import type { JsonObject } from '../core/json.ts';
import type { Message } from '../core/message.ts';
import { totalUsage } from '../core/next.ts';
import type { Run } from '../core/state.ts';
import { objectOf } from './answer.ts';
import type { Readable } from './buffer.ts';
import type { Chunk, FinishReason, StepResult, ToolCallChunk, ToolResultChunk } from './chunk.ts';
import type { Leg, LegEnd } from './leg.ts';
import { stepResults, totalText, type WaitingCall, waitingCallsOf } from './result.ts';

/**
 * What `stream`, `approveToolCall`, `declineToolCall`, `resumeStream` and `continueRun` return. `text`, `textStream`,
 * `toolCalls` and `toolResults` are this leg's; `steps`, `usage`, `totalText` and `messages` are the run's.
 */
export interface AgentStream<Object = unknown> {
  readonly runId: string;
  /** The id of the assistant's message, the same over all legs of the run. */
  readonly messageId: string;
  /** All chunks from the first. Every access is a new reader; each gets everything. */
  readonly fullStream: Readable<Chunk>;
  /** The text as it comes. Errors with the leg's error, if it ends with one. */
  readonly textStream: Readable<string>;
  /** Rejects with the leg's error, if it ends with one. */
  readonly text: Promise<string>;
  readonly totalText: Promise<string>;
  /**
   * The answer as an object, if `structuredOutput` asked for one; undefined when the run waits, or ended without an
   * answer. Rejects with `invalid-object` when the text is none: the run has finished all the same.
   */
  readonly object: Promise<Object | undefined>;
  readonly finishReason: Promise<FinishReason>;
  /** The error that the leg ended with, if it did. */
  readonly error: Promise<CountersignError | undefined>;
  readonly toolCalls: Promise<readonly ToolCallChunk[]>;
  readonly toolResults: Promise<readonly ToolResultChunk[]>;
  readonly steps: Promise<readonly StepResult[]>;
  readonly usage: Promise<JsonObject>;
  /** The first of `suspendPayloads`; undefined when nothing waits. */
  readonly suspendPayload: Promise<WaitingCall | undefined>;
  /** All calls that wait for a decision, in the order of the model. */
  readonly suspendPayloads: Promise<readonly WaitingCall[]>;
  /** The run's whole conversation: its input and what it added. */
  readonly messages: Promise<readonly Message[]>;
  /** How many events the run had when the leg ended: where `observe({ afterEvent })` goes on. */
  readonly version: Promise<number>;
  /** Resolves when the leg has ended. */
  consumeStream(): Promise<void>;
}

interface Collected {
  readonly runId: string;
  readonly messageId: string;
  readonly text: string;
  readonly totalText: string;
  readonly toolCalls: readonly ToolCallChunk[];
  readonly toolResults: readonly ToolResultChunk[];
  readonly steps: readonly StepResult[];
  readonly usage: JsonObject;
  readonly messages: readonly Message[];
  readonly suspendPayloads: readonly WaitingCall[];
}

/** What `generate` and its companions return. Look at `finishReason`: 'suspended' means that a person must act. */
export type AgentOutput<Object = unknown> = Collected &
  (
    | {
        readonly finishReason: 'suspended';
        /** The first call that waits. */
        readonly suspendPayload: WaitingCall;
        readonly object?: undefined;
        readonly error?: undefined;
        /** A call that this leg announced was decided: the decision's own leg goes on. */
        readonly decided?: true;
      }
    | {
        /** The run is stalled (`run-stalled`): `continueRunGenerate` tries again. */
        readonly finishReason: 'error';
        readonly error: CountersignError;
        readonly object?: undefined;
        readonly suspendPayload?: undefined;
      }
    | {
        /** The run ended without an answer; `answered`: a later turn took the result, and goes on (auto-resume). */
        readonly finishReason: 'tool-calls' | 'max-steps' | 'answered' | 'cancelled';
        readonly object?: undefined;
        readonly error?: undefined;
        readonly suspendPayload?: undefined;
      }
    | {
        readonly finishReason: 'stop' | 'length' | 'content-filter' | 'other';
        /** The answer as an object, if `structuredOutput` asked for one. */
        readonly object: Object;
        readonly error?: undefined;
        readonly suspendPayload?: undefined;
      }
  );

/** A run as the messages of a prompt. */
type MessagesOf = (run: Run) => readonly Message[];

/** A leg as a stream. */
export function streamOf<Object = unknown>(leg: Leg, messagesOf: MessagesOf): AgentStream<Object> {
  let object: Promise<unknown> | undefined;
  const after = async <T>(select: (end: LegEnd) => T): Promise<T> => select(await leg.ended);
  return {
    runId: leg.runId,
    messageId: leg.messageId,
    get fullStream() {
      return leg.chunks.read((chunk) => chunk);
    },
    get textStream() {
      return leg.chunks.read(
        (chunk) => (chunk.type === 'text-delta' ? chunk.payload.text : undefined),
        () => leg.end?.error,
      );
    },
    get text() {
      return after(({ error }) => {
        if (error) throw error;
        return leg.text;
      });
    },
    get object() {
      object ??= leg.ended.then((end) => {
        if (end.error) throw end.error;
        return objectOf(end.run, leg.answer);
      });
      return object as Promise<Object | undefined>;
    },
    get totalText() {
      return after(({ run }) => totalText(run));
    },
    get finishReason() {
      return after((end) => end.finishReason);
    },
    get error() {
      return after((end) => end.error);
    },
    get toolCalls() {
      return after(() => leg.toolCalls);
    },
    get toolResults() {
      return after(() => leg.toolResults);
    },
    get steps() {
      return after(({ run }) => stepResults(run));
    },
    get usage() {
      return after(({ run }) => totalUsage(run));
    },
    get suspendPayload() {
      return after(({ run }) => waitingCallsOf(run)[0]);
    },
    get suspendPayloads() {
      return after(({ run }) => waitingCallsOf(run));
    },
    get messages() {
      return after(({ run }) => messagesOf(run));
    },
    get version() {
      return after(({ run }) => run.length);
    },
    async consumeStream() {
      await leg.ended;
    },
  };
}

/**
 * A leg collected. Rejects when the run failed before anything of it was stored: then there is nothing to go on; and
 * with `invalid-object` when its answer is not the object that was asked for.
 */
export async function outputOf<Object = unknown>(
  leg: Leg,
  messagesOf: MessagesOf,
): Promise<AgentOutput<Object>> {
  const { run, finishReason, error, decided } = await leg.ended;
  if (error && error.code !== 'run-stalled') throw error;
  const object = await objectOf(run, leg.answer);
  const payloads = waitingCallsOf(run);
  return {
    runId: leg.runId,
    messageId: leg.messageId,
    text: leg.text,
    totalText: totalText(run),
    object,
    finishReason,
    toolCalls: leg.toolCalls,
    toolResults: leg.toolResults,
    steps: stepResults(run),
    usage: totalUsage(run),
    messages: messagesOf(run),
    suspendPayloads: payloads,
    ...(payloads.length > 0 ? { suspendPayload: payloads[0] } : {}),
    ...(error ? { error } : {}),
    ...(decided ? { decided } : {}),
  } as unknown as AgentOutput<Object>;
}
