/** What of a request's context goes into the store, and what must be supplied again. */
import { RequestContext } from '../core/context.ts';
import { CountersignError } from '../core/errors.ts';
import { isJson, type Json, type JsonObject, sameJson, setOwn } from '../core/json.ts';

/** What of a context is stored, and the keys that must be supplied again. */
export function storableContext(
  context: RequestContext,
  secretKeys: readonly string[],
): { stored: JsonObject; missing: string[] } {
  const stored: Record<string, Json> = {};
  const missing: string[] = [];
  for (const [key, value] of context.entries()) {
    if (!context.isSecret(key) && !secretKeys.includes(key) && isJson(value)) setOwn(stored, key, value);
    else missing.push(key);
  }
  return { stored, missing };
}

/**
 * The context of a later leg: what is stored, and the missing keys that its caller supplies.
 * @throws `context-conflict` for any other key, or another value for a stored one.
 */
export function restoredContext(
  stored: JsonObject,
  missing: readonly string[],
  supplied: RequestContext | undefined,
  runId: string,
): RequestContext {
  const context = new RequestContext(Object.entries(stored));
  for (const [key, value] of supplied?.entries() ?? []) {
    if (missing.includes(key)) {
      context.set(key, value, { secret: true });
    } else if (!Object.hasOwn(stored, key) || !(isJson(value) && sameJson(stored[key] as Json, value))) {
      throw new CountersignError(
        'context-conflict',
        `The request context key "${key}" is not open in this run.`,
        {
          runId,
          expected:
            missing.length > 0 ? `only the keys that were not stored: ${missing.join(', ')}` : 'no keys',
          todo: 'A decision can supply what was not stored; it cannot change what the run began with.',
        },
      );
    }
  }
  return context;
}
