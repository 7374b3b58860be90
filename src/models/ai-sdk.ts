/**
 * The port to language models over the AI SDK. The only file that runs `ai` code, loaded when the first model call
 * is made. Nothing is executed or validated there: tools are offered without `execute`, with schemas that accept
 * everything, so that the arguments come back exactly as the model wrote them.
 */
import type { LanguageModelStreamPart, ModelMessage, ToolSet, UIMessage } from 'ai';
import { CountersignError, isCountersignError } from '../core/errors.ts';
import type { JsonObject } from '../core/json.ts';
import type { Message } from '../core/message.ts';
import type { Model, ModelRequest, ModelResponse, ToolDescription } from '../core/model.ts';
import type { CallOptionsV4, LanguageModelObject, LanguageModelV4, StreamPartV4 } from './ai-sdk-types.ts';
import { collector } from './collect-response.ts';
import { failureText } from './failure-text.ts';
import { type Answer, answeredModel, newAnswer, readStream, readWhole } from './model-answer.ts';
import { type ModelIdOptions, modelFromId } from './model-id.ts';
import { orAborted } from './or-aborted.ts';
import { type Sleep, sleep, withRetries } from './retry.ts';
import { convertedUi, toMessages } from './to-messages.ts';

type Sdk = typeof import('ai');
type Options = Parameters<Sdk['experimental_streamLanguageModelCall']>[0];

export interface ModelOptions extends ModelIdOptions {
  /** Waits between retries; a test passes one that does not. */
  readonly sleep?: Sleep | undefined;
}

/** A model for the core. `whole` is the same for callers who read no deltas: its answers come in one piece. */
export interface SdkModel extends Model {
  readonly whole: Model;
}

/**
 * A model for the core.
 * @param model a model object of the AI SDK (specification v2, v3 or v4), or an id such as `'openai/gpt-5-mini'`,
 *   whose provider is loaded when the first call is made.
 * @throws (from `call`) `model-failed` for every failure of the call, with its `cause`; `model-unavailable` and
 *   `dependency-missing` as `modelFromId` does.
 */
export function modelOf(model: LanguageModelObject | string, options: ModelOptions = {}): SdkModel {
  const wrapped = toolWrapper();
  let sdk: Sdk | undefined;
  let loaded: LanguageModelV4 | undefined;
  const callBy = (read: Read) => async (request: ModelRequest) => {
    sdk ??= await import('ai');
    loaded ??= newest(sdk, typeof model === 'string' ? await modelFromId(model, options) : model);
    return callModel(
      { sdk, model: loaded, read, tools: wrapped(sdk, request.tools) },
      request,
      options.sleep ?? sleep,
    );
  };
  const modelId = typeof model === 'string' ? model : model.modelId;
  const provider = typeof model === 'string' ? model.split('/')[0] : model.provider;
  const named = { modelId, provider };
  return { ...named, call: callBy(readStream), whole: { ...named, call: callBy(readWhole) } };
}

/** A model of an older specification as one of the newest. One that is unknown is left to the AI SDK to refuse. */
function newest(sdk: Sdk, model: LanguageModelObject): LanguageModelV4 {
  const isOlder = model.specificationVersion === 'v2' || model.specificationVersion === 'v3';
  return isOlder ? (sdk.wrapLanguageModel({ model, middleware: [] }) as LanguageModelV4) : model;
}

/** The messages of a prompt from the UI messages of the AI SDK (`useChat`). */
export async function messagesFromUi(messages: readonly Omit<UIMessage, 'id'>[]): Promise<Message[]> {
  const { convertToModelMessages } = await import('ai');
  return convertedUi(messages, async () => toMessages(await convertToModelMessages([...messages])));
}

/** As `messagesFromUi`, as the AI SDK gives them: they may hold what JSON cannot, such as URLs. */
export async function modelMessagesFromUi(messages: readonly UIMessage[]): Promise<ModelMessage[]> {
  const { convertToModelMessages } = await import('ai');
  return convertToModelMessages([...messages]);
}

/** The JSON Schema of a schema that has none of its own, as the AI SDK makes it (zod 3, zod mini). */
export async function jsonSchemaBySdk(schema: unknown): Promise<unknown> {
  const { asSchema } = await import('ai');
  return asSchema(schema as Parameters<typeof asSchema>[0]).jsonSchema;
}

/** How one call is made. */
interface Way {
  readonly sdk: Sdk;
  readonly model: LanguageModelV4;
  readonly read: Read;
  readonly tools: ToolSet;
}

type Read = (
  model: LanguageModelV4,
  options: CallOptionsV4,
  answer: Answer,
) => Promise<readonly StreamPartV4[]>;

async function callModel(way: Way, request: ModelRequest, wait: Sleep): Promise<ModelResponse> {
  const { abortSignal, maxRetries } = request;
  let answer: Answer | undefined;
  const once = async (): Promise<ModelResponse> => {
    answer = newAnswer(request.onDelta);
    try {
      return await orAborted(receive(way, request, answer), abortSignal);
    } catch (thrown) {
      throw failed(thrown, abortSignal);
    }
  };
  try {
    return await withRetries(once, {
      maxRetries,
      abortSignal,
      mayRepeat: () => answer?.begun !== true,
      sleep: wait,
    });
  } catch (thrown) {
    throw failed(thrown, abortSignal);
  }
}

/** Makes one call. A model that does not mind the signal may still answer after an abort: nobody reads it. */
async function receive(
  { sdk, model, read, tools }: Way,
  request: ModelRequest,
  answer: Answer,
): Promise<ModelResponse> {
  const answered = answeredModel(model, (options) => read(model, options, answer));
  const { stream } = await sdk.experimental_streamLanguageModelCall(optionsOf(answered, request, tools));
  const collected = collector();
  const reader = stream.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return { ...collected.response(), ...answer.facts() };
    collected.take(value as LanguageModelStreamPart);
  }
}

function optionsOf(model: LanguageModelV4, request: ModelRequest, tools: ToolSet): Options {
  return {
    ...request.settings,
    model,
    tools,
    toolChoice: request.toolChoice,
    instructions: request.instructions,
    messages: request.messages.map(shortened) as unknown as ModelMessage[],
    allowSystemInMessages: true,
    providerOptions: request.providerOptions,
    // All that the SDK reads of it here.
    output: request.outputSchema && {
      responseFormat: Promise.resolve({ type: 'json', schema: request.outputSchema }),
    },
    abortSignal: request.abortSignal,
    // Settings must not slip a prompt of their own past the messages.
    prompt: undefined,
    system: undefined,
    _internal: { collectContent: false },
  } as unknown as Options;
}

/** A text alone as a string: the AI SDK makes the same of it, without its passes over the parts of each message. */
function shortened(message: Message): Message {
  const { role, content, ...rest } = message;
  if ((role !== 'user' && role !== 'assistant') || typeof content === 'string') return message;
  const [part, ...more] = content;
  const isText = part?.type === 'text' && typeof part.text === 'string' && part.text !== '';
  if (!isText || more.length > 0 || part.providerOptions !== undefined) return message;
  return { ...rest, role, content: part.text as string };
}

/** Makes the tools of a call as the AI SDK wants them. A schema is wrapped once. */
function toolWrapper(): (sdk: Sdk, tools: readonly ToolDescription[]) => ToolSet {
  const wrapped = new WeakMap<object, object>();
  const once = (key: object, wrap: () => object): object => {
    const known = wrapped.get(key);
    if (known) return known;
    const made = wrap();
    wrapped.set(key, made);
    return made;
  };
  return (sdk, tools) => {
    const anything = (schema: JsonObject): object => once(schema, () => sdk.jsonSchema(schema));
    return Object.fromEntries(
      tools.map(({ name, provider, inputSchema, ...described }) => [
        name,
        provider === undefined
          ? { ...described, inputSchema: anything(inputSchema) }
          : once(provider, () => ({ ...provider, inputSchema: sdk.jsonSchema({}), execute: undefined })),
      ]),
    ) as ToolSet;
  };
}

function failed(thrown: unknown, signal: AbortSignal): CountersignError {
  if (signal.aborted) {
    return new CountersignError('model-failed', 'The model call was aborted.', { cause: signal.reason });
  }
  if (isCountersignError(thrown)) return thrown;
  return new CountersignError('model-failed', failureText(thrown), { cause: thrown });
}
