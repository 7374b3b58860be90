/** Model ids such as `'openai/gpt-5-mini'`: which package makes the model, and which variable holds its key. */
import { CountersignError } from '../core/errors.ts';
import type { LanguageModelObject } from './ai-sdk-types.ts';

interface ProviderEntry {
  readonly package: string;
  /** The export that makes a model of its id. */
  readonly factory: string;
  /** Environment variables of which one must be set. None where the provider finds its credentials by itself. */
  readonly keys: readonly string[];
}

/** The one table. What else a provider reads from the environment (base URL, region) is its own business. */
const providers: Readonly<Record<string, ProviderEntry>> = {
  'amazon-bedrock': {
    package: '@ai-sdk/amazon-bedrock',
    factory: 'bedrock',
    keys: ['AWS_BEARER_TOKEN_BEDROCK', 'AWS_ACCESS_KEY_ID'],
  },
  anthropic: { package: '@ai-sdk/anthropic', factory: 'anthropic', keys: ['ANTHROPIC_API_KEY'] },
  azure: { package: '@ai-sdk/azure', factory: 'azure', keys: ['AZURE_API_KEY'] },
  cerebras: { package: '@ai-sdk/cerebras', factory: 'cerebras', keys: ['CEREBRAS_API_KEY'] },
  cohere: { package: '@ai-sdk/cohere', factory: 'cohere', keys: ['COHERE_API_KEY'] },
  deepinfra: { package: '@ai-sdk/deepinfra', factory: 'deepinfra', keys: ['DEEPINFRA_API_KEY'] },
  deepseek: { package: '@ai-sdk/deepseek', factory: 'deepseek', keys: ['DEEPSEEK_API_KEY'] },
  fireworks: { package: '@ai-sdk/fireworks', factory: 'fireworks', keys: ['FIREWORKS_API_KEY'] },
  gateway: {
    package: '@ai-sdk/gateway',
    factory: 'gateway',
    keys: ['AI_GATEWAY_API_KEY', 'VERCEL_OIDC_TOKEN'],
  },
  google: { package: '@ai-sdk/google', factory: 'google', keys: ['GOOGLE_GENERATIVE_AI_API_KEY'] },
  'google-vertex': { package: '@ai-sdk/google-vertex', factory: 'vertex', keys: [] },
  groq: { package: '@ai-sdk/groq', factory: 'groq', keys: ['GROQ_API_KEY'] },
  mistral: { package: '@ai-sdk/mistral', factory: 'mistral', keys: ['MISTRAL_API_KEY'] },
  openai: { package: '@ai-sdk/openai', factory: 'openai', keys: ['OPENAI_API_KEY'] },
  perplexity: { package: '@ai-sdk/perplexity', factory: 'perplexity', keys: ['PERPLEXITY_API_KEY'] },
  togetherai: {
    package: '@ai-sdk/togetherai',
    factory: 'togetherai',
    keys: ['TOGETHER_API_KEY', 'TOGETHER_AI_API_KEY'],
  },
  xai: { package: '@ai-sdk/xai', factory: 'xai', keys: ['XAI_API_KEY'] },
};

export interface ModelIdOptions {
  /** Imports a provider's package by its name. */
  readonly load?: ((packageName: string) => Promise<unknown>) | undefined;
  /** Where keys are looked for. The provider itself reads `process.env`. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
}

/**
 * The model that an id `'provider/model'` names. The provider's package is imported now, not before.
 * @throws `model-unavailable` for an id of another form, an unknown provider, or a missing key;
 *   `dependency-missing` when the provider's package is not installed.
 */
export async function modelFromId(id: string, options: ModelIdOptions = {}): Promise<LanguageModelObject> {
  const { load = (name: string): Promise<unknown> => import(name), env = process.env } = options;
  const { provider, entry, name } = parse(id);
  const loaded = (await load(entry.package).catch((cause: unknown) => {
    throw notLoaded(entry, id, cause);
  })) as Readonly<Record<string, unknown>>;
  if (entry.keys.length > 0 && !entry.keys.some((key) => env[key])) {
    throw new CountersignError('model-unavailable', `There is no key for model "${id}".`, {
      todo: `Set the environment variable ${entry.keys.join(' or ')}, or pass a model object of ${entry.package}.`,
    });
  }
  const make = Object.hasOwn(loaded, entry.factory) ? loaded[entry.factory] : undefined;
  if (typeof make !== 'function') {
    throw new CountersignError('model-unavailable', `${entry.package} has no export "${entry.factory}".`, {
      todo: `Install a version of it that belongs to AI SDK 7, or pass a model object of provider "${provider}".`,
    });
  }
  return make(name) as LanguageModelObject;
}

function parse(id: string): { provider: string; entry: ProviderEntry; name: string } {
  const slash = id.indexOf('/');
  const provider = id.slice(0, Math.max(slash, 0));
  const name = id.slice(slash + 1);
  const entry = Object.hasOwn(providers, provider) ? providers[provider] : undefined;
  if (entry !== undefined && name !== '') return { provider, entry, name };
  throw new CountersignError('model-unavailable', `"${id}" names no model that can be loaded by its id.`, {
    expected: `'provider/model' with one of the providers ${Object.keys(providers).join(', ')}`,
    todo: 'Or pass a model object of any AI SDK provider.',
  });
}

function notLoaded(entry: ProviderEntry, id: string, cause: unknown): CountersignError {
  const code = (cause as { code?: unknown } | null | undefined)?.code;
  if (code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND') {
    return new CountersignError('dependency-missing', `Model "${id}" needs ${entry.package}.`, {
      todo: `Run: npm install ${entry.package}`,
      cause,
    });
  }
  return new CountersignError(
    'model-unavailable',
    `${entry.package}, which model "${id}" needs, cannot be loaded.`,
    { cause },
  );
}
