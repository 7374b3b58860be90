/** The port to a language model: one call, one response. */
import type { Json, JsonObject } from './json.ts';
import type { Message } from './message.ts';

export interface Usage {
  readonly inputTokens: number | undefined;
  readonly outputTokens: number | undefined;
  readonly totalTokens: number | undefined;
  readonly [detail: string]: unknown;
}

/** What the model is told of one tool. */
export interface ToolDescription {
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema: JsonObject;
  readonly strict?: boolean | undefined;
  readonly providerOptions?: JsonObject | undefined;
  readonly inputExamples?: Json | undefined;
  /** A tool of the provider (AI SDK `type: 'provider'`), handed through as it is. */
  readonly provider?: object | undefined;
}

export type ToolChoice = 'auto' | 'none' | 'required' | { readonly type: 'tool'; readonly toolName: string };

/** What a model wrote, in order. `call` is a call for us to gate, `provider-call` one that the provider ran itself. */
export type ResponsePart =
  | { readonly type: 'text' | 'reasoning'; readonly text: string; readonly providerOptions?: JsonObject }
  | {
      readonly type: 'file' | 'reasoning-file';
      readonly data: string;
      readonly mediaType: string;
      readonly providerOptions?: JsonObject;
    }
  | { readonly type: 'source' | 'custom'; readonly [key: string]: Json }
  | {
      readonly type: 'call';
      readonly toolCallId: string;
      readonly toolName: string;
      /** The arguments as written, parsed; a string where they are no JSON. */
      readonly raw: Json;
      /** The arguments are not JSON. */
      readonly unparsable?: boolean;
      readonly providerOptions?: JsonObject;
      /** The provider runs the call and asks first: the id of its question. */
      readonly approvalId?: string;
    }
  | {
      readonly type: 'provider-call';
      readonly toolCallId: string;
      readonly toolName: string;
      readonly raw: Json;
      readonly providerOptions?: JsonObject;
    }
  | {
      readonly type: 'provider-result';
      readonly toolCallId: string;
      readonly toolName: string;
      readonly result: Json;
      readonly isError?: boolean;
      readonly providerOptions?: JsonObject;
    };

/** What is passed on while the model still writes: the payloads are those of the chunks of the same name. */
export type ResponseDelta =
  | {
      readonly type: 'text-start' | 'text-end' | 'reasoning-start' | 'reasoning-end';
      readonly payload: { readonly id: string; readonly providerMetadata?: JsonObject };
    }
  | {
      readonly type: 'text-delta' | 'reasoning-delta';
      readonly payload: {
        readonly id: string;
        readonly text: string;
        readonly providerMetadata?: JsonObject;
      };
    }
  | {
      readonly type: 'tool-call-input-streaming-start';
      readonly payload: { readonly toolCallId: string; readonly toolName: string };
    }
  | {
      readonly type: 'tool-call-delta';
      readonly payload: { readonly toolCallId: string; readonly argsTextDelta: string };
    }
  | { readonly type: 'tool-call-input-streaming-end'; readonly payload: { readonly toolCallId: string } };

export interface ModelRequest {
  readonly messages: readonly Message[];
  readonly instructions?: string | undefined;
  readonly tools: readonly ToolDescription[];
  readonly toolChoice?: ToolChoice | undefined;
  readonly settings?: JsonObject | undefined;
  readonly providerOptions?: JsonObject | undefined;
  /** The answer is to be JSON of this JSON Schema. */
  readonly outputSchema?: JsonObject | undefined;
  /** How often a retryable error is tried again before the first delta was passed on. */
  readonly maxRetries: number;
  readonly abortSignal: AbortSignal;
  onDelta(delta: ResponseDelta): void;
}

export interface ModelResponse {
  readonly content: readonly ResponsePart[];
  readonly finishReason: string;
  readonly usage: Usage;
  readonly response?: JsonObject | undefined;
  readonly providerMetadata?: JsonObject | undefined;
  readonly warnings?: Json | undefined;
}

/**
 * Makes one model call. Rejects when the response errors, also after parts of it were passed on; the response is
 * then discarded whole. Must never execute a tool, validate arguments, or retry after the first delta.
 */
export interface Model {
  readonly modelId: string;
  /** Whose it is, as the AI SDK names it. */
  readonly provider?: string | undefined;
  call(request: ModelRequest): Promise<ModelResponse>;
}
