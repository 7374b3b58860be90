import { describe, expect, test } from 'vitest';
import { isCountersignError } from '../core/errors.ts';
import { type ModelIdOptions, modelFromId } from './model-id.ts';

const notFound = (name: string): Error =>
  Object.assign(new Error(`Cannot find package '${name}'`), { code: 'ERR_MODULE_NOT_FOUND' });

async function failureOf(
  id: string,
  options: ModelIdOptions,
): Promise<Error & { code: string; cause?: unknown }> {
  return modelFromId(id, options).then(
    () => expect.unreachable(),
    (thrown) => {
      expect(isCountersignError(thrown)).toBe(true);
      return thrown;
    },
  );
}

describe('modelFromId', () => {
  test('loads the package and gives the rest of the id to its export', async () => {
    const made: string[] = [];
    const load = async (name: string): Promise<unknown> => ({
      bedrock: (id: string) => ({ made: made.push(`${name} ${id}`) }),
    });
    const env = { AWS_ACCESS_KEY_ID: 'key' };
    await modelFromId('amazon-bedrock/anthropic/claude', { load, env });
    expect(made).toEqual(['@ai-sdk/amazon-bedrock anthropic/claude']);
  });

  test('the real packages, with the default loader', async () => {
    const env = { OPENAI_API_KEY: 'key', ANTHROPIC_API_KEY: 'key' };
    expect(await modelFromId('openai/gpt-5-mini', { env })).toMatchObject({
      specificationVersion: 'v4',
      provider: 'openai.responses',
      modelId: 'gpt-5-mini',
    });
    expect(await modelFromId('anthropic/claude-opus-4', { env })).toMatchObject({
      provider: 'anthropic.messages',
      modelId: 'claude-opus-4',
    });
  });

  test('a package that is not installed', async () => {
    const load = async (name: string): Promise<never> => {
      throw notFound(name);
    };
    const failure = await failureOf('mistral/large', { load, env: {} });
    expect(failure.code).toBe('dependency-missing');
    expect(failure.message).toContain('npm install @ai-sdk/mistral');
  });

  test('the default loader meets a package that is not installed', async () => {
    const failure = await failureOf('cerebras/x', { env: {} });
    expect(failure.code).toBe('dependency-missing');
    expect(failure.message).toContain('npm install @ai-sdk/cerebras');
  });

  test('a package that breaks while it loads', async () => {
    const cause = new SyntaxError('broken');
    const failure = await failureOf('mistral/large', { load: () => Promise.reject(cause), env: {} });
    expect(failure.code).toBe('model-unavailable');
    expect(failure.cause).toBe(cause);
  });

  test('a package without the export', async () => {
    const failure = await failureOf('xai/grok', { load: async () => ({}), env: { XAI_API_KEY: 'key' } });
    expect(failure.code).toBe('model-unavailable');
    expect(failure.message).toContain('@ai-sdk/xai');
  });

  test.each([
    ['openai/gpt-5', 'OPENAI_API_KEY'],
    ['google/gemini-3', 'GOOGLE_GENERATIVE_AI_API_KEY'],
    ['amazon-bedrock/x', 'AWS_BEARER_TOKEN_BEDROCK or AWS_ACCESS_KEY_ID'],
  ])('%s without a key', async (id, variable) => {
    const failure = await failureOf(id, { load: async () => ({}), env: { OPENAI_API_KEY: '' } });
    expect(failure.code).toBe('model-unavailable');
    expect(failure.message).toContain(variable);
  });

  test.each(['gpt-5', 'openai', 'openai/', '/gpt-5', '', 'nobody/x', 'toString/x'])(
    'the id "%s"',
    async (id) => {
      const failure = await failureOf(id, { load: () => expect.unreachable(), env: {} });
      expect(failure.code).toBe('model-unavailable');
      expect(failure.message).toContain('anthropic, azure');
    },
  );
});
