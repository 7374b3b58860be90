/** The real provider packages, each with the wire format that it speaks. */
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import type { LanguageModelObject } from '../../src/models/ai-sdk-types.ts';
import type { Connection } from './servers.ts';
import { formatOf, type WireFormat } from './wire-formats.ts';

export interface WireProvider extends WireFormat {
  /** How ids of calls begin there. */
  readonly idPrefix: string;
  model(connection: Connection): LanguageModelObject;
}

export const openAiChat: WireProvider = {
  ...formatOf('openai chat'),
  idPrefix: 'call_',
  model: (connection) => createOpenAI(connection).chat('gpt-4o'),
};

export const openAiResponses: WireProvider = {
  ...formatOf('openai responses'),
  idPrefix: 'call_',
  model: (connection) => createOpenAI(connection).responses('gpt-5-mini'),
};

export const anthropic: WireProvider = {
  ...formatOf('anthropic'),
  idPrefix: 'toolu_',
  model: (connection) => createAnthropic(connection)('claude-sonnet-4-5'),
};

export const wireProviders: readonly WireProvider[] = [openAiChat, openAiResponses, anthropic];
