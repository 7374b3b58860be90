/** Owns what may be told of a failed model call: nothing that could quote the prompt or the response. */

/** Errors of the AI SDK whose messages speak of ids, names and settings, or repeat what the provider answered. */
const telling: ReadonlySet<string> = new Set([
  'AI_APICallError',
  'AI_EmptyResponseBodyError',
  'AI_LoadAPIKeyError',
  'AI_LoadSettingError',
  'AI_MissingToolResultsError',
  'AI_NoSuchModelError',
  'AI_StreamProviderError',
  'AI_ToolChoiceViolationError',
  'AI_UnsupportedFunctionalityError',
  'AI_UnsupportedModelVersionError',
]);

const longest = 400;

/** One sentence about a failure, safe to store and to show. */
export function failureText(thrown: unknown): string {
  const { statusCode, name, message } = (
    typeof thrown === 'object' && thrown !== null ? thrown : { message: thrown }
  ) as { statusCode?: unknown; name?: unknown; message?: unknown };
  const status = typeof statusCode === 'number' ? ` (HTTP ${statusCode})` : '';
  const sentence = `The model call failed${status}`;
  if (typeof name === 'string' && name.startsWith('AI_') && !telling.has(name)) {
    return `${sentence}: ${name.slice('AI_'.length)}.`;
  }
  const text = typeof message === 'string' ? (message.trim().split('\n', 1)[0] ?? '') : '';
  if (text === '') return `${sentence}.`;
  return `${sentence}: ${text.length > longest ? `${text.slice(0, longest)}…` : text}`;
}
