/** Owns the translation of what the AI SDK streams into the port's deltas and parts. Runs nothing. */
import type { LanguageModelStreamPart, LanguageModelUsage } from 'ai';
import { CountersignError } from '../core/errors.ts';
import { type Json, type JsonObject, toJson } from '../core/json.ts';
import type { ModelResponse, ResponseDelta, ResponsePart, Usage } from '../core/model.ts';

type Draft<T> = { -readonly [Key in keyof T]: T[Key] };
type TextPart = Draft<Extract<ResponsePart, { type: 'text' | 'reasoning' }>>;
type StreamPart<Type> = Extract<LanguageModelStreamPart, { type: Type }>;
type BlockPart = StreamPart<`${'text' | 'reasoning'}-${'start' | 'delta' | 'end'}`>;

/** Custom parts that repeat other parts of a response and mean nothing in a prompt: they would be stored each step. */
const responseOnly: ReadonlySet<string> = new Set(['anthropic.message_start']);

export interface Collector {
  /** Whether output of the response was collected or passed on: then it must not be asked for again. */
  readonly begun: boolean;
  /** @throws what an error part holds. */
  take(part: LanguageModelStreamPart): void;
  /** @throws `model-failed` when the response is not whole. */
  response(): ModelResponse;
}

/** Collects one response, and passes its deltas on as they come. */
export function collector(onDelta: (delta: ResponseDelta) => void): Collector {
  const content: ResponsePart[] = [];
  const texts = new Map<string, TextPart>();
  const positions = new Map<string, number>();
  const meta: Record<string, Json> = {};
  let warnings: Json | undefined;
  let end: StreamPart<'model-call-end'> | undefined;
  let passed = false;

  /** A later word on the same call or result takes the place of the earlier one. */
  const place = (key: string, part: ResponsePart): void => {
    const position = positions.get(key) ?? content.length;
    positions.set(key, position);
    content[position] = part;
  };
  const write = (type: 'text' | 'reasoning', part: BlockPart): void => {
    const key = `${type} ${part.id}`;
    let block = texts.get(key);
    if (block === undefined) {
      block = { type, text: '' };
      texts.set(key, block);
      content.push(block);
    }
    if ('text' in part) block.text += part.text;
    Object.assign(block, optionsOf(part));
    // Providers use an id again for a later block.
    if (part.type === 'text-end' || part.type === 'reasoning-end') texts.delete(key);
  };

  const take = (part: LanguageModelStreamPart): void => {
    const delta = deltaOf(part);
    if (delta) {
      passed = true;
      onDelta(delta);
    }
    switch (part.type) {
      case 'text-start':
      case 'text-delta':
      case 'text-end':
        write('text', part);
        break;
      case 'reasoning-start':
      case 'reasoning-delta':
      case 'reasoning-end':
        write('reasoning', part);
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
      case 'model-call-start':
        if (part.warnings.length > 0) warnings = toJson(part.warnings, 'warnings');
        break;
      case 'model-call-response-metadata':
        if (part.id !== undefined) meta.id = part.id;
        if (part.modelId !== undefined) meta.modelId = part.modelId;
        if (part.timestamp !== undefined) meta.timestamp = part.timestamp.toISOString();
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
      ...(Object.keys(meta).length > 0 ? { response: meta } : {}),
      ...metadataOf(end),
      ...(warnings === undefined ? {} : { warnings }),
    };
  };

  return {
    get begun() {
      return passed || content.some(({ type }) => type !== 'custom' && type !== 'source');
    },
    take,
    response,
  };
}

function deltaOf(part: LanguageModelStreamPart): ResponseDelta | undefined {
  switch (part.type) {
    case 'text-start':
    case 'text-end':
    case 'reasoning-start':
    case 'reasoning-end':
      return { type: part.type, payload: { id: part.id, ...metadataOf(part) } };
    case 'text-delta':
    case 'reasoning-delta':
      return { type: part.type, payload: { id: part.id, text: part.text, ...metadataOf(part) } };
    case 'tool-input-start':
      return {
        type: 'tool-call-input-streaming-start',
        payload: { toolCallId: part.id, toolName: part.toolName },
      };
    case 'tool-input-delta':
      return { type: 'tool-call-delta', payload: { toolCallId: part.id, argsTextDelta: part.delta } };
    case 'tool-input-end':
      return { type: 'tool-call-input-streaming-end', payload: { toolCallId: part.id } };
    default:
      return undefined;
  }
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
