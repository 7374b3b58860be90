/**
 * What the caller's request knows and tools need: user, tenant, credentials. Entries that JSON can hold are stored
 * with the run; secret ones are never stored and must be supplied again (DESIGN §3).
 */
import { CountersignError } from './errors.ts';
import { isJson, type Json, type JsonObject, setOwn } from './json.ts';

/**
 * A map of request-scoped values, handed to policies, hooks and tools. Each tool call gets a copy of its own, so
 * setting a key inside a tool changes nothing elsewhere.
 * @example new RequestContext([['tenant', 'acme']]).set('apiKey', key, { secret: true })
 */
export class RequestContext {
  readonly #entries: Map<string, unknown>;
  readonly #secret = new Set<string>();

  constructor(entries: Iterable<readonly [string, unknown]> = []) {
    this.#entries = new Map(entries);
  }

  get(key: string): unknown {
    return this.#entries.get(key);
  }

  has(key: string): boolean {
    return this.#entries.has(key);
  }

  /** Sets a value. With `secret: true` it is never stored and must be supplied again with later decisions. */
  set(key: string, value: unknown, options: { readonly secret?: boolean | undefined } = {}): this {
    this.#entries.set(key, value);
    if (options.secret) this.#secret.add(key);
    else this.#secret.delete(key);
    return this;
  }

  delete(key: string): boolean {
    this.#secret.delete(key);
    return this.#entries.delete(key);
  }

  keys(): IterableIterator<string> {
    return this.#entries.keys();
  }

  entries(): IterableIterator<[string, unknown]> {
    return this.#entries.entries();
  }

  isSecret(key: string): boolean {
    return this.#secret.has(key);
  }

  /** The entries as a plain object, secrets too: what policies are given. */
  toObject(): Record<string, unknown> {
    return Object.fromEntries(this.#entries);
  }

  /** The entries that may be shown: without secrets. */
  toJSON(): Record<string, unknown> {
    return Object.fromEntries([...this.#entries].filter(([key]) => !this.#secret.has(key)));
  }
}

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
    } else if (!Object.hasOwn(stored, key) || JSON.stringify(stored[key]) !== JSON.stringify(value)) {
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
