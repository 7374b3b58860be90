/** What the tests of the model layer ask a model, and how they read the answer. */
import type { ModelRequest, ModelResponse, ResponseDelta, ToolDescription } from '../../core/model.ts';
import { type ScriptedModelOptions, type ScriptStep, scriptedModel } from '../../testing/scripted-model.ts';
import { modelOf } from '../ai-sdk.ts';
import type { StreamPartV4 } from '../ai-sdk-types.ts';

export const weather: ToolDescription = {
  name: 'weather',
  description: 'Tells the weather.',
  inputSchema: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  },
};

export function request(over: Partial<ModelRequest> = {}): ModelRequest & { deltas: ResponseDelta[] } {
  const deltas: ResponseDelta[] = [];
  return {
    messages: [{ role: 'user', content: 'Hi' }],
    tools: [weather],
    maxRetries: 0,
    abortSignal: new AbortController().signal,
    onDelta: (delta) => deltas.push(delta),
    deltas,
    ...over,
  };
}

export async function answerTo(
  step: ScriptStep,
  over: Partial<ModelRequest> = {},
  options?: ScriptedModelOptions,
): Promise<ModelResponse> {
  return modelOf(scriptedModel([step], options)).call(request(over));
}

export async function contentOf(...parts: StreamPartV4[]): Promise<ModelResponse['content']> {
  return (await answerTo({ parts })).content;
}

export async function failureOf(
  promise: Promise<unknown>,
): Promise<Error & { code?: string; cause?: unknown }> {
  return promise.then(
    () => Promise.reject(new Error('It did not fail.')),
    (thrown) => thrown,
  );
}
