/**
 * Owns how a model's answer is read: deltas are passed on as they come and joined, so that the AI SDK translates a
 * few whole parts in place of many small ones. What says something of the answer as a whole, as it is, is kept aside.
 * Translates nothing itself.
 */
import { type Json, type JsonObject, toJson } from '../core/json.ts';
import type { ModelResponse, ResponseDelta } from '../core/model.ts';
import type {
  CallOptionsV4,
  ContentV4,
  LanguageModelV4,
  ProviderMetadataV4,
  StreamPartV4,
} from './ai-sdk-types.ts';

type PartOf<Type> = Extract<StreamPartV4, { type: Type }>;
type BlockPart = PartOf<`${'text' | 'reasoning'}-${'start' | 'delta' | 'end'}`>;

interface JoinedBlock {
  readonly type: 'text-delta' | 'reasoning-delta';
  readonly id: string;
  delta: string;
  providerMetadata?: ProviderMetadataV4;
}

/** Parts after which the model must not be asked again, beside deltas: somebody would miss or repeat them. */
const output: ReadonlySet<StreamPartV4['type']> = new Set([
  'file',
  'reasoning-file',
  'tool-approval-request',
  'tool-call',
  'tool-result',
]);

export interface Answer {
  /** Whether output came: then the model must not be asked again. */
  readonly begun: boolean;
  /** What came, in order, each text in one part. */
  readonly parts: readonly StreamPartV4[];
  /** What the model said of its answer as a whole, and of the request. */
  facts(): Pick<ModelResponse, 'response' | 'warnings'>;
  /** Takes what a stream brought. */
  take(part: StreamPartV4): void;
  /** Takes a part of an answer that came at once. Nothing of it is passed on. */
  takeWhole(part: ContentV4): void;
}

export function newAnswer(onDelta: (delta: ResponseDelta) => void): Answer {
  const parts: StreamPartV4[] = [];
  const blocks = new Map<string, JoinedBlock>();
  let response: JsonObject | undefined;
  let warnings: Json | undefined;
  let begun = false;

  const pass = (delta: ResponseDelta): void => {
    begun = true;
    onDelta(delta);
  };
  const join = (type: JoinedBlock['type'], part: BlockPart): void => {
    const key = `${type} ${part.id}`;
    let block = blocks.get(key);
    if (block === undefined) {
      block = { type, id: String(parts.length), delta: '' };
      blocks.set(key, block);
      parts.push(block);
    }
    if ('delta' in part) block.delta += part.delta;
    if (part.providerMetadata) block.providerMetadata = part.providerMetadata;
    // Providers use an id again for a later block.
    if (part.type === 'text-end' || part.type === 'reasoning-end') blocks.delete(key);
  };

  return {
    get begun() {
      return begun;
    },
    parts,
    facts: () => ({ ...(response ? { response } : {}), ...(warnings ? { warnings } : {}) }),
    take(part) {
      switch (part.type) {
        case 'stream-start':
          if (part.warnings.length > 0) warnings = toJson(part.warnings, 'warnings');
          break;
        case 'response-metadata': {
          const { id, modelId, timestamp } = part;
          const known = toJson({ id, modelId, timestamp }, 'response metadata') as JsonObject;
          if (Object.keys(known).length > 0) response = { ...response, ...known };
          break;
        }
        case 'text-start':
        case 'text-end':
        case 'reasoning-start':
        case 'reasoning-end':
          pass({ type: part.type, payload: withMetadata({ id: part.id }, part) });
          join(part.type.startsWith('text') ? 'text-delta' : 'reasoning-delta', part);
          break;
        case 'text-delta':
        case 'reasoning-delta':
          pass({ type: part.type, payload: withMetadata({ id: part.id, text: part.delta }, part) });
          join(part.type, part);
          break;
        case 'tool-input-start': {
          const { id: toolCallId, toolName } = part;
          pass({ type: 'tool-call-input-streaming-start', payload: { toolCallId, toolName } });
          break;
        }
        case 'tool-input-delta':
          pass({
            type: 'tool-call-delta',
            payload: { toolCallId: part.id, argsTextDelta: part.delta },
          });
          break;
        case 'tool-input-end':
          pass({ type: 'tool-call-input-streaming-end', payload: { toolCallId: part.id } });
          break;
        default:
          if (output.has(part.type)) begun = true;
          parts.push(part);
      }
    },
    takeWhole(part) {
      begun = true;
      if (part.type === 'text' || part.type === 'reasoning') {
        const { type, text: delta, ...rest } = part;
        parts.push({ type: `${type}-delta`, id: String(parts.length), delta, ...metadataIn(rest) });
      } else parts.push(part);
    },
  };
}

/** Nearly every part has none, and there are many parts. */
function withMetadata<Payload extends object>(
  payload: Payload,
  { providerMetadata }: { readonly providerMetadata?: unknown },
): Payload & { providerMetadata?: JsonObject } {
  if (providerMetadata == null) return payload;
  return { ...payload, providerMetadata: toJson(providerMetadata, 'provider metadata') as JsonObject };
}

/** Asks for a stream, and reads it up to its end or its first error. Aborted, it cancels the stream and rejects. */
export async function readStream(
  model: LanguageModelV4,
  options: CallOptionsV4,
  answer: Answer,
): Promise<readonly StreamPartV4[]> {
  const { abortSignal } = options;
  const { stream } = await model.doStream(options);
  const reader = stream.getReader();
  const stop = (): void => void reader.cancel().catch(() => {});
  abortSignal?.addEventListener('abort', stop, { once: true });
  // The AI SDK drops calls that may not be made: nobody is to see their input either.
  const withheld = options.toolChoice?.type === 'none';
  try {
    abortSignal?.throwIfAborted();
    for (;;) {
      const { done, value } = await reader.read();
      abortSignal?.throwIfAborted();
      if (done) return answer.parts;
      if (!(withheld && value.type.startsWith('tool-input-'))) answer.take(value);
      if (value.type === 'error') return answer.parts;
    }
  } finally {
    abortSignal?.removeEventListener('abort', stop);
    stop();
  }
}

/** Asks for the answer at once. */
export async function readWhole(
  model: LanguageModelV4,
  options: CallOptionsV4,
  answer: Answer,
): Promise<readonly StreamPartV4[]> {
  const { content, finishReason, usage, response, warnings, ...rest } = await model.doGenerate(options);
  const { id, modelId, timestamp } = response ?? {};
  answer.take({ type: 'stream-start', warnings });
  answer.take({
    type: 'response-metadata',
    ...(id === undefined ? {} : { id }),
    ...(modelId === undefined ? {} : { modelId }),
    ...(timestamp === undefined ? {} : { timestamp }),
  });
  for (const part of content) answer.takeWhole(part);
  answer.take({ type: 'finish', finishReason, usage, ...metadataIn(rest) });
  return answer.parts;
}

function metadataIn({ providerMetadata }: { readonly providerMetadata?: ProviderMetadataV4 }): {
  providerMetadata?: ProviderMetadataV4;
} {
  return providerMetadata ? { providerMetadata } : {};
}

/** The model as the AI SDK is given it: what it streams was read before. */
export function answeredModel(
  { specificationVersion, provider, modelId, supportedUrls }: LanguageModelV4,
  read: (options: CallOptionsV4) => Promise<readonly StreamPartV4[]>,
): LanguageModelV4 {
  const refuse = (): never => {
    throw new Error('It is asked for streams only.');
  };
  return {
    specificationVersion,
    provider,
    modelId,
    supportedUrls,
    doGenerate: refuse,
    async doStream(options) {
      const parts = await read(options);
      return {
        stream: new ReadableStream({
          start(controller) {
            for (const part of parts) controller.enqueue(part);
            controller.close();
          },
        }),
      };
    },
  };
}
