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
import type { LanguageModelObject } from './ai-sdk-types.ts';
import { type Collector, collector } from './collect-response.ts';
import { failureText } from './failure-text.ts';
import { type ModelIdOptions, modelFromId } from './model-id.ts';
import { orAborted } from './or-aborted.ts';
import { type Sleep, sleep, withRetries } from './retry.ts';
import { toMessages } from './to-messages.ts';

type Sdk = typeof import('ai');
type Options = Parameters<Sdk['experimental_streamLanguageModelCall']>[0];

export interface ModelOptions extends ModelIdOptions {
  /** Waits between retries; a test passes one that does not. */
  readonly sleep?: Sleep | undefined;
}

/**
 * A model for the core.
 * @param model a model object of the AI SDK (specification v2, v3 or v4), or an id such as `'openai/gpt-5-mini'`,
 *   whose provider is loaded when the first call is made.
 * @throws (from `call`) `model-failed` for every failure of the call, with its `cause`; `model-unavailable` and
 *   `dependency-missing` as `modelFromId` does.
 */
export function modelOf(model: LanguageModelObject | string, options: ModelOptions = {}): Model {
  const wrapped = toolWrapper();
  let sdk: Sdk | undefined;
  let loaded: LanguageModelObject | undefined = typeof model === 'string' ? undefined : model;
  return {
    modelId: typeof model === 'string' ? model : model.modelId,
    async call(request) {
      sdk ??= await import('ai');
      loaded ??= await modelFromId(model as string, options);
      return callModel(sdk, loaded, request, wrapped(sdk, request.tools), options.sleep ?? sleep);
    },
  };
}

/** The messages of a prompt from the UI messages of the AI SDK (`useChat`). */
export async function messagesFromUi(messages: readonly Omit<UIMessage, 'id'>[]): Promise<Message[]> {
  const { convertToModelMessages } = await import('ai');
  return toMessages(await convertToModelMessages([...messages]));
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

async function callModel(
  sdk: Sdk,
  model: LanguageModelObject,
  request: ModelRequest,
  tools: ToolSet,
  wait: Sleep,
): Promise<ModelResponse> {
  let attempt: Collector | undefined;
  const once = async (): Promise<ModelResponse> => {
    attempt = collector(request.onDelta);
    try {
      return await receive(sdk, model, request, tools, attempt);
    } catch (thrown) {
      throw failed(thrown, request.abortSignal);
    }
  };
  try {
    return await withRetries(once, {
      maxRetries: request.maxRetries,
      abortSignal: request.abortSignal,
      mayRepeat: () => attempt?.begun !== true,
      sleep: wait,
    });
  } catch (thrown) {
    throw failed(thrown, request.abortSignal);
  }
}

async function receive(
  sdk: Sdk,
  model: LanguageModelObject,
  request: ModelRequest,
  tools: ToolSet,
  into: Collector,
): Promise<ModelResponse> {
  const { abortSignal } = request;
  const opening = sdk.experimental_streamLanguageModelCall(optionsOf(model, request, tools));
  const { stream } = await orAborted(opening, abortSignal).catch((thrown) => {
    // A model that does not mind the signal may still answer: nobody reads it.
    void opening.then(({ stream }) => stream.cancel()).catch(() => {});
    throw thrown;
  });
  const reader = stream.getReader();
  const stop = (): void => void reader.cancel().catch(() => {});
  abortSignal.addEventListener('abort', stop, { once: true });
  try {
    for (;;) {
      const { done, value } = await reader.read();
      abortSignal.throwIfAborted();
      if (done) return into.response();
      into.take(value as LanguageModelStreamPart);
    }
  } finally {
    abortSignal.removeEventListener('abort', stop);
    stop();
  }
}

function optionsOf(model: LanguageModelObject, request: ModelRequest, tools: ToolSet): Options {
  return {
    ...request.settings,
    model,
    tools,
    toolChoice: request.toolChoice,
    instructions: request.instructions,
    messages: request.messages as unknown as ModelMessage[],
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
