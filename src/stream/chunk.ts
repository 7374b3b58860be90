/** The chunks of a stream: `{ type, runId, from, payload }`, with the names and payloads of the specification. */

import type { PathStep } from '../core/below.ts';
import type { Json, JsonObject } from '../core/json.ts';
import type { SuspendPayload } from '../core/policy.ts';

interface EnvelopeOf<Type extends string, Payload> {
  readonly type: Type;
  readonly runId: string;
  readonly from: 'AGENT';
  readonly payload: Payload;
}

/** One member for each type, so that `Extract` finds it. */
type Envelope<Type extends string, Payload> = Type extends string ? EnvelopeOf<Type, Payload> : never;

/** What a chunk says of a call. `args` is untyped, since every tool has its own. */
export interface CallPayload {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly args: SuspendPayload;
  /** The delegations that lead to the call, where it is one of a sub-agent; its `toolCallId` is then qualified. */
  readonly path?: readonly PathStep[];
}

/** Where a run waits: what `suspendPayload` holds, and the payload of the two chunks that announce it. */
export interface ApprovalPayload extends CallPayload {
  /** The how-manieth time this call waits for a person. */
  readonly stop: number;
  /** JSON Schema, as a JSON string, of what decides: `{ approved, reason? }`. */
  readonly resumeSchema: string;
  /** What an approval is bound to: SHA-256 over the canonical JSON of `{ v, toolName, args }`. */
  readonly fingerprint: string;
}

export interface SuspensionPayload extends CallPayload {
  readonly stop: number;
  /** What the tool gave to `suspend()`. */
  readonly suspendPayload: SuspendPayload;
  /** JSON Schema, as a JSON string, of the tool's `resumeSchema`, if it has one. */
  readonly resumeSchema?: string;
  readonly fingerprint: string;
}

/** One model call and what came of the tool calls that it asked for. */
export interface StepResult {
  readonly text: string;
  readonly reasoningText: string;
  readonly toolCalls: readonly CallPayload[];
  /** Results of calls that finished, in the order of the calls. */
  readonly toolResults: readonly (CallPayload & { readonly result: unknown })[];
  readonly finishReason: string;
  readonly usage: JsonObject;
  readonly response: JsonObject;
  readonly providerMetadata?: JsonObject;
}

export type FinishReason =
  | 'stop'
  | 'length'
  | 'content-filter'
  | 'tool-calls'
  | 'error'
  | 'other'
  | 'suspended'
  | 'max-steps'
  | 'answered'
  | 'cancelled'
  | (string & {});

export interface FinishPayload {
  readonly finishReason: FinishReason;
  readonly stepResult: { readonly reason: FinishReason; readonly isContinued: false };
  readonly output: { readonly usage: JsonObject; readonly steps: readonly StepResult[] };
  readonly metadata: JsonObject;
  /** The leg ended because a call that it announced was decided: the decision's leg goes on. */
  readonly decided?: true;
}

export type ToolCallChunk = Envelope<
  'tool-call',
  CallPayload & {
    /** The call was announced in an earlier leg, and this leg carries its outcome. */
    readonly replayed?: true;
    readonly providerExecuted?: true;
    readonly providerMetadata?: JsonObject;
  }
>;

export type ToolResultChunk = Envelope<
  'tool-result',
  CallPayload & {
    readonly result: SuspendPayload;
    readonly isError?: boolean;
    readonly providerExecuted?: true;
  }
>;

export type Chunk =
  | Envelope<'start', { readonly id: string; readonly messageId: string }>
  | Envelope<'step-start', { readonly messageId: string; readonly step: number }>
  | Envelope<
      'text-start' | 'text-end' | 'reasoning-start' | 'reasoning-end',
      { readonly id: string; readonly providerMetadata?: JsonObject }
    >
  | Envelope<
      'text-delta' | 'reasoning-delta',
      { readonly id: string; readonly text: string; readonly providerMetadata?: JsonObject }
    >
  | Envelope<'source', JsonObject>
  | Envelope<
      'file' | 'reasoning-file',
      { readonly data: string; readonly base64: string; readonly mimeType: string }
    >
  | Envelope<'custom', JsonObject>
  | Envelope<'tool-call-input-streaming-start', { readonly toolCallId: string; readonly toolName: string }>
  | Envelope<'tool-call-delta', { readonly toolCallId: string; readonly argsTextDelta: string }>
  | Envelope<'tool-call-input-streaming-end', { readonly toolCallId: string }>
  | ToolCallChunk
  | Envelope<'tool-call-approval', ApprovalPayload>
  | Envelope<'tool-call-suspended', SuspensionPayload>
  | ToolResultChunk
  | Envelope<
      'tool-error',
      CallPayload & {
        readonly error: { readonly code: string; readonly message: string; readonly name?: string };
      }
    >
  | Envelope<
      'tool-output-denied',
      CallPayload & {
        readonly approval: { readonly id: string; readonly approved: false; readonly reason?: string };
      }
    >
  | Envelope<
      'tool-output',
      { readonly toolCallId: string; readonly toolName?: string; readonly output: SuspendPayload }
    >
  | Envelope<
      'step-finish',
      {
        readonly messageId: string;
        readonly stepResult: { readonly reason: FinishReason; readonly isContinued: boolean };
        readonly output: { readonly text: string; readonly usage: JsonObject };
        readonly metadata: JsonObject;
      }
    >
  | Envelope<'finish', FinishPayload>
  | Envelope<'error', { readonly error: Error }>
  | Envelope<'abort', { readonly reason?: string }>
  | {
      readonly type: `data-${string}`;
      readonly runId: string;
      readonly from: 'AGENT';
      readonly data: Json;
      readonly id?: string;
    };

/** The payload of a chunk type. */
export type PayloadOf<Type extends Chunk['type']> =
  Extract<Chunk, { type: Type }> extends { payload: infer Payload } ? Payload : never;

/** What decides a held call, as JSON Schema (draft 7). Exactly these keywords: clients look at them. */
export const decisionSchema = JSON.stringify({
  type: 'object',
  properties: { approved: { type: 'boolean' }, reason: { type: 'string' } },
  required: ['approved'],
});
