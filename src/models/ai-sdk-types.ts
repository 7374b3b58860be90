/**
 * Types of the AI SDK's provider interface, taken from what `ai` itself exports: `@ai-sdk/provider`, which names
 * them, is no dependency of ours.
 */
import type { LanguageModel, UIMessage } from 'ai';

/** A message of a chat page, as a thread keeps it. */
export type { UIMessage };

/** A model object of the AI SDK, of any version of its specification. */
export type LanguageModelObject = Exclude<LanguageModel, string>;

/** A model object of the newest version. */
export type LanguageModelV4 = Extract<LanguageModelObject, { specificationVersion: 'v4' }>;

export type CallOptionsV4 = Parameters<LanguageModelV4['doStream']>[0];
export type StreamResultV4 = Awaited<ReturnType<LanguageModelV4['doStream']>>;
export type GenerateResultV4 = Awaited<ReturnType<LanguageModelV4['doGenerate']>>;
export type StreamPartV4 = StreamResultV4['stream'] extends ReadableStream<infer Part> ? Part : never;
export type ContentV4 = GenerateResultV4['content'][number];
export type PromptV4 = CallOptionsV4['prompt'];
export type MessageV4 = PromptV4[number];
export type ProviderMetadataV4 = NonNullable<GenerateResultV4['providerMetadata']>;
