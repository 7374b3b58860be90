/** Owns the translation of what the AI SDK makes of an answer into the parts of the port. Runs nothing. */
import type { LanguageModelStreamPart, LanguageModelUsage } from 'ai';
import { CountersignError } from '../core/errors.ts';
import { type Json, type JsonObject, toJson } from '../core/json.ts';
import type { ModelResponse, ResponsePart, Usage } from '../core/model.ts';

type StreamPart<Type> = Extract<LanguageModelStreamPart, { type: Type }>;

/** Custom parts that repeat other parts of a response and mean nothing in a prompt: they would be stored each step. */
const responseOnly: ReadonlySet<string> = new Set(['anthropic.message_start']);

export interface Collector {
  /** @throws what an error part holds. */
  take(part: LanguageModelStreamPart): void;
  /** @throws `model-failed` when the response is not whole. */
  response(): ModelResponse;
}

/** Collects one response, each of whose texts comes in one delta. */
export function collector(): Collector {
  const content: ResponsePart[] = [];
  const positions = new Map<string, number>();
  let end: StreamPart<'model-call-end'> | undefined;

  /** A later word on the same call or result takes the place of the earlier one. */
  const place = (key: string, part: ResponsePart): void => {
    const position = positions.get(key) ?? content.length;
    positions.set(key, position);
    content[position] = part;
  };

  const take = (part: LanguageModelStreamPart): void => {
    switch (part.type) {
      case 'text-delta':
        content.push({ type: 'text', text: part.text, ...optionsOf(part) });
        break;
      case 'reasoning-delta':
        content.push({ type: 'reasoning', text: part.text, ...optionsOf(part) });
        break;
      case 'tool-call':
        positions.set(`call ${part.toolCallId}`, content.length);
        content.push(part.providerExecuted ? providerCallOf(part) : callOf(part));
        break;
      case 'tool-approval-request':
        place(`call ${part.toolCall.toolCallId}`, { ...callOf(part.toolCall), approvalId: part.approvalId });
        break;
      case 'tool-result':
      case 'tool-error':
        // The error of a call of ours is only that it names no tool, or is no JSON: the gate says so itself.
        if (part.providerExecuted) place(`result ${part.toolCallId}`, providerResultOf(part));
        break;
      case 'file':
      case 'reasoning-file': {
        const { base64: data, mediaType } = part.file;
        content.push({ type: part.type, data, mediaType, ...optionsOf(part) });
        break;
      }
      case 'source':
        content.push(toJson(part, 'source') as ResponsePart);
        break;
      case 'custom':
        if (!responseOnly.has(part.kind)) {
          content.push({ type: 'custom', kind: part.kind, ...optionsOf(part) });
        }
        break;
      case 'model-call-end':
        end = part;
        break;
      case 'error':
        throw part.error;
    }
  };

  const response = (): ModelResponse => {
    if (end === undefined || end.finishReason === 'interrupted') {
      throw new CountersignError('model-failed', 'The response of the model ended before it was complete.');
    }
    if (end.finishReason === 'error') {
      throw new CountersignError('model-failed', 'The model ended its response with an error.');
    }
    return {
      content: content.filter((part) => !isEmptyText(part)),
      finishReason: end.finishReason,
      usage: usageOf(end.usage),
      ...metadataOf(end),
    };
  };

  return { take, response };
}

/** The arguments as written: a string only where the text is no JSON, or a JSON string. */
function callOf(part: StreamPart<'tool-call'>): Extract<ResponsePart, { type: 'call' }> {
  const { toolCallId, toolName, input } = part;
  const named = { type: 'call', toolCallId, toolName, ...optionsOf(part) } as const;
  if (!part.invalid || typeof input !== 'string') return { ...named, raw: input as Json };
  // Of an invalid call the SDK hands over the text itself, also where it is empty: models mean no arguments by it.
  if (input.trim() === '') return { ...named, raw: {} };
  return { ...named, raw: input, unparsable: true };
}

function providerCallOf(part: StreamPart<'tool-call'>): ResponsePart {
  const { raw, toolCallId, toolName } = callOf(part);
  // The prompt must be able to repeat it, and providers take nothing but objects.
  const repeatable = typeof raw === 'object' && raw !== null && !Array.isArray(raw);
  return { type: 'provider-call', toolCallId, toolName, raw: repeatable ? raw : {}, ...optionsOf(part) };
}

function providerResultOf(part: StreamPart<'tool-result'> | StreamPart<'tool-error'>): ResponsePart {
  const { toolCallId, toolName } = part;
  const failed = part.type === 'tool-error';
  return {
    type: 'provider-result',
    toolCallId,
    toolName,
    result: toJson(failed ? part.error : part.output, `result of provider tool "${toolName}"`),
    ...(failed ? { isError: true } : {}),
    ...optionsOf(part),
  };
}

function metadataOf(part: { readonly providerMetadata?: unknown }): { providerMetadata?: JsonObject } {
  if (part.providerMetadata == null) return {};
  return { providerMetadata: toJson(part.providerMetadata, 'provider metadata') as JsonObject };
}

/** What a provider gave with a part it gets back with the part. */
function optionsOf(part: { readonly providerMetadata?: unknown }): { providerOptions?: JsonObject } {
  const { providerMetadata } = metadataOf(part);
  return providerMetadata ? { providerOptions: providerMetadata } : {};
}

function isEmptyText(part: ResponsePart): boolean {
  return part.type === 'text' && part.text === '' && part.providerOptions === undefined;
}

/** Without `raw`, which repeats the same counts in the provider's words, in every stored step. */
function usageOf({ raw: _raw, ...usage }: LanguageModelUsage): Usage {
  const { inputTokens, outputTokens, totalTokens, ...details } = usage;
  return {
    inputTokens,
    outputTokens,
    totalTokens,
    ...(toJson(details, 'usage') as JsonObject),
  };
}
